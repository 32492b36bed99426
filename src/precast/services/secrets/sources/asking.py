"""Asks secret sources for documents: new ones, those whose time is over, and those that somebody wants asked for again.

Each document is an item of the work queue, claimed under a lease, so one server asks and the others do not. After an answer it waits in the
queue until the time of its values is over; after a failure it is retried with growing pauses, and what the source gave before stays in
use. An answer that differs raises the revision of its environment and requests decisions for the nodes that read the document, in the
transaction that stores it.
"""

import asyncio
import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from precast.base.errors import PrecastError
from precast.services.queue_worker import LostClaim, run_worker
from precast.services.secrets.sources.configuration import Sources
from precast.services.secrets.sources.documents import TOPIC, FindKeys, Keys, make_answers, seal_fields
from precast.services.secrets.sources.source import SecretSource
from precast.services.work_kinds import ASK_SECRET, DECIDE, SPREAD_SECRET
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction, Wake
from precast.store.queue.kinds import Claim, ItemRequest
from precast.store.queue.queue import WorkQueue
from precast.store.secrets.source_documents import SourceDocument, SourceDocuments

log = logging.getLogger("precast.secrets")

AT_ONCE: Final = 8
# More than a login and a request may take, each twice.
LEASE_S: Final = 120.0
LEAST_TTL_S: Final = 30.0
PAGE: Final = 500
# A document that no node reads is not asked for again, and deleted after so long.
UNREAD: Final = timedelta(days=1)
# When another server may claim a document that one may not ask for.
HANDED_BACK: Final = timedelta(seconds=30)


