"""Resolves managed paths without following untrusted links.

There are two dangers: below `--root` a link with an absolute target must stay below that root; and a run as root that writes in a directory
of another user must not follow a link of that user to a file that the user could not write. So every change is made relative to an open
directory, which is reached step by step. A link is trusted if root (or the user who runs us) owns it and its directory; any other link is
followed only if its target belongs to the owner of the link (or of its directory). The last component of a path is never followed.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from precast.base.errors import PrecastError
from precast.resources.contract import ManagedNode
from precast.resources.files import issues

_MAX_LINKS = 40  # the kernel's limit
_STEP = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def resolve(root: str, path: str, is_followed: bool = False) -> str:
    """The path to read below `root`; every link on the way (and at the end, if it is followed) stays inside the root.

    Raises InputError RESOURCE-110 if links form a cycle.
    """
    if not root:
        return path
    here: list[str] = []
    waiting = path.split("/")[::-1]
    links = 0
    while waiting:
        name = waiting.pop()
        if name in ("", "."):
            continue
        if name == "..":
            del here[-1:]
            continue
        here.append(name)
        if not waiting and not is_followed:
            break
        try:
            target = os.readlink("/".join((root, *here)))
        except OSError:
            continue  # not a link, or missing: the caller finds out when it reads
        links += 1
        if links > _MAX_LINKS:
            raise issues.TOO_MANY_LINKS.error(path=path)
        here = [] if target.startswith("/") else here[:-1]
        waiting += target.split("/")[::-1]
    return "/".join((root, *here))


@contextlib.contextmanager
def open_parent(root: str, path: str) -> Iterator[tuple[int, str]]:
    """The open parent directory of a path, and the path's last component, for use with `dir_fd`.

    Raises DeniedError RESOURCE-109 for an untrusted link, NotFoundError RESOURCE-111 if the directory does not exist.
    """
    directory, _, name = path.rpartition("/")
    descent = _Descent(root, path)
    try:
        descent.reach(directory)
        yield descent.fd, name or "."
    finally:
        descent.close()


class ParentCache:
    """Caches open parent directories from one written file to the next, because most files are written side by side.

    A cached directory was reached step by step; it is used again only if its path still leads to it. Safe for several threads.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._cached: list[tuple[str, _Descent]] = []

    @contextlib.contextmanager
    def opened(self, path: str) -> Iterator[tuple[int, str]]:
        """As `open_parent`."""
        directory, _, name = path.rpartition("/")
        descent = self._take(directory)
        if descent is None:
            descent = _Descent(self._root, path)
            try:
                descent.reach(directory)
            except BaseException:
                descent.close()
                raise
        try:
            yield descent.fd, name or "."
        except BaseException:
            descent.close()
            raise
        self._cached.append((directory, descent))

    def _take(self, directory: str) -> "_Descent | None":
        try:
            cached, descent = self._cached.pop()
        except IndexError:
            return None
        if cached == directory and descent.is_at(f"{self._root}{directory}" or "/"):
            return descent
        descent.close()
        return None

    def close(self) -> None:
        while self._cached:
            self._cached.pop()[1].close()


def parent_cache(node: ManagedNode) -> ParentCache:
    """The cache of open parent directories of this run."""

    def take() -> ParentCache:
        cache = ParentCache(node.root)
        node.at_end("parents", cache.close)
        return cache

    return node.snapshot("parents", take, lambda cache: True)


class LinkTarget(NamedTuple):
    """Where the links at the end of a path lead; `answerable` is the user who could have created an untrusted one."""

    path: str
    answerable: int | None

    def check(self, entry_stat: os.stat_result) -> None:
        """Raises DeniedError RESOURCE-109 if the target belongs to another user than the one who could have created the link."""
        if self.answerable not in (None, entry_stat.st_uid):
            raise issues.UNTRUSTED_LINK.error(
                path=self.path, link=self.path, uid=self.answerable, other=entry_stat.st_uid
            )


