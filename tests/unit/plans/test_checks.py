"""A check finds inputs that no task gives, and instances that could never begin."""

import pytest

from precast.plans import issues
from precast.plans.checks import check_expansion
from precast.plans.expansion import expand
from precast.plans.model import Expansion, Instance, InstanceKey, PlanNode, TaskInput
from tests.unit.plans.example_plans import SHOP, SHOP_NODES, plan_of, task

NODES = [PlanNode(f"n{number}", ("x", *(["y"] if number < 2 else []))) for number in range(6)]


def texts_of(expansion: Expansion) -> list[str]:
    problems = check_expansion(expansion)
    assert all(problem.is_error for problem in problems)
    return [problem.text for problem in problems]


def test_plan_with_one_of_everything_has_no_errors() -> None:
    assert check_expansion(expand(SHOP, SHOP_NODES)) == []


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (TaskInput("key"), "does not run on n2, n3, n4 and 1 more"),
        (TaskInput("key", role=("z", "boss")), "runs on no node of the role z or boss"),
        (TaskInput("kez"), "is no task of the plan; did you mean key?"),
        (TaskInput("web"), "is the task itself"),
        (TaskInput("end"), "does not run on n0, n1, n2 and 3 more"),
        (TaskInput("end", role=("*",)), "runs on no node of the role *"),
    ],
)
def test_input_that_no_task_gives_is_an_error(given: TaskInput, problem: str) -> None:
    plan = plan_of(
        task("key", selectors=("y",)), task("end", "stage"), task("web", selectors=("x",), inputs={"k": given})
    )
    expansion = expand(plan, NODES)
    assert texts_of(expansion) == [f"task web takes its input k from {given.task}, which {problem}"]
    assert check_expansion(expansion)[0].code == issues.MISSING_INPUT.code


@pytest.mark.parametrize(
    "given", [TaskInput("key", role=("y",)), TaskInput("key", role=("*",)), TaskInput("key", role=("/y/", "z"))]
)
def test_input_from_nodes_that_have_the_task_is_no_error(given: TaskInput) -> None:
    plan = plan_of(task("key", "task", selectors=("y",)), task("web", selectors=("x",), inputs={"k": given}))
    assert check_expansion(expand(plan, NODES)) == []


def test_input_from_a_task_that_returns_nothing_is_a_warning() -> None:
    plan = plan_of(
        task("key", "upload_file", selectors=("x",)), task("web", selectors=("x",), inputs={"k": TaskInput("key")})
    )
    (problem,) = check_expansion(expand(plan, NODES))
    assert (problem.code, problem.is_error) == (issues.INPUT_OF_NOTHING.code, False)
    assert "takes its input k from key, which is of the type upload_file and returns nothing" in problem.text


def test_input_of_a_task_that_no_node_has_is_not_looked_at() -> None:
    plan = plan_of(task("web", selectors=("z",), inputs={"k": TaskInput("nothing")}))
    assert check_expansion(expand(plan, NODES)) == []


@pytest.mark.parametrize(
    ("instances", "joints", "text"),
    [
        ([Instance(InstanceKey(1, "a"), needs=(0,))], [], "task t1 can never start on a: it waits for itself"),
        ([Instance(InstanceKey(1, "a"), needs=(1,)), Instance(InstanceKey(2, "a"))], [], "can never start on a: it waits"),
        ([Instance(InstanceKey(2, "a")), Instance(InstanceKey(1, "a"), joins=(0,))], [(0, 1)], "task t1 can never start on a"),
        ([Instance(InstanceKey(1, "a"), needs_any=((0,),))], [], "it waits for itself, or for a task that comes later"),
        ([Instance(InstanceKey(1, ""), needs_any=((),))], [], "on any node: it waits for one of no tasks"),
    ],
)  # fmt: skip
def test_instance_that_waits_for_a_later_one_is_an_error(
    instances: list[Instance], joints: list[tuple[int, ...]], text: str
) -> None:
    expansion = Expansion(plan_of(task("t1"), task("t2")), [PlanNode("a")], instances, [], {}, {}, joints)
    (found,) = texts_of(expansion)
    assert text in found