class SecretAsker:
    """Works off the documents that are due."""

    def __init__(
        self,
        database: Database,
        store: SourceDocuments,
        configured: Sources,
        sources: Mapping[str, SecretSource],
        find_keys: FindKeys,
        work: WorkQueue,
    ) -> None:
        self._database, self._store, self._configured, self._sources = database, store, configured, sources
        self._find_keys, self._work = find_keys, work
        # The sources whose last request failed: a failure is logged when it begins, not at each retry.
        self._failing: set[str] = set()

    async def run(self, owner: str) -> None:
        """Ask until cancelled. Cancelling is safe: another server claims the items when the lease ends."""
        await run_worker(self._database, lambda: self._work_off_both(owner), ASK_SECRET, SPREAD_SECRET)

    async def _work_off_both(self, owner: str) -> int:
        return await self.work_off(owner) + await self.spread(owner)

    async def work_off(self, owner: str) -> int:
        """Ask for some of the documents that are due, concurrently; returns how many it was."""
        claims = await self._work.claim(ASK_SECRET.name, owner, limit=AT_ONCE, lease_s=LEASE_S)
        async with asyncio.TaskGroup() as tasks:
            for claim in claims:
                tasks.create_task(self._ask_claimed(claim))
        return len(claims)

    async def spread(self, owner: str) -> int:
        """Request decisions for the nodes that read documents that have changed; returns how many documents it was."""
        claims = await self._work.claim(SPREAD_SECRET.name, owner, limit=1, lease_s=LEASE_S)
        for claim in claims:
            after: str | None = ""
            while after is not None:
                after = await self._database.write(self._request_decisions, claim.key, after)
            await self._work.complete(claim)
        return len(claims)

    async def _ask_claimed(self, claim: Claim) -> None:
        try:
            document = await self._database.read(self._store.find, claim.key)
            if document is None:
                await self._database.write(self._drop, claim, document)
            elif not self._is_allowed(document):
                await self._database.write(self._hand_back, claim, document)
            elif document.read_at is not None and not await self._database.read(
                self._store.list_readers, document.id, "", 1
            ):
                await self._database.write(self._leave_unread, claim, document, document.read_at + UNREAD)
            else:
                await self._ask(claim, document)
        except LostClaim:
            return
        except PrecastError as error:
            await self._database.write(self._note_failure, claim, f"{error.message} [{error.code}]")
            await self._work.fail(claim, error.code)

    def _is_allowed(self, document: SourceDocument) -> bool:
        settings = self._configured.get(document.key.source)
        return settings is not None and settings.allows(document.key.environment, document.key.path)

    async def _ask(self, claim: Claim, document: SourceDocument) -> None:
        key = document.key
        try:
            found = await self._sources[key.source].read(key.environment, key.path)
        except PrecastError as error:
            self._log_failure(key.source, error)
            raise
        self._log_recovery(key.source)
        keys = await self._find_keys(key.environment)
        fields = None if found is None else dict(found.fields)
        ttl_s = self._configured[key.source].ttl_s
        if found is not None and found.lease_s is not None:
            ttl_s = max(LEAST_TTL_S, min(ttl_s, found.lease_s))
        await self._database.write(self._store_answer, claim, document, keys, fields, timedelta(seconds=ttl_s))

    def _store_answer(
        self, claim: Claim, document: SourceDocument, keys: Keys, fields: Mapping[str, Any] | None, ttl: timedelta
    ) -> Transaction[None]:
        now_document = yield from self._store.find(document.id)
        if now_document is not None:
            due_at = self._database.clock.now() + ttl
            sealed = None if fields is None else seal_fields(keys, document.key, fields)
            answers = {} if fields is None else make_answers(keys, fields)
            if (yield from self._store.store(now_document, sealed, answers, due_at)):
                yield from self._work.enqueue_item(SPREAD_SECRET.name, document.id, b"")
            yield from self._work.enqueue_item(
                ASK_SECRET.name, document.id, b"", lane=document.key.source, due_at=due_at
            )
        if not (yield from self._work.complete_claim(claim)):
            raise LostClaim
        yield Wake(TOPIC)

    def _drop(self, claim: Claim, document: SourceDocument | None) -> Transaction[None]:
        if document is not None:
            yield from self._store.delete(document)
        yield from self._work.complete_claim(claim)
        yield Wake(TOPIC)

    def _hand_back(self, claim: Claim, document: SourceDocument) -> Transaction[None]:
        """Leave a document to other servers, whose file of sources may allow it; delete it if no node reads it."""
        if not (yield from self._store.list_readers(document.id, "", 1)):
            yield from self._drop(claim, document)
            return
        due_at = self._database.clock.now() + HANDED_BACK
        yield from self._work.enqueue_item(ASK_SECRET.name, document.id, b"", lane=document.key.source, due_at=due_at)
        yield from self._work.complete_claim(claim)

    def _leave_unread(self, claim: Claim, document: SourceDocument, end_at: datetime) -> Transaction[None]:
        """Leave a document that no node reads as it is, and delete it after a while. A walk that reads it before that requests it again."""
        if self._database.clock.now() >= end_at:
            yield from self._drop(claim, document)
            return
        yield from self._work.enqueue_item(ASK_SECRET.name, document.id, b"", lane=document.key.source, due_at=end_at)
        yield from self._work.complete_claim(claim)

    def _note_failure(self, claim: Claim, problem: str) -> Transaction[None]:
        yield from self._store.note_problem(claim.key, problem)
        yield Wake(TOPIC)

    def _request_decisions(self, document: str, after: str) -> Transaction[str | None]:
        nodes = yield from self._store.list_readers(document, after, PAGE)
        yield from self._work.enqueue_items(DECIDE.name, [ItemRequest(node) for node in nodes])
        return nodes[-1] if len(nodes) == PAGE else None

    def _log_failure(self, source: str, error: PrecastError) -> None:
        if source not in self._failing:
            self._failing.add(source)
            log.warning("%s [%s]", error.message, error.code)

    def _log_recovery(self, source: str) -> None:
        if source in self._failing:
            self._failing.discard(source)
            log.info("the secret source %r answers again", source)
