"""Values in a catalog that are not known yet, and how holes are filled when it is served.

`Precast::Hole` names a place in the node's facts or trusted data, `Precast::Text` joins strings with unknown values,
`Precast::Future` and `Precast::Futures` wait for a promise, `Deferred` is Puppet's own. Filling is a walk over plain data: no
compile, no language.
"""

from collections.abc import Callable, Iterator
from typing import Any

HOLE = "Precast::Hole"
TEXT = "Precast::Text"
FUTURES = ("Precast::Future", "Precast::Futures")

Find = Callable[[str, tuple[str | int, ...]], Any]


def fill(data: Any, find: Find) -> Any:
    """The data with each hole replaced by what `find(root, path)` gives; a text whose parts are all strings becomes one."""
    if isinstance(data, list | tuple):
        return [fill(item, find) for item in data]
    if not isinstance(data, dict):
        return data
    kind = data.get("__ptype")
    if kind == HOLE:
        root, *path = data["__pvalue"]
        return find(root, tuple(path))
    return closed({key: fill(item, find) for key, item in data.items()})


def closed(text: dict[str, Any]) -> Any:
    """A text whose neighbouring strings are joined: a string, if that is all there is. What is no text stays as it is."""
    if text.get("__ptype") != TEXT:
        return text
    parts: list[Any] = []
    for part in text["__pvalue"]:
        if isinstance(part, str) and parts and isinstance(parts[-1], str):
            parts[-1] += part
        else:
            parts.append(part)
    if len(parts) == 1 and isinstance(parts[0], str):
        return parts[0]
    return {**text, "__pvalue": parts}


def holes(data: Any) -> Iterator[tuple[str, ...]]:
    """Every hole in the data, as root and path; a catalog without any is the same for all that share it."""
    if isinstance(data, list | tuple):
        for item in data:
            yield from holes(item)
    elif isinstance(data, dict):
        if data.get("__ptype") == HOLE:
            yield tuple(data["__pvalue"])
        else:
            for item in data.values():
                yield from holes(item)