def follow_links(root: str, path: str) -> LinkTarget:
    """Follow the links at the end of a path. Raises InputError RESOURCE-110 if they form a cycle, and as `open_parent` does."""
    answerable: int | None = None
    for _ in range(_MAX_LINKS):
        with open_parent(root, path) as (directory, name):
            try:
                link = os.open(name, _STEP, dir_fd=directory)
            except FileNotFoundError:
                return LinkTarget(path, answerable)
            try:
                entry_stat = os.fstat(link)
                if not stat.S_ISLNK(entry_stat.st_mode):
                    return LinkTarget(path, answerable)
                target = os.readlink("", dir_fd=link)
                uids = (entry_stat.st_uid, os.fstat(directory).st_uid)
            finally:
                os.close(link)
        answerable = next((uid for uid in uids if uid not in (0, os.geteuid())), answerable)
        path = target if target.startswith("/") else f"{path.rpartition('/')[0]}/{target}"
    raise issues.TOO_MANY_LINKS.error(path=path)


class _Descent:
    """The open directories from the root down to the current one."""

    def __init__(self, root: str, path: str) -> None:
        self._path = path
        self._trusted = (0, os.geteuid())
        self._fds = [os.open(root or "/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)]
        self._owners = [os.fstat(self._fds[0]).st_uid]
        self._links = 0

    @property
    def fd(self) -> int:
        return self._fds[-1]

    def reach(self, directory: str) -> None:
        try:
            for name in directory.split("/"):
                self._step(name)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                raise issues.NO_PARENT.error(path=self._path, parent=directory or "/") from None
            raise

    def is_at(self, path: str) -> bool:
        """Whether a path leads to the current directory."""
        try:
            there, here = os.stat(path), os.fstat(self.fd)
        except OSError:
            return False
        return os.path.samestat(there, here)

    def _step(self, name: str) -> None:
        if name in ("", "."):
            return
        if name == "..":
            if len(self._fds) > 1:
                os.close(self._fds.pop())
                self._owners.pop()
            return
        fd = os.open(name, _STEP, dir_fd=self.fd)
        try:
            entry_stat = os.fstat(fd)
            if stat.S_ISLNK(entry_stat.st_mode):
                self._follow(name, os.readlink("", dir_fd=fd), entry_stat.st_uid)
                return
            if not stat.S_ISDIR(entry_stat.st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), self._path)
            self._fds.append(fd)
            self._owners.append(entry_stat.st_uid)
            fd = -1
        finally:
            if fd >= 0:
                os.close(fd)

    def _follow(self, link: str, target: str, owner: int) -> None:
        self._links += 1
        if self._links > _MAX_LINKS:
            raise issues.TOO_MANY_LINKS.error(path=self._path)
        answerable = next((uid for uid in (owner, self._owners[-1]) if uid not in self._trusted), None)
        if target.startswith("/"):
            for fd in self._fds[1:]:
                os.close(fd)
            del self._fds[1:], self._owners[1:]
        for name in target.split("/"):
            self._step(name)
        if answerable is not None and self._owners[-1] != answerable:
            raise issues.UNTRUSTED_LINK.error(path=self._path, link=link, uid=answerable, other=self._owners[-1])

    def close(self) -> None:
        for fd in self._fds:
            os.close(fd)


def flush_later(node: ManagedNode, path: str) -> None:
    """Flush the directory of a changed file to the disk before the run is recorded.

    Flushing it after each file would double the cost of writing, without a benefit: a crash of the machine undoes a whole change, which the
    next run makes again.
    """
    node.at_end(("directory", path.rpartition("/")[0]), lambda: _flush(node.root, path))


def _flush(root: str, path: str) -> None:
    try:
        with open_parent(root, path) as (directory, _):
            fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
    except (PermissionError, PrecastError):
        return  # removed meanwhile, or unreadable: the system flushes it later
