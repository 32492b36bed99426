"""Draws the legend of a plan: its name, the colours that occur, the kinds of arrows, and the picture's notes."""

from typing import NamedTuple

from precast.net.drawing.svg_parts import columns, text
from precast.plans.drawing.colours import STATES, TYPES
from precast.plans.drawing.picture import OTHER, PlanPicture

NOTE_CHARS = 120
_SWATCH, _ROW = 14, 18
_ARROWS = {"need": "waits, on the same node", "cross": "waits for other nodes too", "any": "waits for one of the nodes"}


class Legend(NamedTuple):
    """The elements, and the room that they take."""

    text: str
    width: float
    height: float


class _Item(NamedTuple):
    """A sign and what it means."""

    sign: str
    words: str


def draw_legend(picture: PlanPicture, room: float) -> Legend:
    """The legend in rows that fit into the width of the drawing, or a width that is readable."""
    parts = [text(0, 14, picture.name, "name")]
    room = max(room, 640.0)
    x, y = 0.0, 14.0 + 1.4 * _ROW
    for item in _items(picture):
        wide = 28 + columns(item.words) * 6.7 + 18
        if x and x + wide > room:
            x, y = 0.0, y + _ROW
        parts.append(f'<g transform="translate({x:.0f} {y:.0f})">{item.sign}{text(28, 0, item.words, "note")}</g>')
        x += wide
    for note in picture.notes:
        y += _ROW
        parts.append(text(0, y, note, "note", NOTE_CHARS))
    return Legend("\n".join(parts), room, y + 1.5 * _ROW)


def _items(picture: PlanPicture) -> list[_Item]:
    present = {state for box in picture.boxes for state, _ in box.states}
    kinds = {box.kind for box in picture.boxes if not box.states}
    items = [_Item(_swatch(*colour), state) for state, colour in STATES.items() if state in present]
    items += [
        _Item(_swatch(*colour), "on other nodes" if kind == OTHER else kind)
        for kind, colour in TYPES.items()
        if kind in kinds
    ]
    arrows = {arrow.kind for arrow in picture.arrows}
    items += [_Item(_arrow(kind), words) for kind, words in _ARROWS.items() if kind in arrows]
    if any(box.before or box.after for box in picture.boxes):
        items.append(
            _Item('<polygon class="gate" points="11,-10 17,-4 11,2 5,-4" stroke="#2f6fb0"/>', "tests before, after")
        )
    return items


def _swatch(ground: str, border: str) -> str:
    return f'<rect x="4" y="-11" width="{_SWATCH}" height="{_SWATCH}" rx="3" fill="{ground}" stroke="{border}"/>'


def _arrow(kind: str) -> str:
    return f'<path class="line {kind}" d="M0 -4 H22" marker-end="url(#{kind})"/>'
