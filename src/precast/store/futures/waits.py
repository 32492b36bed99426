"""Who waits for which key in a job, and which values resources were given. A run says so, so that people and other servers can see it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from precast.base.clock import from_micros, to_micros
from precast.store.engine.query import Query, Row, Transaction, batch, insert
from precast.store.futures.job_promises import AttemptName

ADD = insert(
    "jobs.add_future_wait",
    "future_wait",
    "job word, task number, node word, n number, resource text, key text, is_idle number, since number, due_at number",
    """
    ON CONFLICT (job, task, node, n, resource, key) DO UPDATE SET is_idle = excluded.is_idle
    """,
)
CLEAR = batch(
    "jobs.clear_waits",
    "job word, task number, node word, n number",
    "DELETE FROM future_wait WHERE (job, task, node, n) IN (SELECT job, task, node, n FROM input)",
)
END_RESOURCE = batch(
    "jobs.end_wait",
    "job word, task number, node word, n number, resource text",
    "DELETE FROM future_wait WHERE (job, task, node, n, resource) IN (SELECT job, task, node, n, resource FROM input)",
)
WAKE_RUN = batch(
    "jobs.leave_idle",
    "job word, task number, node word, n number",
    """
    UPDATE future_wait SET is_idle = 0 FROM input WHERE future_wait.job = input.job AND future_wait.task = input.task
        AND future_wait.node = input.node AND future_wait.n = input.n AND future_wait.is_idle = 1
    """,
)
BIND = insert(
    "jobs.add_binding",
    "future_binding",
    "job word, key text, producer text, node word, task number, n number, resource text, number number,"
    " is_standing number, bound_at number",
    """
    ON CONFLICT (job, key, producer, node, task, n, resource) DO UPDATE SET number = excluded.number,
        is_standing = excluded.is_standing, bound_at = excluded.bound_at
    """,
)
HAS_IDLE = Query("jobs.has_idle", "SELECT 1 WHERE EXISTS (SELECT 1 FROM future_wait WHERE is_idle = 1)")
OF_JOB = Query(
    "jobs.waits_of_job",
    """
    SELECT job, task, node, n, resource, key, is_idle, since, due_at FROM future_wait
    WHERE job = :job ORDER BY node, task, resource, key LIMIT :limit
    """,
)
JOBS = Query("jobs.idle_jobs", "SELECT DISTINCT job FROM future_wait WHERE is_idle = 1 ORDER BY job LIMIT :limit")
BINDINGS = Query(
    "jobs.bindings",
    """
    SELECT job, key, producer, node, task, n, resource, number, is_standing, bound_at FROM future_binding
    WHERE job = :job AND key = :key ORDER BY producer, node, task, n, resource LIMIT :limit
    """,
)
STALE = Query(
    "jobs.stale_bindings",
    """
    -- Resources of the newest attempts that were given a value of the job which its producer has replaced, or promises again.
    SELECT bound.job, bound.key, bound.producer, bound.node, bound.task, bound.n, bound.resource, bound.number,
        bound.is_standing, bound.bound_at
    FROM future_binding AS bound JOIN attempt ON attempt.job = bound.job AND attempt.task = bound.task
        AND attempt.node = bound.node AND attempt.n = bound.n AND attempt.is_newest = 1
    WHERE bound.job = :job AND bound.is_standing = 0 AND bound.number < (
        SELECT sum(number) FROM job_promise AS p
        WHERE p.job = bound.job AND p.key = bound.key AND p.node = bound.producer
    )
    ORDER BY bound.node, bound.resource, bound.key LIMIT :limit
    """,
)
OF_PRODUCERS = Query(
    "jobs.consumers",
    """
    -- The nodes whose newest attempts were given values of these producers.
    SELECT DISTINCT bound.node, bound.key, bound.producer FROM future_binding AS bound
    JOIN attempt ON attempt.job = bound.job AND attempt.task = bound.task AND attempt.node = bound.node
        AND attempt.n = bound.n AND attempt.is_newest = 1
    WHERE bound.job = :job AND bound.is_standing = 0 ORDER BY bound.node, bound.key, bound.producer
    """,
)
OPEN = Query(
    "jobs.open_attempts",
    """
    -- The open attempts of a job, each with the attempt that holds its node's lock.
    SELECT attempt.job, attempt.task, attempt.node, attempt.n, attempt.state, attempt.ordered_at, attempt.claim, attempt.tries,
        held.job, held.task, held.node, held.n
    FROM attempt LEFT JOIN node_lock AS held ON held.node = attempt.node
    WHERE attempt.job = :job AND attempt.state IN ('QUEUED', 'PICKED_UP') ORDER BY attempt.node, attempt.task
    """,
)
PENDING = Query(
    "jobs.pending_of_job",
    "SELECT key, job, task, node, n FROM job_promise WHERE job = :job AND state = 'pending' ORDER BY key, node, task",
)
PURGE = Query("jobs.purge_waits", "DELETE FROM future_wait WHERE node = :node")
DELETE_WAITS = Query("jobs.delete_waits", "DELETE FROM future_wait WHERE job = :job")
DELETE_BINDINGS = Query("jobs.delete_bindings", "DELETE FROM future_binding WHERE job = :job")


class FutureWait(NamedTuple):
    """A resource of a running attempt that waits for a key."""

    attempt: AttemptName
    resource: str
    key: str
    is_idle: bool
    since: datetime
    due_at: datetime


class OpenAttempt(NamedTuple):
    """An attempt that has not ended, and the attempt that holds its node's lock."""

    attempt: AttemptName
    state: str
    has_turn: bool
    is_claimed: bool
    is_away: bool
    holder: AttemptName | None


