"""The inputs of tasks: values from the JSON results of other tasks of the run, as JSON."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from precast.plans.model import PlanNode, PlanTask, TaskInput
from precast.plans.values.inputs import gather_inputs, read_result
from precast.services.plans.pinned import PinnedPlan
from precast.store.engine.query import Transaction
from precast.store.jobs.attempts import Attempts
from precast.wire.jobs.views import StepResult


class TaskInputs:
    """Reads the results of one run. A task that has inputs begins only after those that give them.

    So what the nodes of a role have returned is complete when it is read first. What a node has returned itself is read for its order:
    other nodes may not have got so far.
    """

    def __init__(self, attempts: Attempts, job: str, pinned: PinnedPlan, numbers: Mapping[str, int]) -> None:
        self._attempts, self._job, self._numbers = attempts, job, numbers
        self._nodes: Sequence[PlanNode] = pinned.nodes
        self._fixed = pinned.inputs
        self._of_roles: dict[str, Mapping[str, Any]] = {}  # by the task that gives them, then by node
        self._own: dict[tuple[str, str], Any] = {}  # by task and node, for the orders that are being made

    def prepare(self, wanted: Iterable[tuple[PlanTask, Sequence[str]]]) -> Transaction[None]:
        """Read what tasks need on these nodes; `find` then gives it."""
        self._own.clear()
        if self._fixed is not None:
            return
        for task, nodes in wanted:
            for source in task.inputs.values():
                yield from self._read(source, nodes)

    def _read(self, source: TaskInput, nodes: Sequence[str]) -> Transaction[None]:
        number = self._numbers[source.task]
        if source.role == ("self",):
            stored = yield from self._attempts.find_results(self._job, number, nodes)
            self._own.update({(source.task, node): _returned(result) for node, result in stored.items()})
        elif source.task not in self._of_roles:
            stored = yield from self._attempts.list_results(self._job, number)
            self._of_roles[source.task] = {node: _returned(result) for node, result in stored.items()}

    def find(self, task: PlanTask, node: str) -> dict[str, Any]:
        """The inputs of a task on a node: a value of the same node, or a mapping from node to value for a role."""
        if self._fixed is not None:
            return dict(self._fixed)
        return gather_inputs(task, node, self._nodes, self._own, self._of_roles)


def _returned(stored: str | None) -> Any:
    return None if stored is None else read_result(msgspec.json.decode(stored, type=StepResult).returned)
