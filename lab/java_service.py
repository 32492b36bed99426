"""A peer's Java service from a Debian package, run in its own temporary directory. It is ready within minutes and removed at the end."""

import abc
import http.client
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from lab.postgres import die_with_parent
from lab.site import free_port

START_S = 300.0


def why_missing(jar: Path, package: str) -> str | None:
    """The reason why the package cannot run on this machine, or None if it can."""
    if not jar.exists():
        return f"{package} is not installed (apt-get install {package})"
    if shutil.which("java") is None:
        return "java is not installed (apt-get install default-jre-headless)"
    return None


class JavaService(abc.ABC):
    """A context manager: starts the service within a minute or two, stops and removes it at the end. It listens on `port` of loopback."""

    def __init__(self, name: str) -> None:
        self.port = free_port()
        self.place = Path(tempfile.mkdtemp(prefix=f"{name}-"))
        self._name = name
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self._start(self.prepare())
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    @abc.abstractmethod
    def prepare(self) -> Sequence[str]:
        """Write all files that the service needs to `place`, and return the command that starts it."""

    @abc.abstractmethod
    def is_ready(self) -> bool:
        """Whether the service answers. An exception of the connection means no."""

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def get(self, path: str) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path)
            return connection.getresponse().read()
        finally:
            connection.close()

    def remove(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait(60)
        shutil.rmtree(self.place, ignore_errors=True)

    def _start(self, command: Sequence[str]) -> None:
        with (self.place / "out").open("wb") as out:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=self.place,
                preexec_fn=partial(die_with_parent, signal.SIGKILL),
            )
        end_s = time.monotonic() + START_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > end_s:
                raise RuntimeError(f"{self._name} did not start: {(self.place / 'out').read_text()[-3000:]}")
            time.sleep(0.5)

    def _answers(self) -> bool:
        try:
            return self.is_ready()
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            return False
