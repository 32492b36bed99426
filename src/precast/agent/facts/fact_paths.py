"""Dotted paths into facts: `os.release.major`, `processors.models.0`, `networking.interfaces.eth0.100.mtu`.

Names may themselves contain dots, so a path is not split beforehand: at each level every prefix of it is tried, the shortest first.
"""

import difflib
from collections.abc import Iterator
from typing import Any

from precast.agent import issues
from precast.agent.facts.machine import Facts, parse_number


def find(facts: Facts, path: str) -> Any:
    """Find the value at a path. Raises LookupError if there is none."""
    for value in _matches(facts, path.split(".")):
        return value
    raise LookupError(path)


def _matches(value: Any, parts: list[str]) -> Iterator[Any]:
    if not parts:
        yield value
    elif isinstance(value, dict):
        for end in range(1, len(parts) + 1):
            if (name := ".".join(parts[:end])) in value:
                yield from _matches(value[name], parts[end:])
    elif isinstance(value, list):
        number = parse_number(parts[0])
        if number is not None and 0 <= number < len(value):
            yield from _matches(value[number], parts[1:])


def flatten(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every leaf with its path. An empty mapping or list is a leaf, and so is a list without mappings or lists in it."""
    if isinstance(value, dict) and value:
        items = value.items()
    elif isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        items = {str(number): item for number, item in enumerate(value)}.items()
    else:
        yield prefix, value
        return
    for name, item in items:
        yield from flatten(item, f"{prefix}.{name}" if prefix else name)


def unknown_path_error(facts: Facts, path: str) -> Exception:
    """Make the error for a path that does not exist, with the most similar path that does."""
    known = {
        ".".join(words[:end])
        for name, _ in flatten(facts)
        for words in [name.split(".")]
        for end in range(1, len(words) + 1)
    }
    near = difflib.get_close_matches(path, sorted(known), n=1, cutoff=0.7)
    guess = f"; did you mean {near[0]}?" if near else ""
    return issues.UNKNOWN_FACT.error(path=path, guess=guess)
