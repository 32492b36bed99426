"""Lists nodes that get no catalog, or get it late: errors of the code, compiles that were given up, facts that change too often.

It also lists nodes whose staged catalog has problems that a run would meet. Catalogs of entry points are listed after those of nodes.
"""

from collections.abc import Callable

from precast.services.catalogs.leaf_problems import read_leaves, view_problems
from precast.services.work_kinds import COMPILE, DECIDE
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.entries import FlawedEntry
from precast.store.catalogs.staged import FlawedCatalog
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.facts.facts import QUIET, Facts
from precast.store.queue.kinds import DeadLetter
from precast.store.queue.queue import WorkQueue
from precast.store.traces import Traces
from precast.wire.catalogs.bodies import CatalogError, CatalogWarning, DeadCompile, FlappingFact

LISTED = 500
# Names of nodes listed with a failed compile; the number of waiting nodes is always complete.
NAMES_SHOWN = 20


class CatalogProblems:
    """Holds no state between calls."""

    def __init__(self, database: Database, catalogs: Catalogs, traces: Traces, facts: Facts, work: WorkQueue) -> None:
        self._database, self._catalogs, self._traces = database, catalogs, traces
        self._facts, self._work = facts, work

    async def list_errors(self, after: str) -> list[CatalogError]:
        """A page of the nodes, and then of the entry points, whose code gives an error; it begins after a `position` of the last one."""
        return await self._database.read(self._list_errors, after)

    async def list_warnings(self, after: str) -> list[CatalogWarning]:
        """A page of the nodes, and then of the entry points, whose staged catalog has problems; it begins as that of errors."""
        return await self._database.read(self._list_warnings, after)

    async def list_dead_compiles(self) -> list[DeadCompile]:
        """The first compiles and decisions that were given up and that nodes wait for."""
        letters = [
            letter
            for kind in (COMPILE.name, DECIDE.name)
            for letter in await self._work.list_dead((kind, ""), LISTED)
            if letter.kind == kind
        ]
        return await self._database.read(self._list_dead, letters)

    async def list_flapping_facts(self) -> list[FlappingFact]:
        """The first facts that changed more often lately than their node may cause compiles, by node."""
        since = self._database.clock.now() - QUIET
        flaps = await self._database.read(self._facts.list_flaps, since, ("", ""), LISTED)
        return [FlappingFact(flap.node, flap.path, flap.times, flap.since, flap.last_at) for flap in flaps]

    def _list_errors(self, after: str) -> Transaction[list[CatalogError]]:
        flawed = yield from _list_flawed(after, self._catalogs.staged.list_failed, self._catalogs.entries.list_failed)
        leaves = yield from read_leaves(self._traces, (row.chain for row in flawed))
        return [
            CatalogError(
                row.node,
                row.environment,
                row.version,
                leaves[row.chain].error or "",
                row.decided_at,
                view_problems(leaves[row.chain]),
                row.entry,
            )
            for row in flawed
        ]

    def _list_warnings(self, after: str) -> Transaction[list[CatalogWarning]]:
        flawed = yield from _list_flawed(
            after, self._catalogs.staged.list_with_problems, self._catalogs.entries.list_with_problems
        )
        leaves = yield from read_leaves(self._traces, (row.chain for row in flawed))
        return [
            CatalogWarning(
                row.node,
                row.environment,
                row.version,
                view_problems(leaves[row.chain]),
                row.decided_at,
                row.entry,
            )
            for row in flawed
        ]

    def _list_dead(self, letters: list[DeadLetter]) -> Transaction[list[DeadCompile]]:
        compiles = []
        for letter in letters:
            nodes, count = [letter.key], 1
            if letter.kind == COMPILE.name:
                waiters = yield from self._traces.list_waiters(letter.key, NAMES_SHOWN)
                nodes = list(dict.fromkeys(waiter.node for waiter in waiters))
                count = yield from self._traces.count_waiters(letter.key)
            if nodes:
                compiles.append(
                    DeadCompile(
                        letter.kind, letter.lane, letter.last_error, letter.attempts, letter.died_at, nodes, count
                    )
                )
        return compiles


def _list_flawed(
    after: str,
    list_nodes: Callable[[str, int], Transaction[list[FlawedCatalog]]],
    list_entries: Callable[[tuple[str, str], int], Transaction[list[FlawedEntry]]],
) -> Transaction[list[FlawedEntry]]:
    """A page of flawed catalogs: those of all nodes by name, then those of entry points by node and path.

    `after` is a node, or a node and an entry point with a blank between them.
    """
    node, _, entry = after.partition(" ")
    flawed: list[FlawedEntry] = []
    if not entry:
        rows = yield from list_nodes(node, LISTED)
        flawed = [FlawedEntry(row.node, "", row.environment, row.version, row.chain, row.decided_at) for row in rows]
    if (left := LISTED - len(flawed)) > 0:
        flawed += yield from list_entries((node, entry) if entry else ("", ""), left)
    return flawed
