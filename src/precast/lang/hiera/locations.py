"""Where the data of a level lies for one node: paths, globs, mapped paths and URIs, with their variables put in.

A path may hold facts that stay open. The question is then the digest or absence of the file at that path, not the
fact: nodes that have no file of their own, or the same, are alike. Globs, mapped paths and URIs ask for the fact itself.
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
from precast.lang.ruby.text import ruby_text
from precast.lang.values.core import Hash
from precast.lang.values.unknowns import Hole, Joined, join

_MAGIC: Final = re.compile(r"[*?\[{]")
_MOST_DIRECTORIES: Final = 10_000


class Location(NamedTuple):
    """A place that was declared: as written, and as resolved. `path` is empty for a URI."""

    declared: str
    path: OpenPath
    shown: Any  # a String, or a text with an identity fact left open
    is_uri: bool = False


class Resolver:
    """Resolves the locations of one layer. `root` is its directory as inputs name it, `shown_root` as users do."""

    def __init__(self, host: Host, root: str, layer: str, allowed: tuple[str, ...] = ()) -> None:
        self._host = host
        self._root = root
        self._layer = layer
        self._allowed = allowed

    def locations(self, level: Level, texts: Interpolator) -> tuple[Location, ...] | None:
        """The places in order; None for a level that has none. Raises HIERA-021, HIERA-025."""
        if level.location_kind == "none":
            return None
        if level.location_kind == "uri":
            return tuple(Location(each, (), self._concrete(texts.value(each)), True) for each in level.locations)
        datadir = texts.value(level.datadir)
        if level.location_kind == "path":
            return tuple(self._location(each, datadir, texts.value(each)) for each in level.locations)
        if level.location_kind == "glob":
            found = (self._globbed(each, datadir, texts.value(each)) for each in level.locations)
            return tuple(location for locations in found for location in locations)
        return self._mapped(level.locations, datadir, texts)

    def _location(self, declared: str, datadir: Any, path: Any) -> Location:
        joined = self._settled(self._joined(datadir, path))
        return Location(declared, open_path(joined), joined)

    def _settled(self, path: Any) -> Any:
        """A path in which at most facts are open; anything that only the node will know is an error."""
        if isinstance(path, Joined) and not all(isinstance(part, str | Hole) for part in path.parts):
            return self._concrete(path)
        return path

    def _joined(self, datadir: Any, path: Any) -> Any:
        """The path below the root, as inputs name it."""
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
        if path.startswith("/"):
            if any(path == each or path.startswith(f"{each}/") for each in self._allowed):
                return path
            inside = self._host.environment_path(path)
            if inside is not None:
                return inside
        elif path != ".." and not path.startswith("../"):
            return path
        raise issues.OUTSIDE.error(path=path, layer=self._layer)

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
        found = [path for each in braced(f"{base}/{pattern}" if base else pattern) for path in self._matching(each)]
        return [Location(declared, (path,), path) for path in found]

    def _matching(self, pattern: str) -> list[str]:
        """The files that fit a pattern, in the order of their names, directory by directory."""
        pattern = self._inside(posixpath.normpath(pattern))
        *steps, last = pattern.split("/")
        places = [""] if not pattern.startswith("/") else ["/"]
        for step in steps:
            if step:
                places = [path for place in places for path in self._directories(place, step)][:_MOST_DIRECTORIES]
        return [
            _below(place, name)
            for place in places
            for name in self._names(place)
            if not name.endswith("/") and fits(name, last)
        ]

    def _directories(self, place: str, step: str) -> list[str]:
        if step == "**":
            found = [place]
            for name in self._names(place):
                if name.endswith("/") and not name.startswith("."):
                    found += self._directories(_below(place, name[:-1]), step)
            return found
        if not _MAGIC.search(step):
            return [_below(place, step)]
        return [_below(place, name[:-1]) for name in self._names(place) if name.endswith("/") and fits(name[:-1], step)]

    def _names(self, place: str) -> tuple[str, ...]:
        return self._host.inputs.listing(place)

    def _concrete(self, value: Any) -> str:
        return ruby_text(self._host.concrete(value, None))


def _below(place: str, name: str) -> str:
    return name if not place else f"/{name}" if place == "/" else f"{place}/{name}"


def fits(name: str, pattern: str) -> bool:
    """Ruby's glob for one name: hidden files only where the pattern says so."""
    if name.startswith(".") and not pattern.startswith("."):
        return False
    return fnmatch.fnmatchcase(name, "*" if pattern == "**" else pattern.replace("[^", "[!"))


def braced(pattern: str) -> list[str]:
    """The patterns that `{a,b}` stands for."""
    found = re.search(r"\{([^{}]*)\}", pattern)
    if found is None:
        return [pattern]
    start, end = found.span()
    options = found[1].split(",")
    return [each for option in options[:64] for each in braced(pattern[:start] + option + pattern[end:])][:1024]


def open_path(path: Any) -> OpenPath:
    """A path as questions take it: text, and between the texts the places of facts that stay open."""
    if isinstance(path, str):
        return (path,)
    parts = path.parts if isinstance(path, Joined) else (path,)
    return tuple((part.root, *part.path) if isinstance(part, Hole) else str(part) for part in parts)
