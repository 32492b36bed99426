"""Parts that all drawings share: the document, its texts, and smooth lines through the bends of a layout. All text is escaped."""

import itertools
from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape, quoteattr

from precast.base.spans import visible, width
from precast.net.drawing.layout import Point

MARGIN = 24
MOST_CHARS = 40


def document(name: str, size: tuple[float, float], style: str, heads: Iterable[tuple[str, str]], body: str) -> str:
    """The SVG text. `heads` are the arrowheads: their ids and colours. The body begins inside the margin."""
    across, down = size[0] + 2 * MARGIN, size[1] + 2 * MARGIN
    markers = "".join(
        f'<marker id="{kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0.5 L8 4 L0 7.5 z" fill="{colour}"/></marker>'
        for kind, colour in heads
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{across:.0f}" height="{down:.0f}" '
        f'viewBox="0 0 {across:.0f} {down:.0f}" role="img" aria-label={quoteattr(visible(name))}>\n'
        f"<title>{escape(visible(name))}</title>\n<style>{style}</style>\n<defs>{markers}</defs>\n"
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n<g transform="translate({MARGIN} {MARGIN})">\n{body}\n</g>\n</svg>\n'
    )


def text(x: float, y: float, content: str, kind: str = "", most: int = MOST_CHARS) -> str:
    """A line of text, shortened to so many characters."""
    style = f' class="{kind}"' if kind else ""
    return f'<text{style} x="{x:.1f}" y="{y:.1f}">{escape(shorten(content, most))}</text>'


def shorten(content: str, most: int = MOST_CHARS) -> str:
    content = visible(content)
    return content if len(content) <= most else content[: most - 1] + "…"


def columns(content: str) -> int:
    """The width of a text as it is drawn, in characters of a monospaced font."""
    return width(shorten(content))


def smooth_path(first: Point, points: Sequence[Point], last: Point, *, is_down: bool = False) -> str:
    """The data of a path that is straight up to the first of the points, smooth from point to point, and straight to the end.

    The points are those of a layout, which runs from left to right; with `is_down` the drawing runs from top to bottom.
    """

    def at(x: float, y: float) -> str:
        return f"{y:.1f} {x:.1f}" if is_down else f"{x:.1f} {y:.1f}"

    straight = "V" if is_down else "H"
    path = f"M{at(*first)}" + (f" {straight}{points[0].x:.1f}" if points[0] != first else "")
    for here, there in itertools.pairwise(points):
        bend = (there.x - here.x) / 2
        path += f" C{at(here.x + bend, here.y)} {at(there.x - bend, there.y)} {at(*there)}"
    return path + (f" {straight}{last.x:.1f}" if last != points[-1] else "")
