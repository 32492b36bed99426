"""Finds which nodes the targets of bindings select.

Targets that consist of names and globs are matched without reading anything. For others only the asked nodes are read if these are few;
otherwise the nodes of the site are read once, however many targets there are, and the result is used for some seconds: the driver of jobs
asks before every turn.
"""

import asyncio
from collections.abc import Collection, Sequence
from typing import NamedTuple

from precast.base.clock import Clock
from precast.services.query import issues as query_issues
from precast.services.query.known_nodes import KnownNodes, NodeParts
from precast.services.query.node_fields import NodeFieldReader
from precast.services.query.predicates import Predicate, compile_predicate
from precast.services.query.targets import PAGE, PAGE_WITH_FACTS, TIME_S, parts_of
from precast.wire.query.parser import parse
from precast.wire.query.targets import And, HasResource, NodeName, Not, Or, Term, walk

CACHED_S = 5.0
FEW = 50


class _NamedNode(NamedTuple):
    """What a target of names and globs is matched against."""

    name: str


class _Selection(NamedTuple):
    names: frozenset[str]
    at_s: float


class BoundNodes:
    """Matches nodes with targets, and caches which nodes of the site match."""

    def __init__(self, nodes: KnownNodes, clock: Clock) -> None:
        self._nodes, self._clock = nodes, clock
        self._selections: dict[str, _Selection] = {}
        self._lock = asyncio.Lock()

    async def select(self, targets: Collection[str], names: Sequence[str]) -> dict[str, frozenset[str]]:
        """Return, for each target, those of the named nodes that it selects. Raises what evaluating targets raises."""
        terms = {target: parse(target) for target in set(targets)}
        plain = {target: term for target, term in terms.items() if _is_plain(term)}
        selected = {target: _select_plain(term, names) for target, term in plain.items()}
        rest = {target: term for target, term in terms.items() if target not in plain}
        if len(names) <= FEW and not any(any(parts_of(term, NodeParts())) for term in rest.values()):
            return selected | await self._select_few(rest, names)
        async with self._lock:  # one reading of the fleet serves all who wait for it
            await self._refresh(rest)
            return selected | {target: self._selections[target].names.intersection(names) for target in rest}

    async def count(self, target: str) -> int:
        """Count the active nodes of the site that a target selects now."""
        return len((await self._read_fleet({target: parse(target)}))[target])

    async def _select_few(self, terms: dict[str, Term], names: Sequence[str]) -> dict[str, frozenset[str]]:
        nodes = [node for node in await self._nodes.find_all(list(names)) if node.is_active] if terms else []
        tests = {target: compile_predicate(term, NodeFieldReader()) for target, term in terms.items()}
        return {target: frozenset(node.name for node in nodes if test(node)) for target, test in tests.items()}

    async def _refresh(self, terms: dict[str, Term]) -> None:
        now_s = self._clock.monotonic_s()
        stale = {
            target: term
            for target, term in terms.items()
            if (known := self._selections.get(target)) is None or now_s - known.at_s > CACHED_S
        }
        if not stale:
            return
        # Those that nobody has asked for since then are dropped.
        self._selections = {
            target: known for target, known in self._selections.items() if now_s - known.at_s <= CACHED_S
        }
        found = await self._read_fleet(stale)
        self._selections |= {target: _Selection(frozenset(names), now_s) for target, names in found.items()}

    async def _read_fleet(self, terms: dict[str, Term]) -> dict[str, list[str]]:
        """Read the nodes of the site once, and match each with all terms. Raises UnavailableError TARGET-008."""
        has = [part for term in terms.values() for part in walk(term) if isinstance(part, HasResource)]
        reader = NodeFieldReader(await self._nodes.compile_has(has))
        tests = {target: compile_predicate(term, reader) for target, term in terms.items()}
        parts = _join_parts([parts_of(term, NodeParts()) for term in terms.values()])
        found: dict[str, list[str]] = {target: [] for target in terms}
        after, started_s = "", self._clock.monotonic_s()
        while page := await self._nodes.read_page(after, PAGE_WITH_FACTS if parts.facts else PAGE, parts):
            for node in page:
                if node.is_active:
                    for target, test in tests.items():
                        if test(node):
                            found[target].append(node.name)
            after = page[-1].name
            if self._clock.monotonic_s() - started_s > TIME_S:
                raise query_issues.TARGETS_TOO_SLOW.error(seconds=TIME_S)
        return found


def _is_plain(term: Term) -> bool:
    return all(isinstance(part, NodeName | And | Or | Not) for part in walk(term))


def _select_plain(term: Term, names: Sequence[str]) -> frozenset[str]:
    test: Predicate = compile_predicate(term, NodeFieldReader())
    return frozenset(name for name in names if test(_NamedNode(name)))


def _join_parts(parts: Sequence[NodeParts]) -> NodeParts:
    return NodeParts(
        frozenset().union(*(part.facts for part in parts)),
        any(part.served for part in parts),
        any(part.staged for part in parts),
        any(part.report for part in parts),
    )
