"""Who gets no catalog, or gets it late: errors of the code, compiles that do not come to an end, facts that change too often."""

from precast.services.traces.groves import chain_of
from precast.services.work_kinds import COMPILE, DECIDE
from precast.store.catalogs import Catalogs
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.facts.facts import QUIET, Facts
from precast.store.queue.kinds import DeadLetter
from precast.store.queue.queue import WorkQueue
from precast.store.traces import Traces
from precast.wire.catalogs.bodies import CatalogError, DeadCompile, Flapping

LISTED = 500
# Names of nodes listed with a compile that failed; how many wait for it is always said.
NAMES_SHOWN = 20


class CatalogTroubles:
    """Holds no state between calls."""

    def __init__(self, database: Database, catalogs: Catalogs, traces: Traces, facts: Facts, work: WorkQueue) -> None:
        self._database, self._catalogs, self._traces = database, catalogs, traces
        self._facts, self._work = facts, work

    async def errors(self, after: str) -> list[CatalogError]:
        """Nodes whose code gives an error, by name; a page of them."""
        return await self._database.read(self._listing_errors, after)

    async def dead(self) -> list[DeadCompile]:
        """Compiles and decisions that were given up, for which somebody waits; the first of each."""
        letters = [
            letter
            for kind in (COMPILE.name, DECIDE.name)
            for letter in await self._work.dead((kind, ""), LISTED)
            if letter.kind == kind
        ]
        return await self._database.read(self._listing_dead, letters)

    async def flapping(self) -> list[Flapping]:
        """Facts that changed more often lately than their node may ask for, by node; the first of them."""
        since = self._database.clock.now() - QUIET
        found = await self._database.read(self._facts.flapping, since, ("", ""), LISTED)
        return [Flapping(one.node, one.path, one.times, one.since, one.last_at) for one in found]

    def _listing_errors(self, after: str) -> Transaction[list[CatalogError]]:
        broken = yield from self._catalogs.broken(after, LISTED)
        errors: dict[str, str] = {}
        for chain in dict.fromkeys(one.chain for one in broken):
            hung = yield from self._traces.finding_by_id(chain)
            errors[chain] = "" if hung is None else chain_of(hung.chain).leaf.error or ""
        return [
            CatalogError(one.node, one.environment, one.version, errors[one.chain], one.decided_at) for one in broken
        ]

    def _listing_dead(self, letters: list[DeadLetter]) -> Transaction[list[DeadCompile]]:
        found = []
        for letter in letters:
            nodes, count = [letter.key], 1
            if letter.kind == COMPILE.name:
                nodes = yield from self._traces.waiters(letter.key, NAMES_SHOWN)
                count = yield from self._traces.counting_waiters(letter.key)
            if nodes:
                found.append(
                    DeadCompile(
                        letter.kind, letter.lane, letter.last_error, letter.attempts, letter.died_at, nodes, count
                    )
                )
        return found
