"""Jobs over nodes: one row for each job, one step for each of its nodes, the output of commands, and the server that drives the job.

A step moves only forward: waiting, ordered, began, then one of the end states; every update names the state it starts from. The driver
numbers the changes while it has locked the job's row, so a viewer that has seen everything through 17 never misses an 18.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from precast.base.clock import from_micros, from_optional_micros, to_micros
from precast.store.engine.compression import compress, decompress
from precast.store.engine.database import Database
from precast.store.engine.query import Row, Transaction, Wake
from precast.store.jobs import queries as queries

# Topics: a job was created or lost its driver; a node of the job (prefix + id) answered; the job has new changes for viewers.
CREATED_TOPIC = "job-created"
MOVED_PREFIX = "job-moved."
CHANGED_PREFIX = "job-changed."

WAITING, ORDERED, BEGAN = "waiting", "ordered", "began"
DONE, FAILED, NOT_RUN, SILENT, AWAY, LEFT_OUT = "done", "failed", "not-run", "silent", "away", "left-out"
GOING, STOPPING, HALTING = "going", "stopping", "halting"
# How many rows a driver handles in one transaction, so that other writers are not delayed.
PAGE = 500
# The most output that is stored of one node's command, whatever the node sends: more than an order can ask for.
OUTPUT_BYTES = 4 * 1024 * 1024


class JobRow(msgspec.Struct, frozen=True):
    """A job as it is stored."""

    id: str
    kind: str
    body: bytes
    made_by: str
    made_at: datetime
    state: str
    stopped_by: str | None
    ended_at: datetime | None
    nodes: int
    changes: int


class StepRow(msgspec.Struct, frozen=True):
    """The step of one node of a job."""

    node: str
    batch: int
    state: str
    number: int | None
    ordered_at: datetime | None
    began_at: datetime | None
    ended_at: datetime | None
    report: str | None
    message: str | None
    result: str | None


class OutputRow(NamedTuple):
    """Lines of a node's command, as JSON."""

    node: str
    first: int
    number: int
    lines: bytes


class NewStep(NamedTuple):
    """A new step: waiting, or in an end state already. The step of a command has the signer's seal."""

    node: str
    batch: int
    state: str = WAITING
    message: str | None = None
    seal: bytes | None = None


class JobClaim(NamedTuple):
    """A job that this server drives, with the fence that proves it."""

    job: str
    owner: str
    fence: int


class StepOutcome(NamedTuple):
    """How a step ended."""

    state: str
    message: str | None = None
    report: str | None = None
    result: str | None = None


