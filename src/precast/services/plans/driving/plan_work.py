"""The work of a run of a plan: which instance begins next, what each node is ordered to do, what follows from ends.

Everything comes from what the run has pinned, from the states of its attempts and from approvals, so a server that takes the run over goes
on in the same way.
"""

import asyncio
import gc
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from precast.net.model.compiler import collector_paused
from precast.plans.collection import COLLECTED
from precast.plans.model import Expansion, InstanceKey, PlanTask
from precast.services.jobs.driving.job_net import StepKey
from precast.services.jobs.driving.work import JobWork, SettledStep
from precast.services.jobs.order_bodies import OrderBody
from precast.services.jobs.requests import JobRequest, explain
from precast.services.jobs.sealed_commands import SealedTaskOrder
from precast.services.plans.driving.instance_net import InstanceNet, number_tasks
from precast.services.plans.driving.task_inputs import TaskInputs
from precast.services.plans.order_sizes import MAX_ORDER_BYTES, measure_order
from precast.services.plans.pinned import PinnedPlan, decode_pinned
from precast.services.plans.preparing.catalogs import find_versions
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.jobs.attempts import AttemptKey, Attempts, Ending, StepState
from precast.store.jobs.jobs import JobRow
from precast.store.plans.runs import PlanRuns
from precast.store.plans.task_content import TaskContents
from precast.wire.jobs import orders, states
from precast.wire.jobs.order_ids import make_order_id
from precast.wire.jobs.orders import TaskOrder
from precast.wire.jobs.programs import CopyWork, parse_program

# A run of so many tasks on nodes is left out of garbage collection.
MANY = 5_000
# Why a step is settled without an order, for people.
_MESSAGES = {
    states.CONDITION: "its condition is false",
    states.NOT_CHOSEN: "it was not chosen",
    states.NO_WORK: "it has nothing to do",
}


class PlanStores(NamedTuple):
    """The stores that a run needs."""

    database: Database
    attempts: Attempts
    runs: PlanRuns
    contents: TaskContents


async def open_plan_work(stores: PlanStores, job: JobRow, request: JobRequest, steps: Sequence[StepState]) -> JobWork:
    """The work of a run, computed from what is stored: on a thread, because a run with many instances takes seconds."""
    document, approved = await stores.database.read(_read, stores.runs, job.id)

    def compute() -> PlanWork:
        with collector_paused():
            pinned = decode_pinned(document)
            work = PlanWork(stores, job, request, steps, pinned, pinned.expand(), approved)
            if len(steps) >= MANY:
                # Its objects have no cycles and live as long as the run: the collector would stop the server to look at each of them.
                gc.freeze()
            return work

    return await asyncio.to_thread(compute)


def _read(runs: PlanRuns, job: str) -> Transaction[tuple[bytes, set[int]]]:
    row = yield from runs.find(job)
    assert row is not None, "a run is pinned in the transaction that creates its job"
    return row.document, {approval.task for approval in (yield from runs.list_approvals(job))}


