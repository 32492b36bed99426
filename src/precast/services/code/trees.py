"""A tree: the files of one environment version, by path, as digests.

Its canonical JSON is content like any other, and the digest of that is the version: the same files are the same version,
wherever they were read. Paths are relative, with slashes, and lead nowhere else; only files count, as in git.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from precast.base import canonical, digests
from precast.services.code import issues as issues

MAX_FILES = 50_000
MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_TREE_BYTES = 1024 * 1024 * 1024
MAX_PATH_CHARS = 500
MAX_DEPTH = 40
# What belongs to whoever keeps the files, not to the code.
LEFT_OUT = frozenset({".git", ".gitignore", ".gitattributes", ".gitmodules", ".github", ".svn", ".hg", ".DS_Store"})
# Each part of a path is a plain name: no empty one, none of dots, no control character.
_PART = re.compile(r"(?!\.{1,2}(?:/|\Z))[^/\0-\x1f\x7f]{1,255}")
READ_BYTES = 256 * 1024


class File(NamedTuple):
    """One file of a tree."""

    digest: digests.Digest
    size: int
    is_executable: bool


class _Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    files: dict[str, tuple[str, int, bool]]


class Tree:
    """All files of a version by path. What is in it has been checked."""

    def __init__(self, files: dict[str, File]) -> None:
        _check(files)
        self.files = files

    @staticmethod
    def decode(data: bytes) -> "Tree":
        """A tree from its bytes. Raises InputError ENV-002 for what is none, ENV-003 for one that is too large."""
        try:
            found = msgspec.json.decode(data, type=_Manifest)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise issues.BAD_TREE.error(reason=str(error)[:200]) from None
        tree = Tree({path: File(digests.Digest(one[0]), one[1], one[2]) for path, one in found.files.items()})
        if tree.encode() != data:
            raise issues.BAD_TREE.error(reason="it is not written in its canonical form")
        return tree

    def encode(self) -> bytes:
        return canonical.encode({"files": {path: list(one) for path, one in self.files.items()}})

    @property
    def version(self) -> digests.Digest:
        return digests.of_bytes(self.encode())

    @property
    def digests(self) -> list[str]:
        """What it names, each once."""
        return sorted({one.digest for one in self.files.values()})


class Difference(NamedTuple):
    """How one path differs between two trees: None where there is no file."""

    path: str
    before: File | None
    after: File | None


def difference(before: Tree, after: Tree) -> list[Difference]:
    """What differs, by path."""
    paths = sorted(before.files.keys() | after.files.keys())
    each = (Difference(path, before.files.get(path), after.files.get(path)) for path in paths)
    return [one for one in each if one.before != one.after]


class TreeFiles:
    """The files of a tree as the language reads them; contents come by digest from whoever has them."""

    def __init__(self, tree: Tree, content: Callable[[str], bytes]) -> None:
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
        """The bytes of a file; None if there is none."""
        found = self._files.get(path)
        return None if found is None else self._content(found.digest)

    def names(self, path: str) -> tuple[str, ...] | None:
        """What a directory holds, sorted, directories with a slash at the end; None if there is none."""
        found = self._names.get(path)
        return None if found is None else tuple(sorted(found))


def read_directory(place: Path) -> tuple[Tree, dict[str, Path]]:
    """The tree of a directory, and where the content of each digest is.

    A link to something inside counts as what it leads to; one that leads out, or nowhere, is refused. Raises NotFoundError
    ENV-004 if there is no directory, InputError ENV-002 or ENV-003 for what can be no tree.
    """
    try:
        root = place.resolve(strict=True)
        if not root.is_dir():
            raise NotADirectoryError(0, "it is no directory")
        files: dict[str, File] = {}
        places: dict[str, Path] = {}
        for path, file in _walk(root, root, "", 0):
            if len(files) == MAX_FILES:
                raise issues.TREE_TOO_LARGE.error(what="files", limit=MAX_FILES)
            found = _look(path, file)
            files[path] = found
            places[found.digest] = file
    except OSError as error:
        where = str(error.filename or place)
        raise issues.CANNOT_READ.error(place=where, reason=error.strerror or error) from None
    if not files:
        raise issues.BAD_TREE.error(reason=f"there is no file in {place}")
    return Tree(files), places


def _walk(root: Path, folder: Path, prefix: str, depth: int) -> Iterator[tuple[str, Path]]:
    if depth > MAX_DEPTH:  # also a link to a directory above it
        raise issues.BAD_TREE.error(reason=f"{prefix[:80]}… is nested more than {MAX_DEPTH} deep")
    for entry in sorted(os.scandir(folder), key=lambda one: one.name):
        if entry.name in LEFT_OUT:
            continue
        path = f"{prefix}{entry.name}"
        target = Path(entry.path)
        if entry.is_symlink():
            target = target.resolve()
            if not target.is_relative_to(root) or not target.exists() or LEFT_OUT & set(target.relative_to(root).parts):
                raise issues.BAD_TREE.error(reason=f"the link {path} leads out of the directory, or nowhere")
        if target.is_dir():
            yield from _walk(root, target, f"{path}/", depth + 1)
        elif target.is_file():
            yield path, target
        else:
            raise issues.BAD_TREE.error(reason=f"{path} is neither a file nor a directory")


def _look(path: str, place: Path) -> File:
    with place.open("rb") as file:
        about = os.fstat(file.fileno())
        if about.st_size > MAX_FILE_BYTES:
            raise issues.TREE_TOO_LARGE.error(what=f"bytes in {path}", limit=MAX_FILE_BYTES)
        digest = digests.of_chunks(iter(lambda: file.read(READ_BYTES), b""))
        size = file.tell()
    return File(digest, size, bool(about.st_mode & stat.S_IXUSR))


def _check(files: dict[str, File]) -> None:
    if len(files) > MAX_FILES:
        raise issues.TREE_TOO_LARGE.error(what="files", limit=MAX_FILES)
    total = 0
    for path, file in files.items():
        if len(path) > MAX_PATH_CHARS or not all(map(_PART.fullmatch, path.split("/"))) or not path.isprintable():
            raise issues.BAD_TREE.error(reason=f"{path[:80]!r} is no path of a file in it")
        if not digests.is_digest(file.digest) or not 0 <= file.size <= MAX_FILE_BYTES:
            raise issues.BAD_TREE.error(reason=f"{path} has no digest, or no size up to {MAX_FILE_BYTES} bytes")
        total += file.size
    if total > MAX_TREE_BYTES:
        raise issues.TREE_TOO_LARGE.error(what="bytes", limit=MAX_TREE_BYTES)
    _check_folders(files)


def _check_folders(files: dict[str, File]) -> None:
    """No path is a file and a directory at once."""
    folders = {path.rpartition("/")[0] for path in files} - {""}
    while folders:
        if both := sorted(folder for folder in folders if folder in files):
            raise issues.BAD_TREE.error(reason=f"{both[0]} is a file and a directory at once")
        folders = {folder.rpartition("/")[0] for folder in folders} - {""}
