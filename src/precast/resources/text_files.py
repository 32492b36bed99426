"""System files with a syntax of their own, read and written as text.

Only the lines of a managed entry change; all others keep their bytes. Writing is atomic: a new file replaces the old one and gets its
owner and mode. Where it cannot be replaced (a container mounts /etc/hosts as a file) it is written in place.
"""

import os
from collections.abc import Sequence
from typing import NamedTuple

from precast.resources import issues_system
from precast.resources.contract import ManagedNode
from precast.resources.files import small_files
from precast.resources.files.safe_reads import FileContent


class TextFile(NamedTuple):
    """A file as it was read; `found` is None if it does not exist."""

    path: str
    lines: list[str]
    found: FileContent | None

    def write(self, node: ManagedNode, lines: list[str], mode: int = 0o644, owner: tuple[int, int] = (0, 0)) -> None:
        """Replace the file; mode and owner (as uid and gid) apply only to a new file. Raises OSError and as `small_files` does."""
        small_files.replace_content(node, self.path, encode_lines(lines), self.found, mode, as_owner(owner))


def read_lines(node: ManagedNode, path: str) -> TextFile:
    """Read a file; it has no lines if it does not exist. Bytes that are not UTF-8 survive a later write.

    Raises UnavailableError RESOURCE-153, and as `safe_reads` does.
    """
    try:
        found = small_files.read_content(node, path)
    except OSError as error:
        raise issues_system.UNREADABLE.error(path=path, reason=error.strerror) from None
    text = "" if found is None else found.data.decode(errors="surrogateescape")
    lines = text.split("\n")
    return TextFile(path, lines[:-1] if lines[-1] == "" else lines, found)


def replace_entry(lines: list[str], ours: Sequence[int], line: str | None) -> list[str]:
    """The lines with one entry written anew, at its last place or at the end; without a line, the entry is removed.

    `ours` are the places that the entry has now: of several lines with one name, programs use the last.
    """
    if line is None:
        return [other for at, other in enumerate(lines) if at not in ours]
    if not ours:
        return [*lines, line]
    return [line if at == ours[-1] else other for at, other in enumerate(lines)]


def read_text(node: ManagedNode, path: str) -> str:
    """The file's text, empty if the file does not exist."""
    found = read_lines(node, path).found
    return "" if found is None else found.data.decode(errors="surrogateescape")


def encode_lines(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode(errors="surrogateescape")


def as_owner(owner: tuple[int, int]) -> tuple[int, int]:
    """The owner of a new file; without root it is the current user."""
    return owner if os.geteuid() == 0 else (-1, -1)
