"""When actions may begin on nodes: the openings of the windows that are bound to them.

A node without a binding for a class of actions is always open for it. Several windows open together: it is enough if one is open.
Blackouts close what the others open; a node that only blackouts are bound to is open outside of them. At closing, what is under way is
aborted if one of the bindings says so, and else finishes.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple, cast

from precast.base import digests
from precast.services.issues import NO_SUCH_NODE
from precast.services.query.known_nodes import KnownNodes
from precast.services.windows import issues
from precast.services.windows.bound_nodes import BoundNodes
from precast.services.windows.expansion import WindowExpansions
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.windows.windows import StoredBinding, StoredWindow, Windows
from precast.wire.windows.bodies import ALL_CLASSES, CLASSES, ActionClass, AtClose, OpeningView, WindowKind
from precast.wire.windows.intervals import Interval, closes_at, merge, next_open, subtract

MAX_WINDOWS = 1000
MAX_BINDINGS = 1000
HORIZON = timedelta(days=366)


class NodeOpenings(NamedTuple):
    """When actions of a class may begin on a node, exactly between the two moments that were asked for, and by which windows.

    The digest changes with the windows and not with time.
    """

    intervals: tuple[Interval, ...]
    at_close: AtClose
    windows: tuple[str, ...]
    blackouts: tuple[str, ...]
    digest: str


class _Bound(NamedTuple):
    binding: StoredBinding
    window: StoredWindow


class WindowService:
    """Answers when windows are open."""

    def __init__(
        self, database: Database, windows: Windows, known: KnownNodes, nodes: BoundNodes, expansions: WindowExpansions
    ) -> None:
        self._database, self._windows, self._known = database, windows, known
        self._nodes, self._expansions = nodes, expansions

    async def openings(
        self, nodes: Sequence[str], class_: ActionClass, start: datetime, end: datetime
    ) -> dict[str, NodeOpenings | None]:
        """Return when actions of a class may begin on each node, between two moments; None means always.

        The span is at most 400 days. Raises what evaluating targets raises. Cancelling is safe.
        """
        # What releases also enforces.
        asked = {class_, ALL_CLASSES, *(["run-enforce"] if class_ == "release" else [])}
        bound = [entry for entry in await self._database.read(self._list_bound) if asked & set(entry.binding.classes)]
        if not bound:
            return dict.fromkeys(nodes)
        selected = await self._nodes.select([entry.binding.target for entry in bound], nodes)
        members = [selected[entry.binding.target] for entry in bound]
        # Most nodes have the same bindings as many others, so the openings are computed once for each combination.
        computed: dict[tuple[int, ...], NodeOpenings | None] = {(): None}
        result: dict[str, NodeOpenings | None] = {}
        for node in nodes:
            key = tuple(index for index, names in enumerate(members) if node in names)
            if key not in computed:
                computed[key] = await self._combine([bound[index] for index in key], start, end)
            result[node] = computed[key]
        return result

    async def explain(self, node: str, classes: Sequence[ActionClass] = CLASSES) -> list[OpeningView]:
        """Show when actions may begin on a node: now, or next within a year. Raises NotFoundError NODE-001."""
        if await self._database.read(self._known.find, node) is None:
            raise NO_SUCH_NODE.error(node=node[:100])
        now = self._database.clock.now()
        return [
            _explain(node, class_, (await self.openings([node], class_, now, now + HORIZON))[node], now)
            for class_ in classes
        ]

    async def expand(self, window: StoredWindow, start: datetime, end: datetime) -> list[Interval]:
        """Return when a window is open between two moments. Raises NotFoundError WINDOW-002 if it is deleted or replaced meanwhile."""
        kind = cast(WindowKind, window.kind)
        read_source = partial(self._read_source, window)
        return await self._expansions.expand(kind, window.digest, window.zone, start, end, read_source)

    async def _read_source(self, window: StoredWindow) -> str:
        source = await self._database.read(self._windows.read_source, window.name, window.digest)
        if source is None:
            raise issues.NO_WINDOW.error(name=window.name)
        return source

    async def _combine(self, bound: Sequence[_Bound], start: datetime, end: datetime) -> NodeOpenings:
        expanded = [(entry.window, await self.expand(entry.window, start, end)) for entry in bound]
        opens = [intervals for window, intervals in expanded if not window.is_blackout]
        blackouts = merge(interval for window, found in expanded if window.is_blackout for interval in found)
        intervals = merge(interval for found in opens for interval in found) if opens else [Interval(start, end)]
        is_abort = any(entry.binding.at_close == "abort" for entry in bound)
        return NodeOpenings(
            tuple(subtract(intervals, blackouts)),
            "abort" if is_abort else "finish",
            tuple(entry.window.name for entry in bound if not entry.window.is_blackout),
            tuple(entry.window.name for entry in bound if entry.window.is_blackout),
            digests.of_value([[entry.window.name, entry.window.digest, entry.window.is_blackout] for entry in bound]),
        )

    def _list_bound(self) -> Transaction[list[_Bound]]:
        bindings = yield from self._windows.list_bindings(MAX_BINDINGS)
        if not bindings:
            return []
        windows = {window.name: window for window in (yield from self._windows.list_all(MAX_WINDOWS))}
        return [_Bound(binding, windows[binding.window]) for binding in bindings]


def _explain(node: str, class_: ActionClass, openings: NodeOpenings | None, now: datetime) -> OpeningView:
    if openings is None:
        return OpeningView(node, class_, True, now, None, "finish", [], [])
    opens_at = next_open(openings.intervals, now)
    closing = closes_at(openings.intervals, opens_at) if opens_at is not None else None
    return OpeningView(
        node,
        class_,
        opens_at == now,
        opens_at,
        None if closing == now + HORIZON else closing,
        openings.at_close,
        list(openings.windows),
        list(openings.blackouts),
    )
