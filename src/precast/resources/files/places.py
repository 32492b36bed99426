"""Where a managed path leads, without being led astray.

Two dangers: below `--root` a link with an absolute target must stay below that root; and a run as root that writes in a directory of
somebody else's must not follow a link of theirs to a place they could not write to themselves. So every change is made relative to an
open directory, reached step by step. A link is followed freely if root (or who runs us) owns it and the directory it lies in;
any other only if what it leads to belongs to whom the link (or its directory) belongs. The last name of a path is never followed.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from precast.base.errors import PrecastError
from precast.resources.contract import Node
from precast.resources.files import issues

_MAX_LINKS = 40  # as the kernel has it
_STEP = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def inside(root: str, path: str, is_followed: bool = False) -> str:
    """The path to read: below `root`, with every link on the way (and at its end, if it is followed) kept inside.

    Raises InputError RESOURCE-110 if links go in circles.
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
            continue  # no link, or nothing: who reads it will see
        links += 1
        if links > _MAX_LINKS:
            raise issues.TOO_MANY_LINKS.error(path=path)
        here = [] if target.startswith("/") else here[:-1]
        waiting += target.split("/")[::-1]
    return "/".join((root, *here))


@contextlib.contextmanager
def parent(root: str, path: str) -> Iterator[tuple[int, str]]:
    """The open directory that holds a path, and the path's last name; to be used with `dir_fd`.

    Raises DeniedError RESOURCE-109 for a link that is not to be trusted, NotFoundError RESOURCE-111 if there is no such directory.
    """
    directory, _, name = path.rpartition("/")
    walk = _Walk(root, path)
    try:
        walk.reach(directory)
        yield walk.fd, name or "."
    finally:
        walk.close()


class Parents:
    """Open directories that hold what is written, kept from one file to the next: most lie beside each other.

    One that is kept was reached step by step; it is used again only if its path still leads to it. Safe for several threads.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._kept: list[tuple[str, _Walk]] = []

    @contextlib.contextmanager
    def holding(self, path: str) -> Iterator[tuple[int, str]]:
        """As `parent`."""
        directory, _, name = path.rpartition("/")
        walk = self._take(directory)
        if walk is None:
            walk = _Walk(self._root, path)
            try:
                walk.reach(directory)
            except BaseException:
                walk.close()
                raise
        try:
            yield walk.fd, name or "."
        except BaseException:
            walk.close()
            raise
        self._kept.append((directory, walk))

    def _take(self, directory: str) -> "_Walk | None":
        try:
            kept, walk = self._kept.pop()
        except IndexError:
            return None
        if kept == directory and walk.is_at(f"{self._root}{directory}" or "/"):
            return walk
        walk.close()
        return None

    def close(self) -> None:
        while self._kept:
            self._kept.pop()[1].close()


def parents(node: Node) -> Parents:
    """Those of this run."""

    def take() -> Parents:
        made = Parents(node.root)
        node.at_end("parents", made.close)
        return made

    return node.snapshot("parents", take, lambda kept: True)


class End(NamedTuple):
    """Where the links at the end of a path lead; `answerable` is who could have laid one, if it is not to be trusted."""

    path: str
    answerable: int | None

    def check(self, found: os.stat_result) -> None:
        """Raises DeniedError RESOURCE-109 if what is there belongs to somebody else than who led us there."""
        if self.answerable not in (None, found.st_uid):
            raise issues.LED_ASTRAY.error(path=self.path, link=self.path, uid=self.answerable, other=found.st_uid)


def end(root: str, path: str) -> End:
    """Follow the links at the end of a path. Raises InputError RESOURCE-110 if they go in circles, and as `parent` does."""
    answerable: int | None = None
    for _ in range(_MAX_LINKS):
        with parent(root, path) as (directory, name):
            try:
                link = os.open(name, _STEP, dir_fd=directory)
            except FileNotFoundError:
                return End(path, answerable)
            try:
                found = os.fstat(link)
                if not stat.S_ISLNK(found.st_mode):
                    return End(path, answerable)
                target = os.readlink("", dir_fd=link)
                uids = (found.st_uid, os.fstat(directory).st_uid)
            finally:
                os.close(link)
        answerable = next((uid for uid in uids if uid not in (0, os.geteuid())), answerable)
        path = target if target.startswith("/") else f"{path.rpartition('/')[0]}/{target}"
    raise issues.TOO_MANY_LINKS.error(path=path)


class _Walk:
    """Open directories from the root down to where the walk is."""

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
        """Whether a path leads to where this walk has come."""
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
            found = os.fstat(fd)
            if stat.S_ISLNK(found.st_mode):
                self._follow(name, os.readlink("", dir_fd=fd), found.st_uid)
                return
            if not stat.S_ISDIR(found.st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), self._path)
            self._fds.append(fd)
            self._owners.append(found.st_uid)
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
            raise issues.LED_ASTRAY.error(path=self._path, link=link, uid=answerable, other=self._owners[-1])

    def close(self) -> None:
        for fd in self._fds:
            os.close(fd)


def flush_later(node: Node, path: str) -> None:
    """Have the change of a name on the disk before the run is recorded.

    Flushing the directory after each file would cost as much again as writing it, and give nothing: what a crash of the machine
    undoes is a whole change, which the next run makes again.
    """
    node.at_end(("directory", path.rpartition("/")[0]), lambda: _flush(node.root, path))


def _flush(root: str, path: str) -> None:
    try:
        with parent(root, path) as (directory, _):
            fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
    except (PermissionError, PrecastError):
        return  # removed meanwhile, or not ours to read: left to the system
