"""Where the content of a file comes from: the catalog itself, a file of the environment that the catalog pins, a path on the node, or
another server.

A source is asked for its checksum first and opened only if the content must be written. One from the environment is known by its
sha256 alone: no server and no module directory is needed to see that nothing changed.
"""

import io
import os
import stat
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, Literal, Protocol
from urllib.parse import unquote

from precast.resources.contract import Node
from precast.resources.files import checksums, issues, places

SourceKind = Literal["file", "directory", "link"]
_PINNED = "puppet:///"
_REMOTE = ("http://", "https://")


class Source(Protocol):
    """One source that exists."""

    @property
    def kind(self) -> SourceKind: ...

    @property
    def target(self) -> str:
        """Where it points to, if it is a link."""

    @property
    def found(self) -> os.stat_result | None:
        """Owner, mode and times, if it has any."""

    def comparable(self, kind: str) -> str:
        """The kind of checksum it is compared by, if this one is wanted."""

    def changed_at(self, kind: str) -> float | None:
        """When it was changed, by this kind of time, if that is known."""

    def checksum(self, kind: str) -> str: ...

    def open(self) -> BinaryIO: ...

    def below(self, ignored: Sequence[str], limit: int | None) -> Mapping[str, "Source"]:
        """All that a directory holds, by path relative to it, at most `limit` levels deep."""


class _Catalogs:
    """What the catalog brings: it has no owner, no mode and no time, and is compared by its digest."""

    target = ""
    found = None

    def comparable(self, kind: str) -> str:
        return "sha256" if kind in checksums.TIMES else kind

    def changed_at(self, kind: str) -> float | None:
        return None


class Text(_Catalogs):
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


class Pinned(_Catalogs):
    """A file or directory of the environment; of a file the digest is known, of a directory the digests of all files in it."""

    def __init__(self, node: Node, digest: str | None, inner: Mapping[str, str]) -> None:
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
        found: dict[str, Source] = {}
        for path, digest in self._inner.items():
            parts = path.split("/")
            if any(is_ignored(part, ignored) for part in parts):
                continue
            for depth in range(1, len(parts)):
                if limit is None or depth <= limit:
                    found.setdefault("/".join(parts[:depth]), Pinned(self._node, None, {}))
            if limit is None or len(parts) <= limit:
                found[path] = Pinned(self._node, digest, {})
        return found


class Local:
    """A path on the node."""

    def __init__(self, path: str, found: os.stat_result) -> None:
        self._path = path
        self.found: os.stat_result | None = found
        self._mode = found.st_mode

    @property
    def kind(self) -> SourceKind:
        if stat.S_ISDIR(self._mode):
            return "directory"
        return "link" if stat.S_ISLNK(self._mode) else "file"

    @property
    def target(self) -> str:
        return os.readlink(self._path)

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
        return open(self._path, "rb")

    def below(self, ignored: Sequence[str], limit: int | None) -> Mapping[str, Source]:
        return {path: Local(f"{self._path}/{path}", found) for path, found in walk(self._path, ignored, limit, False)}


def find(node: Node, sources: Sequence[str], is_followed: bool) -> Source:
    """The first source that exists. Raises NotFoundError RESOURCE-106 if none does."""
    for source in sources:
        found = look_at(node, source, is_followed)
        if found is not None:
            return found
    raise issues.NO_SOURCE.error(sources=", ".join(sources))


def look_at(node: Node, source: str, is_followed: bool) -> Source | None:
    if source.startswith(_PINNED):
        name = source.rstrip("/")
        digest = node.pinned(name)
        if digest is not None:
            return Pinned(node, digest, {})
        inner = node.pinned_below(name)
        return Pinned(node, None, inner) if inner else None
    if source.startswith(_REMOTE):
        from precast.resources.files import remote  # much to load, for few

        return remote.look_at(source)
    path = places.inside(node.root, local_path(source), is_followed)
    try:
        return Local(path, os.stat(path) if is_followed else os.lstat(path))
    except (FileNotFoundError, NotADirectoryError):
        return None


def listed(value: Any) -> tuple[str, ...]:
    """One value or several, as they stand in a catalog."""
    if value is None:
        return ()
    return tuple(map(str, value)) if isinstance(value, list | tuple) else (str(value),)


def check(source: str) -> None:
    """Raises InputError RESOURCE-105 for what can never be a source."""
    if source.startswith(("/", _PINNED, "file:/")):
        return
    scheme, colon, rest = source.partition("://")
    host = rest.partition("/")[0]
    if source.startswith(_REMOTE) and host and "@" not in host and source.isascii() and source.isprintable():
        return
    if source.startswith(_REMOTE) and "@" in host:
        reason = "a password in it would stand in reports"
    elif source.startswith(_REMOTE):
        reason = "it is no address"
    elif scheme == "puppet":
        reason = "a catalog names its content by digest, never a server"
    elif colon:
        reason = f"{scheme} is no kind of source"
    else:
        reason = "it is relative"
    raise issues.BAD_SOURCE.error(source=source, reason=reason)


def local_path(source: str) -> str:
    if source.startswith("file:"):
        return unquote("/" + source.removeprefix("file:").lstrip("/"))
    return source


def is_ignored(name: str, patterns: Sequence[str]) -> bool:
    """Whether a name fits one of the patterns of a shell. A name that begins with a point fits only a pattern that does."""
    if not patterns:
        return False
    import fnmatch

    return any(
        fnmatch.fnmatchcase(name, pattern) and (not name.startswith(".") or pattern.startswith("."))
        for pattern in patterns
    )


def walk(top: str, ignored: Sequence[str], limit: int | None, is_followed: bool) -> list[tuple[str, os.stat_result]]:
    """What lies below a directory, by relative path, in order; a link is looked at, and entered only if links are followed."""
    found: list[tuple[str, os.stat_result]] = []
    _walk_into(top, "", ignored, limit, is_followed, found, frozenset())
    return found


def _walk_into(
    top: str,
    prefix: str,
    ignored: Sequence[str],
    limit: int | None,
    is_followed: bool,
    found: list[tuple[str, os.stat_result]],
    above: frozenset[tuple[int, int]],
) -> None:
    if limit is not None and limit <= 0:
        return
    for name in sorted(os.listdir(f"{top}/{prefix}" if prefix else top)):
        if is_ignored(name, ignored):
            continue
        path = f"{prefix}/{name}" if prefix else name
        try:
            seen = os.lstat(f"{top}/{path}")
            if is_followed and stat.S_ISLNK(seen.st_mode):
                seen = os.stat(f"{top}/{path}")
        except OSError:
            continue  # gone meanwhile, or a link that leads nowhere
        found.append((path, seen))
        identity = (seen.st_dev, seen.st_ino)
        if stat.S_ISDIR(seen.st_mode) and identity not in above:
            _walk_into(top, path, ignored, None if limit is None else limit - 1, is_followed, found, above | {identity})
