"""A catalog's body whose holes are located once, so that filling it for a node only joins bytes.

Similar nodes share one body with holes; each of them is served that body with its own values. The result has the same bytes as
`unknown.fill` and the canonical encoder give, but is faster. A value inside a text that is not a string takes the slow path.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from precast.base import canonical, digests
from precast.catalog import unknown

Hole = tuple[str | int, ...]
# A mark is this text and as many bars as it takes until no other text of the body contains it.
_MARK = "precast-hole"


class _Slot(NamedTuple):
    hole: Hole
    is_text: bool


class Skeleton:
    """One body, ready to be filled."""

    def __init__(self, encoded: bytes) -> None:
        self.digest = digests.of_bytes(encoded)
        self.size = len(encoded)
        self._encoded = encoded
        self._pieces: list[bytes] = [encoded]
        self._slots: list[_Slot] = []
        if unknown.HOLE.encode() in encoded:
            self._cut()
        self.holes: tuple[Hole, ...] = tuple(sorted({slot.hole for slot in self._slots}, key=repr))

    def fill(self, values: Mapping[Hole, Any]) -> bytes:
        """The canonical body for the node with these values of the holes."""
        if not self._slots:
            return self._encoded
        parts = [self._pieces[0]]
        for piece, slot in zip(self._pieces[1:], self._slots, strict=True):
            value = values[slot.hole]
            if slot.is_text:
                if not isinstance(value, str):
                    return self._fill_slowly(values)
                parts.append(canonical.encode(value)[1:-1])
            else:
                parts.append(canonical.encode(value))
            parts.append(piece)
        return b"".join(parts)

    def _fill_slowly(self, values: Mapping[Hole, Any]) -> bytes:
        data = msgspec.json.decode(self._encoded)
        return canonical.encode(unknown.fill(data, lambda root, path: values[root, *path]))

    def _cut(self) -> None:
        data = msgspec.json.decode(self._encoded)
        mark = _MARK
        while mark.encode() in self._encoded:
            mark += "|"
        slots: list[_Slot] = []

        def mark_hole(hole: Hole, is_text: bool) -> str:
            slots.append(_Slot(hole, is_text))
            return f"{mark}{'t' if is_text else 'v'}{len(slots) - 1};"

        text = canonical.encode(_mark_holes(data, mark_hole))
        name = re.escape(mark.encode())
        self._pieces, at = [], 0
        for match in re.finditer(rb'"%bv([0-9]+);"|%bt([0-9]+);' % (name, name), text):
            self._pieces.append(text[at : match.start()])
            self._slots.append(slots[int(match[1] or match[2])])
            at = match.end()
        self._pieces.append(text[at:])


def _mark_holes(data: Any, mark: Callable[[Hole, bool], str], in_text: bool = False) -> Any:
    """The data with a mark for each hole; in a text the marks are joined with the strings beside them."""
    if isinstance(data, list):
        return [_mark_holes(item, mark, in_text) for item in data]
    if not isinstance(data, dict):
        return data
    kind = data.get("__ptype")
    if kind == unknown.HOLE:
        return mark(tuple(data["__pvalue"]), in_text)
    return unknown.join_text({key: _mark_holes(item, mark, kind == unknown.TEXT) for key, item in data.items()})


def find_hole_values(holes: Sequence[Hole], find: unknown.Find) -> dict[Hole, Any]:
    """The values of a node for these holes."""
    return {hole: find(str(hole[0]), hole[1:]) for hole in holes}
