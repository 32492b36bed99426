"""What the members of a job promise: each is pending until its attempt fulfils it, or will not any more.

The rows are written with the attempts. An attempt that ends, in whatever way, fails what it has not fulfilled, in the same transaction; an
attempt whose catalog has no futures is marked so, and costs nothing.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from precast.base.clock import to_micros
from precast.store.engine.query import Query, Transaction, batch, insert, json_list
from precast.store.futures.topics import JOB, ValueKey, wake_values
from precast.store.futures.values import StoredValue, ValueRow, job_row

_KEY = ("job", "task", "node", "n")
ADD = insert(
    "jobs.add_promise",
    "job_promise",
    "job word, key text, node word, task number, n number, environment text, state word, number number,"
    " is_sensitive number, digest text, reason text, changed_at number",
    """
    -- A further round of the job promises again.
    ON CONFLICT (job, key, node, task) DO UPDATE SET n = excluded.n, state = excluded.state, environment = excluded.environment,
        number = CASE WHEN job_promise.number >= excluded.number THEN job_promise.number + 1 ELSE excluded.number END,
        value = NULL, is_sensitive = 0, digest = '', reason = excluded.reason, changed_at = excluded.changed_at,
        expires_at = NULL
    """,
)
MARK = batch(
    "jobs.mark_attempts",
    "job word, task number, node word, n number",
    """
    UPDATE attempt SET futures = 1 FROM input
    WHERE attempt.job = input.job AND attempt.task = input.task AND attempt.node = input.node AND attempt.n = input.n
    """,
)
ATTEMPTS = batch(
    "jobs.attempts",
    "job word, task number, node word, n number",
    """
    SELECT attempt.job, attempt.task, attempt.node, attempt.n, attempt.state, attempt.instance FROM input CROSS JOIN attempt
    WHERE attempt.job = input.job AND attempt.task = input.task AND attempt.node = input.node AND attempt.n = input.n
    """,
    lock="FOR UPDATE OF attempt",
    key=_KEY,
)
PICKED_UP = batch(
    "jobs.picked_up_at",
    "job word, task number, node word, n number",
    """
    SELECT attempt.job, attempt.task, attempt.node, attempt.n, attempt.picked_at FROM input CROSS JOIN attempt
    WHERE attempt.job = input.job AND attempt.task = input.task AND attempt.node = input.node AND attempt.n = input.n
        AND attempt.state = 'PICKED_UP'
    """,
)
FULFIL = batch(
    "jobs.fulfil",
    "job word, task number, node word, n number, key text, value bytes, is_sensitive number, digest text, expires_at int,"
    " now number",
    """
    UPDATE job_promise SET state = 'fulfilled', value = input.value, is_sensitive = input.is_sensitive, digest = input.digest,
        expires_at = input.expires_at, changed_at = input.now, number = job_promise.number + 1
    FROM input WHERE job_promise.job = input.job AND job_promise.key = input.key AND job_promise.node = input.node
        AND job_promise.task = input.task AND job_promise.n = input.n AND job_promise.state = 'pending'
    RETURNING job_promise.job, job_promise.task, job_promise.node, job_promise.n, job_promise.key
    """,
)
FIND = batch(
    "jobs.find_promises",
    "job word, task number, node word, n number, key text",
    """
    SELECT p.job, p.task, p.node, p.n, p.key, p.state, p.digest, p.reason FROM input CROSS JOIN job_promise AS p
    WHERE p.job = input.job AND p.task = input.task AND p.node = input.node AND p.n = input.n AND p.key = input.key
    """,
)
FAIL = batch(
    "jobs.fail_promise",
    "job word, task number, node word, n number, key text, reason text, now number",
    """
    UPDATE job_promise SET state = 'failed', reason = input.reason, changed_at = input.now, number = job_promise.number + 1
    FROM input WHERE job_promise.job = input.job AND job_promise.key = input.key AND job_promise.node = input.node
        AND job_promise.task = input.task AND job_promise.n = input.n AND job_promise.state = 'pending'
    RETURNING job_promise.job, job_promise.key, job_promise.node
    """,
)
FAIL_ATTEMPT = batch(
    "jobs.fail_attempt",
    "job word, task number, node word, n number, reason text, now number",
    """
    UPDATE job_promise SET state = 'failed', reason = input.reason, changed_at = input.now, number = job_promise.number + 1
    FROM input WHERE job_promise.job = input.job AND job_promise.task = input.task AND job_promise.node = input.node
        AND job_promise.n = input.n AND job_promise.state = 'pending'
    RETURNING job_promise.job, job_promise.task, job_promise.node, job_promise.n, job_promise.key
    """,
    key=_KEY,
)
END_WAITS = batch(
    "jobs.end_future_waits",
    "job word, task number, node word, n number",
    "DELETE FROM future_wait WHERE (job, task, node, n) IN (SELECT job, task, node, n FROM input)",
    key=_KEY,
)
OF_PURGED = Query(
    "jobs.promises_of_purged",
    """
    UPDATE job_promise SET state = 'failed', reason = 'the node was purged', changed_at = :now, number = number + 1
    WHERE node = :node AND state = 'pending' RETURNING job, key, node
    """,
)
OF_KEYS = batch(
    "jobs.promises_of_keys",
    "job text, key text",
    """
    SELECT p.job, p.key, p.node, p.state, p.number, p.environment, p.value, p.is_sensitive, p.digest, p.expires_at,
        p.reason
    FROM input CROSS JOIN job_promise AS p WHERE p.job = input.job AND p.key = input.key
    """,
)
NUMBERS = batch(
    "jobs.promise_numbers",
    "job text, key text",
    """
    SELECT p.job, p.key, p.node, sum(p.number) FROM input CROSS JOIN job_promise AS p
    WHERE p.job = input.job AND p.key = input.key GROUP BY p.job, p.key, p.node
    """,
)
EXACT = batch(
    "jobs.promises_exact",
    "job text, key text, node text",
    """
    SELECT p.job, p.key, p.node, p.state, p.number, p.environment, p.value, p.is_sensitive, p.digest, p.expires_at,
        p.reason FROM input CROSS JOIN job_promise AS p
    WHERE p.job = input.job AND p.key = input.key AND p.node = input.node
    """,
)
OF_JOB = Query(
    "jobs.promises_of_job",
    """
    SELECT p.job, p.key, p.node, p.state, p.number, p.environment, p.value, p.is_sensitive, p.digest, p.expires_at,
        p.reason, p.task, p.n FROM job_promise AS p
    WHERE p.job = :job AND (p.key, p.node, p.task) > (:key, :node, :task) ORDER BY p.key, p.node, p.task LIMIT :limit
    """,
)
PENDING = Query(
    "jobs.pending_of_nodes",
    """
    SELECT job, task, node, n, key FROM job_promise WHERE job = :job AND state = 'pending'
        AND node IN (SELECT value FROM json_each(:nodes)) ORDER BY node, key, task
    """,
    postgresql="""
    SELECT job, task, node, n, key FROM job_promise WHERE job = :job AND state = 'pending'
        AND node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB)))) ORDER BY node, key, task
    """,
)
DELETE = Query("jobs.delete_promises", "DELETE FROM job_promise WHERE job = :job")
HAS_ANY = Query("jobs.has_promises_of_job", "SELECT 1 WHERE EXISTS (SELECT 1 FROM job_promise WHERE job = :job)")


class AttemptName(NamedTuple):
    """Names an attempt."""

    job: str
    task: int
    node: str
    n: int


class NewPromise(NamedTuple):
    """A promise of an attempt; one with a reason has failed already."""

    attempt: AttemptName
    environment: str
    key: str
    reason: str = ""


class Fulfilment(NamedTuple):
    """A value for a promise of an attempt."""

    attempt: AttemptName
    key: str
    stored: StoredValue
    expires_at: datetime | None


class PromiseState(NamedTuple):
    """A promise of an attempt as it is stored."""

    state: str
    digest: str
    reason: str


class JobPromise(NamedTuple):
    """A promise with its attempt, as people see it."""

    row: ValueRow
    task: int
    n: int


def add_promises(promises: Sequence[NewPromise], attempts: Sequence[AttemptName], now: datetime) -> Transaction[None]:
    """Store promises of attempts, and mark those attempts whose catalogs promise or need something."""
    at = to_micros(now)
    rows = [
        (
            *(new.attempt.job, new.key, new.attempt.node, new.attempt.task, new.attempt.n, new.environment),
            *("failed" if new.reason else "pending", at, 0, "", new.reason, at),
        )
        for new in promises
    ]
    if rows:
        yield ADD.many_tuples(sorted(rows))
        yield from wake_values(ValueKey(JOB, job, key, node) for job, key, node, *_ in rows)
    if attempts:
        yield MARK.many_tuples(sorted(attempts))


def lock_attempts(attempts: Iterable[AttemptName]) -> Transaction[dict[AttemptName, tuple[str, str | None]]]:
    """The state of attempts and the local store that has claimed them; locked until the commit."""
    rows = yield ATTEMPTS.many_tuples(sorted(set(attempts)))
    return {AttemptName(*row[:4]): (row[4], row[5]) for row in rows}


def find_picked_up(attempts: Iterable[AttemptName]) -> Transaction[dict[AttemptName, int]]:
    """Since when those of the attempts that are at work have been, in microseconds."""
    rows = yield PICKED_UP.many_tuples(sorted(set(attempts)))
    return {AttemptName(*row[:4]): row[4] for row in rows}


def fulfil(values: Sequence[Fulfilment], now: datetime) -> Transaction[set[tuple[AttemptName, str]]]:
    """Fulfil those of the promises that are pending, and return them. Each is of another attempt or key."""
    at = to_micros(now)
    rows = [
        (
            *(*new.attempt, new.key, new.stored.value, int(new.stored.is_sensitive), new.stored.digest),
            *(None if new.expires_at is None else to_micros(new.expires_at), at),
        )
        for new in sorted(values, key=lambda new: (new.attempt, new.key))
    ]
    done = yield FULFIL.many_tuples(rows)
    yield from wake_values(ValueKey(JOB, row[0], row[4], row[2]) for row in done)
    return {(AttemptName(*row[:4]), row[4]) for row in done}


def find_states(
    promises: Sequence[tuple[AttemptName, str]],
) -> Transaction[dict[tuple[AttemptName, str], PromiseState]]:
    """The states of promises, each by attempt and key."""
    rows = yield FIND.many_tuples([(*attempt, key) for attempt, key in promises])
    return {(AttemptName(*row[:4]), row[4]): PromiseState(*row[5:]) for row in rows}


def fail(promises: Sequence[tuple[AttemptName, str, str]], now: datetime) -> Transaction[int]:
    """Fail those promises that are pending, each by attempt and key for a reason. Returns how many there were."""
    at = to_micros(now)
    rows = yield FAIL.many_tuples([(*attempt, key, reason, at) for attempt, key, reason in sorted(promises)])
    yield from wake_values(ValueKey(JOB, *row) for row in rows)
    return len(rows)


def end_attempt(attempt: AttemptName, reason: str, now: datetime) -> Transaction[None]:
    """Follow the end of an attempt whose catalog has futures: it fulfils nothing any more, and waits for nothing."""
    rows = yield FAIL_ATTEMPT(**attempt._asdict(), reason=reason, now=to_micros(now))
    yield from wake_values(ValueKey(JOB, row[0], row[4], row[2]) for row in rows)
    yield END_WAITS(**attempt._asdict())


def end_attempts(attempts: Sequence[tuple[AttemptName, str]], now: datetime) -> Transaction[None]:
    """As `end_attempt`, for several, each with its reason."""
    if not attempts:
        return
    at, ordered = to_micros(now), sorted(attempts)
    rows = yield FAIL_ATTEMPT.many_tuples([(*attempt, reason, at) for attempt, reason in ordered])
    yield from wake_values(ValueKey(JOB, row[0], row[4], row[2]) for row in rows)
    yield END_WAITS.many_tuples([tuple(attempt) for attempt, _ in ordered])


def purge_node(node: str, now: datetime) -> Transaction[None]:
    """Fail what a purged node has promised."""
    yield from wake_values(ValueKey(JOB, *row) for row in (yield OF_PURGED(node=node, now=to_micros(now))))


def list_of_keys(keys: Sequence[tuple[str, str]]) -> Transaction[list[ValueRow]]:
    """The promises of keys in jobs, one for each node."""
    return _merge([job_row(row) for row in (yield OF_KEYS.many_tuples(keys))]) if keys else []


def list_numbers(keys: Sequence[tuple[str, str]]) -> Transaction[list[tuple[str, str, str, int]]]:
    """The numbers of the promises of keys, by job, key and node."""
    rows = (yield NUMBERS.many_tuples(keys)) if keys else []
    return [(job, key, node, int(number)) for job, key, node, number in rows]


def find_exact(values: Sequence[tuple[str, str, str]]) -> Transaction[list[ValueRow]]:
    """The promises of nodes, each by job, key and node."""
    return _merge([job_row(row) for row in (yield EXACT.many_tuples(values))]) if values else []


def list_pending(job: str, nodes: Sequence[str]) -> Transaction[list[tuple[AttemptName, str]]]:
    """What these nodes still promise in a job."""
    rows = yield PENDING(job=job, nodes=json_list(nodes))
    return [(AttemptName(*row[:4]), row[4]) for row in rows]


def list_of_job(job: str, after: tuple[str, str, int], limit: int) -> Transaction[list[JobPromise]]:
    """A page of the promises of a job, by key, node and task."""
    key, node, task = after
    rows = yield OF_JOB(job=job, key=key, node=node, task=task, limit=limit)
    return [JobPromise(job_row(row[:-2]), *row[-2:]) for row in rows]


def has_promises(job: str) -> Transaction[bool]:
    """Whether members of a job promise anything."""
    return bool((yield HAS_ANY(job=job)))


def delete_of_job(job: str) -> Transaction[None]:
    yield DELETE(job=job)


def _merge(rows: Sequence[ValueRow]) -> list[ValueRow]:
    """One row for each node: several tasks of a node may promise one key. The newest value counts; it fails when all of them have.

    The number is the sum, which grows with each change of any of them.
    """
    merged: dict[tuple[str, str, str], list[ValueRow]] = {}
    for row in rows:
        merged.setdefault((row.owner, row.key, row.node), []).append(row)
    return [_merge_tasks(tasks) if len(tasks) > 1 else tasks[0] for tasks in merged.values()]


def _merge_tasks(tasks: Sequence[ValueRow]) -> ValueRow:
    order = {"fulfilled": 2, "pending": 1, "failed": 0}
    best = max(tasks, key=lambda row: (order[row.state], row.number))
    return msgspec.structs.replace(best, number=sum(row.number for row in tasks))
