"""A real server with an authority of its own, on a loopback port, and machines that are its nodes."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from precast.agent.enrolment import Identity

PRECAST = str(Path(sys.executable).with_name("precast"))


class Site:
    """Made by `with`; the server runs until its end, and can be killed and started again on the same port."""

    def __init__(self, directory: Path, database: str | None = None) -> None:
        self.directory = directory
        self.database_words = ["--database", database] if database else []
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[str] | None = None
        self._made: dict[str, str] = {}

    def __enter__(self) -> Self:
        self._made = self.run("server", "init", "--data", str(self.directory), *self.database_words)
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self.is_running():
            self.stop()

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def environment(self) -> dict[str, str]:
        """What a client of this server needs."""
        return {
            **os.environ,
            "PRECAST_URL": self.url,
            "PRECAST_CA": self._made.get("authority", ""),
            "PRECAST_TOKEN": self._made.get("token", ""),
        }

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server was started"
        return self._process.pid

    def run(self, *args: str) -> Any:
        """What a `precast` command answers with --json."""
        done = subprocess.run(
            [PRECAST, *args, "--json"], env=self.environment, capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)

    def start(self) -> None:
        command = [
            PRECAST,
            "server",
            "--data",
            str(self.directory),
            *self.database_words,
            "--listen",
            f"127.0.0.1:{self.port}",
        ]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.startswith("serving on "):
            raise RuntimeError("the server did not start")

    def twin(self) -> "Site":
        """Another server of the same site on the same database; not started yet."""
        other = Site(self.directory)
        other.database_words, other._made = self.database_words, self._made
        return other

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def enrol(self, name: str) -> Identity:
        token = self.run("token", "enrol", name)["token"]
        identity = Identity(self.directory / "nodes" / name)
        identity.enrol(self.url, token, name)
        return identity

    def _end(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait(60)
        assert self._process.stdout is not None
        self._process.stdout.close()


def free_port() -> int:
    """A port of loopback that nobody uses at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
