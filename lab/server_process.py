"""Starts and stops a `precast server` process, for tests and benchmarks."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PRECAST = str(Path(sys.executable).with_name("precast"))
DEADLINE_S = 60


class ServerProcess:
    """A server process that can be started and ended repeatedly. It logs to the file `log` of its data directory."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self.popen: subprocess.Popen[str] | None = None
        self.prefix: list[str] = []  # a command that runs the server, such as one that changes the user

    @property
    def log(self) -> str:
        return (self._data / "log").read_text()

    def is_running(self) -> bool:
        return self.popen is not None and self.popen.poll() is None

    def start(self, port: int, words: Sequence[str] = ()) -> int:
        """Start the server and wait until it serves. Returns its port, or the given one if it serves no API.

        Raises RuntimeError with the log if the server does not start.
        """
        # Without variables that would configure the server or its database.
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PRECAST_", "PG"))}
        with (self._data / "log").open("ab") as log:
            self.popen = subprocess.Popen(
                [*self.prefix, PRECAST, "server", "--data", str(self._data), "--listen", f"127.0.0.1:{port}", *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                text=True,
            )
        assert self.popen.stdout is not None
        line = self.popen.stdout.readline()
        if line.startswith("working as "):
            return port
        if not line.startswith("serving on https://"):
            raise RuntimeError(f"the server did not start: {line}{self.log}")
        return int(line.rsplit(":", 1)[1])

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, wait for the end, and return the exit code."""
        assert self.popen is not None, "the server was started"
        self.popen.send_signal(number)
        code = self.popen.wait(timeout=DEADLINE_S)
        assert self.popen.stdout is not None
        self.popen.stdout.close()
        self.popen = None
        return code
