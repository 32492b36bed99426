"""Shows runs of plans, their instances and changes. A token for some environments sees the runs of these."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from precast.services.jobs.driving.job_windows import Openings, find_held
from precast.services.jobs.requests import PLAN
from precast.services.jobs.service import CHANGES as STEPS
from precast.services.jobs.service import LISTED, MAX_WAIT_S, is_id
from precast.services.jobs.views import describe_window, view_output
from precast.services.plans import issues
from precast.services.plans.pinned import PinnedPlan, decode_pinned
from precast.services.plans.views import RunParts, view_brief, view_document, view_instance, view_run
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import END
from precast.store.jobs.attempts import Attempts
from precast.store.jobs.jobs import CHANGED_PREFIX, JobRow, Jobs
from precast.store.plans.runs import PlanRunRow, PlanRuns
from precast.wire.identity.names import is_name
from precast.wire.jobs import states
from precast.wire.jobs.order_ids import MAX_TASK
from precast.wire.jobs.views import OutputView
from precast.wire.plans.bodies import InstanceView, PlanChanges, PlanDocument, PlanRunBrief, PlanRunView
from precast.wire.plans.states import PENDING

MAX_FAILURES = 50
CHANGES = 2_000
# A view of a run counts all its tasks on nodes, so whoever follows a large run gets its changes in larger portions: the pause before each
# grows with the number of changes so far, and with that the number of what is counted.
PAUSE_PER_CHANGE_S = 10e-6
MAX_PAUSE_S = 1.0


class PlanReading:
    """Holds no state between calls."""

    def __init__(self, database: Database, jobs: Jobs, attempts: Attempts, runs: PlanRuns, windows: Openings) -> None:
        self._database, self._jobs, self._attempts, self._runs = database, jobs, attempts, runs
        self._windows = windows

    async def show(self, run: str, environments: Sequence[str] = (), *, with_output: bool = False) -> PlanRunView:
        """Raises NotFoundError PLAN-115."""
        return await self._database.read(self._view, run, environments, with_output)

    async def newest(self, before: str = "", environments: Sequence[str] = ()) -> list[PlanRunBrief]:
        """The newest runs of plans, of those before a given id."""
        return await self._database.read(self._list, before if is_id(before) and before else END, environments)

    async def document(self, run: str, environments: Sequence[str] = ()) -> PlanDocument:
        """What a run has pinned. Raises NotFoundError PLAN-115."""
        _, row, pinned = await self._database.read(self.find, run, environments)
        return view_document(row.digest, pinned)

    async def data(self, run: str, node: str, environments: Sequence[str] = (), task: str = "") -> dict[str, Any]:
        """The data of a node as the conditions of a run saw it: what is its own, and what all nodes have in common.

        With a task, `earlier` is that of its last success before, as far as it was compared and is still stored. Raises NotFoundError
        PLAN-115, PLAN-118.
        """
        body, earlier = await self._database.read(self._read_data, run, node, environments, task)
        data = msgspec.json.decode(body, type=dict[str, Any])
        return data if earlier is None else {**data, "earlier": msgspec.json.decode(earlier)}

    async def instances(
        self, run: str, after: str, environments: Sequence[str] = (), *, with_output: bool = False
    ) -> list[InstanceView]:
        """A page of the tasks on nodes, by node and task, after the key of one. One that has not begun has the reason, unless it only waits
        for others. Raises NotFoundError PLAN-115.
        """
        node, _, number = after.rpartition(":")
        task = int(number) if number.isdecimal() and len(number) < 6 else 0
        start = node if is_name(node) else "", task
        job, instances = await self._database.read(self._list_instances, run, start, environments, with_output)
        waiting = sorted({instance.node for instance in instances if _is_pending(instance)})
        held = (await find_held(self._windows, self._database.clock, job, waiting)) if waiting else {}
        return [
            msgspec.structs.replace(instance, reason=states.WINDOW, message=describe_window(held[instance.node]))
            if _is_pending(instance) and instance.node in held
            else instance
            for instance in instances
        ]

    async def changes(
        self, run: str, after: int, wait_s: float, environments: Sequence[str] = (), *, with_output: bool = False
    ) -> PlanChanges:
        """The changes after a number; waits up to `wait_s` for one, unless the run is over. Raises NotFoundError PLAN-115."""
        clock = self._database.clock
        until_s = clock.monotonic_s() + min(max(wait_s, 0.0), MAX_WAIT_S)
        with self._database.wakeups.subscribe(CHANGED_PREFIX + run[:64]) as sleeper:
            while True:
                job = await self._database.read(self._find_job, run, environments)
                is_due = job.ended_at is not None or job.changes > after
                left_s = until_s - clock.monotonic_s()
                if is_due or left_s <= 0:
                    await asyncio.sleep(_find_pause_s(job, after, left_s))
                    page = await self._database.read(self._list_changes, run, after, with_output, environments)
                    if page.changes or page.run.run.is_over or left_s <= 0:
                        return page
                    after = page.after
                await sleeper.wait(left_s)

    def _find_job(self, run: str, environments: Sequence[str]) -> Transaction[JobRow]:
        """Raises NotFoundError PLAN-115."""
        job = (yield from self._jobs.find(run)) if is_id(run) else None
        if job is None or job.kind != PLAN or (environments and job.environment not in environments):
            raise issues.NOT_A_PLAN.error(run=run[:80])
        return job

    def find(self, run: str, environments: Sequence[str]) -> Transaction[tuple[JobRow, PlanRunRow, PinnedPlan]]:
        """A run and what it has pinned. Raises NotFoundError PLAN-115."""
        job = yield from self._find_job(run, environments)
        row = yield from self._runs.find(run)
        assert row is not None, "a run is pinned in the transaction that creates its job"
        return job, row, decode_pinned(row.document)

    def _view(self, run: str, environments: Sequence[str], with_output: bool) -> Transaction[PlanRunView]:
        job, row, pinned = yield from self.find(run, environments)
        return (yield from self._view_job(job, row, pinned, with_output))

    def _view_job(
        self, job: JobRow, row: PlanRunRow, pinned: PinnedPlan, with_output: bool
    ) -> Transaction[PlanRunView]:
        counts = yield from self._attempts.count_by_task(job.id, job.round)
        approvals = yield from self._runs.list_approvals(job.id)
        failures = yield from self._attempts.list_failures(job.id, job.round, MAX_FAILURES)
        followers = (yield from self._attempts.count_skipped(job.id, states.DEP_FAILED)) if failures else {}
        parts = RunParts(job, row.digest, pinned, counts, approvals, failures, followers)
        return view_run(parts, with_output=with_output)

    def _list(self, before: str, environments: Sequence[str]) -> Transaction[list[PlanRunBrief]]:
        briefs: list[PlanRunBrief] = []
        for job in (yield from self._jobs.list_of_kind(PLAN, before, LISTED, environments)):
            name = yield from self._runs.find_name(job.id)
            counts = yield from self._attempts.count_by_task(job.id, job.round)
            briefs.append(view_brief(job, name, counts))
        return briefs

    def _list_instances(
        self, run: str, start: tuple[str, int], environments: Sequence[str], with_output: bool
    ) -> Transaction[tuple[JobRow, list[InstanceView]]]:
        job, _, pinned = yield from self.find(run, environments)
        node, task = start
        steps = yield from self._attempts.list_steps(run, node, min(task, MAX_TASK), STEPS)
        tasks = pinned.plan.tasks
        return job, [view_instance(tasks, step, job.round, with_output=with_output) for step in steps]

    def _list_changes(
        self, run: str, after: int, with_output: bool, environments: Sequence[str]
    ) -> Transaction[PlanChanges]:
        job, row, pinned = yield from self.find(run, environments)
        view = yield from self._view_job(job, row, pinned, with_output)
        steps, outputs = yield from self._attempts.list_changes(run, after, CHANGES)
        tasks = pinned.plan.tasks
        numbered: list[tuple[int, InstanceView | OutputView]] = [
            (step.number or 0, view_instance(tasks, step, job.round, with_output=with_output)) for step in steps
        ]
        numbered += [(output.number, view_output(output)) for output in outputs if with_output]
        page = sorted(numbered, key=lambda pair: pair[0])[:CHANGES]
        is_truncated = len(steps) == CHANGES or len(outputs) == CHANGES or len(numbered) > len(page)
        last = page[-1][0] if is_truncated and page else job.changes
        return PlanChanges(view, [change for _, change in page], max(after, last))

    def _read_data(
        self, run: str, node: str, environments: Sequence[str], task: str
    ) -> Transaction[tuple[bytes, bytes | None]]:
        _, _, pinned = yield from self.find(run, environments)
        digest = (yield from self._runs.find_data(run)).get(node)
        body = None if digest is None else (yield from self._runs.read_data(digest))
        if body is None:
            raise issues.NO_DATA.error(run=run, node=node[:80])
        compared = pinned.find_compared(task, node)
        return body, None if compared is None else (yield from self._runs.read_data(compared))


def _is_pending(instance: InstanceView) -> bool:
    return instance.state == PENDING and instance.reason is None


def _find_pause_s(job: JobRow, after: int, left_s: float) -> float:
    """How long to collect changes before they are read. Whoever has none yet, or is a page behind, gets them at once."""
    if not after or job.ended_at is not None or job.changes - after >= CHANGES:
        return 0.0
    return max(0.0, min(job.changes * PAUSE_PER_CHANGE_S, MAX_PAUSE_S, left_s))
