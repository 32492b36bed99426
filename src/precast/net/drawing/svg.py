"""Draws a net as SVG without any other program, font or network; all text is escaped.

Steps are rounded boxes with their duration and, as tags, the limits they hold; transitions are plain boxes; places are circles with their
tokens as dots. Arcs on failure are dashed red, arcs on skip dashed amber, read arcs dotted.
"""

from xml.sax.saxutils import escape

from precast.base.spans import visible
from precast.net import issues
from precast.net.drawing.layout import Layout, Point, lay_out
from precast.net.drawing.picture import Picture, PictureLink, PictureNode
from precast.net.drawing.svg_parts import columns, document, smooth_path, text

MOST_NODES = 300
GAP_X, GAP_Y, BACK = 56, 22, 7
CHAR, LINE, PLACE = 7.3, 17, 34
_STYLE = """
  text { font: 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1d2733; text-anchor: middle }
  .detail { fill: #5b6875; font-size: 11px } .tag { font-size: 10px; fill: #5a3d00 }
  .step { fill: #e8f1fb; stroke: #3b74b4 } .transition { fill: #eceff1; stroke: #455a64 }
  .place { fill: #ffffff; stroke: #455a64 } .limit { fill: #fff6e0; stroke: #b07d00 } .chip { fill: #ffedc2; stroke: #d9a520 }
  .dot { fill: #1d2733 } .line { fill: none; stroke: #66737f; stroke-width: 1.3 }
  .read { stroke-dasharray: 2 3 } .failure { stroke: #b3261e; stroke-dasharray: 6 3 } .skip { stroke: #a07000; stroke-dasharray: 6 3 }
"""
_HEADS = (("arc", "#66737f"), ("failure", "#b3261e"), ("skip", "#a07000"))


def write_svg(picture: Picture) -> str:
    """The SVG text. Raises InputError NET-040 for a net too large for a readable picture."""
    if len(picture.nodes) > MOST_NODES:
        raise issues.TOO_LARGE_TO_DRAW.error(nodes=len(picture.nodes), limit=MOST_NODES)
    sizes = [_size(node) for node in picture.nodes]
    limits = [n for n, node in enumerate(picture.nodes) if node.kind == "limit"]
    layout = lay_out(sizes, picture.links, GAP_X, GAP_Y, limits)
    body = [_link(link, picture, layout, number) for number, link in enumerate(picture.links)]
    body += [_node(node, centre, size) for node, centre, size in zip(picture.nodes, layout.nodes, sizes, strict=True)]
    return document(picture.name, (layout.width, layout.height), _STYLE, _HEADS, "\n".join(body))


def _size(node: PictureNode) -> tuple[float, float]:
    if node.kind in ("place", "limit"):
        return max(PLACE, columns(node.name) * CHAR), PLACE + LINE
    width = max(columns(node.name), columns(node.detail)) * CHAR + 20
    return max(width, _tags_width(node)), 14 + LINE * (1 + bool(node.detail) + bool(node.tags))


def _tags_width(node: PictureNode) -> float:
    return sum(columns(tag) * 6.2 + 16 for tag in node.tags) + 10


def _node(node: PictureNode, centre: Point, size: tuple[float, float]) -> str:
    title = f"<title>{escape(visible(node.name))}</title>"
    if node.kind in ("place", "limit"):
        return f"<g>{title}{_circle(node, centre)}</g>"
    left, top = centre.x - size[0] / 2, centre.y - size[1] / 2
    corner = 8 if node.kind == "step" else 1
    parts = [
        f'<rect class="{node.kind}" x="{left:.1f}" y="{top:.1f}" width="{size[0]:.1f}" height="{size[1]:.1f}" rx="{corner}"/>'
    ]
    parts.append(text(centre.x, top + LINE + 2, node.name))
    if node.detail:
        parts.append(text(centre.x, top + 2 * LINE + 1, node.detail, "detail"))
    at = centre.x - (_tags_width(node) - 10) / 2
    for tag in node.tags:
        wide = columns(tag) * 6.2 + 10
        y = top + size[1] - LINE - 4
        parts.append(f'<rect class="chip" x="{at:.1f}" y="{y:.1f}" width="{wide:.1f}" height="15" rx="7"/>')
        parts.append(text(at + wide / 2, y + 11, tag, "tag"))
        at += wide + 6
    return f"<g>{title}{''.join(parts)}</g>"


def _circle(node: PictureNode, centre: Point) -> str:
    middle = centre.y - LINE / 2
    parts = [f'<circle class="{node.kind}" cx="{centre.x:.1f}" cy="{middle:.1f}" r="{PLACE / 2}"/>']
    if node.detail in ("1", "2", "3"):
        count = int(node.detail)
        parts += [
            f'<circle class="dot" cx="{centre.x + (n - (count - 1) / 2) * 9:.1f}" cy="{middle:.1f}" r="3.6"/>'
            for n in range(count)
        ]
    elif node.detail:
        parts.append(text(centre.x, middle + 4, node.detail, "detail"))
    return "".join([*parts, text(centre.x, middle + PLACE / 2 + 13, node.name, "detail")])


def _link(link: PictureLink, picture: Picture, layout: Layout, number: int) -> str:
    """A smooth line from border to border through its bends."""
    stops = [layout.nodes[link.source], *layout.bends[number], layout.nodes[link.target]]
    # An arrow that points back is drawn below a possible arrow in the other direction.
    aside = BACK if stops[-1].x < stops[0].x else 0.0
    first = _border(picture.nodes[link.source], stops[0], stops[1])
    last = _border(picture.nodes[link.target], stops[-1], stops[-2])
    # A line is straight until it has left its own column, so that it crosses no wider neighbour.
    leave = _edge(stops[0], layout.column_widths[link.source], stops[1], first)
    enter = _edge(stops[-1], layout.column_widths[link.target], stops[-2], last)
    points = [Point(point.x, point.y + aside) for point in (leave, *stops[1:-1], enter)]
    path = smooth_path(Point(first.x, first.y + aside), points, Point(last.x, points[-1].y))
    head = link.kind if link.kind in ("failure", "skip") else "arc"
    line = f'<path class="line {link.kind}" d="{path}" marker-end="url(#{head})"/>'
    if link.weight == 1:
        return line
    middle = points[len(points) // 2 - 1], points[len(points) // 2]
    return line + text((middle[0].x + middle[1].x) / 2, (middle[0].y + middle[1].y) / 2 - 4, str(link.weight), "detail")


def _edge(centre: Point, column_width: float, towards: Point, border: Point) -> Point:
    """Where a line leaves or enters the column of a node."""
    side = 1 if towards.x >= centre.x else -1
    return Point(centre.x + side * column_width / 2, border.y)


def _border(node: PictureNode, centre: Point, towards: Point) -> Point:
    """Where a line leaves or meets a node: on the side that faces the other end, at the height of its middle."""
    side = 1 if towards.x >= centre.x else -1
    if node.kind in ("place", "limit"):
        return Point(centre.x + side * PLACE / 2, centre.y - LINE / 2)
    return Point(centre.x + side * _size(node)[0] / 2, centre.y)
