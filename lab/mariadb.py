"""A private MariaDB server of Debian's package mariadb-server-core, in a temporary directory, on a Unix socket. It dies with its parent."""

import functools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from lab.postgres import DISK, MEMORY, die_with_parent

PROGRAMS = ("mariadbd", "mariadb-install-db", "mysql")


def is_installed() -> bool:
    return all(_find(name) for name in PROGRAMS)


class MariadbServer:
    """A context manager: starts the server, stops and removes it at the end. Its root user has no password."""

    def __init__(self) -> None:
        parent = MEMORY if os.access(MEMORY, os.W_OK) else DISK
        self.directory = Path(tempfile.mkdtemp(prefix="maria-", dir=parent))
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    @property
    def socket(self) -> Path:
        return self.directory / "socket"

    def run(self, sql: str) -> str:
        """Run SQL as root, and return the rows as text."""
        words = [_find("mysql"), "--no-defaults", f"--socket={self.socket}", "-u", "root", "-NBe", sql]
        done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        return done.stdout

    def remove(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(60)
        shutil.rmtree(self.directory, ignore_errors=True)

    def _start(self) -> None:
        user = f"--user={'root' if os.geteuid() == 0 else os.environ.get('USER', '')}"
        options = ["--no-defaults", f"--datadir={self.directory / 'data'}", user]
        made = subprocess.run(
            [
                *(_find("mariadb-install-db"), *options, "--auth-root-authentication-method=normal"),
                *("--skip-test-db", "--skip-name-resolve", "--innodb-log-file-size=4M"),
            ],
            capture_output=True,
            text=True,
        )
        if made.returncode:
            raise RuntimeError(f"mariadb-install-db failed: {made.stdout[-1000:]} {made.stderr[-1000:]}")
        log = self.directory / "log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [
                    *(
                        _find("mariadbd"),
                        *options,
                        f"--socket={self.socket}",
                        "--skip-networking",
                        "--skip-name-resolve",
                    ),
                    f"--pid-file={self.directory / 'pid'}",
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                preexec_fn=functools.partial(die_with_parent, signal.SIGKILL),
                start_new_session=True,
            )
        self._wait(log)

    def _wait(self, log: Path, deadline_s: float = 60) -> None:
        assert self._process is not None
        end_s = time.monotonic() + deadline_s
        while True:
            try:
                self.run("SELECT 1")
                return
            except RuntimeError:
                if self._process.poll() is not None or time.monotonic() > end_s:
                    raise RuntimeError(f"MariaDB did not start: {log.read_text()[-2000:]}") from None
                time.sleep(0.05)


def _find(name: str) -> str:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") or ""
