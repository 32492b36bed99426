"""The attempts of a job on its nodes, and the output of commands.

An attempt moves only as `wire.jobs.states` has it: every update names the state it starts from. The driver numbers the changes while it
has locked the job's row, so a viewer that has seen everything through 17 never misses an 18.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from precast.base.clock import from_micros, from_optional_micros, to_micros
from precast.store.engine.compression import compress, decompress
from precast.store.engine.database import Database
from precast.store.engine.query import Row, Transaction, Wake, json_list
from precast.store.futures import job_promises, waits
from precast.store.futures.job_promises import AttemptName
from precast.store.jobs import queries as queries
from precast.store.jobs.jobs import CHANGED_PREFIX, DUE_TOPIC, MOVED_PREFIX
from precast.wire.jobs import states

# How many changes a driver numbers in one transaction, so that other writers are not delayed.
PAGE = 1_000
# What an attempt has in `futures` once its run has only waited for values of others.
PARKED = 2
# How an attempt ended, for those who wait for what it promised.
_ENDS = {
    states.SKIPPED: "it was skipped",
    states.CANCELLED: "its run was cancelled",
    states.EXPIRED: "its run did not begin",
}
# The most output that is stored of one node's command, whatever the node sends: more than an order can ask for.
OUTPUT_BYTES = 4 * 1024 * 1024


class AttemptKey(NamedTuple):
    """Names an attempt."""

    job: str
    task: int
    node: str
    n: int


class AttemptRow(msgspec.Struct, frozen=True):
    """An attempt as it is stored."""

    task: int
    node: str
    n: int
    batch: int
    state: str
    reason: str | None
    number: int | None
    queued_at: datetime
    ordered_at: datetime | None
    claimed_at: datetime | None
    picked_at: datetime | None
    ended_at: datetime | None
    late: str | None
    report: str | None
    message: str | None
    result: str | None
    tries: int
    phase: str | None = None  # of a task of a plan


class StepState(NamedTuple):
    """A step by its newest attempt, as the driver needs it."""

    task: int
    node: str
    n: int
    place: int
    batch: int
    state: str
    reason: str | None
    has_turn: bool
    is_claimed: bool
    tries: int  # how often its node was away when it was looked for
    late: str | None = None  # the state that a result after the deadline has
    message: str | None = None
    is_parked: bool = False  # its run has had nothing to do but wait for values of others: it needs no slot


class TaskCount(NamedTuple):
    """How many steps of a task are in a state."""

    task: int
    state: str
    reason: str | None
    phase: str | None
    has_turn: bool
    steps: int


class OutputRow(NamedTuple):
    """Lines of a node's command, as JSON."""

    task: int
    node: str
    n: int
    first: int
    number: int
    lines: bytes


class NewAttempt(NamedTuple):
    """A new attempt: queued, or ended already. The attempt of a command has the signer's seal."""

    task: int
    node: str
    place: int
    batch: int
    state: str = states.QUEUED
    reason: str | None = None
    message: str | None = None
    seal: bytes | None = None
    allowed_s: float | None = None  # how long its node may take; None: as the other attempts of the job
    is_known: bool = False  # it is no change of its job: whoever knows the job knows that the attempt is queued


class NotedClaim(NamedTuple):
    """The latest claim of an attempt: its number, and the instance of the local store of the machine that made it."""

    number: int
    instance: str


class Turn(NamedTuple):
    """The turn that an attempt was given: the node's latest claim if there was one, and the seal of its command."""

    claim: NotedClaim | None
    seal: bytes | None


class ClaimedAttempt(NamedTuple):
    """An attempt that a node claims, as it is stored."""

    state: str
    reason: str | None
    has_turn: bool
    due_at: datetime | None
    claim: int | None
    instance: str | None


class EndedWait(NamedTuple):
    """An attempt that was ended by its driver: the claim that waits for an answer, and whether it held the node's lock."""

    key: AttemptKey
    claim: NotedClaim | None
    was_picked_up: bool


class Ending(NamedTuple):
    """How an attempt ended."""

    state: str
    reason: str | None = None
    message: str | None = None
    report: str | None = None
    result: str | None = None


