"""Computes the positions of the nodes of a picture: in columns from left to right, along the arrows.

These are the usual four steps of layered graph drawing. Arrows that would close a cycle are reversed during the layout; every node goes one
column behind the last of its predecessors; long arrows get a bend in each column they cross; and the nodes of a column are sorted towards
their neighbours, in several sweeps back and forth. Then rows are aligned without changing the order. Nothing is random, so a net always
looks the same.
"""

import itertools
from collections.abc import Collection, Hashable, Sequence
from typing import NamedTuple, Protocol

SWEEPS = 8
ROW_SWEEPS = 24
# How much a link matters for the rows of its ends: between nodes, to a bend, between bends.
STRAIGHT = (1.0, 2.0, 8.0)
# Kinds of links that are exceptions and do not decide the columns.
ASIDE = ("failure", "skip")


class Arrow(Protocol):
    """What the layout reads of a link: its kind, and the nodes that it joins, by index."""

    @property
    def kind(self) -> str: ...

    @property
    def source(self) -> int: ...

    @property
    def target(self) -> int: ...


class Point(NamedTuple):
    """The middle of a node or bend."""

    x: float
    y: float


class Layout(NamedTuple):
    """The position of each node, the width of its column, and the bends of each link from its source to its target."""

    nodes: list[Point]
    column_widths: list[float]
    bends: list[list[Point]]
    width: float
    height: float


def lay_out(
    sizes: Sequence[tuple[float, float]],
    links: Sequence[Arrow],
    gap_x: float,
    gap_y: float,
    loose: Collection[int] = (),
    most: int | None = None,
    merges: bool = False,
) -> Layout:
    """Place nodes of these widths and heights so that none overlap, at most `most` of them in a column.

    Loose nodes, and links for failures and skips, do not influence the columns of the others. With `merges`, links of one kind with one
    target share their bends, as roads that join.
    """
    firm = [link for link in links if link.kind not in ASIDE and link.source not in loose and link.target not in loose]
    column = _columns(len(sizes), _forward(len(sizes), firm), most)
    _place_loose(column, links, loose, {node for link in firm for node in (link.source, link.target)})
    edges = [
        (link.source, link.target) if column[link.source] <= column[link.target] else (link.target, link.source)
        for link in links
    ]
    grid = _Grid(sizes, column)
    chains = [
        grid.chain(source, target, (link.kind, target) if merges and source == link.source else None)
        for link, (source, target) in zip(links, edges, strict=True)
    ]
    grid.sort()
    points, width, height = grid.place(gap_x, gap_y)
    widths = grid.widths()
    bends = []
    for link, chain in zip(links, chains, strict=True):
        # Two bends in each column that the line crosses, so that it is straight inside the column.
        inner = [
            Point(points[node].x + side * widths[node] / 2, points[node].y) for node in chain[1:-1] for side in (-1, 1)
        ]
        bends.append(inner if chain[0] == link.source else inner[::-1])
    return Layout(points[: len(sizes)], widths[: len(sizes)], bends, width, height)


def _forward(count: int, links: Sequence[Arrow]) -> list[tuple[int, int]]:
    """The links as edges without a cycle: those that point back to a node still open are reversed."""
    following: list[list[int]] = [[] for _ in range(count)]
    for number, link in enumerate(links):
        following[link.source].append(number)
    edges = [(link.source, link.target) for link in links]
    state = bytearray(count)  # 1: open, 2: done
    targets = {link.target for link in links}
    for root in sorted(range(count), key=lambda node: node in targets):
        work = [] if state[root] else [(root, iter(following[root]))]
        state[root] = state[root] or 1
        while work:
            node, rest = work[-1]
            for number in rest:
                target = links[number].target
                if state[target] == 1:
                    edges[number] = (target, node)
                elif not state[target]:
                    state[target] = 1
                    work.append((target, iter(following[target])))
                    break
            else:
                state[node] = 2
                work.pop()
    return edges


def _columns(count: int, edges: list[tuple[int, int]], most: int | None) -> list[int]:
    """A node is one column behind its last predecessor; a node without predecessors is right before its first successor.

    Where a column is full, a node goes to the next one.
    """
    before: list[list[int]] = [[] for _ in range(count)]
    after: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        if source != target:
            before[target].append(source)
            after[source].append(target)
    column = [0] * count
    left = [len(nodes) for nodes in before]
    ready = [node for node in range(count) if not left[node]]
    filled = [0] * count  # by column; there are never more columns than nodes
    for node in ready:
        while most is not None and before[node] and filled[column[node]] >= most:
            column[node] += 1
        filled[column[node]] += 1
        for target in after[node]:
            column[target] = max(column[target], column[node] + 1)
            left[target] -= 1
            if not left[target]:
                ready.append(target)  # the queue grows while it is read
    for node in range(count):
        if not before[node] and after[node]:
            column[node] = min(column[target] for target in after[node]) - 1
    return column


def _place_loose(column: list[int], links: Sequence[Arrow], loose: Collection[int], firm: set[int]) -> None:
    """Put each loose node before its first neighbour, and nodes that only failures or skips reach behind their last predecessor."""
    for node in sorted({*loose, *range(len(column))} - (firm - {*loose})):
        before = [column[link.source] for link in links if link.target == node]
        after = [column[link.target] for link in links if link.source == node]
        if node in loose:
            column[node] = min([*before, *after], default=1) - 1
        elif before:
            column[node] = max(before) + 1
    least = min(column, default=0)
    column[:] = [place - least for place in column]


