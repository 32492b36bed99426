"""Records who reads which answer, finds the answers that have changed, and requests decisions about their readers.

Every query that some catalog rests on is evaluated again at intervals, by one server: that costs what reads facts, and what releases
catalogs, nothing at all, and a catalog is decided upon again exactly when the result of its query has changed. The evaluations of an
environment use a twentieth of the time at most. A query whose result changes all the time has a new answer only as often as a node may
cause compiles by its facts.
"""

import logging
from collections.abc import Iterable, Sequence
from datetime import timedelta

from precast.base.errors import UnavailableError
from precast.services.facts.decisions import COMPILE_BURST, COMPILE_EVERY
from precast.services.query.fleet.answering import EVERY, FleetReads, item_of
from precast.services.query.fleet.evaluation import FleetQueries
from precast.services.queue_worker import run_worker
from precast.services.work_kinds import DECIDE, REEVALUATE
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.query import fleet_answers
from precast.store.query.fleet_answers import AnswerKey, AnswerState, Reader, StoredAnswer
from precast.store.queue.kinds import ItemRequest
from precast.store.queue.queue import WorkQueue

log = logging.getLogger("precast.queries")

LEASE_S = 60.0
# The pause after an evaluation, as a multiple of the time it took.
PAUSE_FACTOR = 20
PAGE = 500
# An answer that nobody reads stays this long, for a compile that has asked for it.
UNREAD = timedelta(hours=1)


class FleetWatch:
    """Holds no state between calls."""

    def __init__(self, database: Database, queries: FleetQueries, work: WorkQueue) -> None:
        self._database, self._queries, self._work = database, queries, work

    def record(self, reads: Iterable[FleetReads], nodes: Sequence[str]) -> Transaction[list[str]]:
        """Record which answers these nodes read. Returns those whose decision rests on an answer that has changed in the meantime."""
        used = {
            Reader(node, *key): answer.digest
            for each in reads
            for key, answer in each.known.values()
            for node, keys in each.asked.items()
            if key in keys and node in nodes
        }
        stored = yield from fleet_answers.find_reads(nodes)
        if not used and not stored:
            return []
        present = (yield from fleet_answers.lock({reader.id for reader in used})) if used else {}
        yield from fleet_answers.replace_reads(stored - used.keys(), used.keys() - stored)
        return sorted(
            {
                reader.node
                for reader, digest in used.items()
                if present.get(AnswerKey(reader.environment, reader.id)) != digest
            }
        )

    async def run(self, owner: str) -> None:
        """Evaluate queries again until cancelled. Cancelling is safe: another server goes on when the lease ends."""
        await run_worker(self._database, lambda: self.work_off(owner), REEVALUATE)

    async def work_off(self, owner: str) -> int:
        """Evaluate the queries of an environment again, if that is due; returns of how many environments."""
        claims = await self._work.claim(REEVALUATE.name, owner, limit=1, lease_s=LEASE_S)
        for claim in claims:
            environment = "" if claim.key == item_of("") else claim.key
            began_s = self._database.clock.monotonic_s()
            if await self._reevaluate(environment):
                spent = timedelta(seconds=self._database.clock.monotonic_s() - began_s)
                due_at = self._database.clock.now() + max(EVERY, spent * PAUSE_FACTOR)
                await self._work.enqueue(REEVALUATE.name, claim.key, b"", due_at=due_at)
            await self._work.complete(claim)
        return len(claims)

    async def _reevaluate(self, environment: str) -> bool:
        """Follow all answers of an environment; returns whether there are any. An answer that cannot be found now stays as it is."""
        before = self._database.clock.now() - UNREAD
        await self._database.write(fleet_answers.delete_unread, environment, before)
        after = ""
        while page := await self._database.read(fleet_answers.list_states, environment, after, PAGE):
            after = page[-1].key.id
            for state in page:
                try:
                    await self._follow(state)
                except UnavailableError as error:
                    log.info("a query over the nodes of %s is evaluated later: %s", environment or "all", error.message)
        return bool(after)

    async def _follow(self, state: AnswerState) -> None:
        """Tell the readers of an answer that has changed; first of all those that were not told of the last change."""
        told = state.told
        if told is None:
            answer = await self._queries.evaluate(state.query, state.key.environment)
            if answer.digest == state.digest:
                return
            stored = StoredAnswer(answer.digest, answer.data)
            told = await self._database.write_alone(self._change, state, stored)
        while told is not None:
            told = await self._database.write_alone(self._tell_page, state, told)

    def _change(self, state: AnswerState, answer: StoredAnswer) -> Transaction[str | None]:
        """Store a changed answer, if the allowance permits. Returns after which reader the others are to be told."""
        now = self._database.clock.now()
        allowed_at = max(state.allowed_at, now) + COMPILE_EVERY
        if allowed_at - now > COMPILE_BURST * COMPILE_EVERY:
            return None
        return "" if (yield from fleet_answers.change(state, answer, now, allowed_at)) else None

    def _tell_page(self, state: AnswerState, after: str) -> Transaction[str | None]:
        """Request decisions about a page of readers; returns the last of them, None at the end."""
        nodes = yield from fleet_answers.list_readers(state.key, after, PAGE)
        told = nodes[-1] if len(nodes) == PAGE else None
        yield from fleet_answers.tell(state.key, told)
        yield from self._work.enqueue_items(DECIDE.name, [ItemRequest(node) for node in nodes])
        return told