class Attempts:
    """The attempts of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def now(self) -> datetime:
        """The time of the database."""
        return self._database.clock.now()

    def _now(self) -> int:
        return to_micros(self._database.clock.now())

    # Creating and reading

    def add(
        self, job: str, n: int, allowed_s: float, attempts: Sequence[NewAttempt], until: datetime | None = None
    ) -> Transaction[None]:
        """Add the attempts of a round, which expire at `until`; earlier ones of the same steps are no longer the newest."""
        now, due_at = self._now(), None if until is None else to_micros(until)
        if n > 1:
            yield queries.MAKE_OLD.many(
                {"job": job, "task": attempt.task, "node": attempt.node, "n": n} for attempt in attempts
            )
        yield queries.ADD_ATTEMPT.many(
            {
                "job": job,
                "task": attempt.task,
                "node": attempt.node,
                "n": n,
                "place": attempt.place,
                "batch": attempt.batch,
                "state": attempt.state,
                "reason": attempt.reason,
                "change": 0 if attempt.is_known else None,
                "now": now,
                "due_at": due_at if attempt.state == states.QUEUED else None,
                "allowed": int((allowed_s if attempt.allowed_s is None else attempt.allowed_s) * 1e6),
                "ended_at": None if attempt.state == states.QUEUED else now,
                "message": attempt.message,
                "seal": attempt.seal,
            }
            for attempt in attempts
        )

    def count(self, job: str) -> Transaction[dict[tuple[str, str], int]]:
        """Count the steps by state and reason."""
        return {(state, reason): count for state, reason, count in (yield queries.COUNTS(job=job))}

    def count_by_task(self, job: str, round_: int) -> Transaction[list[TaskCount]]:
        """Count the steps of each task by state, as a round of the job begins with them."""
        rows = yield queries.COUNTS_BY_TASK(job=job, round=round_)
        return [
            TaskCount(task, state, reason, phase, bool(turn), count) for task, state, reason, phase, turn, count in rows
        ]

    def list_failures(self, job: str, round_: int, limit: int) -> Transaction[list[AttemptRow]]:
        """List the steps that have failed for a round of the job, the earliest first."""
        return [_attempt(row) for row in (yield queries.FAILURES(job=job, round=round_, limit=limit))]

    def count_skipped(self, job: str, reason: str) -> Transaction[dict[str, int]]:
        """Count the steps that were skipped for a reason, by message."""
        rows = yield queries.SKIPPED_BY_MESSAGE(job=job, reason=reason)
        return {message or "": count for message, count in rows}

    def list_durations(self, work: str, jobs: int, limit: int) -> Transaction[list[float]]:
        """How many seconds the nodes of the newest jobs with this work have taken, where they succeeded."""
        found: list[float] = []
        for (job,) in (yield queries.OF_WORK(work=work, limit=jobs)):
            rows = yield queries.DURATIONS(job=job, limit=limit - len(found))
            found += [(ended - picked) / 1e6 for picked, ended in rows]
            if len(found) >= limit:
                break
        return found

    def find_step(self, job: str, task: int, node: str) -> Transaction[AttemptRow | None]:
        """The newest attempt of a step."""
        rows = yield queries.STEP(job=job, task=task, node=node)
        return _attempt(rows[0]) if rows else None

    def list_states(self, job: str) -> Transaction[list[StepState]]:
        """List all steps in the order of their turns."""
        return [_state(row) for row in (yield queries.STATES(job=job))]

    def list_steps(self, job: str, after: str, after_task: int, limit: int) -> Transaction[list[AttemptRow]]:
        """List the newest attempts by node and task, after those of a node through a task."""
        rows = yield queries.STEPS(job=job, after_node=after, after_task=after_task, limit=limit)
        return [_attempt(row) for row in rows]

    def list_results(self, job: str, task: int) -> Transaction[dict[str, str | None]]:
        """What the nodes have returned for a task on which they succeeded, as stored."""
        return dict((yield queries.RESULTS(job=job, task=task)))

    def find_results(self, job: str, task: int, nodes: Sequence[str]) -> Transaction[dict[str, str | None]]:
        """What these nodes have returned for a task; those on which it has not succeeded are left out."""
        return dict((yield queries.RESULTS_OF_NODES(job=job, task=task, nodes=json_list(nodes))))

    def list_changes(self, job: str, after: int, limit: int) -> Transaction[tuple[list[AttemptRow], list[OutputRow]]]:
        """List the attempts and outputs that changed after a number: at most `limit` of each, by number."""
        steps = [_attempt(row) for row in (yield queries.STEPS_AFTER(job=job, number=after, limit=limit))]
        rows = yield queries.OUTPUT_AFTER(job=job, number=after, limit=limit)
        return steps, [
            OutputRow(task, node, n, first, number, decompress(lines)) for task, node, n, first, number, lines in rows
        ]

    # Turns

    def give_turn(self, key: AttemptKey, due_at: datetime) -> Transaction[Turn | None]:
        """Give a queued attempt its turn: it must be picked up before a time. None if it is not queued, or has its turn."""
        rows = yield queries.GIVE_TURN(**key._asdict(), due_at=to_micros(due_at), now=self._now())
        if not rows:
            return None
        *_, claim, instance, seal = rows[0]
        return Turn(_claim(claim, instance), None if seal is None else bytes(seal))

    def take_turn_back(self, key: AttemptKey) -> Transaction[bool]:
        """Take the turn of an attempt that was not picked up; False if it was."""
        return bool((yield queries.TAKE_TURN_BACK(**key._asdict())))

    def wait_for_lock(self, key: AttemptKey) -> Transaction[None]:
        """Let an attempt that has its turn and is claimed wait until the node's lock is free."""
        yield queries.WAIT_FOR_LOCK(**key._asdict())

    def look_again(self, key: AttemptKey, away_s: float, every_s: float = 0.0) -> Transaction[int]:
        """Note that the node of a queued attempt is away, and that it is waited for so long since it was queued; 0 means no limit.

        Returns how often it was looked for; 0 if that was less than `every_s` ago, or the attempt is not queued.
        """
        now, away = self._now(), int(away_s * 1e6)
        rows = yield queries.LOOK_AGAIN(**key._asdict(), away=away, now=now, looked_before=now - int(every_s * 1e6))
        return int(rows[0][0]) if rows else 0

    def list_unclaimed(self, job: str) -> Transaction[list[AttemptKey]]:
        """List the attempts that have their turn and are not picked up."""
        return [AttemptKey(job, *row) for row in (yield queries.UNCLAIMED(job=job))]

    def list_picked_up(self, job: str) -> Transaction[list[AttemptKey]]:
        return [AttemptKey(job, *row) for row in (yield queries.PICKED(job=job))]

    # Claims

    def find_claimed(self, key: AttemptKey) -> Transaction[ClaimedAttempt | None]:
        """Find an attempt and lock it until the commit."""
        rows = yield queries.FIND(**key._asdict())
        if not rows:
            return None
        *_, state, reason, ordered, due, claim, instance = rows[0]
        return ClaimedAttempt(state, reason, ordered is not None, from_optional_micros(due), claim, instance)

    def note_claim(self, key: AttemptKey, claim: int, instance: str) -> Transaction[None]:
        yield queries.NOTE_CLAIM(**key._asdict(), claim=claim, instance=instance, now=self._now())

    def pick_up(self, key: AttemptKey) -> Transaction[bool]:
        """Move a queued attempt to PICKED_UP; False if it is not queued."""
        rows = yield queries.PICK_UP(**key._asdict(), now=self._now())
        if rows:
            yield Wake(MOVED_PREFIX + key.job)
        return bool(rows)

    def find_next_claim(self, node: str) -> Transaction[tuple[AttemptKey, NotedClaim] | None]:
        """The claimed attempt that is next to change a node, with its claim: that which has waited the longest."""
        rows = yield queries.NEXT_CLAIM(node=node, now=self._now())
        if not rows:
            return None
        _, _, job, task, n, claim, instance = min(tuple(row) for row in rows)
        return AttemptKey(job, task, node, n), NotedClaim(claim, instance)

    # Results

    def note_report(self, key: AttemptKey, report: str) -> Transaction[None]:
        """Note the id of the node's own run."""
        if (yield queries.NOTE_REPORT(**key._asdict(), report=report)):
            yield Wake(MOVED_PREFIX + key.job)

    def park(self, keys: Sequence[AttemptKey]) -> Transaction[None]:
        """Note that runs have nothing to do but wait for values of others. Their jobs let others begin in their place."""
        rows = yield queries.PARK.many_tuples(sorted(tuple(key) for key in keys))
        for job in sorted({row[0] for row in rows}):
            yield Wake(MOVED_PREFIX + job)

    def note_phase(self, key: AttemptKey, phase: str, message: str | None) -> Transaction[None]:
        """Note in which phase the task of an attempt is."""
        if (yield queries.NOTE_PHASE(**key._asdict(), phase=phase, message=message)):
            yield Wake(MOVED_PREFIX + key.job)

    def end(self, key: AttemptKey, before: str, ending: Ending) -> Transaction[bool]:
        """End an attempt that is in the state `before`; False if it is not. A result after the deadline is stored beside the state."""
        values = {**key._asdict(), "message": ending.message, "report": ending.report, "result": ending.result}
        rows = yield queries.END(**values, state=ending.state, reason=ending.reason, before=before, now=self._now())
        if rows:
            yield Wake(MOVED_PREFIX + key.job)
            if rows[0][4]:
                yield from job_promises.end_attempt(AttemptName(*key), _why(ending), self.now())
        elif (yield queries.ADD_LATE(**values, late=ending.state)):
            yield from self._number_late(key)
        return bool(rows)

    def _number_late(self, key: AttemptKey) -> Transaction[None]:
        """Number the change of an attempt by a result after its deadline. While the job has not ended, its driver does."""
        for number, ended_at in (yield queries.COUNT_LATE(job=key.job)):
            if ended_at is None:
                yield Wake(MOVED_PREFIX + key.job)
            else:
                yield queries.NUMBER(**key._asdict(), change=number)
                yield Wake(CHANGED_PREFIX + key.job)

    def add_output(self, key: AttemptKey, first: int, lines: bytes) -> Transaction[None]:
        """Add output of a command whose attempt is open; other output is dropped."""
        rows = yield queries.ADD_OUTPUT(
            **key._asdict(), first=first, lines=compress(lines), size=len(lines), most=OUTPUT_BYTES, now=self._now()
        )
        if rows:
            yield Wake(MOVED_PREFIX + key.job)

    # Ends by the driver

    def end_queued(self, job: str, ending: Ending, but: Sequence[int] = ()) -> Transaction[list[EndedWait]]:
        """End all attempts that no node has picked up, except those of the tasks `but`."""
        values = {
            "job": job,
            "state": ending.state,
            "reason": ending.reason,
            "message": ending.message,
            "now": self._now(),
        }
        rows = yield queries.END_QUEUED_BUT(**values, tasks=json_list(but)) if but else queries.END_QUEUED(**values)
        ended = [(AttemptName(job, *row[:3]), _why(ending)) for row in rows if row[5]]
        yield from job_promises.end_attempts(ended, self.now())
        return [
            EndedWait(AttemptKey(job, task, node, n), _claim(claim, instance), False)
            for task, node, n, claim, instance, _ in rows
        ]

    def expire(self, job: str, since: datetime | None = None) -> Transaction[list[EndedWait]]:
        """End the attempts whose wait is over, of waits that began after `since`."""
        start = 0 if since is None else to_micros(since)
        rows = yield queries.EXPIRE(job=job, now=self._now(), since=start)
        ended = [
            (AttemptName(job, task, node, n), "its run is lost" if reason == states.LOST else "its run did not begin")
            for task, node, n, _, _, reason, futures in rows
            if futures
        ]
        yield from job_promises.end_attempts(ended, self.now())
        return [
            EndedWait(AttemptKey(job, task, node, n), _claim(claim, instance), reason == states.LOST)
            for task, node, n, claim, instance, reason, _ in rows
        ]

    def hurry(self, job: str, due_at: datetime) -> Transaction[None]:
        """Wait no longer than until a time for what was picked up."""
        yield queries.HURRY(job=job, due_at=to_micros(due_at))

    def find_next_due(self, job: str) -> Transaction[datetime | None]:
        """When the next wait of a job is over."""
        ((at,),) = yield queries.NEXT_DUE(job=job)
        return from_optional_micros(at)

    # Changes

    def number_changes(self, job: str, last: int) -> Transaction[tuple[int, list[StepState], bool]]:
        """Number the changes, the output of a command before its end.

        Returns the last number, the steps that changed, and whether there are more changes.
        """
        # In this order: output that is committed together with an attempt's end is visible once the end is.
        unseen = yield queries.UNSEEN(job=job, limit=PAGE)
        output = yield queries.UNSEEN_OUTPUT(job=job, limit=PAGE)
        yield queries.NUMBER_OUTPUT.many(
            {"job": job, "task": task, "node": node, "n": n, "first": first, "change": number}
            for number, (task, node, n, first) in enumerate(output, last + 1)
        )
        last += len(output)
        if len(output) == PAGE:
            return last, [], True
        changed = [_state(row[:-1]) for row in unseen]
        yield queries.NUMBER.many(
            {"job": job, "task": step.task, "node": step.node, "n": step.n, "change": number}
            for number, step in enumerate(changed, last + 1)
        )
        newest = [step for step, row in zip(changed, unseen, strict=True) if row[-1]]
        return last + len(changed), newest, len(changed) == PAGE

    def has_unnumbered(self, job: str) -> Transaction[bool]:
        """Whether a change has no number yet."""
        return bool((yield queries.HAS_UNSEEN(job=job)))

    # Waits

    def wait_for(self, key: AttemptKey, job: str, task: int, node: str) -> Transaction[None]:
        """Note that a running attempt waits for a step of any job."""
        yield queries.ADD_WAIT(**key._asdict(), for_job=job, for_task=task, for_node=node, now=self._now())

    def end_waits(self, key: AttemptKey) -> Transaction[None]:
        """Note that an attempt waits for nothing any more."""
        yield queries.END_WAITS(**key._asdict())

    def has_waits(self) -> Transaction[bool]:
        """Whether a running attempt waits for a step: without one, nothing can wait in a circle."""
        return bool((yield queries.HAS_WAITS()))

    def list_waits(self) -> Transaction[list[tuple[AttemptKey, AttemptKey]]]:
        """List who waits for whom: for a node's lock, or for a step."""
        return [(AttemptKey(*row[:4]), AttemptKey(*row[4:])) for row in (yield queries.WAITS())]

    def list_strays(self, limit: int) -> Transaction[list[tuple[AttemptKey, str]]]:
        """List open attempts, with their states, that nothing would ever end."""
        return [(AttemptKey(*row[:4]), row[4]) for row in (yield queries.STRAYS(limit=limit))]

    def count_refused(self, since: datetime) -> Transaction[int]:
        """Count the attempts that nodes have refused since a time."""
        ((count,),) = yield queries.COUNT_REFUSED(since=to_micros(since))
        return int(count)

    # Nodes

    def list_jobs_begun_on(self, node: str) -> Transaction[list[str]]:
        """List the jobs of which a node has an attempt that is its turn, or that it has picked up."""
        return sorted(job for (job,) in (yield queries.BEGUN_OF_NODE(node=node)))

    def list_jobs_waiting_for(self, nodes: Sequence[str]) -> Transaction[list[str]]:
        """List the jobs that have queued attempts on any of these nodes."""
        return [job for (job,) in (yield queries.OPEN_OF_NODES(nodes=json_list(nodes)))]