class PlanWork:
    """The work of one run. `services.jobs.driving.work.JobWork` says what each method is for."""

    def __init__(
        self,
        stores: PlanStores,
        job: JobRow,
        request: JobRequest,
        steps: Sequence[StepState],
        pinned: PinnedPlan,
        expansion: Expansion,
        approved: set[int],
    ) -> None:
        self._stores, self._request, self._pinned = stores, request, pinned
        self._job = job.id
        self._tasks: Sequence[PlanTask] = pinned.plan.tasks
        self._numbers = number_tasks(self._tasks)
        self._inputs = TaskInputs(stores.attempts, job.id, pinned, self._numbers)
        self._skipped = pinned.find_skipped()
        self._gates = {number for number, task in enumerate(self._tasks, start=1) if task.approval}
        self._approved = approved
        self._programs: dict[int, dict[str, str]] = {}
        self.always_tasks: Collection[int] = {
            number for number, task in enumerate(self._tasks, start=1) if task.is_always
        }
        is_going = job.state == states.GOING
        self.net = InstanceNet(
            expansion, steps, job.round, request.at_once, approved, is_going=is_going, skipped=self._skipped
        )

    async def refresh(self) -> None:
        if self._gates <= self._approved:
            return
        rows = await self._stores.database.read(self._stores.runs.list_approvals, self._job)
        self._approved |= {row.task for row in rows}
        self.net.approve(self._approved & self._gates)

    def note_ends(self, job: JobRow, changed: Sequence[StepState]) -> Transaction[None]:
        """The data of a success is what later conditions compare with. A no-op is no success: it has changed nothing."""
        if self._pinned.mode == "noop":
            return
        ends = [(self._task(step.task).id, step.node) for step in changed if step.state == states.COMPLETED]
        if ends:
            yield from self._stores.runs.note_success(job.id, self._pinned.environment, self._pinned.plan.name, ends)

    def settle(self, key: StepKey) -> Ending | None:
        reason = self._skipped.get(InstanceKey(*key))
        return None if reason is None else Ending(states.SKIPPED, reason, _MESSAGES[reason])

    def take_unreachable(self) -> list[SettledStep]:
        return self.net.take_unreachable()

    def lost_after_s(self, key: StepKey) -> float | None:
        return self._task(key.task).lost_after_s

    def prepare_orders(self, keys: Iterable[StepKey]) -> Transaction[None]:
        """Read programs and inputs. The programs of a task never change during a run, so they are read once."""
        by_task: dict[int, list[str]] = defaultdict(list)
        for key in keys:
            by_task[key.task].append(key.node)
        for number in sorted(by_task.keys() - self._programs.keys()):
            rows = yield from self._stores.runs.list_programs(self._job, number)
            self._programs[number] = {node: row.program for row in rows for node in row.nodes}
        yield from self._inputs.prepare((self._task(number), nodes) for number, nodes in sorted(by_task.items()))

    def make_order(
        self, job: JobRow, key: AttemptKey, now: datetime, due_at: datetime, seal: bytes | None
    ) -> Transaction[OrderBody | Ending]:
        text, task = self._programs[key.task][key.node], self._task(key.task)
        program, inputs = parse_program(text), self._inputs.find(task, key.node)
        if isinstance(program.work, CopyWork):
            inputs[COLLECTED] = (inputs.get(COLLECTED) or {}).get(self._pinned.master)
            yield from self._allow_copies(key, inputs[COLLECTED])
        order = TaskOrder(
            key.node,
            make_order_id(key.job, key.task, key.n),
            text,
            now,
            due_at if seal is None else self._request.sealed_until or due_at,
            task.timeout_s,
            self._request.output_bytes,
            msgspec.json.encode(inputs).decode(),
            find_versions(program, self._pinned.catalogs.get(key.node, {})),
            explain(self._request, job.made_by),
        )
        if (size := measure_order(order)) > MAX_ORDER_BYTES:
            limit = f"{size} bytes, and at most {MAX_ORDER_BYTES}"
            why = f"its order is too large: {limit}; let the tasks that it has inputs from return less"
            return Ending(states.FAILED, states.REFUSED, why)
        if seal is None:
            return OrderBody(orders.TASK, SealedTaskOrder(order, job.id))
        sealed_until, action = self._request.sealed_until, ""
        if self._request.standing is not None:
            sealed_until, action = self._request.standing.until, self._request.standing.action
        return OrderBody(orders.TASK, SealedTaskOrder(order, job.id, self._request.token, sealed_until, seal, action))

    def _allow_copies(self, key: AttemptKey, collected: object) -> Transaction[None]:
        """Let a node read the files that the master has collected."""
        files = collected.values() if isinstance(collected, dict) else ()
        found = sorted(
            {file["digest"] for file in files if isinstance(file, dict) and isinstance(file.get("digest"), str)}
        )
        source = self._pinned.replays or self._job
        yield from self._stores.contents.allow_collected(self._job, self._pinned.master, found, key.node, source)

    def _task(self, number: int) -> PlanTask:
        return self._tasks[number - 1]
