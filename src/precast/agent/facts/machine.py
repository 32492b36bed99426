"""The machine that facts are about: its files under a root, and its kernel.

Every path is below the root, and links are followed inside it as the machine itself would: `/etc/localtime` of an image leads to the
image's zone, never to ours. Files are read up to a limit and only if they are regular, so that no pipe or device can block the
collection; the result is None if a file cannot be read. Under a root other than / the running kernel is not asked, because it is the
kernel of another machine.
"""

import os
import stat
from pathlib import Path
from typing import Any, NamedTuple, Protocol

# /proc/cpuinfo of 512 processors has about 1 MB.
MAX_FILE_BYTES = 4_000_000
MAX_LINKS = 40

Facts = dict[str, Any]


class Link(NamedTuple):
    """A network interface."""

    number: int
    name: str
    mac: str
    mtu: int | None
    master: int = 0


class Address(NamedTuple):
    """An address of an interface. `label` is its name, or that of an alias such as eth0:1; `flags` are the kernel's IFA_F_."""

    label: str
    address: str
    prefix: int
    flags: int = 0


class Usage(NamedTuple):
    """The space of a mounted file system."""

    size_bytes: int
    free_bytes: int
    available_bytes: int


class Account(NamedTuple):
    """The account that this process runs as. Names are None if they are unknown."""

    uid: int
    gid: int
    user: str | None
    group: str | None


class Kernel(Protocol):
    """What cannot be read from files. Every method may return None for unknown."""

    def hardware(self) -> str | None: ...
    def links(self) -> list[Link] | None: ...
    def addresses(self) -> list[Address] | None: ...
    def usage(self, path: str, filesystem: str) -> Usage | None: ...
    def account(self) -> Account | None: ...
    def variable(self, name: str) -> str | None: ...


class NoKernel:
    """The kernel of an image or a mounted disk, which does not run: everything is unknown."""

    def hardware(self) -> str | None:
        return None

    def links(self) -> list[Link] | None:
        return None

    def addresses(self) -> list[Address] | None:
        return None

    def usage(self, path: str, filesystem: str) -> Usage | None:
        return None

    def account(self) -> Account | None:
        return None

    def variable(self, name: str) -> str | None:
        return None


class Machine:
    """Files under a root, and a kernel."""

    def __init__(self, root: Path, kernel: Kernel) -> None:
        self.root = root
        self.kernel = kernel
        self._prefix = "" if root == Path("/") else os.path.realpath(root)

    @property
    def is_running(self) -> bool:
        """Whether this is the machine that this process runs on."""
        return not self._prefix

    def resolve(self, path: str) -> str:
        """Resolve a path of the machine to a path for a system call. Raises OSError for a loop of links."""
        if not self._prefix:
            return path
        parts, done, links = path.split("/")[::-1], "", 0
        while parts:
            part = parts.pop()
            if part in ("", "."):
                continue
            if part == "..":
                done = done.rpartition("/")[0]
                continue
            try:
                target = os.readlink(f"{self._prefix}{done}/{part}")  # noqa: PTH115 - Path costs more than the call
            except OSError:
                done = f"{done}/{part}"
                continue
            links += 1
            if links > MAX_LINKS:
                raise OSError(f"too many links in {path}")
            done = "" if target.startswith("/") else done
            parts += target.split("/")[::-1]
        return self._prefix + (done or "/")

    def read_bytes(self, path: str, limit: int = MAX_FILE_BYTES) -> bytes | None:
        """Read a regular file up to a limit; None if it cannot be read."""
        try:
            handle = os.open(self.resolve(path), os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except (OSError, ValueError):
            return None
        try:
            return read_up_to(handle, limit) if stat.S_ISREG(os.fstat(handle).st_mode) else None
        except OSError:
            return None
        finally:
            os.close(handle)

    def read_text(self, path: str) -> str | None:
        """Read a file as text; bytes that are not UTF-8 become U+FFFD."""
        data = self.read_bytes(path)
        return None if data is None else data.decode("utf-8", errors="replace")

    def read_line(self, path: str) -> str | None:
        """Read a file with one value, without white space around it; None if it is empty."""
        return (self.read_text(path) or "").strip("\0 \t\r\n") or None

    def read_number(self, path: str) -> int | None:
        return parse_number(self.read_line(path) or "")

    def names_in(self, path: str) -> list[str]:
        """List the names in a directory, sorted; empty if there is no such directory."""
        try:
            return sorted(entry.name for entry in Path(self.resolve(path)).iterdir() if entry.name.isprintable())
        except (OSError, ValueError):
            return []

    def exists(self, path: str) -> bool:
        try:
            return Path(self.resolve(path)).exists()
        except (OSError, ValueError):
            return False


def read_up_to(handle: int, limit: int) -> bytes:
    """Read an open file up to a limit, in several reads, because files in /proc return their content in pieces."""
    pieces, left = [], limit
    while left > 0 and (piece := os.read(handle, left)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def parse_number(text: str) -> int | None:
    """Parse a decimal number as the kernel writes it; None for any other text, and for a number beyond 64 bits."""
    text = text.strip()
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 20 else None


def present(**values: Any) -> Facts:
    """Drop the values that are unknown. An unknown fact has no key: null would say that it is known to be nothing."""
    return {name: value for name, value in values.items() if value is not None}
