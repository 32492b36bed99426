"""Records who collects what, and announces changed exports to their collectors: each of them is decided upon again.

An announcement is an item of the queue, so that a server that is killed loses none, and a hundred changes before it are one.
"""

import logging
from collections.abc import Iterable, Sequence

from precast.base.errors import PrecastError
from precast.services.exports.answers import ExportReads
from precast.services.exports.publishing import decode_key
from precast.services.exports.scopes import is_seen
from precast.services.work_kinds import COLLECT, DECIDE
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.engine.wakeups import POLL_S
from precast.store.exports import rounds
from precast.store.exports.rounds import Collector, TypeKey
from precast.store.queue.kinds import ItemRequest
from precast.store.queue.queue import WorkQueue, topic

log = logging.getLogger("precast.exports")

LEASE_S = 30.0
BATCH = 16
# Collectors whose decisions are requested in one transaction.
PAGE = 500
# How long the announcer sleeps after it was woken by a change that is not due yet.
SHORT_POLL_S = 0.25


class ExportRounds:
    """Holds no state between calls."""

    def __init__(self, database: Database, work: WorkQueue) -> None:
        self._database, self._work = database, work

    def record(self, reads: Iterable[ExportReads], nodes: Sequence[str]) -> Transaction[list[str]]:
        """Record which types these nodes collect. Returns those whose decision rests on exports older than an announcement.

        Callers have locked the rows of the nodes.
        """
        used = {
            Collector(node, type_name, each.scope.environment, each.scope.state): each.types[type_name]
            for each in reads
            for node, types in each.asked.items()
            for type_name in types
            if node in nodes
        }
        stored = yield from rounds.find_collected(nodes)
        if not used and not stored:
            return []
        yield from rounds.lock()
        kept = {(row.node, row.type) for row in used}
        yield from rounds.replace_collectors(
            (row for row in stored if (row.node, row.type) not in kept), used.keys() - stored
        )
        known = yield from rounds.find_types({row.type for row in used})
        announced = {key: round_.announced for key, round_ in known.items()}
        return sorted(
            {
                row.node
                for row, exports in used.items()
                if not exports.is_as_new_as(
                    {
                        key: announced[key]
                        for key in announced
                        if is_seen(key, TypeKey(row.environment, row.state, row.type))
                    }
                )
            }
        )

    async def run(self, owner: str) -> None:
        """Announce changes until cancelled, also when the database was unavailable.

        Cancelling is safe: another server announces them when the lease ends.
        """
        with self._database.wakeups.subscribe(topic(COLLECT.name)) as sleeper:
            is_woken = False
            while True:
                try:
                    is_idle = not await self.announce(owner)
                except PrecastError as error:
                    if not error.consequence.retry:
                        raise
                    log.warning("exports are not announced: %s", error)
                    is_idle = True
                if is_idle:
                    is_woken = await sleeper.wait(SHORT_POLL_S if is_woken else POLL_S)

    async def announce(self, owner: str) -> int:
        """Announce the changes that are due; returns how many types it were."""
        claims = await self._work.claim(COLLECT.name, owner, limit=BATCH, lease_s=LEASE_S)
        for claim in claims:
            key = decode_key(claim.key)
            after: str | None = ""
            while after is not None:
                after = await self._database.write_alone(self._announce_page, key, after)
            await self._work.complete(claim)
        return len(claims)

    def _announce_page(self, key: TypeKey, after: str) -> Transaction[str | None]:
        """Request decisions for a page of the collectors; returns the last name, None at the end."""
        yield from rounds.lock()
        if not after:
            yield from rounds.announce(key, self._database.clock.now())
        nodes = yield from rounds.list_collectors(key, after, PAGE)
        yield from self._work.enqueue_items(DECIDE.name, [ItemRequest(node) for node in nodes])
        return nodes[-1] if len(nodes) == PAGE else None
