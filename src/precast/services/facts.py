"""The fact service: takes sets in, finds out how they differ, and asks whether that matters.

A set is acknowledged when it is durably in the inbox, beside an item in the work queue. Workers take it from there: difference,
history, decision, and the request for a compile, in one transaction, many nodes at a time. Compiles that a node causes are
limited: a flapping node delays itself only. Paths that change all the time have no history and ask for nothing, unless a catalog
was compiled from them.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

import msgspec

from precast.base import canonical, digests
from precast.base.errors import PrecastError
from precast.services import issues
from precast.services.fact_decisions import decide, volatile_paths
from precast.services.fact_volatility import read_recent
from precast.services.tracing.fact_paths import FactReads
from precast.services.work_kinds import DECIDE
from precast.services.working import LostClaim, keep_working
from precast.store.database import Database
from precast.store.facts import Decided, Facts, Received, Volatile, reading_newest
from precast.store.packing import pack, unpack
from precast.store.query import Unit
from precast.store.work import WorkQueue
from precast.store.work_kinds import Asked, Claim, WorkKind
from precast.wire.facts import FactChangeRow, FactsAnswer, FactsBody, FactsView, merge

FACTS = WorkKind("facts")
# Looking at a set takes a fraction of a millisecond; when a server dies, its claims are anyone's after this time.
LEASE_S = 10.0
# As many sets share their statements; not more, because on PostgreSQL nobody else is served while they are compared.
BATCH = 64


class Submission(NamedTuple):
    """Facts as they are stored: packed."""

    digest: str
    stable: bytes | None
    volatile: bytes


def prepare(node: str, body: FactsBody) -> Submission:
    """Facts as they came, checked. Raises InputError FACTS-001 if the digest is not that of the facts."""
    stable = None if body.stable is None else canonical.encode(body.stable)
    if stable is not None and digests.of_bytes(stable) != body.digest:
        raise issues.WRONG_DIGEST.error(node=node)
    return Submission(body.digest, None if stable is None else pack(stable), pack(canonical.encode(body.volatile)))


class Reading(Protocol):
    """Who knows what the catalogs of nodes were compiled from; None where that is not known."""

    def of(self, node: str) -> Unit[FactReads | None]: ...

    def holding(self, nodes: Sequence[str]) -> Unit[dict[str, FactReads | None]]:
        """The same for many, and it stays so until the commit."""


class FactService:
    """Takes in fact sets; holds no state between calls."""

    def __init__(self, database: Database, facts: Facts, work: WorkQueue, read: Reading) -> None:
        self._database = database
        self._facts = facts
        self._work = work
        self._read = read

    async def submit(self, node: str, body: FactsBody) -> FactsAnswer:
        """Keep a node's facts, or ask for the stable part if we do not have it.

        Raises InputError FACTS-001 if the digest is not that of the facts. Cancelling is safe: it was kept or it was not.
        """
        return await self._database.write_item(self.taking, (node, prepare(node, body)))

    async def show(self, node: str) -> FactsView:
        """The stored facts of a node. Raises NotFoundError FACTS-002."""
        found = await self._facts.show(node)
        if found is None:
            raise issues.NO_FACTS.error(node=node)
        stored, volatile = found
        facts = merge(_decode(unpack(stored.stable)), _decode(unpack(volatile)))
        reads = await self._database.read(self._read.of, node)
        restless = volatile_paths(reads, read_recent(unpack(stored.recent)))
        return FactsView(
            node, stored.digest, facts, stored.received_at, stored.decision, stored.decided_at, sorted(restless)
        )

    async def changes(self, node: str, before: datetime | None = None) -> list[FactChangeRow]:
        """How a node's stable facts changed, newest first."""
        moment = before or self._database.clock.now() + timedelta(days=1)
        steps = await self._facts.history(node, moment)
        return [
            FactChangeRow(step.at, change.path, _value(change.before), _value(change.after))
            for step in steps
            for change in step.changes
        ]

    async def work_off(self, owner: str) -> int:
        """Look at what waits in the inbox; how many sets it was."""
        claims = await self._work.claim(FACTS.name, owner, limit=BATCH, lease_s=LEASE_S)
        try:
            await self._database.write(self._persisting, claims)
        except (LostClaim, PrecastError):
            # It may be the fault of one of them: each for itself.
            for claim in claims:
                await self._work_off_one(claim)
        return len(claims)

    async def run(self, owner: str) -> None:
        """Work off what comes, for ever. Cancelling is safe: what was claimed is anyone's when its lease ends."""
        await keep_working(self._database, lambda: self.work_off(owner), FACTS)

    async def _work_off_one(self, claim: Claim) -> None:
        try:
            await self._database.write(self._persisting, [claim])
        except LostClaim:
            return
        except PrecastError as error:
            await self._work.fail(claim, f"{error.message} [{error.code}]")

    def taking(self, came: Sequence[tuple[str, Submission]]) -> Unit[Sequence[FactsAnswer]]:
        """Keep facts of many nodes as a part of another transaction, or say whose stable part is wanted."""
        now = self._database.clock.now()
        digests_only = [node for node, one in came if one.stable is None]
        known = dict(zip(digests_only, (yield from reading_newest(digests_only)), strict=True)) if digests_only else {}
        brought = {(node, one.digest) for node, one in came if one.stable is not None}
        answers = [
            FactsAnswer(one.stable is None and known[node] != one.digest and (node, one.digest) not in brought)
            for node, one in came
        ]
        whole = [Received(node, one.digest, one.stable, one.volatile, now) for node, one in came if one.stable]
        if whole:
            yield from self._facts.receiving(whole)
            yield from self._work.enqueuing_many(FACTS.name, [Asked(node) for node in {one.node for one in whole}])
        parts = [
            Volatile(node, one.volatile, now)
            for (node, one), answer in zip(came, answers, strict=True)
            if one.stable is None and not answer.wants_stable
        ]
        if parts:
            yield from self._facts.storing_volatile(parts)
        return answers

    def _persisting(self, claims: Sequence[Claim]) -> Unit[None]:
        if not claims:
            return
        decided: list[Decided] = []
        due: list[Asked] = []
        waiting = yield from self._facts.waiting([claim.key for claim in claims])
        changed = [one.came.node for one in waiting if one.stored and one.stored.digest != one.came.digest]
        reads = (yield from self._read.holding(changed)) if changed else {}
        for one in waiting:
            decision, compile_at = decide(one, reads.get(one.came.node), self._database.clock.now())
            decided.append(decision)
            if compile_at is not None:
                due.append(Asked(one.came.node, one.came.digest, compile_at))
        yield from self._facts.storing(decided)
        yield from self._work.enqueuing_many(DECIDE.name, due)
        if not (yield from self._work.completing_many(claims)):
            raise LostClaim


def _decode(data: bytes) -> dict[str, Any]:
    return msgspec.json.decode(data, type=dict[str, Any])


def _value(data: bytes | None) -> Any:
    return msgspec.UNSET if data is None else msgspec.json.decode(data)
