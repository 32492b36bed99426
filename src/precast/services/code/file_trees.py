"""File trees: the files of one environment version, by path, with their digests.

The canonical JSON of a tree is content like any other, and its digest is the version: the same files are the same version, wherever
they were read. Paths are relative, with slashes, and cannot leave the tree; a tree contains only files, as in git.
"""

import errno
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from precast.base import canonical, digests
from precast.services.code import issues

MAX_FILES = 50_000
MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_TREE_BYTES = 1024 * 1024 * 1024
MAX_PATH_CHARS = 500
MAX_DEPTH = 40
# Files of version control and desktops, which are not part of the code.
LEFT_OUT = frozenset({".git", ".gitignore", ".gitattributes", ".gitmodules", ".github", ".svn", ".hg", ".DS_Store"})
# Each part of a path is a plain name: not empty, not `.` or `..`, without control characters.
_PART = re.compile(r"(?!\.{1,2}(?:/|\Z))[^/\0-\x1f\x7f]{1,255}")
READ_BYTES = 256 * 1024


class TreeFile(NamedTuple):
    """One file of a tree."""

    digest: digests.Digest
    size: int
    is_executable: bool


class _Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    files: dict[str, tuple[str, int, bool]]


class FileTree:
    """All files of a version by path; the constructor checks paths, digests and sizes."""

    def __init__(self, files: dict[str, TreeFile]) -> None:
        _check(files)
        self.files = files

    @staticmethod
    def decode(data: bytes) -> "FileTree":
        """Decode a tree. Raises InputError ENV-002 if the data is invalid, ENV-003 if the tree is too large."""
        try:
            manifest = msgspec.json.decode(data, type=_Manifest)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise issues.BAD_TREE.error(reason=str(error)[:200]) from None
        tree = FileTree(
            {
                path: TreeFile(digests.Digest(digest), size, is_executable)
                for path, (digest, size, is_executable) in manifest.files.items()
            }
        )
        if tree.encode() != data:
            raise issues.BAD_TREE.error(reason="it is not written in its canonical form")
        return tree

    def encode(self) -> bytes:
        return canonical.encode({"files": {path: list(file) for path, file in self.files.items()}})

    @property
    def version(self) -> digests.Digest:
        return digests.of_bytes(self.encode())

    @property
    def digests(self) -> list[str]:
        """The digests of its files, each once."""
        return sorted({file.digest for file in self.files.values()})


class FileDifference(NamedTuple):
    """How one path differs between two trees; None where a tree has no such file."""

    path: str
    before: TreeFile | None
    after: TreeFile | None


def compare_trees(before: FileTree, after: FileTree) -> list[FileDifference]:
    """List the files that differ, by path."""
    paths = sorted(before.files.keys() | after.files.keys())
    pairs = (FileDifference(path, before.files.get(path), after.files.get(path)) for path in paths)
    return [difference for difference in pairs if difference.before != difference.after]


class TreeFiles:
    """The files of a tree as the language reads them; `content` loads the content of a digest."""

    def __init__(self, tree: FileTree, content: Callable[[str], bytes]) -> None:
        self._files = tree.files
        self._content = content
        self._names: dict[str, set[str]] = {}
        for path in tree.files:
            *folders, leaf = path.split("/")
            inside = ""
            for folder in folders:
                self._names.setdefault(inside, set()).add(f"{folder}/")
                inside = f"{inside}/{folder}" if inside else folder
            self._names.setdefault(inside, set()).add(leaf)

    def read(self, path: str) -> bytes | None:
        """Read a file; None if it does not exist."""
        file = self._files.get(path)
        return None if file is None else self._content(file.digest)

    def names(self, path: str) -> tuple[str, ...] | None:
        """List the entries of a directory, sorted, directories with a slash at the end; None if it does not exist."""
        names = self._names.get(path)
        return None if names is None else tuple(sorted(names))


