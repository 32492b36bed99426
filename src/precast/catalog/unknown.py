"""Values in a catalog that are not known yet, and how holes are filled when it is served.

`Precast::Hole` names a path in the node's facts or trusted data, `Precast::Text` joins strings with unknown values, `Precast::Future` and
`Precast::Futures` wait for a promise, `Deferred` is Puppet's own. Filling only traverses plain data: it compiles and evaluates nothing.
"""

from collections.abc import Callable, Iterator
from typing import Any

HOLE = "Precast::Hole"
TEXT = "Precast::Text"
FUTURES = ("Precast::Future", "Precast::Futures")

Find = Callable[[str, tuple[str | int, ...]], Any]


def fill(data: Any, find: Find) -> Any:
    """The data with each hole replaced by the result of `find(root, path)`; a text whose parts are all strings becomes one string."""
    if isinstance(data, list | tuple):
        return [fill(item, find) for item in data]
    if not isinstance(data, dict):
        return data
    kind = data.get("__ptype")
    if kind == HOLE:
        root, *path = data["__pvalue"]
        return find(root, tuple(path))
    return join_text({key: fill(item, find) for key, item in data.items()})


def join_text(text: dict[str, Any]) -> Any:
    """Join adjacent strings of a text; the result is a string if nothing else is left. Other data is returned unchanged."""
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
    """Every hole in the data, as root and path; a catalog without holes is the same for all nodes that share it."""
    if isinstance(data, list | tuple):
        for item in data:
            yield from holes(item)
    elif isinstance(data, dict):
        if data.get("__ptype") == HOLE:
            yield tuple(data["__pvalue"])
        else:
            for item in data.values():
                yield from holes(item)
