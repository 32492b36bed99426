"""Where the content of a file comes from: the catalog itself, a file of the environment that the catalog pins, a path on the node, or
another server.

The handler reads the checksum of a source first and opens it only if the content must be written. The catalog has the sha256 of a file of
the environment, so neither a server nor a module directory is needed to see that it is in sync.
"""

import io
import os
import stat
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, Literal, Protocol
from urllib.parse import unquote

from precast.resources.contract import ManagedNode
from precast.resources.files import checksums, issues, safe_reads
from precast.resources.files.listing import is_ignored, list_below
from precast.resources.files.safe_paths import ParentCache

SourceKind = Literal["file", "directory", "link"]
_PINNED = "puppet:///"
_REMOTE = ("http://", "https://")


class Source(Protocol):
    """One existing source."""

    @property
    def kind(self) -> SourceKind: ...

    @property
    def target(self) -> str:
        """The target of a link."""

    @property
    def found(self) -> os.stat_result | None:
        """Owner, mode and times, if it has any."""

    def comparable(self, kind: str) -> str:
        """The kind of checksum that the source can provide instead of the given kind, or that kind itself."""

    def changed_at(self, kind: str) -> float | None:
        """The time of its last change, by this kind of time, if it is known."""

    def checksum(self, kind: str) -> str: ...

    def open(self) -> BinaryIO: ...

    def below(self, ignored: Sequence[str], limit: int | None) -> Mapping[str, "Source"]:
        """All entries below a directory by relative path, at most `limit` levels deep."""


class _CatalogSource:
    """Content that the catalog has or pins: it has no owner, no mode and no time, and is compared by its digest."""

    target = ""
    found = None

    def comparable(self, kind: str) -> str:
        return "sha256" if kind in checksums.TIMES else kind

    def changed_at(self, kind: str) -> float | None:
        return None


class Text(_CatalogSource):
    """Content that is in the catalog."""

    kind: SourceKind = "file"

    def __init__(self, data: bytes) -> None:
        self.data = data

    def checksum(self, kind: str) -> str:
        return checksums.of_bytes(kind, self.data)

    def open(self) -> BinaryIO:
        return io.BytesIO(self.data)

    def below(self, ignored: Sequence[str], limit: int | None) -> Mapping[str, Source]:
        return {}


class Pinned(_CatalogSource):
    """A file of the environment with its digest, or a directory with the digests of all files in it."""

    def __init__(self, node: ManagedNode, digest: str | None, inner: Mapping[str, str]) -> None:
        self._node = node
        self._digest = digest
        self._inner = inner

    @property
    def kind(self) -> SourceKind:
        return "file" if self._digest is not None else "directory"

    def checksum(self, kind: str) -> str:
        if kind == "sha256":
            return f"{{sha256}}{self._digest}"
        with self.open() as file:
            return checksums.of_stream(kind, file)

    def open(self) -> BinaryIO:
        assert self._digest is not None
        return self._node.content(self._digest)

    def below(self, ignored: Sequence[str], limit: int | None) -> Mapping[str, Source]:
        entries: dict[str, Source] = {}
        for path, digest in self._inner.items():
            parts = path.split("/")
            if any(is_ignored(part, ignored) for part in parts):
                continue
            for depth in range(1, len(parts)):
                if limit is None or depth <= limit:
                    entries.setdefault("/".join(parts[:depth]), Pinned(self._node, None, {}))
            if limit is None or len(parts) <= limit:
                entries[path] = Pinned(self._node, digest, {})
        return entries


class Local:
    """A path on the node; links are followed by the rule of `safe_paths`."""

    def __init__(self, parents: ParentCache, path: str, is_followed: bool, found: os.stat_result) -> None:
        self._parents = parents
        self._path = path
        self._is_followed = is_followed
        self.found: os.stat_result | None = found
        self._mode = found.st_mode

    @property
    def kind(self) -> SourceKind:
        if stat.S_ISDIR(self._mode):
            return "directory"
        return "link" if stat.S_ISLNK(self._mode) else "file"

    @property
    def target(self) -> str:
        with self._parents.opened(self._path) as (directory, name):
            return os.readlink(name, dir_fd=directory)

    def comparable(self, kind: str) -> str:
        return kind

    def changed_at(self, kind: str) -> float | None:
        assert self.found is not None
        return self.found.st_mtime if kind == "mtime" else self.found.st_ctime

    def checksum(self, kind: str) -> str:
        if kind in checksums.TIMES:
            assert self.found is not None
            return checksums.of_time(kind, self.found)
        with self.open() as file:
            return checksums.of_stream(kind, file)

    def open(self) -> BinaryIO:
        return safe_reads.open_stream(self._parents, self._path, self._is_followed)

    def below(self, ignored: Sequence[str], limit: int | None) -> Mapping[str, Source]:
        return {
            path: Local(self._parents, f"{self._path}/{path}", False, entry_stat)
            for path, entry_stat in list_below(self._parents, self._path, ignored, limit, False)
        }


def find(node: ManagedNode, sources: Sequence[str], is_followed: bool) -> Source:
    """The first source that exists. Raises NotFoundError RESOURCE-106 if none does."""
    for name in sources:
        source = find_source(node, name, is_followed)
        if source is not None:
            return source
    raise issues.NO_SOURCE.error(sources=", ".join(sources))


def find_source(node: ManagedNode, source: str, is_followed: bool) -> Source | None:
    if source.startswith(_PINNED):
        name = source.rstrip("/")
        digest = node.pinned(name)
        if digest is not None:
            return Pinned(node, digest, {})
        inner = node.pinned_below(name)
        return Pinned(node, None, inner) if inner else None
    if source.startswith(_REMOTE):
        from precast.resources.files import remote  # imports many modules, which few catalogs need

        return remote.find_remote(source)
    parents, path = safe_reads.node_parents(node), local_path(source)
    found = safe_reads.find_status(parents, path, is_followed)
    return None if found is None else Local(parents, path, is_followed, found)


def is_remote(source: str) -> bool:
    """Whether a source is a file on another server."""
    return source.startswith(_REMOTE)


def as_texts(value: Any) -> tuple[str, ...]:
    """One value or an array of values of a catalog, as texts."""
    if value is None:
        return ()
    return tuple(map(str, value)) if isinstance(value, list | tuple) else (str(value),)


def check(source: str) -> None:
    """Raises InputError RESOURCE-105 for an invalid source."""
    if source.startswith(("/", _PINNED, "file:/")):
        return
    scheme, colon, rest = source.partition("://")
    host = rest.partition("/")[0]
    if source.startswith(_REMOTE) and host and "@" not in host and source.isascii() and source.isprintable():
        return
    if source.startswith(_REMOTE) and "@" in host:
        reason = "a password in it would appear in reports"
    elif source.startswith(_REMOTE):
        reason = "it is not a valid URL"
    elif scheme == "puppet":
        reason = "a catalog names its content by digest, never a server"
    elif colon:
        reason = f"{scheme} is not a supported scheme"
    else:
        reason = "it is relative"
    raise issues.BAD_SOURCE.error(source=source, reason=reason)


def local_path(source: str) -> str:
    if source.startswith("file:"):
        return unquote("/" + source.removeprefix("file:").lstrip("/"))
    return source
