"""Lists nodes that get no catalog, or get it late: errors of the code, compiles that were given up, facts that change too often.

It also lists nodes whose staged catalog has problems that a run would meet.
"""

from precast.services.catalogs.leaf_problems import read_leaves, view_problems
from precast.services.work_kinds import COMPILE, DECIDE
from precast.store.catalogs.catalogs import Catalogs
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
        """A page of the nodes whose code gives an error, by name."""
        return await self._database.read(self._list_errors, after)

    async def list_warnings(self, after: str) -> list[CatalogWarning]:
        """A page of the nodes whose staged catalog has problems, by name."""
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
        broken = yield from self._catalogs.staged.list_failed(after, LISTED)
        leaves = yield from read_leaves(self._traces, (staged.chain for staged in broken))
        return [
            CatalogError(
                staged.node,
                staged.environment,
                staged.version,
                leaves[staged.chain].error or "",
                staged.decided_at,
                view_problems(leaves[staged.chain]),
            )
            for staged in broken
        ]

    def _list_warnings(self, after: str) -> Transaction[list[CatalogWarning]]:
        flawed = yield from self._catalogs.staged.list_with_problems(after, LISTED)
        leaves = yield from read_leaves(self._traces, (staged.chain for staged in flawed))
        return [
            CatalogWarning(
                staged.node,
                staged.environment,
                staged.version,
                view_problems(leaves[staged.chain]),
                staged.decided_at,
            )
            for staged in flawed
        ]

    def _list_dead(self, letters: list[DeadLetter]) -> Transaction[list[DeadCompile]]:
        compiles = []
        for letter in letters:
            nodes, count = [letter.key], 1
            if letter.kind == COMPILE.name:
                nodes = yield from self._traces.list_waiters(letter.key, NAMES_SHOWN)
                count = yield from self._traces.count_waiters(letter.key)
            if nodes:
                compiles.append(
                    DeadCompile(
                        letter.kind, letter.lane, letter.last_error, letter.attempts, letter.died_at, nodes, count
                    )
                )
        return compiles
