"""Stores what nodes say about futures: promises that they fulfil or will not, and what their resources wait for and were given.

Records of many nodes take the same few statements. A fulfilment counts only if a catalog of the node promises the key, and in a job only
while the attempt is at work by the local store that has begun it. Everything else is refused; the audit log says so.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from precast.base import canonical
from precast.base.clock import Clock
from precast.base.spans import visible
from precast.services.futures import issues
from precast.services.futures.sealing import FutureSeals
from precast.store.engine.query import Transaction
from precast.store.futures import job_promises, standing_values
from precast.store.futures import waits as future_waits
from precast.store.futures.catalog_futures import PromiseClaim, PromiseRight, find_promise_rights
from precast.store.futures.job_promises import AttemptName, Fulfilment, PromiseState
from precast.store.futures.standing_values import NewStanding
from precast.store.futures.values import StoredValue
from precast.store.futures.waits import FutureBinding, NewWait
from precast.store.identity.audit import AuditLog
from precast.store.jobs.attempts import AttemptKey, Attempts
from precast.wire import futures as wire
from precast.wire.futures import Bound, Promised, Unpromised, Waiting
from precast.wire.jobs import states
from precast.wire.jobs.order_ids import parse_order_id
from precast.wire.sessions import FactsWanted

# Before reports and orders: a promise counts before the end of its run.
RANK = -1
# How long the reason of a failed promise may be.
MAX_REASON = 500


class PreparedPromise(NamedTuple):
    """A promise of a node, with its value in canonical JSON."""

    said: Promised
    value: bytes


FutureRecord = PreparedPromise | Unpromised | Waiting | Bound


class FutureRecords:
    """Holds no state between calls."""

    def __init__(self, clock: Clock, seals: FutureSeals, audit: AuditLog, attempts: Attempts) -> None:
        self._clock, self._seals, self._audit, self._attempts = clock, seals, audit, attempts

    def store(self, records: Sequence[tuple[str, FutureRecord]]) -> Transaction[Sequence[FactsWanted | None]]:
        """Follow a batch of records, each with its node."""
        promised = [(node, record) for node, record in records if isinstance(record, PreparedPromise)]
        for wave in _split(promised):
            yield from self._fulfil(wave)
        yield from self._fail([(node, record) for node, record in records if isinstance(record, Unpromised)])
        yield from self._wait([(node, record) for node, record in records if isinstance(record, Waiting)])
        yield from self._bind([(node, record) for node, record in records if isinstance(record, Bound)])
        return [None] * len(records)

    # Promises

    def _fulfil(self, promises: Sequence[tuple[str, PreparedPromise]]) -> Transaction[None]:
        """Fulfil promises, no two of one node and key."""
        attempts = [_attempt(node, prepared.said.order) for node, prepared in promises]
        rights = yield from find_promise_rights(
            [
                PromiseClaim(node, prepared.said.catalog, prepared.said.key, "" if attempt is None else attempt.job)
                for (node, prepared), attempt in zip(promises, attempts, strict=True)
            ]
        )
        allowed: list[_Allowed] = []
        for (node, prepared), attempt, right in zip(promises, attempts, rights, strict=True):
            if right is None or (attempt is None and prepared.said.order):
                yield from self._refuse(node, prepared.said, "no catalog of the node promises it")
                continue
            stored = yield from self._seals.store(
                right.environment, prepared.value, is_sensitive=prepared.said.is_sensitive
            )
            allowed.append(_Allowed(node, prepared.said, attempt, right, stored))
        accepted = yield from self._fulfil_in_jobs(allowed)
        yield from self._put_standing([each for each in accepted if each.right.is_standing])

    def _fulfil_in_jobs(self, allowed: "Sequence[_Allowed]") -> "Transaction[list[_Allowed]]":
        """Fulfil the promises of jobs. Returns what is accepted: that, what was accepted before, and what belongs to no job."""
        of_jobs = {(each.attempt, each.said.key): each for each in allowed if each.attempt is not None}
        if not of_jobs:
            return list(allowed)
        found = yield from job_promises.lock_attempts(attempt for attempt, _ in of_jobs)
        ready: dict[tuple[AttemptName, str], _Allowed] = {}
        for name, each in of_jobs.items():
            state, instance = found.get(name[0], ("", None))
            if state == states.PICKED_UP and instance == each.said.instance:
                ready[name] = each
            else:
                yield from self._refuse(each.node, each.said, "its attempt is not at work, or another machine began it")
        now = self._clock.now()
        done = yield from job_promises.fulfil(
            [Fulfilment(*name, each.stored, self._expiry(each.said)) for name, each in ready.items()], now
        )
        others = [name for name in ready if name not in done]
        before = (yield from job_promises.find_states(others)) if others else {}
        accepted = [each for each in allowed if each.attempt is None] + [ready[name] for name in done]
        for name in others:
            why = _judge(before.get(name), ready[name].stored)
            if why:
                yield from self._refuse(ready[name].node, ready[name].said, why)
            else:
                accepted.append(ready[name])
        return accepted

    def _put_standing(self, accepted: "Sequence[_Allowed]") -> Transaction[None]:
        if not accepted:
            return
        new = {
            (each.right.environment, each.said.key, each.node): NewStanding(
                *(each.right.environment, each.said.key, each.node, each.right.source, each.stored),
                *(each.said.instance, each.said.fence, each.said.order or each.said.report, self._expiry(each.said)),
            )
            for each in accepted
        }
        written = yield from standing_values.put_values(list(new.values()), self._clock.now())
        for each in accepted:
            if (each.right.environment, each.said.key, each.node) not in written:
                yield from self._refuse(each.node, each.said, "a later run of the node has promised it")

    def _expiry(self, said: Promised) -> datetime | None:
        return None if said.ttl_s is None else self._clock.now() + timedelta(seconds=said.ttl_s)

    def _refuse(self, node: str, said: Promised, why: str) -> Transaction[None]:
        key = visible(said.key)
        yield from self._audit.add(
            f"node:{node}", "future.refuse", key, why=why, order=said.order, catalog=said.catalog
        )

    # Promises that will not be fulfilled, and waits

    def _fail(self, records: Sequence[tuple[str, Unpromised]]) -> Transaction[None]:
        failed = {
            (attempt, said.key): visible(said.reason)[:MAX_REASON]
            for node, said in records
            if (attempt := _attempt(node, said.order)) is not None
        }
        if failed:
            yield from job_promises.fail([(*name, reason) for name, reason in failed.items()], self._clock.now())

    def _wait(self, records: Sequence[tuple[str, Waiting]]) -> Transaction[None]:
        """The last record of a run says what it waits for."""
        last = {attempt: said for node, said in records if (attempt := _attempt(node, said.order)) is not None}
        if not last:
            return
        found = yield from job_promises.lock_attempts(last)
        waits = [
            (attempt, said.is_idle, [NewWait(visible(wait.resource), wait.key, wait.timeout_s) for wait in said.waits])
            for attempt, said in last.items()
            if found.get(attempt, ("", None))[0] == states.PICKED_UP
        ]
        if waits:
            yield from future_waits.replace_waits(waits, self._clock.now())
        if idle := [AttemptKey(*attempt) for attempt, is_idle, _ in waits if is_idle]:
            yield from self._attempts.park(idle)

    def _bind(self, records: Sequence[tuple[str, Bound]]) -> Transaction[None]:
        now = self._clock.now()
        ended: dict[tuple[AttemptName, str], None] = {}
        bindings: dict[tuple[AttemptName, str, str, str], FutureBinding] = {}
        for node, said in records:
            attempt = _attempt(node, said.order)
            if attempt is not None:
                resource = visible(said.resource)
                ended[attempt, resource] = None
                for each in said.bindings:
                    bound = FutureBinding(attempt, resource, each.key, each.node, each.number, each.is_standing, now)
                    bindings[attempt, resource, each.key, each.node] = bound
        if not ended:
            return
        known = yield from job_promises.lock_attempts(attempt for attempt, _ in ended)
        yield from future_waits.end_waits(
            [name for name in ended if name[0] in known],
            [bound for _, bound in sorted(bindings.items()) if bound.attempt in known],
        )


def prepare_promised(node: str, said: Promised) -> PreparedPromise:
    """Check a value before the transaction. Raises InputError FUTURE-001, JSON-001 to JSON-003."""
    size = len(memoryview(said.value))
    if size > wire.MAX_VALUE_BYTES:
        raise issues.TOO_LARGE.error(key=visible(said.key), size=size, limit=wire.MAX_VALUE_BYTES)
    return PreparedPromise(said, canonical.encode(msgspec.json.decode(said.value)))


class _Allowed(NamedTuple):
    """A promise that a catalog of the node has, with the attempt of a job if it is part of one."""

    node: str
    said: Promised
    attempt: AttemptName | None
    right: PromiseRight
    stored: StoredValue


def _split(promises: Sequence[tuple[str, PreparedPromise]]) -> list[list[tuple[str, PreparedPromise]]]:
    """Split promises into groups, in order, so that no group has two of one node and key."""
    waves: list[list[tuple[str, PreparedPromise]]] = []
    seen: dict[tuple[str, str], int] = {}
    for node, prepared in promises:
        name = node, prepared.said.key
        wave = seen[name] = seen.get(name, -1) + 1
        if wave == len(waves):
            waves.append([])
        waves[wave].append((node, prepared))
    return waves


def _judge(before: PromiseState | None, stored: StoredValue) -> str:
    """Why a promise that was not pending cannot be fulfilled; empty if it was, with this value."""
    if before is None:
        return "the attempt does not promise it"
    if before.state == "failed":
        return f"it was given up: {before.reason}"
    return "" if before.digest == stored.digest else "this attempt has promised another value"


def _attempt(node: str, order: str) -> AttemptName | None:
    parsed = parse_order_id(order)
    return None if parsed is None else AttemptName(parsed.job, parsed.task, node, parsed.n)
