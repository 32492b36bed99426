"""Evaluates the conditions and expressions of a run's tasks over the data of its nodes, each beside the data of the task's last success.

A condition that has no value is an error of the plan, not a task that is skipped.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import msgspec

from precast.base import canonical
from precast.base.errors import PrecastError
from precast.plans.conditions import LegacyCondition, parse_condition
from precast.plans.expressions import Place, find_expressions
from precast.plans.loading.dependencies import read_computed
from precast.plans.model import ComputedResult, InstanceKey, Plan, PlanProblem, PlanTask
from precast.services.plans.evaluation.batches import Batch, NodeData, Question, gather_problems
from precast.services.plans.evaluation.processes import PlanEvaluation
from precast.services.plans.pinned import SkippedTask
from precast.services.plans.preparing.node_data import NodesOfPlan
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.plans.runs import PlanRuns
from precast.wire.jobs import states

CONDITION = "condition"
# Values of the expressions in a task's parameters on a node.
TaskValues = Mapping[Place, Any]


class EvaluatedPlan(NamedTuple):
    """The tasks on nodes whose conditions are false, the values of expressions by task and node, and what is wrong.

    `earlier` are the digests of the data with which it was compared, by task and node.
    """

    skipped: list[SkippedTask]
    values: Mapping[tuple[int, str], TaskValues]
    errors: list[PlanProblem]
    earlier: Mapping[InstanceKey, str] = {}


class _Asked(NamedTuple):
    """What a question is about."""

    key: InstanceKey
    place: Place | None  # None: the condition


class _StoredData(msgspec.Struct, frozen=True):
    """The data of a node as a run has pinned it."""

    node: dict[str, Any]
    common: dict[str, Any]


def encode_data(node: Mapping[str, Any], common: Mapping[str, Any]) -> bytes:
    return canonical.encode({"node": node, "common": common})


class EarlierData(NamedTuple):
    """The data of last successes, by a name such as its digest; and by task on a node, the name of its data."""

    names: Mapping[InstanceKey, str] = {}
    data: Mapping[str, NodeData] = {}


async def evaluate_values(
    evaluation: PlanEvaluation,
    plan: Plan,
    wanted: Sequence[InstanceKey],
    found: NodesOfPlan,
    parameters: Mapping[str, Any],
    earlier: EarlierData | None = None,
) -> EvaluatedPlan:
    """Evaluate what these tasks on nodes need. Raises what `PlanEvaluation.evaluate` raises."""
    earlier = earlier or EarlierData()
    false, errors = await asyncio.to_thread(_judge_legacy, plan, wanted, found)
    questions, asked = _ask(plan, wanted, earlier.names)
    nodes = {name: NodeData(data, found.common) for name, data in found.data.items()}
    answers = await evaluation.evaluate(Batch(questions, nodes, earlier.data, parameters)) if questions else []
    false += [
        about.key
        for about, answer in zip(asked, answers, strict=True)
        if about.place is None and answer.failure is None and not answer.value
    ]
    skipped = set(false)
    # What a task needs that does not run does not matter.
    needed = [
        (question, about, answer)
        for question, about, answer in zip(questions, asked, answers, strict=True)
        if about.key not in skipped
    ]
    errors += gather_problems([question for question, _, _ in needed], [answer for _, _, answer in needed])
    values: dict[tuple[int, str], dict[Place, Any]] = defaultdict(dict)
    for _, about, answer in needed:
        if answer.failure is None and about.place is not None:
            values[about.key][about.place] = answer.value
    return EvaluatedPlan(_group(false), values, errors)


class ValueEvaluation:
    """Holds no state between calls."""

    def __init__(self, database: Database, runs: PlanRuns, evaluation: PlanEvaluation) -> None:
        self._database, self._runs, self._evaluation = database, runs, evaluation

    async def evaluate(
        self,
        plan: Plan,
        environment: str,
        found: NodesOfPlan,
        placed: Sequence[tuple[int, Sequence[str]]],
        left_out: AbstractSet[InstanceKey],
        parameters: Mapping[str, Any],
    ) -> EvaluatedPlan:
        """Evaluate what the tasks need that are not left out. Raises UnavailableError if no process can be started."""
        wanted = [InstanceKey(task, node) for task, nodes in placed for node in nodes]
        wanted = [key for key in wanted if key not in left_out]
        earlier = EarlierData(*await self._read_old(plan, environment, wanted))
        evaluated = await evaluate_values(self._evaluation, plan, wanted, found, parameters, earlier)
        return evaluated._replace(earlier=earlier.names)

    async def compute_dependencies(
        self, plan: Plan, found: NodesOfPlan, parameters: Mapping[str, Any]
    ) -> tuple[list[ComputedResult], list[PlanProblem]]:
        """The dependencies that expressions give on each node, and what is wrong. Raises as `evaluate` does."""
        return await compute_dependencies(self._evaluation, plan, found, parameters)

    async def _read_old(
        self, plan: Plan, environment: str, wanted: Sequence[InstanceKey]
    ) -> tuple[dict[InstanceKey, str], dict[str, NodeData]]:
        """The digests of the data of last successes, and this data."""
        if not any(_has_expressions(task) for task in plan.tasks):
            return {}, {}
        successes = await self._database.read(self._runs.find_successes, environment, plan.name)
        old = {}
        for key in wanted:
            task = plan.tasks[key.task - 1]
            if _has_expressions(task) and (digest := successes.get((task.id, key.node))) is not None:
                old[key] = digest
        data = {}
        for digest in sorted(set(old.values())):
            stored = msgspec.json.decode(await self._database.read(self._read, digest), type=_StoredData)
            data[digest] = NodeData(stored.node, stored.common)
        return old, data

    def _read(self, digest: str) -> Transaction[bytes]:
        body = yield from self._runs.read_data(digest)
        assert body is not None, "a success refers to its data"
        return body


async def compute_dependencies(
    evaluation: PlanEvaluation, plan: Plan, found: NodesOfPlan, parameters: Mapping[str, Any]
) -> tuple[list[ComputedResult], list[PlanProblem]]:
    """The dependencies that expressions of a plan give on each node, and what is wrong. Raises what `PlanEvaluation.evaluate` raises."""
    asked = [
        (number, task, computed, node)
        for number, task in enumerate(plan.tasks, start=1)
        for computed in task.computed
        for node in sorted(found.data)
    ]
    questions = [
        Question(task.id, computed.field, computed.expression, node, at=task.at, arguments=task.arguments)
        for _, task, computed, node in asked
    ]
    nodes = {name: NodeData(data, found.common) for name, data in found.data.items()}
    answers = await evaluation.evaluate(Batch(questions, nodes, {}, parameters))
    problems = gather_problems(questions, answers)
    by_result: dict[tuple[int, str, tuple[Any, ...]], list[str]] = defaultdict(list)
    for (number, task, computed, node), answer in zip(asked, answers, strict=True):
        if answer.failure is not None:
            continue
        try:
            by_result[number, computed.field, read_computed(task, computed, answer.value)].append(node)
        except PrecastError as error:
            problems.append(PlanProblem(task.at, error.code, error.message, error.hint))
    results = [
        {"task": number, "field": field, "nodes": members, "names" if _is_local(field) else "dependencies": given}
        for (number, field, given), members in by_result.items()
    ]
    return msgspec.convert(msgspec.to_builtins(results), list[ComputedResult]), list(dict.fromkeys(problems))


def _is_local(field: str) -> bool:
    return field in ("requires", "required_for")


def _has_expressions(task: PlanTask) -> bool:
    return (task.condition is not None and task.condition.is_yaql) or bool(find_expressions(task))


def _judge_legacy(
    plan: Plan, wanted: Sequence[InstanceKey], found: NodesOfPlan
) -> tuple[list[InstanceKey], list[PlanProblem]]:
    """The instances whose older conditions are false, and the problems of such conditions: one for each task."""
    false: list[InstanceKey] = []
    problems: dict[int, PlanProblem] = {}
    parsed: dict[int, LegacyCondition] = {}
    for key in wanted:
        task = plan.tasks[key.task - 1]
        if task.condition is None or task.condition.is_yaql or key.task in problems:
            continue
        try:
            if key.task not in parsed:
                parsed[key.task] = parse_condition(task.condition.text)
            if not parsed[key.task].evaluate({**found.common, **found.data[key.node]}):
                false.append(key)
        except PrecastError as error:
            text = f"task {task.id} on {key.node}: {error.message}"
            problems[key.task] = PlanProblem(task.at, error.code, text, error.hint)
    return false, list(problems.values())


def _ask(
    plan: Plan, wanted: Sequence[InstanceKey], old: Mapping[InstanceKey, str]
) -> tuple[list[Question], list[_Asked]]:
    """The questions about all instances, and what each is about."""
    questions: list[Question] = []
    asked: list[_Asked] = []
    for key in wanted:
        task = plan.tasks[key.task - 1]
        earlier = old.get(key, "")
        if task.condition is not None and task.condition.is_yaql:
            text = task.condition.text
            questions.append(Question(task.id, CONDITION, text, key.node, earlier, True, task.at, task.arguments))
            asked.append(_Asked(key, None))
        for expression in find_expressions(task):
            where = (key.node, earlier, False, task.at, task.arguments)
            questions.append(Question(task.id, expression.name, expression.text, *where))
            asked.append(_Asked(key, expression.place))
    return questions, asked


def _group(keys: Sequence[InstanceKey]) -> list[SkippedTask]:
    by_task: dict[int, list[str]] = defaultdict(list)
    for key in keys:
        by_task[key.task].append(key.node)
    return [SkippedTask(task, states.CONDITION, nodes) for task, nodes in sorted(by_task.items())]
