"""Compares the files that a fetch reports with those of the commit whose signature was verified.

The process that fetches reads what others wrote. If it is taken over, it can report any files beside the hash of a signed commit. So the
server follows git's hashes itself: from the commit to its trees, and from these to the content of every file. Only the modules that the
signed Puppetfile names come from elsewhere; they are not covered by the signature.
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from precast.services.code import issues
from precast.services.code.commits.isolated_git import IsolatedGit
from precast.services.code.file_trees import (
    LEFT_OUT,
    MAX_DEPTH,
    MAX_FILES,
    READ_BYTES,
    FileTree,
    TreeFile,
    open_regular,
    read_directory,
)
from precast.services.code.modules.lock import NAME as LOCK
from precast.services.code.puppetfile_modules import MAX_PUPPETFILE_BYTES, PUPPETFILE

_FOLDER, _LINK, _SUBMODULE = "40000", "120000", "160000"
_MODES = ("100644", "100664", "100755", _FOLDER, _LINK, _SUBMODULE)
# Names and paths in a Puppetfile are quoted.
_QUOTED = re.compile(r"""(?<=['"])[\w./-]+(?=['"])""")
_HASH_BYTES = 20


class _Entry(NamedTuple):
    mode: str
    name: str  # the hash of the object


def verify_files(git: IsolatedGit, commit: str, tree: FileTree, places: Mapping[str, Path], scratch: Path) -> None:
    """Check that a tree has the files of a commit, and no others but those of modules. Raises DeniedError ENV-028.

    `places` has the path of the content of each digest; `scratch` is an empty directory. It reads all files, so call it in a thread.
    """
    committed = _list_files(git, commit, scratch)
    is_complete = PUPPETFILE not in committed
    for path, (name, is_executable) in committed.items():
        given = tree.files.get(path)
        if path == LOCK and not is_complete:
            continue  # installing modules writes it
        if given is None or given.is_executable != is_executable or _hash_file(path, given, places) != name:
            raise _refuse(commit, f"{path} is not the file of the commit")
    modules = None if is_complete else _Modules(_read_puppetfile(tree, places), committed)
    for path in tree.files.keys() - committed.keys():
        if modules is None or (path != LOCK and not modules.contain(path)):
            raise _refuse(commit, f"{path} is not in the commit")


def _list_files(git: IsolatedGit, commit: str, scratch: Path) -> dict[str, tuple[str, bool]]:
    """The hash of the content of each file of a commit, and whether it is executable; links count as what they lead to.

    The files are written as a checkout writes them, each with its hash as content, and read as every tree is read.
    """
    entries = _list_entries(git, commit)
    links = {path: entry for path, entry in entries.items() if entry.mode == _LINK}
    targets = git.read_objects([entry.name for entry in links.values()]) if links else {}
    try:
        for path, entry in entries.items():
            place = scratch / path
            place.parent.mkdir(parents=True, exist_ok=True)
            if entry.mode != _LINK:
                place.write_text(entry.name)
                place.chmod(0o755 if entry.mode == "100755" else 0o644)
        for path, entry in links.items():
            (scratch / path).symlink_to(targets[entry.name].data.decode())
    except (OSError, ValueError) as error:
        raise _refuse(commit, f"its files cannot be written: {error}"[:300]) from None
    listed, written = read_directory(scratch)
    names = {digest: place.read_text() for digest, place in written.items()}
    return {path: (names[file.digest], file.is_executable) for path, file in listed.files.items()}


def _list_entries(git: IsolatedGit, commit: str) -> dict[str, _Entry]:
    found = git.read_objects([commit])[commit]
    first, _, root = found.data.partition(b"\n")[0].decode(errors="replace").partition(" ")
    if (found.kind, first) != ("commit", "tree"):
        raise _refuse(commit, "it is not a commit")
    entries: dict[str, _Entry] = {}
    folders = {"": root}
    for _ in range(MAX_DEPTH + 1):
        trees = git.read_objects(list(folders.values()))
        deeper: dict[str, str] = {}
        for prefix, name in folders.items():
            for leaf, entry in _parse_tree(commit, trees[name].data).items():
                if leaf in LEFT_OUT or entry.mode == _SUBMODULE:
                    continue
                if entry.mode == _FOLDER:
                    deeper[f"{prefix}{leaf}/"] = entry.name
                else:
                    entries[f"{prefix}{leaf}"] = entry
                if len(entries) + len(deeper) > MAX_FILES:
                    raise issues.TREE_TOO_LARGE.error(what="files", limit=MAX_FILES)
        if not deeper:
            return entries
        folders = deeper
    raise _refuse(commit, f"its directories are nested more than {MAX_DEPTH} deep")


def _parse_tree(commit: str, data: bytes) -> dict[str, _Entry]:
    entries: dict[str, _Entry] = {}
    while data:
        head, _, rest = data.partition(b"\0")
        mode, _, leaf = head.decode(errors="replace").partition(" ")
        is_plain = leaf not in ("", ".", "..") and "/" not in leaf and leaf not in entries
        if len(rest) < _HASH_BYTES or mode not in _MODES or not is_plain:
            raise _refuse(commit, f"it contains the name {leaf[:80]!r}")
        entries[leaf] = _Entry(mode, rest[:_HASH_BYTES].hex())
        data = rest[_HASH_BYTES:]
    return entries


def _hash_file(path: str, file: TreeFile, places: Mapping[str, Path]) -> str:
    """The hash that git gives the content of a digest; empty if the file is not that content."""
    try:
        with open_regular(places[file.digest]) as content:
            own = hashlib.sha256()
            gits = hashlib.sha1(b"blob %d\0" % file.size, usedforsecurity=False)
            while part := content.read(READ_BYTES):
                own.update(part)
                gits.update(part)
            size = content.tell()
    except (OSError, KeyError):
        raise issues.BAD_TREE.error(reason=f"the content of {path} cannot be read") from None
    return gits.hexdigest() if (own.hexdigest(), size) == (file.digest, file.size) else ""


def _read_puppetfile(tree: FileTree, places: Mapping[str, Path]) -> str:
    """The text of the Puppetfile, which was compared with the commit's before."""
    with open_regular(places[tree.files[PUPPETFILE].digest]) as file:
        return file.read(MAX_PUPPETFILE_BYTES).decode(errors="replace")


class _Modules:
    """The directories that the Puppetfile of a commit fills: it names them, and the commit has nothing there."""

    def __init__(self, puppetfile: str, committed: Mapping[str, object]) -> None:
        quoted = {text.removeprefix("./").rstrip("/") for text in _QUOTED.findall(puppetfile)}
        self._parents = {*quoted, "modules"}
        self._names = {text.replace("/", "-").rpartition("-")[2] for text in quoted}
        self._committed = {path[:end] for path in committed for end, sign in enumerate(path) if sign == "/"}

    def contain(self, path: str) -> bool:
        parts = path.split("/")
        return any(self._is_module("/".join(parts[:end]), parts[end]) for end in range(1, len(parts) - 1))

    def _is_module(self, parent: str, name: str) -> bool:
        return parent in self._parents and name in self._names and f"{parent}/{name}" not in self._committed


def _refuse(commit: str, reason: str) -> Exception:
    return issues.NOT_SIGNED.error(what=f"the commit {commit[:12]}", reason=reason)
