"""Where the data of a level is for one node: paths, globs, mapped paths and URIs, with their variables interpolated.

A path may contain facts as holes. The question is then for the file at that path (its digest or absence), not for the fact: nodes
without a file of their own, or with equal files, get the same answer. Globs, mapped paths and URIs ask for the fact itself.
"""

import fnmatch
import posixpath
import re
from typing import Any, Final, NamedTuple

from precast.lang.functions.host import Host
from precast.lang.hiera import issues
from precast.lang.hiera.config import Level
from precast.lang.hiera.interpolation import Interpolator
from precast.lang.inputs import OpenPath
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.values.base import Hash
from precast.lang.values.unknowns import Hole, UnknownText, join

_MAGIC: Final = re.compile(r"[*?\[{]")
_MAX_DIRECTORIES: Final = 10_000


class Location(NamedTuple):
    """A declared location: as written, and as resolved. `path` is empty for a URI.

    A path in a secret source counts as a URI, because there is no file.
    """

    declared: str
    path: OpenPath
    shown: Any  # a String, or a string with an identity fact as a hole
    is_uri: bool = False


class Resolver:
    """Resolves the locations of one layer. `root` is its directory as the inputs name it."""

    def __init__(self, host: Host, root: str, layer: str, allowed: tuple[str, ...] = ()) -> None:
        self._host = host
        self._root = root
        self._layer = layer
        self._allowed = allowed

    def locations(self, level: Level, texts: Interpolator) -> tuple[Location, ...] | None:
        """The locations in order; None for a level without locations. Raises HIERA-021, HIERA-025."""
        if level.location_kind == "none":
            return None
        if level.is_secret:
            if level.location_kind != "path":
                return None
            return tuple(self._secret_location(path, texts.value(path)) for path in level.locations)
        if level.location_kind == "uri":
            return tuple(Location(uri, (), self._concrete(texts.value(uri)), True) for uri in level.locations)
        datadir = texts.value(level.datadir)
        if level.location_kind == "path":
            return tuple(self._location(path, datadir, texts.value(path)) for path in level.locations)
        if level.location_kind == "glob":
            matches = (self._globbed(pattern, datadir, texts.value(pattern)) for pattern in level.locations)
            return tuple(location for locations in matches for location in locations)
        return self._mapped(level.locations, datadir, texts)

    def _location(self, declared: str, datadir: Any, path: Any) -> Location:
        joined = self._with_facts_only(self._joined(datadir, path))
        return Location(declared, open_path(joined), joined)

    def _secret_location(self, declared: str, path: Any) -> Location:
        """A path in a secret source: it is no file, so it is not below the data directory."""
        known = self._with_facts_only(path)
        return Location(declared, open_path(known), known, is_uri=True)

    def _with_facts_only(self, path: Any) -> Any:
        """A path whose holes are all facts. Raises if it contains a value that only the node will know."""
        if isinstance(path, UnknownText) and not all(isinstance(part, str | Hole) for part in path.parts):
            return self._concrete(path)
        return path

    def _joined(self, datadir: Any, path: Any) -> Any:
        """The path below the root, as the inputs name it."""
        if isinstance(path, str) and path.startswith("/"):
            datadir = ""
        base = self._below_root(datadir)
        if isinstance(base, str) and isinstance(path, str):
            return self._inside(posixpath.normpath(posixpath.join(base, path)))
        return join((base, "/" if base else "", path))

    def _below_root(self, datadir: Any) -> Any:
        if not isinstance(datadir, str):
            return join((self._root, "/" if self._root else "", datadir))
        path = posixpath.normpath(posixpath.join(self._root, datadir)) if datadir or self._root else ""
        return "" if path == "." else self._inside(path) if path else ""

    def _inside(self, path: str) -> str:
        """Return the path as the inputs name it. One outside of the environment stays: the version has no such file, so it is skipped."""
        if path.startswith("/"):
            if any(path == root or path.startswith(f"{root}/") for root in self._allowed):
                return path
            inside = self._host.environment_path(path)
            if inside is not None:
                return inside
        elif path != ".." and not path.startswith("../"):
            return path
        self._host.warn_once(f"outside {path}", issues.SKIPPED.error(path=path, layer=self._layer).message)
        return path

    def _mapped(self, triple: tuple[str, ...], datadir: Any, texts: Interpolator) -> tuple[Location, ...]:
        name, variable, path = triple
        values = self._host.concrete(texts.variable(name, "mapped_path[0]"), None)
        if values in (None, "", (), Hash()):
            return ()
        if isinstance(values, str):
            values = (values,)
        if isinstance(values, Hash):
            values = tuple(values.items())
        if not isinstance(values, tuple):
            raise issues.NOT_A_LIST.error(name=name)
        return tuple(self._location(path, datadir, texts.with_local({variable: value}).value(path)) for value in values)

    def _globbed(self, declared: str, datadir: Any, pattern: Any) -> list[Location]:
        pattern = self._concrete(pattern)
        base = self._below_root("" if pattern.startswith("/") else self._concrete(datadir))
        paths = [
            path for expanded in braced(f"{base}/{pattern}" if base else pattern) for path in self._matching(expanded)
        ]
        return [Location(declared, (path,), path) for path in paths]

    def _matching(self, pattern: str) -> list[str]:
        """The files that match a pattern, sorted by name, directory by directory."""
        pattern = self._inside(posixpath.normpath(pattern))
        *steps, last = pattern.split("/")
        directories = [""] if not pattern.startswith("/") else ["/"]
        for step in steps:
            if step:
                directories = [path for parent in directories for path in self._directories(parent, step)][
                    :_MAX_DIRECTORIES
                ]
        return [
            _below(directory, name)
            for directory in directories
            for name in self._names(directory)
            if not name.endswith("/") and matches_glob(name, last)
        ]

    def _directories(self, directory: str, step: str) -> list[str]:
        if step == "**":
            directories = [directory]
            for name in self._names(directory):
                if name.endswith("/") and not name.startswith("."):
                    directories += self._directories(_below(directory, name[:-1]), step)
            return directories
        if not _MAGIC.search(step):
            return [_below(directory, step)]
        return [
            _below(directory, name[:-1])
            for name in self._names(directory)
            if name.endswith("/") and matches_glob(name[:-1], step)
        ]

    def _names(self, directory: str) -> tuple[str, ...]:
        return self._host.inputs.listing(directory)

    def _concrete(self, value: Any) -> str:
        return ruby_text(self._host.concrete(value, None))


def _below(directory: str, name: str) -> str:
    return name if not directory else f"/{name}" if directory == "/" else f"{directory}/{name}"


def matches_glob(name: str, pattern: str) -> bool:
    """Ruby's glob for one name: hidden files match only a pattern that begins with a dot."""
    if name.startswith(".") and not pattern.startswith("."):
        return False
    return fnmatch.fnmatchcase(name, "*" if pattern == "**" else pattern.replace("[^", "[!"))


def braced(pattern: str) -> list[str]:
    """The patterns that a pattern with `{a,b}` stands for."""
    braces = re.search(r"\{([^{}]*)\}", pattern)
    if braces is None:
        return [pattern]
    start, end = braces.span()
    options = braces[1].split(",")
    return [expanded for option in options[:64] for expanded in braced(pattern[:start] + option + pattern[end:])][:1024]


def open_path(path: Any) -> OpenPath:
    """A path as questions need it: text, and between the texts the paths of facts that are holes."""
    if isinstance(path, str):
        return (path,)
    parts = path.parts if isinstance(path, UnknownText) else (path,)
    return tuple((part.root, *part.path) if isinstance(part, Hole) else str(part) for part in parts)
