"""The fact service: takes sets in, finds out how they differ, and asks whether that matters.

A set is acknowledged when it is durably stored with what came of it: difference, history, decision and the request for a compile
are in one transaction, many nodes at a time. To write it down first and look at it later would cost twice as much and gain nothing: the
look takes less than the write. Compiles that a node causes are limited: a flapping node delays itself only. Paths that change all
the time have no history and ask for nothing, unless a catalog was compiled from them.

A set that cannot be decided upon now waits in an inbox: what is stored of its node cannot be read, or there is no room for its request. So
it stops neither the node's other records nor anybody else, and who works off the inbox finds out whose fault it is. Servers of older
versions put every set there. A node of which something waits goes on through it, so that its sets stay in order.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple, Protocol

import msgspec

from precast.base import canonical, digests
from precast.base.errors import InputError, PrecastError, UnavailableError
from precast.services import issues
from precast.services.facts.changes import NoFacts, compare
from precast.services.facts.decisions import decide, is_volatile
from precast.services.facts.volatility import read_recent
from precast.services.traces.fact_paths import FactReads
from precast.services.work_kinds import DECIDE
from precast.services.working import LostClaim, keep_working
from precast.store.engine.compression import pack, unpack, unpack_within
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction, thinking
from precast.store.facts import volatile_parts
from precast.store.facts.facts import Brought, Compared, Decided, Facts, Received, Volatile, Waiting, reading_newest
from precast.store.queue.kinds import Asked, Claim, WorkKind
from precast.store.queue.queue import WorkQueue
from precast.wire.facts import MAX_PACKED_TIMES, FactChangeRow, FactsAnswer, FactsBody, FactsView, merge
from precast.wire.sessions import MAX_FRAME_BYTES

# Twelve tries take a quarter of an hour: a queue of decisions that was full should have room by then.
FACTS = WorkKind("facts", max_attempts=12)
# Looking at a set takes a fraction of a millisecond; when a server dies, its claims are anyone's after this time.
LEASE_S = 10.0
# Sets of the inbox that share their statements.
BATCH = 64
# What is wrong with a text or a stream that is none; msgspec's errors and UnicodeDecodeError are ValueErrors.
UNREADABLE = (ValueError, RecursionError, NoFacts)


class Submission(msgspec.Struct, frozen=True, gc=False):
    """Facts as they are stored: packed. `brought` is the stable part as it was, or how it differs."""

    digest: str
    stable: bytes | None
    volatile: bytes
    brought: Brought | None = None


def _whole(body: FactsBody) -> bytes | None:
    """The stable part, if it came. Raises ValueError for a stream that is none."""
    if not isinstance(body.packed, bytes):
        return body.whole
    return unpack_within(body.packed, min(MAX_PACKED_TIMES * len(body.packed), MAX_FRAME_BYTES))


def _stored_volatile(body: FactsBody) -> bytes:
    """The volatile part as it is stored. What the node has packed is left so: it is replaced far more often than it is read, so it is who
    reads it that looks whether it is facts. Raises msgspec's errors, UnicodeDecodeError, RecursionError, InputError JSON-002."""
    if isinstance(body.packed_volatile, bytes):
        return body.packed_volatile
    canonical.decode_mapping(volatile := bytes(body.volatile))
    return pack(volatile)


def _refuse_unreadable(node: str, volatile: bytes) -> None:
    """Whoever waits for an answer is told what a reader would find. Raises InputError FACTS-005."""
    try:
        volatile_parts.read_part(volatile)
    except volatile_parts.UNREADABLE as error:
        raise issues.NO_MAPPING.error(node=node, reason=error) from None


def _known(node: str, digest: str, stable: bytes) -> bytes:
    """A stable part in the form that has this digest: as it came if the node wrote it so, which spares writing it again."""
    if digests.of_bytes(stable) == digest:
        return stable
    stable = canonical.encode(canonical.decode_mapping(stable))
    if digests.of_bytes(stable) != digest:
        raise issues.WRONG_DIGEST.error(node=node)
    return stable


