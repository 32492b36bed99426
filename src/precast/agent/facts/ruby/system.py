"""The node as facts of modules see it (`lang.module_facts.node.Node`): bounded reads, counted commands, deadlines by an alarm.

It is used in the main thread of a process of its own: a deadline interrupts whatever runs there, also a regular expression.
"""

import errno
import grp
import os
import pwd
import signal
import socket
import stat
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, Final, Literal

from precast.base import programs
from precast.lang.module_facts.node import (
    Account,
    CommandResult,
    DeadlinePassed,
    FileKind,
    FileStatus,
    Group,
    LimitReached,
)

MAX_COMMANDS: Final = 500
MAX_OUTPUT_BYTES: Final = 4_000_000
MAX_FILE_BYTES: Final = 8_000_000
# Of all files together: a fact that reads the same file in a loop ends here.
MAX_READ_BYTES: Final = 200_000_000
_SHELL: Final = "/bin/sh"
_ACCESS: Final = {"read": os.R_OK, "write": os.W_OK, "execute": os.X_OK}
_MIN_ALARM_S: Final = 0.001


class NodeSystem:
    """Reads this machine. Nothing here writes."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()
        self._commands = 0
        self._read_bytes = 0
        self._deadlines: list[float] = []
        signal.signal(signal.SIGALRM, self._interrupt)

    # Files

    def read(self, path: str) -> str:
        # Not blocking: a pipe or a device is refused, never waited for.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            mode = os.fstat(handle).st_mode
            if not stat.S_ISREG(mode):
                number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
                raise OSError(number, os.strerror(number), path)
            data = file.read(MAX_FILE_BYTES + 1)
        self._read_bytes += len(data)
        if len(data) > MAX_FILE_BYTES:
            raise LimitReached(f"a file of more than {MAX_FILE_BYTES} bytes ({path})")
        if self._read_bytes > MAX_READ_BYTES:
            raise LimitReached(f"more than {MAX_READ_BYTES} bytes of files in one collection")
        return data.decode("utf-8", "replace")

    def status(self, path: str, *, follows: bool = True) -> FileStatus | None:
        try:
            found = Path(path).stat(follow_symlinks=follows)
        except (OSError, ValueError):
            return None
        return FileStatus(
            _kind(found.st_mode), found.st_mode, found.st_uid, found.st_gid, found.st_size, found.st_mtime_ns, found.st_ctime_ns,
            found.st_atime_ns, found.st_ino, found.st_dev,
        )  # fmt: skip

    def may(self, path: str, access: Literal["read", "write", "execute"]) -> bool:
        try:
            return os.access(path, _ACCESS[access], effective_ids=True)
        except (OSError, ValueError):
            return False

    def names(self, path: str) -> list[str]:
        names = (os.fsencode(entry.name) for entry in Path(path).iterdir())
        return sorted(name.decode("utf-8", "replace") for name in names)

    def link_target(self, path: str) -> str:
        return os.fsencode(Path(path).readlink()).decode("utf-8", "replace")

    def real_path(self, path: str) -> str:
        return os.path.realpath(path, strict=True)

    # Commands

    def run(
        self,
        command: str | list[str],
        environment: Mapping[str, str],
        *,
        timeout_s: float | None = None,
        stdin: str = "",
    ) -> CommandResult:
        self._commands += 1
        if self._commands > MAX_COMMANDS:
            raise LimitReached(f"more than {MAX_COMMANDS} commands in one collection")
        argv = [_SHELL, "-c", command] if isinstance(command, str) else command
        # The command stays in the group of this process, which the collector ends as a whole.
        options = programs.StartOptions(environment=environment, stdin=stdin.encode(), joins_group=True)
        result = programs.run(argv, timeout_s, MAX_OUTPUT_BYTES, options)
        if len(result.out) > MAX_OUTPUT_BYTES:
            raise LimitReached(f"a command that prints more than {MAX_OUTPUT_BYTES} bytes")
        return CommandResult(
            result.out.decode("utf-8", "replace"), result.error.decode("utf-8", "replace"), result.code
        )

    def environment(self) -> dict[str, str]:
        return dict(programs.ENVIRONMENT)

    # Accounts and the process

    def account(self, key: str | int) -> Account | None:
        try:
            entry = pwd.getpwnam(key) if isinstance(key, str) else pwd.getpwuid(key)
        except (KeyError, OverflowError):
            return None
        return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, entry.pw_gecos, entry.pw_dir, entry.pw_shell)

    def group(self, key: str | int) -> Group | None:
        try:
            entry = grp.getgrnam(key) if isinstance(key, str) else grp.getgrgid(key)
        except (KeyError, OverflowError):
            return None
        return Group(entry.gr_name, entry.gr_gid, tuple(entry.gr_mem))

    def ids(self) -> tuple[int, int, int]:
        return os.geteuid(), os.getegid(), os.getpid()

    def hostname(self) -> str:
        return socket.gethostname()

    # Time

    def now_ns(self) -> int:
        return time.time_ns()

    def elapsed_s(self) -> float:
        return time.monotonic() - self._began_s

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))

    def within(self, seconds: float, work: Callable[[], Any]) -> Any:
        self._deadlines.append(time.monotonic() + seconds)
        self._set_alarm()
        try:
            return work()
        finally:
            self._deadlines.pop()
            self._set_alarm()

    def _set_alarm(self) -> None:
        """Set the alarm for the earliest deadline; one that has passed meanwhile rings at once."""
        left_s = max(_MIN_ALARM_S, min(self._deadlines) - time.monotonic()) if self._deadlines else 0.0
        signal.setitimer(signal.ITIMER_REAL, left_s)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._deadlines and min(self._deadlines) <= time.monotonic():
            raise DeadlinePassed
        self._set_alarm()


def _kind(mode: int) -> FileKind:
    kinds: dict[int, FileKind] = {
        stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link", stat.S_IFCHR: "characterSpecial",
        stat.S_IFBLK: "blockSpecial", stat.S_IFIFO: "fifo", stat.S_IFSOCK: "socket",
    }  # fmt: skip
    return kinds.get(stat.S_IFMT(mode), "unknown")
