"""`precast server` as a process of its own: the one way in which tests, benches and the demo start and end one."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PRECAST = str(Path(sys.executable).with_name("precast"))
DEADLINE_S = 60


class ServerProcess:
    """Started and ended as often as one likes. What it logs is in the file `log` of its data directory."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self.popen: subprocess.Popen[str] | None = None

    @property
    def log(self) -> str:
        return (self._data / "log").read_text()

    def is_running(self) -> bool:
        return self.popen is not None and self.popen.poll() is None

    def start(self, port: int, words: Sequence[str] = ()) -> int:
        """Wait until it serves; its port, the one that was given if it has no API. Raises RuntimeError with its log if it does not."""
        # Without what would steer it from outside.
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PRECAST_", "PG"))}
        with (self._data / "log").open("ab") as log:
            self.popen = subprocess.Popen(
                [PRECAST, "server", "--data", str(self._data), "--listen", f"127.0.0.1:{port}", *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=kept,
                text=True,
            )
        assert self.popen.stdout is not None
        line = self.popen.stdout.readline()
        if line.startswith("working as "):
            return port
        if not line.startswith("serving on https://127.0.0.1:"):
            raise RuntimeError(f"the server did not start: {line}{self.log}")
        return int(line.rsplit(":", 1)[1])

    def end(self, number: int = signal.SIGTERM) -> int:
        """Its exit code."""
        assert self.popen is not None, "it was started"
        self.popen.send_signal(number)
        code = self.popen.wait(timeout=DEADLINE_S)
        assert self.popen.stdout is not None
        self.popen.stdout.close()
        self.popen = None
        return code
