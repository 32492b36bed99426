"""Lists what is below a managed directory, relative to open directories: the owner of one may replace it by a link at any time."""

import os
import stat
from collections.abc import Sequence
from typing import Final

from precast.base.errors import DeniedError, InputError
from precast.resources.files import issues, safe_reads
from precast.resources.files.safe_paths import ParentCache

MAX_LEVELS: Final = 128  # each level keeps a directory open
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Entries = list[tuple[str, os.stat_result]]


def is_ignored(name: str, patterns: Sequence[str]) -> bool:
    """Whether a name matches one of the shell patterns. A name that begins with a dot matches only patterns that do."""
    if not patterns:
        return False
    import fnmatch

    return any(
        fnmatch.fnmatchcase(name, pattern) and (not name.startswith(".") or pattern.startswith("."))
        for pattern in patterns
    )


def list_below(parents: ParentCache, top: str, ignored: Sequence[str], limit: int | None, is_followed: bool) -> Entries:
    """All entries below a directory by relative path, in order; a link to a directory is entered only if links are followed.

    Raises DeniedError RESOURCE-109 if the directory is behind an untrusted link, InputError RESOURCE-115 or RESOURCE-128 if it has too many
    entries or levels. An untrusted link below the directory is listed as a link.
    """
    lister = _Lister(parents, top, ignored, is_followed)
    with safe_reads.find_entry(parents, top, is_followed) as (directory, name, there):
        handle = os.open(name, _LIST, dir_fd=directory)
        try:
            there.check(os.fstat(handle))
            lister.list_into(handle, "", limit, frozenset())
        finally:
            os.close(handle)
    return lister.entries


class _Lister:
    def __init__(self, parents: ParentCache, top: str, ignored: Sequence[str], is_followed: bool) -> None:
        self._parents = parents
        self._top = top
        self._ignored = ignored
        self._is_followed = is_followed
        self.entries: Entries = []

    def list_into(self, directory: int, prefix: str, limit: int | None, above: frozenset[tuple[int, int]]) -> None:
        if limit is not None and limit <= 0:
            return
        if len(above) > MAX_LEVELS:
            raise issues.TOO_DEEP.error(path=self._top, limit=MAX_LEVELS)
        for name in safe_reads.list_handle(directory, self._top):
            if is_ignored(name, self._ignored):
                continue
            path = f"{prefix}/{name}" if prefix else name
            status = self._find_status(directory, name, path)
            if status is None:
                continue  # removed meanwhile, or a dangling link
            self.entries.append((path, status))
            if len(self.entries) > safe_reads.MAX_ENTRIES:
                raise issues.TOO_MANY_FILES.error(path=self._top, count=len(self.entries), limit=safe_reads.MAX_ENTRIES)
            identity = (status.st_dev, status.st_ino)
            if stat.S_ISDIR(status.st_mode) and identity not in above:
                self._enter(directory, name, path, None if limit is None else limit - 1, above | {identity})

    def _find_status(self, directory: int, name: str, path: str) -> os.stat_result | None:
        try:
            status = os.lstat(name, dir_fd=directory)
            if self._is_followed and stat.S_ISLNK(status.st_mode):
                return safe_reads.find_status(self._parents, f"{self._top}/{path}", is_followed=True)
        except (DeniedError, InputError):
            return status  # the resource of this entry reports the error
        except OSError:
            return None
        return status

    def _enter(
        self, directory: int, name: str, path: str, limit: int | None, above: frozenset[tuple[int, int]]
    ) -> None:
        try:
            handle = self._open_followed(path) if self._is_followed else os.open(name, _LIST, dir_fd=directory)
        except OSError:
            return  # replaced meanwhile: no longer a directory
        try:
            self.list_into(handle, path, limit, above)
        finally:
            os.close(handle)

    def _open_followed(self, path: str) -> int:
        with safe_reads.find_entry(self._parents, f"{self._top}/{path}", is_followed=True) as (parent, name, there):
            handle = os.open(name, _LIST, dir_fd=parent)
            try:
                there.check(os.fstat(handle))
            except BaseException:
                os.close(handle)
                raise
            return handle
