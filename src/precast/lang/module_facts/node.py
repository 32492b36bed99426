"""What facts of modules may ask of the node: its files, its commands, its accounts. The language itself does no input or output.

Reads are bounded, commands are counted and have deadlines, and nothing here writes. Methods raise OSError as the system does.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, Protocol

FileKind = Literal["file", "directory", "link", "characterSpecial", "blockSpecial", "fifo", "socket", "unknown"]


class FileStatus(NamedTuple):
    """What `stat` says about a file."""

    kind: FileKind
    mode: int
    uid: int
    gid: int
    size_bytes: int
    modified_ns: int
    changed_ns: int
    accessed_ns: int
    inode: int
    device: int


class CommandResult(NamedTuple):
    """How a command ended; `code` is negative for a signal."""

    out: str
    error: str
    code: int


class Account(NamedTuple):
    """An entry of the user database."""

    name: str
    uid: int
    gid: int
    comment: str
    home: str
    shell: str


class Group(NamedTuple):
    """An entry of the group database."""

    name: str
    gid: int
    members: tuple[str, ...]


class DeadlinePassed(BaseException):
    """The deadline of `Node.within` has passed. It is no exception of Ruby code, which must not rescue it."""


class LimitReached(Exception):
    """A limit of one collection is reached: the number of commands, or the size of what is read."""


class Node(Protocol):
    """The node as facts see it."""

    def read(self, path: str) -> str:
        """The text of a regular file. Raises OSError, and LimitReached if it is too large."""

    def status(self, path: str, *, follows: bool = True) -> FileStatus | None:
        """The status of a file; None if there is none or it cannot be reached."""

    def may(self, path: str, access: Literal["read", "write", "execute"]) -> bool:
        """Whether this process may use a file so."""

    def names(self, path: str) -> list[str]:
        """The sorted names in a directory."""

    def link_target(self, path: str) -> str: ...

    def real_path(self, path: str) -> str: ...

    def run(
        self,
        command: str | list[str],
        environment: Mapping[str, str],
        *,
        timeout_s: float | None = None,
        stdin: str = "",
    ) -> CommandResult:
        """Run a command, a text with `/bin/sh`. Raises OSError if it cannot start, TimeoutError past its deadline, LimitReached."""

    def environment(self) -> dict[str, str]:
        """The environment of this process."""

    def account(self, key: str | int) -> Account | None: ...

    def group(self, key: str | int) -> Group | None: ...

    def ids(self) -> tuple[int, int, int]:
        """The effective user and group of this process, and its number."""

    def hostname(self) -> str: ...

    def now_ns(self) -> int:
        """The time, in nanoseconds since 1970."""

    def elapsed_s(self) -> float:
        """The seconds since the collection of these facts began."""

    def sleep(self, seconds: float) -> None: ...

    def within(self, seconds: float, work: Callable[[], Any]) -> Any:
        """Run work with a deadline. Raises DeadlinePassed past it, or past an outer one, which then is raised again outside."""
