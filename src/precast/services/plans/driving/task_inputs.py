"""The inputs of tasks: values from the JSON results of other tasks of the run, as JSON."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from precast.plans.model import PlanNode, PlanTask, TaskInput
from precast.plans.roles import resolve_nodes
from precast.services.plans.pinned import PinnedPlan
from precast.store.engine.query import Transaction
from precast.store.jobs.attempts import Attempts
from precast.wire.jobs.views import StepResult


class TaskInputs:
    """Reads the results of one run. A task that has inputs begins only after those that give them, so results are read once."""

    def __init__(self, attempts: Attempts, job: str, pinned: PinnedPlan, numbers: Mapping[str, int]) -> None:
        self._attempts, self._job, self._numbers = attempts, job, numbers
        self._nodes: Sequence[PlanNode] = pinned.nodes
        self._fixed = pinned.inputs
        self._results: dict[str, Mapping[str, Any]] = {}

    def find(self, task: PlanTask, node: str) -> Transaction[dict[str, Any]]:
        """The inputs of a task on a node: a value of the same node, or a mapping from node to value for a role."""
        if self._fixed is not None:
            return dict(self._fixed)
        values: dict[str, Any] = {}
        for name, source in sorted(task.inputs.items()):
            results = yield from self._read(source.task)
            if source.role == ("self",):
                values[name] = _pick(results.get(node), source)
                continue
            members = {member.name for member in resolve_nodes(source.role, self._nodes)}
            values[name] = {
                member: _pick(result, source) for member, result in sorted(results.items()) if member in members
            }
        return values

    def _read(self, task: str) -> Transaction[Mapping[str, Any]]:
        if task not in self._results:
            stored = yield from self._attempts.list_results(self._job, self._numbers[task])
            self._results[task] = {node: _returned(result) for node, result in stored.items()}
        return self._results[task]


def _returned(stored: str | None) -> Any:
    result = StepResult() if stored is None else msgspec.json.decode(stored, type=StepResult)
    try:
        return json.loads(result.returned) if result.returned else None
    except ValueError:
        return None  # a node has returned something else than JSON


def _pick(result: Any, source: TaskInput) -> Any:
    """The part of a result that a dotted path names; None if there is none."""
    for key in source.key.split(".") if source.key else ():
        result = result.get(key) if isinstance(result, dict) else None
    return result
