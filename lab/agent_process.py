"""A real `precast agent` process, with a directory as the root of its machine."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lab.server_process import PRECAST

DEADLINE_S = 60.0


class AgentProcess:
    """A context manager: the agent runs inside the block, and can be killed and started again."""

    def __init__(self, root: Path, url: str, *options: str) -> None:
        self.root = root
        self.options = ["--url", url, *options]
        self.environment: dict[str, str] = {}
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process is not None:
            self.kill()

    def start(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / "agent.log").open("ab") as log:
            self.process = subprocess.Popen(
                [PRECAST, "agent", "--root", str(self.root), *self.options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={
                    **{name: value for name, value in os.environ.items() if not name.startswith("PRECAST_")},
                    **self.environment,
                },
            )

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, wait for the end, and return the exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        code = self.process.wait(DEADLINE_S)
        self.process = None
        return code

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.stop(signal.SIGKILL)

    @property
    def log(self) -> str:
        return (self.root / "agent.log").read_text()

    @property
    def rss_bytes(self) -> int:
        assert self.process is not None
        match = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{self.process.pid}/status").read_text())
        assert match is not None
        return int(match[1]) * 1024

    def status(self) -> dict[str, Any]:
        """The output of `precast agent status --json`, with its exit code as `code`."""
        done = subprocess.run(
            [PRECAST, "agent", "status", "--root", str(self.root), "--json"],
            capture_output=True,
            text=True,
            check=False,
            timeout=DEADLINE_S,
        )
        status = (
            json.loads(done.stdout) if done.stdout else {"running": None, "connected": False, "trouble": done.stderr}
        )
        return {**status, "code": done.returncode}

    def until(self, is_so: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait until the status meets a condition, and return the status."""
        until_s = time.monotonic() + DEADLINE_S
        while not is_so(status := self.status()):
            if time.monotonic() > until_s:
                raise TimeoutError(f"{status}\n{self.log}")
            time.sleep(0.1)
        return status

    def until_connected(self) -> dict[str, Any]:
        return self.until(lambda status: bool(status["connected"]))

    def until_settled(self) -> dict[str, Any]:
        """Wait until the agent is connected, has collected facts, and the server has acknowledged all records."""
        return self.until(
            lambda status: (
                status["connected"]
                and "facts" in status
                and status["spool"]["unsent"] + status["spool"]["unacknowledged"] == 0
            )
        )
