"""The fact service: takes sets in, finds out how they differ, and asks whether that matters.

A set is acknowledged when it is durably in the inbox, beside an item in the work queue. Workers take it from there: difference,
history, decision, and the request for a compile, in one transaction. Compiles that a node causes are limited: a flapping node
delays itself only.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

import msgspec

from precast.base import canonical, digests
from precast.base.errors import PrecastError
from precast.services import issues
from precast.services.fact_changes import compare
from precast.store.database import Database
from precast.store.facts import FactChange, Facts, FactSet, Inbox
from precast.store.query import Unit
from precast.store.work import WorkQueue, topic
from precast.store.work_kinds import Claim, WorkKind
from precast.wire.facts import FactChangeRow, FactsAnswer, FactsBody, FactsView, merge

FACTS = WorkKind("facts")
COMPILE = WorkKind("compile")
# One compile in this time, and so many at once before that holds.
COMPILE_EVERY = timedelta(minutes=5)
COMPILE_BURST = 3
# Looking at a set takes milliseconds; when a server dies, its claims are anyone's after this time.
LEASE_S = 10.0
BATCH = 16


class Question(Protocol):
    """Does a change matter?"""

    def matters(self, node: str, changes: Sequence[FactChange]) -> bool:
        """Whether a change of these facts may lead to another catalog."""


class EveryChange:
    """Until a compiler knows what was read, every change of a stable fact matters."""

    def matters(self, node: str, changes: Sequence[FactChange]) -> bool:
        return bool(changes)


class LostClaim(Exception):
    """Another worker has the item; nothing of ours is stored."""


class Submission(NamedTuple):
    """Facts as they are stored."""

    digest: str
    stable: bytes | None
    volatile: bytes


def prepare(node: str, body: FactsBody) -> Submission:
    """Facts as they came, checked. Raises InputError FACTS-001 if the digest is not that of the facts."""
    stable = None if body.stable is None else canonical.encode(body.stable)
    if stable is not None and digests.of_bytes(stable) != body.digest:
        raise issues.WRONG_DIGEST.error(node=node)
    return Submission(body.digest, stable, canonical.encode(body.volatile))


class FactService:
    """Takes in fact sets; holds no state between calls."""

    def __init__(self, database: Database, facts: Facts, work: WorkQueue, question: Question) -> None:
        self._database = database
        self._facts = facts
        self._work = work
        self._question = question

    async def submit(self, node: str, body: FactsBody) -> FactsAnswer:
        """Keep a node's facts, or ask for the stable part if we do not have it.

        Raises InputError FACTS-001 if the digest is not that of the facts. Cancelling is safe: it was kept or it was not.
        """
        submission = prepare(node, body)
        if submission.stable is None and await self._facts.newest_digest(node) != body.digest:
            return FactsAnswer(wants_stable=True)
        return await self._database.write(self.taking, node, submission)

    def taking(self, node: str, submission: Submission) -> Unit[FactsAnswer]:
        """Keep facts as a part of another transaction, or say that the stable part is wanted."""
        if submission.stable is None:
            if (yield from self._facts.newest(node)) != submission.digest:
                return FactsAnswer(wants_stable=True)
            yield from self._facts.storing_volatile(node, submission.volatile, self._database.clock.now())
            return FactsAnswer(wants_stable=False)
        yield from self._facts.receiving(node, submission.digest, submission.stable, submission.volatile)
        yield from self._work.enqueuing(FACTS.name, node, b"")
        return FactsAnswer(wants_stable=False)

    async def show(self, node: str) -> FactsView:
        """The stored facts of a node. Raises NotFoundError FACTS-002."""
        found = await self._facts.show(node)
        if found is None:
            raise issues.NO_FACTS.error(node=node)
        stored, volatile = found
        facts = merge(_decode(stored.stable), _decode(volatile))
        return FactsView(node, stored.digest, facts, stored.received_at, stored.decision, stored.decided_at)

    async def changes(self, node: str, before: datetime | None = None) -> list[FactChangeRow]:
        """How a node's stable facts changed, newest first."""
        moment = before or self._database.clock.now() + timedelta(days=1)
        found = await self._facts.changes(node, moment)
        return [
            FactChangeRow(one.at, one.change.path, _value(one.change.before), _value(one.change.after)) for one in found
        ]

    async def work_off(self, owner: str) -> int:
        """Look at what waits in the inbox; how many sets it was."""
        claims = await self._work.claim(FACTS.name, owner, limit=BATCH, lease_s=LEASE_S)
        for claim in claims:
            try:
                await self._database.write(self._persisting, claim)
            except LostClaim:
                continue
            except PrecastError as error:
                await self._work.fail(claim, f"{error.message} [{error.code}]")
        return len(claims)

    async def run(self, owner: str) -> None:
        """Work off what comes, for ever. Cancelling is safe: what was claimed is anyone's when its lease ends."""
        with self._database.wakeups.subscribe(topic(FACTS.name)) as sleeper:
            while True:
                try:
                    is_idle = not await self.work_off(owner)
                except PrecastError as error:
                    if not error.consequence.retry:
                        raise
                    is_idle = True
                if is_idle:
                    await sleeper.wait()

    def _persisting(self, claim: Claim) -> Unit[None]:
        node = claim.key
        inbox = yield from self._facts.inbox(node)
        if inbox is not None:
            stored = yield from self._facts.stored(node)
            yield from self._deciding(node, inbox, stored)
        if not (yield from self._work.completing(claim)):
            raise LostClaim(node)

    def _deciding(self, node: str, inbox: Inbox, stored: FactSet | None) -> Unit[None]:
        """Store the set, and ask for a compile if its difference matters, when the node's allowance says so."""
        changes = compare(_decode(stored.stable) if stored else {}, _decode(inbox.stable))
        now = self._database.clock.now()
        allowed_at = stored.allowed_at if stored else now
        decision = "nothing changed"
        if changes and not self._question.matters(node, changes):
            decision = f"{len(changes)} changed, none of them matters"
        elif changes:
            allowed_at = max(allowed_at, now) + COMPILE_EVERY
            due_at = max(now, allowed_at - COMPILE_BURST * COMPILE_EVERY)
            later = f" in {(due_at - now).total_seconds():.0f} s" if due_at > now else ""
            decision = f"{len(changes)} changed: compile{later}"
            yield from self._work.enqueuing(COMPILE.name, node, inbox.digest.encode(), due_at=due_at)
        # A node's first set has no history: everything would be in it twice.
        yield from self._facts.storing(node, inbox, decision, allowed_at, changes if stored else [])


def _decode(data: bytes) -> dict[str, Any]:
    return msgspec.json.decode(data, type=dict[str, Any])


def _value(data: bytes | None) -> Any:
    return msgspec.UNSET if data is None else msgspec.json.decode(data)
