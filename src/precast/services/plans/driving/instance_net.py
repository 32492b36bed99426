"""The instances of a run of a plan as the driver of jobs sees them: the states of attempts become statuses of instances, and back.

A task whose failure does not matter (`fail_on_error: false`), and one that is skipped for a reason of its own, lets its dependents go on as
though it had succeeded.
"""

from collections.abc import Container, Iterable, Mapping, Sequence

from precast.plans.execution import PlanExecution
from precast.plans.model import Expansion, InstanceKey, PlanTask
from precast.plans.plan_net import PlanLimits
from precast.plans.users import Status
from precast.services.jobs.driving.job_net import StepKey
from precast.services.jobs.driving.work import SettledStep
from precast.store.jobs.attempts import Ending, StepState
from precast.wire.jobs import states

# Reasons of SKIPPED that hold up nobody.
_PASSED = (states.CONDITION, states.NOT_CHOSEN, states.NO_WORK)
_FAILED = (states.FAILED, states.EXPIRED)


def find_status(step: StepState, task: PlanTask, round_: int) -> Status:
    """The status of an instance by its newest attempt.

    A failure of an earlier round that is not repeated in this one holds up what waits for it, and not the rest of its node; a success that
    was reported after the deadline counts as one.
    """
    if step.n < round_ and step.state in _FAILED:
        return Status.DONE if step.late == states.COMPLETED or not task.fail_on_error else Status.DROPPED
    if step.state == states.PICKED_UP or (step.state == states.QUEUED and step.has_turn):
        return Status.RUNNING
    if step.state == states.QUEUED:
        return Status.AWAY if step.tries else Status.WAITING
    return find_end(step.state, step.reason, task)


def find_end(state: str, reason: str | None, task: PlanTask) -> Status:
    """The status of an instance that has ended in a state."""
    if state == states.COMPLETED or (state == states.SKIPPED and reason in _PASSED):
        return Status.DONE
    if state in _FAILED:
        return Status.FAILED if task.fail_on_error else Status.DONE
    return Status.DROPPED


class InstanceNet:
    """The net of a run's instances."""

    def __init__(
        self,
        expansion: Expansion,
        steps: Sequence[StepState],
        round_: int,
        at_once: int | None,
        approved: Iterable[int],
        *,
        is_going: bool,
        skipped: Container[InstanceKey] = (),
    ) -> None:
        tasks: Sequence[PlanTask] = expansion.plan.tasks
        self._tasks = tasks
        statuses = {
            InstanceKey(step.task, step.node): find_status(step, tasks[step.task - 1], round_) for step in steps
        }
        limits = PlanLimits(at_once)
        self._execution = PlanExecution(expansion, statuses, limits, approved, is_going=is_going, skipped=skipped)
        for step in steps:
            if step.is_parked:
                self.park(StepKey(step.task, step.node))

    def start_next(self) -> StepKey | None:
        key = self._execution.start_next()
        return None if key is None else StepKey(*key)

    def end(self, key: StepKey, state: str, reason: str | None = None) -> None:
        self._execution.end(InstanceKey(*key), find_end(state, reason, self._tasks[key.task - 1]))

    def park(self, key: StepKey) -> None:
        self._execution.park(InstanceKey(*key))

    def postpone(self, key: StepKey, *, is_held: bool = False) -> None:
        self._execution.postpone(InstanceKey(*key))

    def hold(self, nodes: Iterable[str]) -> None:
        self._execution.hold(nodes)

    def return_nodes(self, nodes: Iterable[str]) -> bool:
        return self._execution.return_nodes(nodes)

    def add_rate(self, count: int, most: int) -> None:
        """A plan has no rate."""

    def approve(self, tasks: Iterable[int]) -> None:
        for task in tasks:
            self._execution.approve(task)

    def take_unreachable(self) -> list[SettledStep]:
        """The instances that can never begin any more, with the failure that is the cause."""
        return [
            SettledStep(StepKey(*key), Ending(states.SKIPPED, states.DEP_FAILED, self._describe(cause)))
            for key, cause in self._execution.take_unreachable()
        ]

    @property
    def is_halted(self) -> bool:
        return self._execution.is_halted

    @property
    def is_over(self) -> bool:
        return self._execution.is_over

    @property
    def running(self) -> list[StepKey]:
        return [StepKey(*key) for key in self._execution.running]

    @property
    def running_count(self) -> int:
        return self._execution.running_count

    @property
    def away(self) -> list[StepKey]:
        return [StepKey(*key) for key in self._execution.away]

    @property
    def waiting_nodes(self) -> set[str]:
        return self._execution.waiting_nodes

    @property
    def has_waiting(self) -> bool:
        return self._execution.has_waiting

    def _describe(self, cause: InstanceKey) -> str:
        return f"{self._tasks[cause.task - 1].id} on {cause.node}"


def number_tasks(tasks: Sequence[PlanTask]) -> Mapping[str, int]:
    """The number of each task by its id, from 1."""
    return {task.id: number for number, task in enumerate(tasks, start=1)}