def purge_node_attempts(node: str, now: datetime) -> Transaction[None]:
    """End the open attempts of a purged node, and delete what it has reported. Its attempts stay, with their states."""
    at = to_micros(now)
    jobs = {job for (job,) in (yield queries.PURGE_NODE(node=node, now=at))}
    yield queries.UNLOCK_PURGED(node=node)
    yield queries.END_WAITS_OF(node=node)
    yield from job_promises.purge_node(node, now)
    yield from waits.purge_node(node)
    yield queries.DELETE_NODE_OUTPUT(node=node)
    yield queries.FORGET_NODE(node=node)
    for job in sorted(jobs):
        yield queries.WAKE(job=job)
        yield Wake(MOVED_PREFIX + job)
    if jobs:
        yield Wake(DUE_TOPIC)


def _why(ending: Ending) -> str:
    """Why an attempt that ended so does not fulfil what it promised."""
    detail = ending.message or ending.reason or ""
    if ending.state == states.COMPLETED:
        return "its run ended and did not promise it"
    text = _ENDS.get(ending.state, "its run failed")
    return f"{text}: {detail}" if detail else text


def _claim(number: int | None, instance: str | None) -> NotedClaim | None:
    return None if number is None or instance is None else NotedClaim(number, instance)


def _state(row: Row) -> StepState:
    task, node, n, place, batch, state, reason, ordered, claim, tries, late, message, futures = row
    has_turn, is_parked = ordered is not None, state == states.PICKED_UP and futures == PARKED
    return StepState(
        *(task, node, n, place, batch, state, reason, has_turn, claim is not None, tries, late, message, is_parked)
    )


def _attempt(row: Row) -> AttemptRow:
    (
        task,
        node,
        n,
        batch,
        state,
        reason,
        number,
        queued,
        ordered,
        claimed,
        picked,
        ended,
        late,
        report,
        message,
        result,
        tries,
        phase,
    ) = row
    return AttemptRow(
        task=task,
        node=node,
        n=n,
        batch=batch,
        state=state,
        reason=reason,
        number=number,
        queued_at=from_micros(queued),
        ordered_at=from_optional_micros(ordered),
        claimed_at=from_optional_micros(claimed),
        picked_at=from_optional_micros(picked),
        ended_at=from_optional_micros(ended),
        late=late,
        report=report,
        message=message,
        result=result,
        tries=tries,
        phase=phase,
    )
