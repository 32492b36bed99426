"""Reaches managed paths without following untrusted links.

There are two dangers: below `--root` a link with an absolute target must stay below that root; and a run as root that works in a directory
of another user must not follow a link of that user to a file that the user could not read or write. So everything is read and changed
relative to an open directory, which is reached step by step. A link is trusted if root (or the user who runs us) owns it and its directory;
any other link is followed only if its target belongs to the owner of the link (or of its directory). The last component of a path is
followed only if the caller asks for it, by the same rule.
"""

import errno
import os
import stat
from typing import NamedTuple

from precast.base.errors import PrecastError
from precast.resources.contract import ManagedNode
from precast.resources.files import issues

_MAX_LINKS = 40  # the kernel's limit
_MAX_CACHED = 128  # open directories of a run
_STEP = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def resolve(root: str, path: str) -> str:
    """The path of a device or a program of the system below `root`, with all links resolved inside the root. Nothing is opened or trusted.

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


def open_parent(root: str, path: str) -> "OpenParent":
    """The open parent directory of a path, and the path's last component, for use with `dir_fd`; it is not cached.

    Raises DeniedError RESOURCE-109 for an untrusted link, NotFoundError RESOURCE-111 if the directory does not exist.
    """
    return ParentCache(root, max_cached=0).opened(path)


class OpenParent:
    """An open directory and the name of an entry in it, for the time of a `with` block."""

    __slots__ = ("_descent", "directory", "name")

    def __init__(self, directory: int, name: str, descent: "_Descent | None") -> None:
        self.directory = directory
        self.name = name
        self._descent = descent  # closed at the end of the block; None if the directory stays open

    def __enter__(self) -> tuple[int, str]:
        return self.directory, self.name

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._descent is not None:
            self._descent.close()


class ParentCache:
    """Caches open parent directories of one root, because most managed files are side by side.

    A cached directory was reached step by step; it is used again only if its path still leads to it. Safe for several threads: a directory
    that was cached stays open until the end, because another thread may be using it.
    """

    def __init__(self, root: str, max_cached: int = _MAX_CACHED) -> None:
        self.root = root
        self._max_cached = max_cached
        self._current: dict[str, _Descent] = {}
        self._open: list[_Descent] = []

    def opened(self, path: str) -> OpenParent:
        """As `open_parent`."""
        directory, _, name = path.rpartition("/")
        if name == "..":
            directory, name = path, "."
        cached = self._current.get(directory)
        if cached is not None and cached.is_at(f"{self.root}{directory}" or "/"):
            return OpenParent(cached.fd, name or ".", None)
        descent = _Descent(self.root, path)
        try:
            descent.reach(directory)
        except BaseException:
            descent.close()
            raise
        if len(self._open) >= self._max_cached:
            return OpenParent(descent.fd, name or ".", descent)
        descent.close_above()
        self._open.append(descent)
        self._current[directory] = descent
        return OpenParent(descent.fd, name or ".", None)

    def close(self) -> None:
        """Close all directories. A closed cache still works, but caches nothing."""
        self._max_cached = 0
        self._current.clear()
        while self._open:
            self._open.pop().close()

    __del__ = close  # not every machine is used for a whole run


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


def follow_links(parents: ParentCache, path: str) -> LinkTarget:
    """Follow the links at the end of a path. Raises InputError RESOURCE-110 if they form a cycle, and as `open_parent` does."""
    answerable: int | None = None
    for _ in range(_MAX_LINKS):
        with parents.opened(path) as (directory, name):
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
        self._identity: tuple[int, int] | None = None

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

    def close_above(self) -> None:
        """Close the directories above the current one, which are not needed once it is reached."""
        for fd in self._fds[:-1]:
            os.close(fd)
        del self._fds[:-1], self._owners[:-1]
        status = os.fstat(self.fd)
        self._identity = (status.st_dev, status.st_ino)

    def is_at(self, path: str) -> bool:
        """Whether a path leads to the current directory."""
        try:
            status = os.stat(path)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity

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
