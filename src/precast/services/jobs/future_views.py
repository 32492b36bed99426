"""The futures of a job as people see them: what its members promise, who waits for whom, and who was given values that are replaced."""

from collections.abc import Sequence

import msgspec

from precast.services.jobs import issues
from precast.services.jobs.service import is_id, is_visible
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.futures import job_promises, waits
from precast.store.futures.job_promises import JobPromise
from precast.store.futures.values import ValueRow
from precast.store.futures.waits import FutureWait
from precast.store.jobs.jobs import Jobs
from precast.wire.futures import JobBinding, JobFuture, JobFutures, JobWait

PAGE = 500
MAX_WAITS = 5_000
# How many producers of a wait are named.
NAMED = 20


class JobFutureViews:
    """Holds no state between calls."""

    def __init__(self, database: Database, jobs: Jobs) -> None:
        self._database, self._jobs = database, jobs

    async def show(self, job: str, after: str, environments: Sequence[str] = ()) -> JobFutures:
        """A page of the promises of a job after `KEY\nNODE\nTASK`, and all waits. Raises NotFoundError RUN-001."""
        return await self._database.read(self._show, job, parse_position(after), environments)

    def _show(self, job_id: str, after: tuple[str, str, int], environments: Sequence[str]) -> Transaction[JobFutures]:
        job = (yield from self._jobs.find(job_id)) if is_id(job_id) else None
        if job is None or not is_visible(job, environments):
            raise issues.NO_SUCH_RUN.error(run=job_id[:80])
        promises = yield from job_promises.list_of_job(job_id, after, PAGE)
        waiting = yield from waits.list_waits(job_id, MAX_WAITS)
        producers = yield from job_promises.list_of_keys(sorted({(job_id, wait.key) for wait in waiting}))
        by_key: dict[str, list[ValueRow]] = {}
        for row in producers:
            by_key.setdefault(row.key, []).append(row)
        stale = yield from waits.list_stale(job_id, PAGE)
        return JobFutures(
            [_promise(each) for each in promises],
            [_wait(wait, by_key.get(wait.key, [])) for wait in waiting],
            [JobBinding(each.attempt.node, each.resource, each.key, each.producer, each.number) for each in stale],
            len(promises) < PAGE,
        )


def parse_position(text: str) -> tuple[str, str, int]:
    """Where a page begins; at the first promise if the text is no position."""
    parts = text.split("\n")
    return (parts[0], parts[1], int(parts[2])) if len(parts) == 3 and parts[2].isdecimal() else ("", "", 0)


def _promise(each: JobPromise) -> JobFuture:
    row, stored = each.row, each.row.value
    is_shown = stored is not None and not stored.is_sensitive
    value = msgspec.json.decode(stored.value) if stored is not None and is_shown else None
    is_sensitive = stored is not None and stored.is_sensitive
    return JobFuture(
        *(row.key, row.node, row.state, row.number, each.task, each.n, is_sensitive, row.expires_at, row.reason, value)
    )


def _wait(wait: FutureWait, producers: Sequence[ValueRow]) -> JobWait:
    pending = [row.node for row in producers if row.state == "pending"]
    failed = [f"{row.node}: {row.reason}" for row in producers if row.state == "failed"]
    return JobWait(
        *(wait.attempt.node, wait.resource, wait.key, wait.since, wait.due_at),
        *(pending[:NAMED], failed[:NAMED], wait.is_idle),
    )
