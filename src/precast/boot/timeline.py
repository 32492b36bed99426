"""A boot as a timeline: when each source was asked and each module ran, how long each waited, and the critical chain."""

from typing import NamedTuple
from xml.sax.saxutils import escape

from precast.base.spans import visible
from precast.boot.events import Result
from precast.boot.history import BootHistory

WIDTH = 60  # characters of the bars
_ROW, _LEFT, _SCALE, _TOP = 22, 190, 640, 56
_STYLE = """
  text { font: 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1d2733 } .small { font-size: 10px; fill: #5b6875 }
  .here { fill: #2e7d32 } .absent { fill: #b0bec5 } .done { fill: #3b74b4 } .failed { fill: #b3261e } .not { fill: #d9a520 }
  .wait { fill: #e3e8ec } .grid { stroke: #e3e8ec } .critical { stroke: #1d2733; stroke-width: 1.5 }
"""


class Row(NamedTuple):
    """A bar. From `wait_s` to `start_s` it waited. `kind` determines how it is drawn."""

    name: str
    kind: str
    wait_s: float
    start_s: float
    end_s: float
    note: str


class Timeline:
    """The rows in order of their start, and the critical chain among them."""

    def __init__(self, account: BootHistory) -> None:
        self.length_s = account.length_s
        self.rows = sorted(
            [*_make_source_rows(account), *_make_module_rows(account)],
            key=lambda row: (row.start_s, row.wait_s, row.end_s),
        )
        self.critical = self._find_critical_chain()

    def _find_critical_chain(self) -> list[str]:
        """Walk back from the row that ended last, each time to the row that ended last before this one started."""
        ends = [row for row in self.rows if row.kind not in ("absent", "not")]
        chain: list[Row] = []
        here = max(ends, key=lambda row: row.end_s, default=None)
        while here is not None and here not in chain:
            chain.append(here)
            before = [row for row in ends if row.end_s <= chain[-1].start_s and row not in chain]
            here = max(before, key=lambda row: row.end_s, default=None)
        return [row.name for row in reversed(chain)]

    def draw_bar(self, row: Row) -> str:
        """Draw a bar in characters: dots for waiting, blocks for work."""
        scale = WIDTH / self.length_s if self.length_s else 0.0
        wait, start, end = (min(WIDTH - 1, int(at * scale)) for at in (row.wait_s, row.start_s, row.end_s))
        mark = {"here": "█", "done": "█", "failed": "▓", "absent": "░", "not": "·"}[row.kind]
        return (" " * wait + "·" * (start - wait) + mark * (end - start + 1)).ljust(WIDTH)

    def draw_svg(self) -> str:
        """Draw a self-contained picture: it needs no font, script or network, and all text is escaped."""
        height, width = _TOP + _ROW * len(self.rows) + 20, _LEFT + _SCALE + 170
        title = f"boot in {self.length_s:.3f} s"
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img" aria-label="{title}">',
            f"<title>{title}</title><style>{_STYLE}</style>",
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            f'<text x="12" y="22">{title}</text>',
        ]
        parts += self._draw_grid(height)
        parts += [part for number, row in enumerate(self.rows) for part in self._draw_row(row, _TOP + number * _ROW)]
        return "\n".join([*parts, "</svg>\n"])

    def _draw_grid(self, height: int) -> list[str]:
        elements = []
        for part in range(5):
            x = _LEFT + _SCALE * part / 4
            elements.append(f'<line class="grid" x1="{x:.0f}" y1="36" x2="{x:.0f}" y2="{height - 12}"/>')
            elements.append(f'<text class="small" x="{x + 3:.0f}" y="46">{self.length_s * part / 4:.3f} s</text>')
        return elements

    def _draw_row(self, row: Row, y: int) -> list[str]:
        scale = _SCALE / self.length_s if self.length_s else 0.0
        wait, start, end = (_LEFT + at * scale for at in (row.wait_s, row.start_s, row.end_s))
        critical = " critical" if row.name in self.critical else ""
        return [
            f'<text x="12" y="{y + 14}">{escape(_shorten(row.name))}</text>',
            f'<rect class="wait" x="{wait:.1f}" y="{y + 7}" width="{max(start - wait, 0):.1f}" height="5"/>',
            f'<rect class="{row.kind}{critical}" x="{start:.1f}" y="{y + 3}" width="{max(end - start, 2):.1f}" height="13" rx="2"/>',
            f'<text class="small" x="{max(end, start + 2) + 6:.1f}" y="{y + 14}">{escape(row.note)}</text>',
        ]


def _shorten(name: str) -> str:
    text = visible(name)
    return text if len(text) <= 24 else f"{text[:23]}…"


def _make_source_rows(account: BootHistory) -> list[Row]:
    return [
        Row(
            f"source {story.name}",
            "here" if story.is_here else "absent",
            story.asked_s,
            story.asked_s,
            end_s := story.answered_s if story.answered_s is not None else account.length_s,
            f"{end_s - story.asked_s:.3f} s",
        )
        for story in account.sources.values()
        if story.asked_s is not None
    ]


def _make_module_rows(account: BootHistory) -> list[Row]:
    rows = []
    for story in account.module_runs.values():
        if story.planned_s is None or (story.started_s is None and story.ended_s is None):
            continue
        end_s = story.ended_s if story.ended_s is not None else account.length_s
        start_s = story.started_s if story.started_s is not None else end_s
        kind = "failed" if story.is_incomplete else "done" if story.result == Result.DONE else "not"
        rows.append(Row(story.name, kind, story.planned_s, start_s, end_s, f"{end_s - start_s:.3f} s"))
    return rows
