"""Dotted paths into facts: `os.release.major`, `processors.models.0`, `networking.interfaces.eth0.100.mtu`.

Names may themselves hold dots, so a path is not split beforehand: at each level every beginning of it is tried, the shortest first.
"""

import difflib
from collections.abc import Iterator
from typing import Any

from precast.agent import issues
from precast.agent.facts.machine import Facts, whole_number


def find(facts: Facts, path: str) -> Any:
    """The value at a path. Raises LookupError if there is none."""
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
        number = whole_number(parts[0])
        if number is not None and 0 <= number < len(value):
            yield from _matches(value[number], parts[1:])


def flatten(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf with its path. A list without structure in it is one leaf, and so is what is empty."""
    if isinstance(value, dict) and value:
        items = value.items()
    elif isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        items = {str(number): item for number, item in enumerate(value)}.items()
    else:
        yield prefix, value
        return
    for name, item in items:
        yield from flatten(item, f"{prefix}.{name}" if prefix else name)


def unknown(facts: Facts, path: str) -> Exception:
    """The error for a path that leads nowhere, with the nearest that leads somewhere."""
    known = {
        ".".join(words[:end])
        for name, _ in flatten(facts)
        for words in [name.split(".")]
        for end in range(1, len(words) + 1)
    }
    near = difflib.get_close_matches(path, sorted(known), n=1, cutoff=0.7)
    guess = f"; did you mean {near[0]}?" if near else ""
    return issues.UNKNOWN_FACT.error(path=path, guess=guess)