class Looked(NamedTuple):
    """What came of sets, whom to decide anew, those that could not be looked at and those that are no facts, each with why."""

    decided: list[Decided]
    due: list[Asked]
    failed: dict[str, PrecastError]
    refused: dict[tuple[str, str], PrecastError]  # by node and digest


class Reading(Protocol):
    """Who knows what the catalogs of nodes were compiled from; None where that is not known."""

    def of(self, node: str) -> Transaction[FactReads | None]: ...

    def holding(self, nodes: Sequence[str]) -> Transaction[dict[str, FactReads | None]]:
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

        Raises InputError FACTS-001 if the digest is not that of the facts, FACTS-005 or JSON-002 if they are none. Cancelling is safe: it
        was kept or it was not.
        """
        promise: asyncio.Future[FactsAnswer | PrecastError] = asyncio.get_running_loop().create_future()
        if isinstance(body.packed_volatile, bytes):
            _refuse_unreadable(node, body.packed_volatile)
        self._database.write_item(self.taking, (node, self.prepare(node, body)), promise)
        answer = await promise
        if isinstance(answer, PrecastError):
            raise answer
        return answer

    def prepare(self, node: str, body: FactsBody) -> Submission:
        """Facts as they came, and compared with what is stored where that can be read at once: they are at hand now, and nobody waits for
        that in a transaction.

        Raises InputError FACTS-001 if the digest is not that of the facts, FACTS-005 or JSON-002 if they are none; where nothing was
        compared, it is who takes them that finds that out.
        """
        try:
            volatile = _stored_volatile(body)
            came = _whole(body)
            if came is None:
                return Submission(body.digest, None, volatile)
            stable = _known(node, body.digest, came)
            brought = self._seen(node, stable)
        except UNREADABLE as error:
            raise issues.NO_MAPPING.error(node=node, reason=error) from None
        stored = body.packed if stable is came and isinstance(body.packed, bytes) else pack(stable)
        return Submission(body.digest, stored, volatile, brought)

    def _seen(self, node: str, stable: bytes) -> Brought:
        """How a stable part differs from the stored one, if that can be found out now; if not, who takes it finds out why.

        Raises NoFacts.
        """
        try:
            stored = self._facts.stable_at_once(node)
            return stable if stored is None else Compared(stored[0], compare(unpack(stored[1]), stable))
        except (PrecastError, ValueError):
            return stable

    async def show(self, node: str) -> FactsView:
        """The stored facts of a node. Raises NotFoundError FACTS-002."""
        found = await self._facts.show(node)
        if found is None:
            raise issues.NO_FACTS.error(node=node)
        stored, volatile = found
        facts = merge(_decode(unpack(stored.stable)), _decode(volatile))
        reads = await self._database.read(self._read.of, node)
        recent = read_recent(unpack(stored.recent))
        restless = [path for path in recent.paths if is_volatile(path, reads, recent)]
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

    def taking(self, came: Sequence[tuple[str, Submission]]) -> Transaction[Sequence[FactsAnswer | PrecastError]]:
        """Keep facts of many nodes as a part of another transaction, or say whose stable part is wanted, and what is not kept because
        it is no facts."""
        now = self._database.clock.now()
        times = Counter([node for node, _ in came])
        alone = {
            node: one for node, one in came if one.stable is None and times[node] == 1 and digests.is_digest(one.digest)
        }
        rest = [(node, one) for node, one in came if node not in alone]
        # These first: who works off the inbox holds sets before their volatile parts too.
        answers = iter((yield from self._taking(rest, now)) if rest else ())
        parts = [(node, one.digest, one.volatile) for node, one in alone.items()]
        kept = (yield from self._facts.refreshing_volatile(parts, now)) if parts else ()
        return [FactsAnswer(node not in kept) if node in alone else next(answers) for node, _ in came]

    def _taking(
        self, came: Sequence[tuple[str, Submission]], now: datetime
    ) -> Transaction[Sequence[FactsAnswer | PrecastError]]:
        """The same for those that bring a stable part, or several sets."""
        digests_only = [node for node, one in came if one.stable is None]
        known = dict(zip(digests_only, (yield from reading_newest(digests_only)), strict=True)) if digests_only else {}
        looked, later = yield from self._deciding_newest(
            [
                Received(node, one.digest, one.stable, one.volatile, now, one.brought)
                for node, one in came
                if one.stable is not None
            ]
        )
        brought = {(node, one.digest) for node, one in came if one.stable is not None}
        answers: list[FactsAnswer | PrecastError] = [
            FactsAnswer(one.stable is None and known[node] != one.digest and (node, one.digest) not in brought)
            for node, one in came
        ]
        if looked.refused:
            answers = [
                looked.refused.get((node, one.digest), answer)
                for (node, one), answer in zip(came, answers, strict=True)
            ]
        parts = [
            Volatile(node, one.volatile, now)
            for (node, one), answer in zip(came, answers, strict=True)
            if one.stable is None and isinstance(answer, FactsAnswer) and not answer.wants_stable
        ]
        yield from self._storing(looked, parts)
        if later:
            # Last, as who works off the inbox clears it last: the two wait for each other and never in a circle.
            yield from self._facts.receiving(later)
            yield from self._work.enqueuing_many(FACTS.name, [Asked(one.node) for one in later])
        return answers

    def _deciding_newest(self, sets: Sequence[Received]) -> Transaction[tuple[Looked, list[Received]]]:
        """Decide upon the last set of each node that is one: what is to be stored, and those that have to wait."""
        looked, later = Looked([], [], {}, {}), []
        while sets:
            newest = {one.node: one for one in sets}
            more, waits = yield from self._deciding([newest[node] for node in sorted(newest)])
            looked.decided.extend(more.decided)
            looked.due.extend(more.due)
            looked.refused.update(more.refused)
            later += waits
            # What else such a node has sent is read whole: so there is a second time at the most.
            refused = {node for node, _ in more.refused}
            others = [one for one in sets if one.node in refused and (one.node, one.digest) not in more.refused]
            sets = _readable(others, looked)
        looked.decided.sort(key=lambda one: one.came.node)
        return looked, later

    def _deciding(self, sets: Sequence[Received]) -> Transaction[tuple[Looked, list[Received]]]:
        """Decide upon sets, one of a node, in the order of names, so that two servers wait for each other and never in a circle."""
        looked = Looked([], [], {}, {})
        held = [_as_newest(one) for one in (yield from self._facts.holding(sets))]
        queued = yield from self._facts.queued([one.came.node for one in held])
        yield from self._looking([one for one in held if one.came.node not in queued], looked)
        late = queued | looked.failed.keys()
        try:
            yield from self._work.ensuring_room(DECIDE.name, [one.key for one in looked.due])
        except UnavailableError:
            late |= {one.key for one in looked.due}
            looked.due.clear()
        looked.decided[:] = [one for one in looked.decided if one.came.node not in late]
        # What waits is acknowledged and replaces what waited: it has to be facts, whoever did not look at it.
        return looked, _readable([one.came for one in held if one.came.node in late], looked)

    def _storing(self, looked: Looked, parts: Sequence[Volatile] = ()) -> Transaction[None]:
        """Store what came of sets, and volatile parts beside theirs. Requests come last: who decides upon nodes holds theirs too, and
        should not have to wait for all the rest."""
        yield from self._facts.storing(looked.decided)
        of_sets = [Volatile(one.came.node, one.came.volatile, one.came.received_at) for one in looked.decided]
        yield from self._facts.storing_volatile([*of_sets, *parts])
        yield from self._work.enqueuing_many(DECIDE.name, looked.due)

    def _persisting(self, claims: Sequence[Claim]) -> Transaction[None]:
        """Store sets of the inbox with what comes of them. Raises InternalError FACTS-006 for one that cannot be looked at."""
        if not claims:
            return
        waiting = yield from self._facts.waiting([claim.key for claim in claims])
        looked = Looked([], [], {}, {})
        held = yield from self._facts.holding(waiting)
        yield from self._looking([one for one in held if not _is_outdated(one)], looked)
        for error in (*looked.failed.values(), *looked.refused.values()):
            raise error
        yield from self._storing(looked)
        yield from self._facts.clearing(waiting)
        if not (yield from self._work.completing_many(claims)):
            raise LostClaim

    def _looking(self, sets: Sequence[Waiting], looked: Looked) -> Transaction[None]:
        """Decide upon sets whose nodes are held. The boundary of a look: whatever is wrong with a set is its own affair."""
        changed = [one.came.node for one in sets if one.stored and one.stored.digest != one.came.digest]
        reads = (yield from self._reading(changed, looked)) if changed else {}
        sets = [one for one in sets if one.came.node not in looked.failed]
        for one, found in zip(sets, (yield from thinking(sets, partial(self._decided, reads))), strict=True):
            node = one.came.node
            if isinstance(found, InputError):
                looked.refused[node, one.came.digest] = found
                continue
            if isinstance(found, PrecastError):
                looked.failed[node] = found
                continue
            decision, compile_at = found
            looked.decided.append(decision)
            if compile_at is not None:
                looked.due.append(Asked(node, one.came.digest, compile_at))

    def _reading(self, nodes: Sequence[str], looked: Looked) -> Transaction[dict[str, FactReads | None]]:
        """What the catalogs of these nodes rest on. If that cannot be read, it is found out of which of them."""
        try:
            return (yield from self._read.holding(nodes))
        except Exception as error:  # noqa: BLE001 - of our own reading: what the database fails with ends the unit
            if len(nodes) == 1:
                looked.failed[nodes[0]] = _undecidable(nodes[0], error)
                return {}
        half = len(nodes) // 2
        first = yield from self._reading(nodes[:half], looked)
        return first | (yield from self._reading(nodes[half:], looked))

    def _decided(
        self, reads: Mapping[str, FactReads | None], one: Waiting
    ) -> tuple[Decided, datetime | None] | PrecastError:
        try:
            return decide(one, reads.get(one.came.node), self._database.clock.now())
        except NoFacts as error:
            return issues.NO_MAPPING.error(node=one.came.node, reason=error)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with a set is its own affair
            return _undecidable(one.came.node, error)


def _readable(sets: Sequence[Received], looked: Looked) -> list[Received]:
    """Those that are facts, which nobody has looked at yet; the others are refused."""
    faults = [(one, _fault(one)) for one in sets]
    looked.refused.update({(one.node, one.digest): fault for one, fault in faults if fault is not None})
    return [one for one, fault in faults if fault is None]


def _fault(one: Received) -> PrecastError | None:
    """Why a set is no facts, if it is none."""
    try:
        canonical.decode_mapping(one.brought if isinstance(one.brought, bytes) else unpack(one.stable))
    except PrecastError as error:
        return error
    except UNREADABLE as error:
        return issues.NO_MAPPING.error(node=one.node, reason=error)
    return None


def _as_newest(one: Waiting) -> Waiting:
    """A set that comes now is newer than what is stored, whatever the clocks of servers say."""
    if one.stored is None or one.stored.received_at <= one.came.received_at:
        return one
    came = msgspec.structs.replace(one.came, received_at=one.stored.received_at)
    return msgspec.structs.replace(one, came=came)


def _is_outdated(one: Waiting) -> bool:
    """Whether a newer set was stored while this one waited: a server of an older version put it there beside the one that stored."""
    return one.stored is not None and one.stored.received_at > one.came.received_at


def _undecidable(node: str, error: Exception) -> PrecastError:
    return issues.UNDECIDABLE.error(node=node, reason=f"{type(error).__name__}: {error}")


def _decode(data: bytes) -> dict[str, Any]:
    return msgspec.json.decode(data, type=dict[str, Any])


def _value(data: bytes | None) -> Any:
    return msgspec.UNSET if data is None else msgspec.json.decode(data)