class _Grid:
    """Columns of nodes and bends. A bend is a node without size, numbered behind the real ones."""

    def __init__(self, sizes: Sequence[tuple[float, float]], column: list[int]) -> None:
        self._sizes = list(sizes)
        self._real = len(sizes)
        self._column = column
        self._columns: list[list[int]] = [[] for _ in range(max(column, default=-1) + 1)]
        for node, place in enumerate(column):
            self._columns[place].append(node)
        self._before: list[list[int]] = [[] for _ in sizes]
        self._after: list[list[int]] = [[] for _ in sizes]
        self._shared: dict[tuple[Hashable, int], int] = {}
        self._pairs: set[tuple[int, int]] = set()

    def chain(self, source: int, target: int, road: Hashable = None) -> list[int]:
        """Source, a bend in each column between, target. Chains of the same road share their bends."""
        between = range(self._column[source] + 1, self._column[target])
        chain = [source, *(self._bend(place, road) for place in between), target]
        for before, after in itertools.pairwise(chain):
            if road is None or (before, after) not in self._pairs:
                self._pairs.add((before, after))
                self._after[before].append(after)
                self._before[after].append(before)
        return chain

    def _bend(self, place: int, road: Hashable) -> int:
        bend = self._shared.get((road, place)) if road is not None else None
        if bend is not None:
            return bend
        bend = self._shared[road, place] = len(self._sizes)
        self._columns[place].append(bend)
        self._column.append(place)
        self._sizes.append((0.0, 0.0))
        self._before.append([])
        self._after.append([])
        return bend

    def sort(self) -> None:
        """Order each column by the mean position of its neighbours in the column before, then after, and so on."""
        position = {node: float(at) for nodes in self._columns for at, node in enumerate(nodes)}
        for sweep in range(SWEEPS):
            neighbours = self._before if sweep % 2 == 0 else self._after
            for nodes in self._columns if sweep % 2 == 0 else reversed(self._columns):
                means = {
                    node: _mean([position[neighbour] for neighbour in neighbours[node]], position[node])
                    for node in nodes
                }
                nodes.sort(key=means.__getitem__)
                position.update({node: float(at) for at, node in enumerate(nodes)})

    def place(self, gap_x: float, gap_y: float) -> tuple[list[Point], float, float]:
        rows = self._rows(gap_y)
        points = [Point(0, 0)] * len(self._sizes)
        left = 0.0
        for nodes in self._columns:
            width = max(self._sizes[node][0] for node in nodes)
            for node in nodes:
                points[node] = Point(left + width / 2, rows[node])
            left += width + gap_x
        top = min((rows[node] - self._sizes[node][1] / 2 for node in rows), default=0.0)
        bottom = max((rows[node] + self._sizes[node][1] / 2 for node in rows), default=0.0)
        return [Point(point.x, point.y - top) for point in points], max(0.0, left - gap_x), bottom - top

    def widths(self) -> list[float]:
        """By node and bend, the width of its column."""
        widest = [max(self._sizes[node][0] for node in nodes) for nodes in self._columns]
        return [widest[place] for place in self._column]

    def _rows(self, gap_y: float) -> dict[int, float]:
        """Vertical positions: nodes are stacked first, then each moves towards its neighbours as far as the order allows.

        A sweep over a column finds the positions in which the squared lengths of its links are least, so the sweeps converge.
        """
        rows: dict[int, float] = {}
        for nodes in self._columns:
            rows.update(zip(nodes, self._stack(nodes, [(0.0, 1.0)] * len(nodes), gap_y), strict=True))
        for sweep in range(ROW_SWEEPS):
            for nodes in self._columns if sweep % 2 == 0 else reversed(self._columns):
                wanted = [self._pull(node, rows) for node in nodes]
                rows.update(zip(nodes, self._stack(nodes, wanted, gap_y), strict=True))
        return rows

    def _pull(self, node: int, rows: dict[int, float]) -> tuple[float, float]:
        """Where the neighbours of a node want it, and how much. Bends want to be in line, so that long links become straight."""
        total = weights = 0.0
        for neighbour in (*self._before[node], *self._after[node]):
            weight = STRAIGHT[(node >= self._real) + (neighbour >= self._real)]
            total += weight * rows[neighbour]
            weights += weight
        return (total / weights, weights) if weights else (rows[node], 1.0)

    def _stack(self, nodes: list[int], wanted: list[tuple[float, float]], gap_y: float) -> list[float]:
        """The positions nearest to the wanted ones that keep order and distance.

        Nodes that would overlap form a block, which stands at the mean of what its nodes want; blocks that would overlap become one.
        """
        offsets = [0.0]
        for upper, lower in itertools.pairwise(nodes):
            offsets.append(offsets[-1] + (self._sizes[upper][1] + self._sizes[lower][1]) / 2 + gap_y)
        blocks: list[tuple[float, float, int]] = []  # position without offsets, weight, count of nodes
        for (row, weight), offset in zip(wanted, offsets, strict=True):
            position, count = row - offset, 1
            while blocks and blocks[-1][0] > position:
                upper_position, upper_weight, upper_count = blocks.pop()
                position = (position * weight + upper_position * upper_weight) / (weight + upper_weight)
                weight, count = weight + upper_weight, count + upper_count
            blocks.append((position, weight, count))
        positions = [position for position, _, count in blocks for _ in range(count)]
        return [position + offset for position, offset in zip(positions, offsets, strict=True)]


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
