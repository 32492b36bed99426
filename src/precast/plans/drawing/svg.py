"""Draws a plan as SVG, from top to bottom, without any other program, font or network.

The layout is that of nets, turned: a plan has more steps than tasks beside each other, and a page scrolls down.
"""

import math
from collections import defaultdict

from precast.net.drawing.layout import Layout, Point, lay_out
from precast.net.drawing.svg_parts import document, smooth_path
from precast.plans.drawing.box import GATE, BoxShape, draw_box, shape_box
from precast.plans.drawing.legend import draw_legend
from precast.plans.drawing.picture import PlanPicture, TaskArrow

GAP_DOWN, GAP_ACROSS, BACK = 40, 14, 7
LEAST_ACROSS = 8
PORT = 9  # the distance of arrows that meet the same box
_STYLE = """
  text { font: 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1d2733; text-anchor: middle }
  .light { fill: #ffffff } .detail { fill: #55616c; font-size: 10.5px } .small { font-size: 10px; fill: #5a3d00 }
  .note { fill: #3f4a52; text-anchor: start; font-size: 11px } .name { font-weight: bold; text-anchor: start; font-size: 15px }
  .mark { fill: #ffedc2; stroke: #d9a520 } .gate { fill: #ffffff; stroke-width: 1.6 }
  .line { fill: none; stroke: #66737f; stroke-width: 1.2 } .cross { stroke: #2f6fb0; stroke-dasharray: 6 3 }
  .any { stroke: #75539f; stroke-dasharray: 2 3 }
"""
HEADS = (("need", "#66737f"), ("cross", "#2f6fb0"), ("any", "#75539f"))


def write_svg(picture: PlanPicture) -> str:
    """The SVG text."""
    shapes = [shape_box(box) for box in picture.boxes]
    most = max(LEAST_ACROSS, round(math.sqrt(len(shapes)) / 2))
    sizes = [(shape.height, shape.width) for shape in shapes]
    layout = lay_out(sizes, picture.arrows, GAP_DOWN, GAP_ACROSS, most=most, merges=True)
    legend = draw_legend(picture, layout.height)
    body = _Lines(picture, shapes, layout).draw()
    body += [
        draw_box(box, shape, Point(place.y, place.x))
        for box, shape, place in zip(picture.boxes, shapes, layout.nodes, strict=True)
    ]
    width = max(layout.height, legend.width)
    place = f"{(width - layout.height) / 2:.0f} {legend.height:.0f}"
    graph = f'<g transform="translate({place})">\n' + "\n".join(body) + "\n</g>"
    return document(picture.name, (width, layout.width + legend.height), _STYLE, HEADS, legend.text + "\n" + graph)


class _Lines:
    """Draws the arrows. Those that meet the same border are spread over it, in the order in which they come; a gate gathers them."""

    def __init__(self, picture: PlanPicture, shapes: list[BoxShape], layout: Layout) -> None:
        self._picture, self._shapes, self._layout = picture, shapes, layout
        self._joints = self._find_joints()
        self._shifts: list[list[float]] = [[0.0, 0.0] for _ in picture.arrows]
        borders: dict[tuple[int, float], list[tuple[float, int, int]]] = defaultdict(list)
        for number, arrow in enumerate(picture.arrows):
            stops = self._stops(number, arrow)
            borders[arrow.source, _side(stops[0], stops[1])].append((stops[1].y, number, 0))
            if self._joints[number] is None:
                borders[arrow.target, _side(stops[-1], stops[-2])].append((stops[-2].y, number, 1))
        for (box, side), ends in borders.items():
            if not self._gate(box, side):
                self._spread(box, ends)

    def draw(self) -> list[str]:
        """The paths, one for each arrow."""
        return [self._draw(number, arrow) for number, arrow in enumerate(self._picture.arrows)]

    def _find_joints(self) -> list[int | None]:
        """By arrow, the bend at which it joins a longer one to the same box, and ends."""
        joints: list[int | None] = [None] * len(self._picture.arrows)
        drawn: set[tuple[str, int, Point]] = set()
        for number in sorted(range(len(joints)), key=lambda number: -len(self._layout.bends[number])):
            kind, _, target = self._picture.arrows[number]
            bends = self._layout.bends[number]
            joints[number] = next((at for at, bend in enumerate(bends) if (kind, target, bend) in drawn), None)
            drawn.update((kind, target, bend) for bend in bends[: joints[number]])
        return joints

    def _draw(self, number: int, arrow: TaskArrow) -> str:
        stops, joint = self._stops(number, arrow), self._joints[number]
        aside = BACK if stops[-1].x < stops[0].x else 0.0
        first, leave = self._end(arrow.source, stops[0], stops[1], self._shifts[number][0] + aside)
        if joint is not None:
            path = smooth_path(first, [leave, *stops[1 : joint + 2]], stops[joint + 1], is_down=True)
            return f'<path class="line {arrow.kind}" d="{path}"/>'
        last, enter = self._end(arrow.target, stops[-1], stops[-2], self._shifts[number][1] + aside)
        path = smooth_path(first, [leave, *stops[1:-1], enter], last, is_down=True)
        return f'<path class="line {arrow.kind}" d="{path}" marker-end="url(#{arrow.kind})"/>'

    def _stops(self, number: int, arrow: TaskArrow) -> list[Point]:
        nodes = self._layout.nodes
        return [nodes[arrow.source], *self._layout.bends[number], nodes[arrow.target]]

    def _end(self, box: int, centre: Point, towards: Point, shift: float) -> tuple[Point, Point]:
        """Where a line meets a box, and where it leaves the row of the box."""
        side = _side(centre, towards)
        border = centre.x + side * (self._shapes[box].height / 2 + self._gate(box, side))
        row = centre.x + side * self._layout.column_widths[box] / 2
        y = centre.y + shift
        return Point(border, y), Point(max(border, row) if side > 0 else min(border, row), y)

    def _gate(self, box: int, side: float) -> float:
        """How far the diamond of tests stands out of a border."""
        shown = self._picture.boxes[box]
        return GATE if (shown.after if side > 0 else shown.before) else 0.0

    def _spread(self, box: int, ends: list[tuple[float, int, int]]) -> None:
        room = self._shapes[box].width - 24
        step = min(PORT, room / max(len(ends) - 1, 1))
        for place, (_, number, end) in enumerate(sorted(ends)):
            self._shifts[number][end] = (place - (len(ends) - 1) / 2) * step


def _side(centre: Point, towards: Point) -> float:
    return 1.0 if towards.x >= centre.x else -1.0
