"""Runs of plans: what each has pinned, what people have let go, and the data of the last success of each task on each node.

A run is a job, and its steps are attempts of the job (`store.jobs`). This module owns what a plan has beside them. Data of nodes is stored
once by its digest; data that no run and no success names is deleted.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from precast.base import digests
from precast.base.clock import from_micros, to_micros
from precast.store.engine.compression import compress, decompress
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.plans import queries


class PlanRunRow(NamedTuple):
    """A run as it is stored; the document is the JSON of what it has pinned."""

    job: str
    plan: str
    digest: str
    document: bytes


class PlanName(NamedTuple):
    """Which plan a run carries out."""

    plan: str
    digest: str


class ProgramRow(NamedTuple):
    """What these nodes do for a task: the canonical text of a program."""

    task: int
    program: str
    nodes: Sequence[str]


class ApprovalRow(NamedTuple):
    """A task that a person has let go."""

    task: int
    by: str
    at: datetime


class PlanRuns:
    """The runs of plans of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _now(self) -> int:
        return to_micros(self._database.clock.now())

    # What a run has pinned

    def pin(self, run: PlanRunRow, programs: Iterable[ProgramRow], data: Mapping[str, bytes]) -> Transaction[None]:
        """Store what a run has pinned, in place of what it had pinned before: its document, programs, and the data of its nodes."""
        yield queries.ADD_RUN(job=run.job, plan=run.plan, digest=run.digest, document=compress(run.document))
        yield queries.DELETE_PROGRAMS(job=run.job)
        yield queries.ADD_PROGRAM.many(
            {
                "job": run.job,
                "task": row.task,
                "digest": digests.of_bytes(row.program.encode()),
                "program": compress(row.program.encode()),
                "nodes": compress(msgspec.json.encode(list(row.nodes))),
            }
            for row in programs
        )
        now = self._now()
        by_digest = {digests.of_bytes(body): body for body in data.values()}
        yield queries.ADD_DATA.many(
            {"digest": digest, "body": compress(body), "now": now} for digest, body in sorted(by_digest.items())
        )
        yield queries.ADD_RUN_DATA.many(
            {"job": run.job, "node": node, "digest": digests.of_bytes(body)} for node, body in sorted(data.items())
        )

    def find(self, job: str) -> Transaction[PlanRunRow | None]:
        rows = yield queries.FIND_RUN(job=job)
        if not rows:
            return None
        job_id, plan, digest, document = rows[0]
        return PlanRunRow(job_id, plan, digest, decompress(document))

    def find_name(self, job: str) -> Transaction[PlanName]:
        """The name and the digest of a run's plan, without what else it has pinned."""
        ((plan, digest),) = yield queries.FIND_NAME(job=job)
        return PlanName(plan, digest)

    def list_programs(self, job: str, task: int) -> Transaction[list[ProgramRow]]:
        """The different programs of a task, each with its nodes."""
        rows = yield queries.PROGRAMS(job=job, task=task)
        return [
            ProgramRow(task, decompress(program).decode(), msgspec.json.decode(decompress(nodes), type=list[str]))
            for program, nodes in rows
        ]

    def find_data(self, job: str) -> Transaction[dict[str, str]]:
        """The digests of the data of a run's nodes."""
        return dict((yield queries.RUN_DATA(job=job)))

    def read_data(self, digest: str) -> Transaction[bytes | None]:
        rows = yield queries.DATA(digest=digest)
        return decompress(rows[0][0]) if rows else None

    # Successes

    def note_success(self, job: str, environment: str, plan: str, ends: Iterable[tuple[str, str]]) -> Transaction[None]:
        """Note that tasks have succeeded on nodes, by their ids, with the data that the run has pinned for the node."""
        now = self._now()
        yield queries.NOTE_SUCCESS.many(
            {"job": job, "environment": environment, "plan": plan, "title": task, "node": node, "now": now}
            for task, node in sorted(ends)
        )

    def find_successes(self, environment: str, plan: str) -> Transaction[dict[tuple[str, str], str]]:
        """The digest of the data of the last success, by the id of the task and the node."""
        rows = yield queries.SUCCESSES(environment=environment, plan=plan)
        return {(task, node): digest for task, node, digest in rows}

    # Approvals

    def approve(self, job: str, task: int, person: str) -> Transaction[bool]:
        """Note that a person lets a task go; False if it was let go before."""
        return bool((yield queries.APPROVE(job=job, task=task, person=person, now=self._now())))

    def withdraw_approvals(self, job: str, tasks: Iterable[int]) -> Transaction[None]:
        """Forget that people have let tasks go: the tasks do something else now."""
        yield queries.WITHDRAW.many({"job": job, "task": task} for task in sorted(tasks))

    def list_approvals(self, job: str) -> Transaction[list[ApprovalRow]]:
        rows = yield queries.APPROVALS(job=job)
        return [ApprovalRow(task, by, from_micros(at)) for task, by, at in rows]

    # Deleting

    def delete_unused_data(self, before: datetime, limit: int) -> Transaction[int]:
        """Delete up to `limit` pieces of data that nothing names and that were not named since a time. Returns how many."""
        return len((yield queries.DELETE_DATA(before_at=to_micros(before), limit=limit)))


def delete_run(job: str) -> Transaction[None]:
    """Delete what a run had pinned. Does nothing for a job that is no run of a plan."""
    yield queries.DELETE_APPROVALS(job=job)
    yield queries.DELETE_PROGRAMS(job=job)
    yield queries.DELETE_RUN_DATA(job=job)
    yield queries.DELETE_RUN(job=job)


def delete_node_successes(node: str) -> Transaction[None]:
    """Delete what is known of the successes of a node."""
    yield queries.DELETE_NODE(node=node)
