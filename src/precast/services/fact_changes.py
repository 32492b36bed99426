"""How two sets of facts differ, path by path."""

from collections.abc import Iterator
from typing import Any

from precast.base import canonical
from precast.store.facts import FactChange

_ABSENT = object()


def compare(before: dict[str, Any], after: dict[str, Any]) -> list[FactChange]:
    """Every path whose value differs, as JSON pointers in order. A list is one value: its order has a meaning of its own."""
    return [
        FactChange(path, _bytes(old), _bytes(new))
        for path, old, new in sorted(_walk("", before, after), key=lambda one: one[0])
    ]


def _walk(path: str, before: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in before.keys() | after.keys():
            yield from _walk(f"{path}/{_escape(name)}", before.get(name, _ABSENT), after.get(name, _ABSENT))
    elif not _is_same(before, after):
        yield path, before, after


def _is_same(before: Any, after: Any) -> bool:
    # 1, 1.0 and true are equal in Python and different facts.
    if type(before) is not type(after):
        return False
    return (
        bool(before == after)
        if not isinstance(before, list | float)
        else canonical.encode(before) == canonical.encode(after)
    )


def _bytes(value: Any) -> bytes | None:
    return None if value is _ABSENT else canonical.encode(value)


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
