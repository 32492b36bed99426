"""Draws the box of a task: its name, where it runs, marks, states, and the gates of its tests."""

from collections.abc import Iterator
from typing import NamedTuple
from xml.sax.saxutils import escape

from precast.base.spans import visible
from precast.net.drawing.layout import Point
from precast.net.drawing.svg_parts import columns, shorten, text
from precast.plans.drawing.colours import STATES, colour_of
from precast.plans.drawing.picture import OTHER, TaskBox
from precast.plans.views.descriptions import count

CHAR, SMALL, LINE, SMALL_LINE = 7.3, 6.2, 16, 14
NAME_CHARS, LABEL_CHARS, STATE_CHARS = 24, 30, 36
GATE = 6  # half the size of the diamond of tests
BAR, PADDING = 5, 8
_STAGE_PADDING = 22


class BoxShape(NamedTuple):
    """What a box shows, in lines that fit, and its size."""

    names: tuple[str, ...]
    label: str
    marks: tuple[str, ...]
    states: str
    width: float
    height: float


def shape_box(box: TaskBox) -> BoxShape:
    """Break the texts of a box into lines."""
    names = wrap(box.name, NAME_CHARS)
    label = "" if box.kind == "stage" else _fit(box, LABEL_CHARS)
    marks = tuple(shorten(mark, LABEL_CHARS) for mark in box.marks)
    states = shorten(", ".join(f"{nodes} {state}" for state, nodes in box.states), STATE_CHARS)
    widths = [
        *(columns(line) * CHAR + 2 * PADDING for line in names),
        *(columns(line) * SMALL + 2 * PADDING for line in (label, states)),
        _marks_width(marks) + 2 * PADDING,
    ]
    height = PADDING + len(names) * LINE + SMALL_LINE * (bool(label) + bool(marks) * 1.25) + PADDING
    if states:
        height += SMALL_LINE + BAR + 3
    return BoxShape(names, label, marks, states, max(widths) + (_STAGE_PADDING if box.kind == "stage" else 0), height)


def draw_box(box: TaskBox, shape: BoxShape, centre: Point) -> str:
    """The elements of a box. Centre is where it stands in the drawing."""
    left, top = centre.x - shape.width / 2, centre.y - shape.height / 2
    colour = colour_of(box)
    corner = shape.height / 2 if box.kind == "stage" else 5
    parts = [
        f"<title>{escape(_tooltip(box))}</title>",
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{shape.width:.1f}" height="{shape.height:.1f}" rx="{corner:.0f}"',
        f' fill="{colour.ground}" stroke="{colour.border}"{_dashes(box)}/>',
        *_draw_content(box, shape, centre.x, top + PADDING - 4),
        *(_draw_marks(("if",), left + shape.width - 4, top + 4) if box.condition else ()),
        *_draw_gate(len(box.before), centre.x, top, colour.border),
        *_draw_gate(len(box.after), centre.x, top + shape.height, colour.border),
    ]
    return f"<g>{''.join(parts)}</g>"


def _draw_content(box: TaskBox, shape: BoxShape, middle: float, at: float) -> Iterator[str]:
    """The lines of a box from the top, `at` being the base of a line above the first."""
    style = "light" if box.kind == "stage" and not box.states else ""
    for line in shape.names:
        at += LINE
        yield text(middle, at, line, style)
    if shape.label:
        at += SMALL_LINE
        yield text(middle, at, shape.label, "detail")
    if shape.marks:
        at += SMALL_LINE * 1.25
        yield from _draw_marks(shape.marks, middle, at)
    if box.states:
        yield text(middle, at + SMALL_LINE, shape.states, "detail")
        yield from _draw_bar(box, middle - shape.width / 2 + PADDING, at + SMALL_LINE + 5, shape.width - 2 * PADDING)


def wrap(name: str, chars: int) -> tuple[str, ...]:
    """A name in at most two lines, broken behind a separator if there is one."""
    name = visible(name)
    if columns(name) <= chars:
        return (name,)
    breaks = [at + 1 for at, char in enumerate(name) if char in "-_/. :" and at < chars]
    at = min(breaks, key=lambda at: abs(at - len(name) / 2), default=min(chars, len(name) // 2))
    return name[:at], shorten(name[at:], chars + 8)


def describe_place(box: TaskBox, most: int | None = None) -> str:
    """The type of a task and the first of its roles, with the number of the others; or the other nodes of a task."""
    shown = box.roles if most is None else box.roles[:most]
    rest = f" +{len(box.roles) - len(shown)}" if len(shown) < len(box.roles) else ""
    if box.kind == OTHER:
        return f"on {', '.join(shown)}{rest}"
    return f"{box.kind} · {', '.join(shown)}{rest}" if shown else box.kind


def _fit(box: TaskBox, chars: int) -> str:
    """As many roles as fit, but at least one."""
    labels = (describe_place(box, most) for most in range(len(box.roles), 1, -1))
    return next((label for label in labels if columns(label) <= chars), shorten(describe_place(box, 1), chars + 6))


def _dashes(box: TaskBox) -> str:
    return ' stroke-dasharray="4 3"' if box.kind == "skipped" else ""


def _marks_width(marks: tuple[str, ...]) -> float:
    return sum(columns(mark) * SMALL + 14 for mark in marks) - 4 if marks else 0.0


def _draw_marks(marks: tuple[str, ...], middle: float, baseline: float) -> list[str]:
    parts, at = [], middle - _marks_width(marks) / 2
    for mark in marks:
        wide = columns(mark) * SMALL + 10
        parts.append(f'<rect class="mark" x="{at:.1f}" y="{baseline - 11:.1f}" width="{wide:.1f}" height="15" rx="7"/>')
        parts.append(text(at + wide / 2, baseline, mark, "small"))
        at += wide + 4
    return parts


def _draw_bar(box: TaskBox, left: float, top: float, width: float) -> Iterator[str]:
    """A part for each state, as long as it has nodes."""
    total = sum(nodes for _, nodes in box.states)
    for state, nodes in box.states:
        part = width * nodes / total
        yield (f'<rect x="{left:.1f}" y="{top:.1f}" width="{part:.1f}" height="{BAR}" fill="{STATES[state].border}"/>')
        left += part


def _draw_gate(tests: int, x: float, y: float, colour: str) -> list[str]:
    """A diamond on the border, with the number of tests beside it if there are several."""
    if not tests:
        return []
    corners = f"{x:.1f},{y - GATE:.1f} {x + GATE:.1f},{y:.1f} {x:.1f},{y + GATE:.1f} {x - GATE:.1f},{y:.1f}"
    parts = [f'<polygon class="gate" points="{corners}" stroke="{colour}"/>']
    return parts if tests == 1 else [*parts, text(x + 2.5 * GATE, y - 3, f"×{tests}", "detail")]


def _tooltip(box: TaskBox) -> str:
    lines = [box.name, describe_place(box)]
    lines += [f"if {box.condition}"] if box.condition else []
    lines += [f"before: {test}" for test in box.before]
    lines += [f"after: {test}" for test in box.after]
    lines += [f"{count(number, 'node')} {state}" for state, number in box.states]
    return "\n".join(map(visible, lines))
