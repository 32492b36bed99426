"""Answers the queries over the fleet that walks and compiles ask: from stored answers, or by evaluating a query that is asked first.

So the answer to a query is the same for every walk and compile until `FleetWatch` finds that it has changed.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

from precast.base import digests
from precast.base.errors import UnavailableError
from precast.lang.puppetdb.answers import EncodedAnswer
from precast.services.query import issues
from precast.services.query.fleet.evaluation import FleetQueries
from precast.services.traces.costly_answers import FleetQueryToAnswer, NotAnswered
from precast.services.work_kinds import REEVALUATE
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.query import fleet_answers
from precast.store.query.fleet_answers import AnswerKey, StoredAnswer
from precast.store.queue.queue import WorkQueue

# The environment whose nodes those of an environment see; empty for all.
FindScope = Callable[[str], Transaction[str]]


# How long an answer is used before the query is evaluated again.
EVERY = timedelta(seconds=10)


# How long a query over resources waits until all released catalogs are indexed; less than the lease of a decision.
INDEX_WAIT_S = 15.0
INDEX_POLL_S = 0.25


class FleetAnswers:
    """Holds no state between calls."""

    def __init__(self, database: Database, queries: FleetQueries, find_scope: FindScope, work: WorkQueue) -> None:
        self._database, self._queries, self._find_scope, self._work = database, queries, find_scope, work

    def begin(self, environment: str) -> "FleetReads":
        """The answers for the decisions about some nodes of an environment; read when the first of them is asked for."""
        return FleetReads(lambda query: self.find(environment, query))

    async def answer(self, environment: str, query: str) -> EncodedAnswer:
        """The answer for the worker that compiles for a node of an environment. Raises UnavailableError QUERY-001."""
        return (await self.find(environment, query))[1]

    async def find(self, environment: str, query: str) -> tuple[AnswerKey, EncodedAnswer]:
        """The stored answer; if there is none, the present one is stored. Raises UnavailableError QUERY-001."""
        key, stored = await self._database.read(self._read, environment, query)
        if stored is None:
            present = await self._evaluate(query, key.environment)
            stored = await self._database.write(self._store, key, query, StoredAnswer(present.digest, present.data))
        return key, EncodedAnswer(digests.Digest(stored.digest), stored.data)

    async def _evaluate(self, query: str, environment: str) -> EncodedAnswer:
        """Evaluate a query; a release that has just been made is indexed in a moment, and is waited for."""
        for _ in range(round(INDEX_WAIT_S / INDEX_POLL_S)):
            try:
                return await self._queries.evaluate(query, environment)
            except UnavailableError as error:
                if error.code != issues.NOT_INDEXED.code:
                    raise
                await asyncio.sleep(INDEX_POLL_S)
        return await self._queries.evaluate(query, environment)

    def _read(self, environment: str, query: str) -> Transaction[tuple[AnswerKey, StoredAnswer | None]]:
        key = fleet_answers.key_of((yield from self._find_scope(environment)), query)
        return key, (yield from fleet_answers.find(key))

    def _store(self, key: AnswerKey, query: str, answer: StoredAnswer) -> Transaction[StoredAnswer]:
        stored = yield from fleet_answers.add(key, query, answer, self._database.clock.now())
        due_at = self._database.clock.now() + EVERY
        yield from self._work.enqueue_item(REEVALUATE.name, item_of(key.environment), b"", due_at=due_at)
        return stored


def item_of(environment: str) -> str:
    """The key of the item that evaluates the queries of an environment, or of all: no environment has this name."""
    return environment or "*"


class FleetReads:
    """The answers that the decisions about some nodes of one environment read. Walks look them up here, in a thread."""

    def __init__(self, load: Callable[[str], Awaitable[tuple[AnswerKey, EncodedAnswer]]]) -> None:
        self._load = load
        self.known: dict[str, tuple[AnswerKey, EncodedAnswer]] = {}
        self.asked: dict[str, set[AnswerKey]] = {}  # by node

    def find(self, node: str, query: str) -> EncodedAnswer:
        """Raises NotAnswered."""
        found = self.known.get(query)
        if found is None:
            raise NotAnswered(FleetQueryToAnswer(query))
        self.asked.setdefault(node, set()).add(found[0])
        return found[1]

    async def load(self, query: str) -> None:
        """Read an answer. Raises UnavailableError QUERY-001."""
        if query not in self.known:
            self.known[query] = await self._load(query)
