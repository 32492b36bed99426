"""Jobs over nodes: one row for each job, and the server that drives it.

A server drives a job while its own lease lasts: the job has the id of that server and a fence, which grows with each new owner and is
checked first in each of the driver's transactions. A job in which nothing moves is driven by nobody and has the time at which somebody
has to look at it again. An event moves that time to now.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from precast.base.clock import from_micros, from_optional_micros, to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Row, Transaction, Wake, json_list
from precast.store.jobs import queries as queries

# Topics: a job has to be driven and nobody drives it; a node of the job (prefix + id) answered; the job has new changes for viewers;
# it has ended.
DUE_TOPIC = "job-due"
MOVED_PREFIX = "job-moved."
CHANGED_PREFIX = "job-changed."
ENDED_PREFIX = "job-ended."


# Deletes what another table has of a job.
DeletePart = Callable[[str], Transaction[None]]


class JobRow(msgspec.Struct, frozen=True):
    """A job as it is stored."""

    id: str
    kind: str
    body: bytes
    environment: str | None
    action: str | None
    made_by: str
    made_at: datetime
    state: str
    stopped_by: str | None
    ended_at: datetime | None
    nodes: int
    round: int
    changes: int


class NewJobRow(NamedTuple):
    """A job that is to be stored."""

    id: str
    kind: str
    body: bytes
    environment: str | None
    action: str | None
    made_by: str
    work: str = ""  # the same for jobs whose nodes do the same


class JobClaim(NamedTuple):
    """A job that this server drives, with the fence that proves it."""

    job: str
    owner: str
    fence: int


class Jobs:
    """The jobs of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _now(self) -> int:
        return to_micros(self._database.clock.now())

    # Creating, reading, and what people ask for

    def create(self, new: NewJobRow, count: int) -> Transaction[None]:
        """Create a job over `count` steps; its attempts are added in the same transaction."""
        yield queries.MAKE(
            job=new.id,
            kind=new.kind,
            body=new.body,
            environment=new.environment,
            action=new.action,
            work=new.work,
            actor=new.made_by,
            now=self._now(),
            count=count,
        )
        yield Wake(DUE_TOPIC)

    def find(self, job: str) -> Transaction[JobRow | None]:
        rows = yield queries.SHOW(job=job)
        return _job(rows[0]) if rows else None

    def count_open(self) -> Transaction[int]:
        """Count the jobs that have not ended."""
        ((count,),) = yield queries.COUNT_OPEN()
        return int(count)

    def list_newest(self, before: str, limit: int, environments: Sequence[str] = ()) -> Transaction[list[JobRow]]:
        """List jobs below an id, the newest first; with `environments` only those of these."""
        if environments:
            rows = yield queries.LIST_WITHIN(names=json_list(environments), before=before, limit=limit)
        else:
            rows = yield queries.LIST(before=before, limit=limit)
        return [_job(row) for row in rows]

    def list_of_kind(
        self, kind: str, before: str, limit: int, environments: Sequence[str] = ()
    ) -> Transaction[list[JobRow]]:
        """List jobs of a kind below an id, the newest first; with `environments` only those of these."""
        rows = yield queries.LIST_OF_KIND(
            kind=kind, before=before, limit=limit, names=json_list(environments), is_all=int(not environments)
        )
        return [_job(row) for row in rows]

    def list_of_action(self, action: str, limit: int) -> Transaction[list[JobRow]]:
        """List the jobs that an action has started, the newest first."""
        return [_job(row) for row in (yield queries.LIST_OF_ACTION(action=action, limit=limit))]

    def list_open_of_action(self, action: str) -> Transaction[list[JobRow]]:
        """List the jobs of an action that have not ended, the newest first."""
        return [_job(row) for row in (yield queries.OPEN_OF_ACTION(action=action))]

    def request_end(self, job: str, actor: str, state: str) -> Transaction[bool]:
        """Ask the driver to stop or to abort the job; False if it has ended, or was asked before."""
        rows = yield queries.ASK_TO_END(job=job, actor=actor, state=state)
        yield Wake(DUE_TOPIC)
        yield Wake(MOVED_PREFIX + job)
        return bool(rows)

    def reopen(self, job: JobRow, body: bytes) -> Transaction[bool]:
        """Open the next round of a job that has ended; False if it has not, or another round was opened meanwhile."""
        rows = yield queries.REOPEN(job=job.id, round=job.round, body=body)
        yield Wake(DUE_TOPIC)
        return bool(rows)

    # Driving

    def own(self, owner: str, alive: Iterable[str], limit: int) -> Transaction[list[JobClaim]]:
        """Take on jobs whose time has come and that no server drives; jobs of servers that are not alive are due at once.

        Returns all jobs of this server.
        """
        owners = {name for (name,) in (yield queries.OWNERS())}
        for gone in sorted(owners - {owner, *alive}):
            yield queries.RELEASE_ALL(owner=gone)
        if limit > 0:
            yield queries.OWN(owner=owner, now=self._now(), limit=limit)
        # All of them: the answer to an earlier transaction that took some on may have been lost.
        return [JobClaim(job, owner, fence) for job, fence in (yield queries.OWNED(owner=owner))]

    def release_all(self, owner: str) -> Transaction[None]:
        """Release all jobs of this server, so that any server can take them on at once."""
        yield queries.RELEASE_ALL(owner=owner)
        yield Wake(DUE_TOPIC)

    def find_next_wake(self) -> Transaction[datetime | None]:
        """When the next of the jobs that nobody drives has to be looked at."""
        ((at,),) = yield queries.NEXT_WAKE()
        return from_optional_micros(at)

    def lock(self, claim: JobClaim) -> Transaction[JobRow | None]:
        """Lock the job until the commit; None if another server drives it, or it has ended."""
        rows = yield queries.LOCK(job=claim.job, owner=claim.owner, fence=claim.fence)
        return _job(rows[0]) if rows else None

    def rest(self, claim: JobClaim, wake_at: datetime) -> Transaction[None]:
        """Drive the job no longer: nothing moves in it before a time, or an event."""
        yield queries.REST(job=claim.job, owner=claim.owner, fence=claim.fence, wake_at=to_micros(wake_at))

    def wake(self, jobs: Sequence[str]) -> Transaction[None]:
        """Have jobs looked at now, whoever drives them."""
        is_due = False
        for job in sorted(jobs):
            if (yield queries.WAKE(job=job)):
                is_due = True
            else:
                yield Wake(MOVED_PREFIX + job)
        if is_due:
            yield Wake(DUE_TOPIC)

    def set_state(self, job: str, state: str, changes: int, ended_at: datetime | None) -> Transaction[None]:
        yield queries.SET_STATE(
            job=job, state=state, last=changes, ended_at=None if ended_at is None else to_micros(ended_at)
        )
        yield Wake(CHANGED_PREFIX + job)
        if ended_at is not None:
            yield Wake(ENDED_PREFIX + job)

    # Deleting

    async def delete_old(self, before: datetime, limit: int, parts: Sequence[DeletePart] = ()) -> int:
        """Delete up to `limit` jobs that ended before a time, with what other tables have of them. Returns how many."""
        return await self._database.write(_delete_old, before, limit, parts)


def _delete_old(before: datetime, limit: int, parts: Sequence[DeletePart]) -> Transaction[int]:
    rows = yield queries.OLD(before_at=to_micros(before), limit=limit)
    for (job,) in rows:
        for delete_part in parts:
            yield from delete_part(job)
        yield queries.DELETE_OUTPUT(job=job)
        yield queries.DELETE_ATTEMPTS(job=job)
        yield queries.DELETE(job=job)
    return len(rows)


def _job(row: Row) -> JobRow:
    id_, kind, body, environment, action, by, made, state, stopped_by, ended, nodes, round_, changes = row
    return JobRow(
        id=id_,
        kind=kind,
        body=bytes(body),
        environment=environment,
        action=action,
        made_by=by,
        made_at=from_micros(made),
        state=state,
        stopped_by=stopped_by,
        ended_at=from_optional_micros(ended),
        nodes=nodes,
        round=round_,
        changes=changes,
    )
