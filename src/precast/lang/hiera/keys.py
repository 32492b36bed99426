"""Lookup keys: a root that data files contain, and steps below it separated by dots."""

import re
from functools import lru_cache
from typing import Any, Final, NamedTuple

from precast.lang.hiera import issues
from precast.lang.scope import MISSING
from precast.lang.values.base import Hash, Sensitive, kind_name

OPTIONS: Final = "lookup_options"
_SPECIAL: Final = re.compile("['\".]")
_SEGMENT: Final = re.compile(r"""(\s*"[^"]+"\s*|\s*'[^']+'\s*|[^'".]+)""")
_MAX_INDEX: Final = 10_000
_INDEX: Final = re.compile(r"^:?[+-]?[0-9]+$")


class Key(NamedTuple):
    """`module` is the part of the root before the first `::`; None if there is none."""

    text: str
    root: str
    segments: tuple[str | int, ...]
    module: str | None

    def dig(self, value: Any) -> Any:
        """The value at the steps below the root's value; MISSING if there is none. Raises HIERA-032."""
        return dig(self.text, self.segments, value) if self.segments else value

    def undig(self, value: Any) -> Any:
        """Wrap a value in the containers that the steps imply. Raises HIERA-030 for an invalid array index."""
        for segment in reversed(self.segments):
            if isinstance(segment, int):
                if not 0 <= segment <= _MAX_INDEX:
                    raise issues.BAD_KEY.error(key=self.text)
                value = (*(None,) * segment, value)
            else:
                value = Hash.of(((segment, value),))
        return value


@lru_cache(maxsize=16_384)
def parse_key(text: str) -> Key:
    """Parse a key. Raises HIERA-030."""
    segments = split(text)
    if segments is None or not isinstance(segments[0], str):
        raise issues.BAD_KEY.error(key=text)
    root = segments[0]
    module, colons, _ = root.partition("::")
    return Key(text, root, tuple(segments[1:]), module if colons else None)


@lru_cache(maxsize=4_096)
def split(text: str) -> tuple[str | int, ...] | None:
    """The steps between dots; quotes protect dots, digits become a number. None if the text is malformed."""
    if not _SPECIAL.search(text):
        return (text,)
    parts = _SEGMENT.split(text)
    if parts[0] or parts[-1] or any(part != "." for part in parts[2:-1:2]):
        return None
    return tuple(map(_step, parts[1::2])) or None


def _step(part: str) -> str | int:
    part = part.strip()
    if part[:1] in ("'", '"'):
        return part[1:-1]
    if _INDEX.match(part):
        return 0 if part.startswith(":") else int(part[:19])
    return part


def dig(key: str, segments: tuple[str | int, ...], value: Any) -> Any:
    for depth, segment in enumerate(segments):
        if value is None:
            return MISSING
        if isinstance(value, Sensitive):
            below = dig(key, segments[depth:], value.unwrap())
            return below if below is MISSING or isinstance(below, Sensitive) else Sensitive(below)
        if isinstance(segment, int) and isinstance(value, tuple):
            if not 0 <= segment < len(value):
                return MISSING
            value = value[segment]
        elif isinstance(value, Hash):
            if not value.has(segment):
                return MISSING
            value = value.lookup(segment)
        else:
            root = key.partition(".")[0]
            raise issues.NO_HASH.error(kind=kind_name(value), segment=segment, key=key, root=root)
    return value