class Jobs:
    """The jobs of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _now(self) -> int:
        return to_micros(self._database.clock.now())

    # Creating and reading

    def create(
        self, job: str, kind: str, body: bytes, actor: str, allowed: timedelta, steps: Sequence[NewStep]
    ) -> Transaction[None]:
        """Create a job over nodes, in their order."""
        now = self._now()
        yield queries.MAKE(
            run=job,
            kind=kind,
            body=body,
            actor=actor,
            now=now,
            count=len(steps),
            allowed=allowed // timedelta(microseconds=1),
        )
        yield queries.MAKE_STEP.many(
            {
                "run": job,
                "node": step.node,
                "place": place,
                "batch": step.batch,
                "state": step.state,
                "ended_at": None if step.state == WAITING else now,
                "message": step.message,
                "seal": step.seal,
            }
            for place, step in enumerate(steps)
        )
        yield Wake(CREATED_TOPIC)

    def find(self, job: str) -> Transaction[JobRow | None]:
        rows = yield queries.SHOW(run=job)
        return _job(rows[0]) if rows else None

    def count_open(self) -> Transaction[int]:
        """Count the jobs that have not ended."""
        ((count,),) = yield queries.COUNT_OPEN()
        return int(count)

    def list_newest(self, before: str, limit: int) -> Transaction[list[JobRow]]:
        """List jobs below an id, the newest first."""
        return [_job(row) for row in (yield queries.LIST(before=before, limit=limit))]

    def count_steps(self, job: str) -> Transaction[dict[str, int]]:
        """Count the steps in each state."""
        return dict((yield queries.COUNTS(run=job)))

    def list_steps(self, job: str, after: str, limit: int) -> Transaction[list[StepRow]]:
        """List steps by node, after a node."""
        return [_step(row) for row in (yield queries.STEPS(run=job, after_node=after, limit=limit))]

    def list_changes(self, job: str, after: int, limit: int) -> Transaction[tuple[list[StepRow], list[OutputRow]]]:
        """List the steps and outputs that changed after a number: at most `limit` of each, by number."""
        steps = [_step(row) for row in (yield queries.STEPS_AFTER(run=job, number=after, limit=limit))]
        rows = yield queries.OUTPUT_AFTER(run=job, number=after, limit=limit)
        return steps, [OutputRow(node, first, number, decompress(lines)) for node, first, number, lines in rows]

    def request_stop(self, job: str, actor: str) -> Transaction[bool]:
        """Ask the driver to stop the job; False if it is stopping or has ended."""
        rows = yield queries.ASK_TO_STOP(run=job, actor=actor)
        yield Wake(MOVED_PREFIX + job)
        return bool(rows)

    # Answers of nodes

    def mark_began(self, job: str, node: str, report: str | None) -> Transaction[bool]:
        """Record that a node has begun; False if the step is not in the state `ordered`."""
        rows = yield queries.BEGIN(run=job, node=node, report=report, now=self._now())
        if rows:
            yield Wake(MOVED_PREFIX + job)
        return bool(rows)

    def mark_ended(self, job: str, node: str, outcome: StepOutcome) -> Transaction[bool]:
        """Record that a step ended; False if it had ended before. An answer after the timeout is stored beside the timeout."""
        values = {"run": job, "node": node, "report": outcome.report, "result": outcome.result}
        rows = yield queries.END(**values, message=outcome.message, state=outcome.state, now=self._now())
        if not rows:
            late = f"too late: {outcome.state}" + (f", {outcome.message}" if outcome.message else "")
            if (yield queries.ADD_LATE(**values, message=late)):
                yield Wake(MOVED_PREFIX + job)
            return False
        yield Wake(MOVED_PREFIX + job)
        return True

    def add_output(self, job: str, node: str, first: int, lines: bytes) -> Transaction[None]:
        """Add output of a command whose step is active; other output is dropped."""
        rows = yield queries.ADD_OUTPUT(
            run=job, node=node, first=first, lines=compress(lines), size=len(lines), most=OUTPUT_BYTES, now=self._now()
        )
        if rows:
            yield Wake(MOVED_PREFIX + job)

    # Driving

    async def claim(self, owner: str, lease_s: float, limit: int) -> list[JobClaim]:
        """Claim jobs that no server drives."""
        return await self._database.write(self._claim_jobs, owner, lease_s, limit)

    def _claim_jobs(self, owner: str, lease_s: float, limit: int) -> Transaction[list[JobClaim]]:
        until = self._now() + int(lease_s * 1e6)
        rows = yield queries.CLAIM(owner=owner, now=self._now(), until=until, limit=limit)
        return [JobClaim(job, owner, fence) for job, fence in rows]

    async def release_all(self, owner: str) -> None:
        """Release all jobs of this server, so that any server can claim them."""
        await self._database.write(_release_jobs, owner)

    def renew_lease(self, claim: JobClaim, lease_s: float) -> Transaction[JobRow | None]:
        """Lock the job until the commit and renew its lease; None if another server drives it, or it has ended."""
        until = self._now() + int(lease_s * 1e6)
        rows = yield queries.RENEW_LEASE(run=claim.job, owner=claim.owner, fence=claim.fence, until=until)
        return _job(rows[0]) if rows else None

    def count_running(self, job: str) -> Transaction[tuple[int | None, int]]:
        """Return the first batch that has an active step, and the number of active steps."""
        ((batch, count),) = yield queries.RUNNING(run=job)
        return batch, count

    def list_waiting(self, job: str, limit: int) -> Transaction[list[tuple[str, int]]]:
        """List the nodes whose turn is next, each with its batch."""
        return [(node, batch) for node, batch in (yield queries.WAITING(run=job, limit=limit))]

    def mark_ordered(self, job: str, node: str, due_at: datetime) -> Transaction[bytes | None]:
        """Record that a waiting node gets its order. Returns the seal of its command, empty for other jobs; None if it does not wait."""
        rows = yield queries.ORDER(run=job, node=node, due_at=to_micros(due_at), now=self._now())
        return bytes(rows[0][0] or b"") if rows else None

    def leave_out(self, job: str, node: str, state: str, message: str) -> Transaction[None]:
        """End the step of a node that gets no order."""
        yield queries.LEAVE_OUT(run=job, node=node, state=state, message=message, now=self._now())

    def leave_out_rest(self, job: str, message: str) -> Transaction[None]:
        """End the steps of all nodes that still wait for their turn."""
        yield queries.LEAVE_OUT_ALL(run=job, state=LEFT_OUT, message=message, now=self._now())

    def expire_steps(
        self, job: str, never_began: str, never_ended: str, since: datetime | None = None
    ) -> Transaction[int]:
        """End the steps of nodes that did not begin or end in time, of waits that began after `since`. Returns how many."""
        rows = yield queries.EXPIRE(
            run=job,
            now=self._now(),
            since=0 if since is None else to_micros(since),
            never_began=never_began,
            never_ended=never_ended,
            limit=PAGE,
        )
        return len(rows)

    def number_changes(self, job: str, last: int) -> Transaction[tuple[int, bool]]:
        """Number the changes, the output of a command before its end. Returns the last number, and whether there are more changes."""
        # In this order: output that is committed together with a step's end is visible once the end is.
        unseen = [node for (node,) in (yield queries.UNSEEN(run=job, limit=PAGE))]
        output = yield queries.UNSEEN_OUTPUT(run=job, limit=PAGE)
        yield queries.NUMBER_OUTPUT.many(
            {"run": job, "node": node, "first": first, "number": number}
            for number, (node, first) in enumerate(output, last + 1)
        )
        last += len(output)
        if len(output) == PAGE:
            return last, True
        yield queries.NUMBER.many(
            {"run": job, "node": node, "number": number} for number, node in enumerate(unseen, last + 1)
        )
        return last + len(unseen), len(unseen) == PAGE

    def has_unnumbered(self, job: str) -> Transaction[bool]:
        """Whether a change has no number yet."""
        return bool((yield queries.HAS_UNSEEN(run=job)))

    def set_state(self, job: str, state: str, changes: int, ended_at: datetime | None) -> Transaction[None]:
        yield queries.SET_STATE(
            run=job, state=state, last=changes, ended_at=None if ended_at is None else to_micros(ended_at)
        )
        yield Wake(CHANGED_PREFIX + job)

    # Deleting

    async def delete_old(self, before: datetime, limit: int) -> int:
        """Delete up to `limit` jobs that ended before a time. Returns how many."""
        return await self._database.write(_delete_old, before, limit)


def delete_node_steps(node: str) -> Transaction[None]:
    """Delete the steps and outputs of a node in every job."""
    yield queries.DELETE_NODE_OUTPUT(node=node)
    yield queries.DELETE_NODE(node=node)


def _release_jobs(owner: str) -> Transaction[None]:
    yield queries.RELEASE_ALL(owner=owner)
    yield Wake(CREATED_TOPIC)


def _delete_old(before: datetime, limit: int) -> Transaction[int]:
    rows = yield queries.OLD(before_at=to_micros(before), limit=limit)
    for (job,) in rows:
        yield queries.DELETE_OUTPUT(run=job)
        yield queries.DELETE_STEPS(run=job)
        yield queries.DELETE(run=job)
    return len(rows)


def _job(row: Row) -> JobRow:
    id_, kind, body, by, made, state, stopped_by, ended, nodes, changes = row
    return JobRow(
        id_,
        kind,
        bytes(body),
        by,
        from_micros(made),
        state,
        stopped_by,
        from_optional_micros(ended),
        nodes,
        changes,
    )


def _step(row: Row) -> StepRow:
    node, batch, state, number, ordered, began, ended, report, message, result = row
    times = (from_optional_micros(ordered), from_optional_micros(began), from_optional_micros(ended))
    return StepRow(node, batch, state, number, *times, report, message, result)
