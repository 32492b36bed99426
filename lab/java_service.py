"""A peer's service from a Debian package that runs on Java: started in a directory of its own, ready within minutes, removed at its end."""

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
    """Why there is none on this machine; None if there is."""
    if not jar.exists():
        return f"{package} is not installed (apt-get install {package})"
    if shutil.which("java") is None:
        return "java is not installed (apt-get install default-jre-headless)"
    return None


class JavaService(abc.ABC):
    """Started by `with`, which takes a minute or two; stopped and removed at its end. It listens on `port` of loopback."""

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
        """Lay out everything it needs in `place`; the command that starts it."""

    @abc.abstractmethod
    def is_ready(self) -> bool:
        """Whether it answers. What the connection raises means no."""

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