class NewWait(NamedTuple):
    """A wait as a run reports it."""

    resource: str
    key: str
    timeout_s: float


class FutureBinding(NamedTuple):
    """A value that a resource was given."""

    attempt: AttemptName
    resource: str
    key: str
    producer: str
    number: int
    is_standing: bool
    bound_at: datetime


def replace_waits(waits: Sequence[tuple[AttemptName, bool, Sequence[NewWait]]], now: datetime) -> Transaction[None]:
    """Store all that runs wait for now, each of another attempt, and whether they have nothing else to do."""
    at, ordered = to_micros(now), sorted(waits, key=lambda entry: entry[0])
    yield CLEAR.many_tuples([tuple(attempt) for attempt, _, _ in ordered])
    rows = [
        (*attempt, wait.resource, wait.key, int(is_idle), at, to_micros(now + timedelta(seconds=wait.timeout_s)))
        for attempt, is_idle, new in ordered
        for wait in new
    ]
    if rows:
        yield ADD.many_tuples(rows)


def end_waits(bound: Sequence[tuple[AttemptName, str]], bindings: Sequence[FutureBinding]) -> Transaction[None]:
    """Resources wait no more: they were given these values, or have failed. Their runs have something to do again."""
    if bound:
        yield END_RESOURCE.many_tuples([(*attempt, resource) for attempt, resource in sorted(bound)])
        yield WAKE_RUN.many_tuples(sorted({tuple(attempt) for attempt, _ in bound}))
    if bindings:
        yield BIND.many_tuples(
            [
                (
                    *(each.attempt.job, each.key, each.producer, each.attempt.node, each.attempt.task, each.attempt.n),
                    *(each.resource, each.number, int(each.is_standing), to_micros(each.bound_at)),
                )
                for each in bindings
            ]
        )


def has_idle() -> Transaction[bool]:
    """Whether any run has nothing to do but wait."""
    return bool((yield HAS_IDLE()))


def list_idle_jobs(limit: int) -> Transaction[list[str]]:
    """Jobs of which a run has nothing to do but wait."""
    return [job for (job,) in (yield JOBS(limit=limit))]


def list_open(job: str) -> Transaction[list[OpenAttempt]]:
    """The attempts of a job that have not ended."""
    found = []
    for *name, state, ordered, claim, tries, held_job, held_task, held_node, held_n in (yield OPEN(job=job)):
        holder = None if held_job is None else AttemptName(held_job, held_task, held_node, held_n)
        found.append(OpenAttempt(AttemptName(*name), state, ordered is not None, claim is not None, tries > 0, holder))
    return found


def list_pending(job: str) -> Transaction[dict[str, list[AttemptName]]]:
    """The attempts of a job that will promise a key, by key."""
    found: dict[str, list[AttemptName]] = {}
    for key, *name in (yield PENDING(job=job)):
        found.setdefault(key, []).append(AttemptName(*name))
    return found


def list_waits(job: str, limit: int) -> Transaction[list[FutureWait]]:
    """What the runs of a job wait for, by node."""
    return [_wait(row) for row in (yield OF_JOB(job=job, limit=limit))]


def list_bindings(job: str, key: str, limit: int) -> Transaction[list[FutureBinding]]:
    """Which resources of a job were given a key."""
    return [_binding(row) for row in (yield BINDINGS(job=job, key=key, limit=limit))]


def list_stale(job: str, limit: int) -> Transaction[list[FutureBinding]]:
    """Which resources of a job were given values that have been replaced since, or are promised again."""
    return [_binding(row) for row in (yield STALE(job=job, limit=limit))]


def list_consumers(job: str) -> Transaction[list[tuple[str, str, str]]]:
    """Which nodes of a job were given which keys of which producers, by their newest attempts."""
    return [tuple(row) for row in (yield OF_PRODUCERS(job=job))]


def purge_node(node: str) -> Transaction[None]:
    yield PURGE(node=node)


def delete_of_job(job: str) -> Transaction[None]:
    yield DELETE_WAITS(job=job)
    yield DELETE_BINDINGS(job=job)


def _wait(row: Row) -> FutureWait:
    job, task, node, n, resource, key, is_idle, since, due = row
    attempt = AttemptName(job, task, node, n)
    return FutureWait(attempt, resource, key, bool(is_idle), from_micros(since), from_micros(due))


def _binding(row: Row) -> FutureBinding:
    job, key, producer, node, task, n, resource, number, is_standing, bound = row
    attempt = AttemptName(job, task, node, n)
    return FutureBinding(attempt, resource, key, producer, number, bool(is_standing), from_micros(bound))