def read_directory(place: Path) -> tuple[FileTree, dict[str, Path]]:
    """Read the tree of a directory; also returns the path of the content of each digest.

    A link inside the directory counts as its target; one that points outside, or to nothing, is refused. Raises NotFoundError ENV-004
    if there is no directory, InputError ENV-002 or ENV-003 if its files cannot be a tree.
    """
    try:
        root = place.resolve(strict=True)
        if not root.is_dir():
            raise NotADirectoryError(0, "it is not a directory")
        files: dict[str, TreeFile] = {}
        places: dict[str, Path] = {}
        for path, file in _walk(root, root, "", 0):
            if len(files) == MAX_FILES:
                raise issues.TREE_TOO_LARGE.error(what="files", limit=MAX_FILES)
            tree_file = _read_file(path, file)
            files[path] = tree_file
            places[tree_file.digest] = file
    except OSError as error:
        where = str(error.filename or place)
        raise issues.CANNOT_READ.error(place=where, reason=error.strerror or error) from None
    if not files:
        raise issues.BAD_TREE.error(reason=f"{place} contains no files")
    return FileTree(files), places


def _walk(root: Path, folder: Path, prefix: str, depth: int) -> Iterator[tuple[str, Path]]:
    if depth > MAX_DEPTH:  # a link to a parent directory also ends here
        raise issues.BAD_TREE.error(reason=f"{prefix[:80]}… is nested more than {MAX_DEPTH} deep")
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.name in LEFT_OUT:
            continue
        path = f"{prefix}{entry.name}"
        target = Path(entry.path)
        if entry.is_symlink():
            target = _resolve_link(path, target)
            if not target.is_relative_to(root) or not target.exists() or LEFT_OUT & set(target.relative_to(root).parts):
                raise issues.BAD_TREE.error(reason=f"the link {path} points outside the directory, or to nothing")
        if target.is_dir():
            yield from _walk(root, target, f"{path}/", depth + 1)
        elif target.is_file():
            yield path, target
        else:
            raise issues.BAD_TREE.error(reason=f"{path} is neither a file nor a directory")


def _resolve_link(path: str, link: Path) -> Path:
    try:
        return link.resolve()
    except RuntimeError:  # a link that leads to itself
        raise issues.BAD_TREE.error(reason=f"the link {path} leads to itself") from None


def _read_file(path: str, place: Path) -> TreeFile:
    with place.open("rb") as file:
        status = os.fstat(file.fileno())
        if status.st_size > MAX_FILE_BYTES:
            raise issues.TREE_TOO_LARGE.error(what=f"bytes in {path}", limit=MAX_FILE_BYTES)
        digest = digests.of_chunks(iter(lambda: file.read(READ_BYTES), b""))
        size = file.tell()
    return TreeFile(digest, size, bool(status.st_mode & stat.S_IXUSR))


def open_regular(path: Path) -> BinaryIO:
    """Open a file that another process has written. Raises OSError for a link, a pipe or a device, and never waits for one."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return os.fdopen(handle, "rb")


def _check(files: dict[str, TreeFile]) -> None:
    if len(files) > MAX_FILES:
        raise issues.TREE_TOO_LARGE.error(what="files", limit=MAX_FILES)
    total = 0
    for path, file in files.items():
        if len(path) > MAX_PATH_CHARS or not all(map(_PART.fullmatch, path.split("/"))) or not path.isprintable():
            raise issues.BAD_TREE.error(reason=f"{path[:80]!r} is not a valid path")
        if not digests.is_digest(file.digest) or not 0 <= file.size <= MAX_FILE_BYTES:
            raise issues.BAD_TREE.error(reason=f"{path} has an invalid digest, or a size above {MAX_FILE_BYTES} bytes")
        total += file.size
    if total > MAX_TREE_BYTES:
        raise issues.TREE_TOO_LARGE.error(what="bytes", limit=MAX_TREE_BYTES)
    _check_folders(files)


def _check_folders(files: dict[str, TreeFile]) -> None:
    """Raises InputError ENV-002 if a path is both a file and a directory."""
    folders = {path.rpartition("/")[0] for path in files} - {""}
    while folders:
        if both := sorted(folder for folder in folders if folder in files):
            raise issues.BAD_TREE.error(reason=f"{both[0]} is both a file and a directory")
        folders = {folder.rpartition("/")[0] for folder in folders} - {""}
