"""Takes fact sets in: finds out how they differ from the stored ones, decides whether that leads to a compile, and stores them.

A set is acknowledged when it is durably stored with its decision: difference, history, decision and the request for a compile are in
one transaction, for many nodes at a time. Storing it first and deciding later would cost twice as much and gain nothing: a decision
takes less time than the write. The compiles that a node causes are limited, so a flapping node delays only itself. Paths that change all
the time have no history and cause no compile, unless a catalog was compiled from them.

A set that cannot be decided upon now waits in an inbox: the stored set of its node cannot be read, or the queue of decisions is full. So
it delays neither the node's other records nor other nodes, and the worker of the inbox finds out which set is at fault. While a set of
a node waits, its later sets go through the inbox too, so that they stay in order.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

from precast.base import canonical, digests
from precast.base.errors import InputError, PrecastError, UnavailableError
from precast.services.facts import issues
from precast.services.facts.changes import NoFacts
from precast.services.facts.decisions import decide
from precast.services.facts.reads import CatalogReads
from precast.services.facts.uploads import UNREADABLE
from precast.services.queue_worker import LostClaim
from precast.services.traces.fact_paths import FactReads
from precast.services.work_kinds import DECIDE
from precast.store.engine.compression import decompress
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction, compute_each
from precast.store.facts.facts import Facts, FactSet, ReceivedFacts, find_newest_digests
from precast.store.queue.kinds import Claim, ItemRequest, WorkKind
from precast.store.queue.queue import WorkQueue
from precast.wire.facts import FactsAnswer

# Twelve attempts take a quarter of an hour: a queue of decisions that was full should have room by then.
FACTS = WorkKind("facts", max_attempts=12)

# A received set beside the stored set of its node, whose row is locked.
LockedPair = tuple[ReceivedFacts, FactSet | None]


class IntakeResult(NamedTuple):
    """What a batch of sets led to: the decided sets, the same sets as received, the compiles that are due, the nodes whose sets could not
    be decided upon, and the sets that are not facts."""

    decided: list[FactSet]
    received: list[ReceivedFacts]
    due: list[ItemRequest]
    failed: dict[str, PrecastError]
    refused: dict[tuple[str, str], PrecastError]  # by node and digest


def _empty_result() -> IntakeResult:
    return IntakeResult([], [], [], {}, {})


class FactIntake:
    """Decides upon fact sets and stores them, as parts of a transaction; holds no state between calls."""

    def __init__(self, database: Database, facts: Facts, work: WorkQueue, reads: CatalogReads) -> None:
        self._database = database
        self._facts = facts
        self._work = work
        self._reads = reads

    def take(self, uploads: Sequence[tuple[str, ReceivedFacts]]) -> Transaction[Sequence[FactsAnswer | PrecastError]]:
        """Decide upon and store the sets of many nodes. The answers, in order, say whose stable part is wanted and which set was refused
        because it is not facts."""
        now = self._database.clock.now()
        times = Counter([node for node, _ in uploads])
        digest_only = {
            node: received
            for node, received in uploads
            if not received.stable and times[node] == 1 and digests.is_digest(received.digest)
        }
        others = [received for node, received in uploads if node not in digest_only]
        # These first: the worker of the inbox locks sets before their volatile parts too.
        answers = iter((yield from self._take_stable(others, now)) if others else ())
        parts = [(node, received.digest, received.volatile) for node, received in digest_only.items()]
        known = (yield from self._facts.refresh_volatile(parts, now)) if parts else ()
        return [FactsAnswer(node not in known) if node in digest_only else next(answers) for node, _ in uploads]

    def work_off(self, claims: Sequence[Claim]) -> Transaction[None]:
        """Decide upon claimed sets of the inbox and store them. Raises InternalError FACTS-006 for a set that cannot be decided upon."""
        if not claims:
            return
        waiting = yield from self._facts.find_waiting([claim.key for claim in claims])
        result = _empty_result()
        pairs = yield from self._facts.lock_stored(waiting)
        yield from self._decide_locked([pair for pair in pairs if not _is_outdated(pair)], result)
        for error in (*result.failed.values(), *result.refused.values()):
            raise error
        yield from self._store(result)
        yield from self._facts.clear_inbox(waiting)
        if not (yield from self._work.complete_claims(claims)):
            raise LostClaim

    def _take_stable(
        self, uploads: Sequence[ReceivedFacts], now: datetime
    ) -> Transaction[Sequence[FactsAnswer | PrecastError]]:
        """The same for sets that have a stable part, and for nodes that sent several sets."""
        sets = [received.stamp(now) for received in uploads]
        digests_only = [received.node for received in sets if not received.stable]
        known = (
            dict(zip(digests_only, (yield from find_newest_digests(digests_only)), strict=True)) if digests_only else {}
        )
        result, later = yield from self._decide_newest([received for received in sets if received.stable])
        brought = {(received.node, received.digest) for received in sets if received.stable}
        answers: list[FactsAnswer | PrecastError] = [
            FactsAnswer(
                not received.stable
                and known[received.node] != received.digest
                and (received.node, received.digest) not in brought
            )
            for received in sets
        ]
        if result.refused:
            answers = [
                result.refused.get((received.node, received.digest), answer)
                for received, answer in zip(sets, answers, strict=True)
            ]
        volatile_only = [
            received
            for received, answer in zip(sets, answers, strict=True)
            if not received.stable and isinstance(answer, FactsAnswer) and not answer.wants_stable
        ]
        yield from self._store(result, volatile_only)
        if later:
            # Last, as the worker of the inbox clears it last: the two cannot deadlock.
            yield from self._facts.receive(later)
            yield from self._work.enqueue_items(FACTS.name, [ItemRequest(received.node) for received in later])
        return answers

    def _decide_newest(self, sets: Sequence[ReceivedFacts]) -> Transaction[tuple[IntakeResult, list[ReceivedFacts]]]:
        """Decide upon the last valid set of each node; returns what is to be stored, and the sets that have to wait in the inbox."""
        result, later = _empty_result(), []
        while sets:
            newest = {received.node: received for received in sets}
            round_result, waiting = yield from self._decide_round([newest[node] for node in sorted(newest)])
            result.decided.extend(round_result.decided)
            result.received.extend(round_result.received)
            result.due.extend(round_result.due)
            result.refused.update(round_result.refused)
            later += waiting
            # The other sets of such a node are decoded whole, so there are at most two rounds.
            refused = {node for node, _ in round_result.refused}
            others = [
                received
                for received in sets
                if received.node in refused and (received.node, received.digest) not in round_result.refused
            ]
            sets = _refuse_invalid(others, result)
        result.decided.sort(key=lambda decided: decided.node)
        return result, later

    def _decide_round(self, sets: Sequence[ReceivedFacts]) -> Transaction[tuple[IntakeResult, list[ReceivedFacts]]]:
        """Decide upon one set of each node, in the order of names, so that two servers cannot deadlock."""
        result = _empty_result()
        pairs = [_as_newest(pair) for pair in (yield from self._facts.lock_stored(sets))]
        queued = yield from self._facts.filter_waiting([received.node for received, _ in pairs])
        yield from self._decide_locked([pair for pair in pairs if pair[0].node not in queued], result)
        late = queued | result.failed.keys()
        try:
            yield from self._work.require_room(DECIDE.name, [asked.key for asked in result.due])
        except UnavailableError:
            late |= {asked.key for asked in result.due}
            result.due.clear()
        if not late:
            return result, []
        result.decided[:] = [decided for decided in result.decided if decided.node not in late]
        result.received[:] = [received for received in result.received if received.node not in late]
        # A waiting set is acknowledged and replaces the one that waited before, so it has to be valid although it is not decided upon.
        return result, _refuse_invalid([received for received, _ in pairs if received.node in late], result)

    def _store(self, result: IntakeResult, volatile_only: Sequence[ReceivedFacts] = ()) -> Transaction[None]:
        """Store decided sets, their volatile parts, and those of sets without a stable part. The requests for compiles come last: the
        compiler locks their rows too, and should not wait for all the rest."""
        yield from self._facts.store(result.decided)
        yield from self._facts.store_volatile([*result.received, *volatile_only])
        yield from self._work.enqueue_items(DECIDE.name, result.due)

    def _decide_locked(self, pairs: Sequence[LockedPair], result: IntakeResult) -> Transaction[None]:
        """Decide upon sets whose nodes are locked, and add to `result`. An error of one set never fails the others."""
        changed = [received.node for received, stored in pairs if stored and stored.digest != received.digest]
        reads = (yield from self._read_reads(changed, result)) if changed else {}
        pairs = [pair for pair in pairs if pair[0].node not in result.failed]
        outcomes = yield from compute_each(pairs, partial(self._decide_pair, reads))
        for (received, _), outcome in zip(pairs, outcomes, strict=True):
            node = received.node
            if isinstance(outcome, InputError):
                result.refused[node, received.digest] = outcome
                continue
            if isinstance(outcome, PrecastError):
                result.failed[node] = outcome
                continue
            decided, compile_at = outcome
            result.decided.append(decided)
            result.received.append(received)
            if compile_at is not None:
                result.due.append(ItemRequest(node, received.digest, compile_at))

    def _read_reads(self, nodes: Sequence[str], result: IntakeResult) -> Transaction[dict[str, FactReads | None]]:
        """Which facts the catalogs of these nodes were compiled from. If that fails, halving the nodes finds the one at fault."""
        try:
            return (yield from self._reads.lock_reads(nodes))
        except Exception as error:  # noqa: BLE001 - an error of our own code: an error of the database ends the transaction
            if len(nodes) == 1:
                result.failed[nodes[0]] = _undecidable(nodes[0], error)
                return {}
        half = len(nodes) // 2
        first = yield from self._read_reads(nodes[:half], result)
        return first | (yield from self._read_reads(nodes[half:], result))

    def _decide_pair(
        self, reads: Mapping[str, FactReads | None], pair: LockedPair
    ) -> tuple[FactSet, datetime | None] | PrecastError:
        received, stored = pair
        try:
            return decide(received, stored, reads.get(received.node), self._database.clock.now())
        except NoFacts as error:
            return issues.NO_MAPPING.error(node=received.node, reason=error)
        except Exception as error:  # noqa: BLE001 - the boundary of one set: it must not fail the others
            return _undecidable(received.node, error)


def _refuse_invalid(sets: Sequence[ReceivedFacts], result: IntakeResult) -> list[ReceivedFacts]:
    """The valid ones of sets that were not decided upon; the others are added to `result` as refused."""
    checked = [(received, _find_fault(received)) for received in sets]
    result.refused.update({(received.node, received.digest): fault for received, fault in checked if fault is not None})
    return [received for received, fault in checked if fault is None]


def _find_fault(received: ReceivedFacts) -> PrecastError | None:
    """Why the stable part of a set is not facts; None if it is."""
    try:
        canonical.decode_mapping(decompress(received.stable) if received.stable_json is None else received.stable_json)
    except PrecastError as error:
        return error
    except UNREADABLE as error:
        return issues.NO_MAPPING.error(node=received.node, reason=error)
    return None


def _as_newest(pair: LockedPair) -> LockedPair:
    """The pair with a received set that is as new as the stored one: it arrived later, whatever the clocks of the servers say."""
    received, stored = pair
    if stored is None or stored.received_at <= received.received_at:
        return pair
    return received.stamp(stored.received_at), stored


def _is_outdated(pair: LockedPair) -> bool:
    """Whether a newer set was stored while this one waited in the inbox."""
    received, stored = pair
    return stored is not None and stored.received_at > received.received_at


def _undecidable(node: str, error: Exception) -> PrecastError:
    return issues.UNDECIDABLE.error(node=node, reason=f"{type(error).__name__}: {error}")
