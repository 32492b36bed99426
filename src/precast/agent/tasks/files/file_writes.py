"""Writes the files of tasks: atomically, by the safe walk of managed files, and only if they differ.

A link at the end of a path is followed if it may be (see `resources.files.safe_paths`). A new file belongs to root. An existing one keeps
its owner, and its mode unless another is given, but only where root alone can have put it: in a directory that other users can write, a
file of theirs could be waiting for what root writes.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from precast.agent.tasks.files import issues
from precast.base import digests
from precast.base.errors import DeniedError
from precast.resources.files import atomic_writes, modes, safe_reads
from precast.resources.files.checksums import PIECE_BYTES
from precast.resources.files.safe_paths import LinkTarget, ParentCache

FILE_MODE, DIRECTORY_MODE = 0o644, 0o755


class NewContent(NamedTuple):
    """What a file shall contain. `open` is called only if the file differs, and its result is closed."""

    digest: str
    size: int
    open: Callable[[], BinaryIO]


class FileModes(NamedTuple):
    """The modes as the plan has them, in octal or as chmod takes them; empty for the default. `directory` is that of a new directory."""

    file: str
    directory: str


class WrittenFile(NamedTuple):
    """What was done."""

    change: Literal["created", "written", "unchanged"]
    path: str
    size: int
    mode: int

    def __str__(self) -> str:
        shown = f"{self.path}: {self.change}"
        return shown if self.change == "unchanged" else f"{shown}, {self.size} bytes, mode {self.mode:04o}"


class _Form(NamedTuple):
    """Mode and owner that a file shall have; -1 is the default owner."""

    mode: int
    uid: int
    gid: int

    def fits(self, status: os.stat_result) -> bool:
        owner = (os.geteuid() if self.uid == -1 else self.uid, status.st_gid if self.gid == -1 else self.gid)
        return stat.S_IMODE(status.st_mode) == self.mode and (status.st_uid, status.st_gid) == owner


def write_file(root: Path, path: str, content: NewContent, wanted: FileModes) -> WrittenFile:
    """Let a file have this content and mode. After an error, or if the process is killed, the file is as it was before.

    Raises InputError AGENT-057 and RESOURCE-100 for an invalid path or mode, ConflictError AGENT-058 for a directory, AGENT-052,
    DeniedError RESOURCE-109 and AGENT-059 for an untrusted link, UnavailableError AGENT-056 if the file cannot be written.
    """
    if not path.startswith("/") or path.endswith("/") or not path.isprintable():
        raise issues.BAD_TARGET.error(path=repr(path[:200]), reason="it is not an absolute path")
    parents = safe_reads.root_parents(str(root))
    directory_mode = modes.parse(wanted.directory).bits(DIRECTORY_MODE, True) if wanted.directory else DIRECTORY_MODE
    if wanted.file:
        modes.parse(wanted.file)
    try:
        atomic_writes.make_directories(parents, path.rpartition("/")[0], directory_mode)
        return _write(parents, path, content, wanted)
    except OSError as error:
        raise issues.CANNOT_WRITE.error(path=path, reason=error.strerror or error) from None


def _write(parents: ParentCache, path: str, content: NewContent, wanted: FileModes) -> WrittenFile:
    with safe_reads.find_entry(parents, path, is_followed=True) as (directory, name, there):
        present = _find_present(directory, name, path, there)
        form = _choose_form(parents, there.path, present, wanted)
        if present is not None and form.fits(present) and _has_content(directory, name, path, present, content):
            return WrittenFile("unchanged", path, content.size, form.mode)
        with content.open() as file:
            atomic_writes.write(directory, name, file, mode=form.mode, uid=form.uid, gid=form.gid)
        _flush(directory)
        return WrittenFile("created" if present is None else "written", path, content.size, form.mode)


def _find_present(directory: int, name: str, path: str, there: LinkTarget) -> os.stat_result | None:
    """The status of the file that is there; None if there is none."""
    try:
        present = os.lstat(name, dir_fd=directory)
    except FileNotFoundError:
        if there.answerable is not None:
            raise issues.LOST_LINK.error(path=path, uid=there.answerable) from None
        return None
    there.check(present)
    if stat.S_ISDIR(present.st_mode):
        raise issues.TARGET_IS_DIRECTORY.error(path=path)
    if not stat.S_ISREG(present.st_mode):
        raise issues.NOT_REGULAR.error(path=path)
    return present


def _choose_form(parents: ParentCache, path: str, present: os.stat_result | None, wanted: FileModes) -> _Form:
    mode, uid, gid = FILE_MODE, -1, -1
    if present is not None and _is_of_root_alone(parents, path.rpartition("/")[0]):
        mode, uid, gid = stat.S_IMODE(present.st_mode), present.st_uid, present.st_gid
    return _Form(modes.parse(wanted.file).bits(mode, False) if wanted.file else mode, uid, gid)


def _is_of_root_alone(parents: ParentCache, directory: str) -> bool:
    """Whether no other user can create files in a directory, or replace it."""
    status = safe_reads.find_status(parents, directory or "/", is_followed=True)
    if status is None or safe_reads.is_writable_by_others(status):
        return False
    return safe_reads.find_distrust(parents, directory) is None


def _has_content(directory: int, name: str, path: str, present: os.stat_result, content: NewContent) -> bool:
    if present.st_size != content.size:
        return False
    try:
        handle, status = safe_reads.open_at(directory, name, path, present)
    except DeniedError:  # another user may have linked it here: it is replaced
        return False
    with os.fdopen(handle, "rb") as file:
        found = digests.of_chunks(iter(lambda: file.read(PIECE_BYTES), b""))
        return found == content.digest and os.path.samestat(status, present)


def _flush(directory: int) -> None:
    """Flush the names in an open directory to the disk."""
    handle = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
