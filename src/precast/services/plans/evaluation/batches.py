"""What a server asks about the expressions of a plan, and the answers."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from precast.base.errors import Issue
from precast.plans.expanding.problems import make_problem
from precast.plans.model import PlanProblem, Position


class NodeData(NamedTuple):
    """The data of a node, and what all nodes have in common. `$` is both together; of a key that both have, the node's value."""

    node: Mapping[str, Any]
    common: Mapping[str, Any] = {}


class Question(NamedTuple):
    """An expression of a task that is evaluated over the data of a node; without a node it is only read.

    `what` is its place in the task, for messages. `old` names the data of the task's last success on that node; empty if there was none.
    `arguments` are values of parameters that are different in this task, because its plan was included.
    """

    task: str
    what: str
    expression: str
    node: str = ""
    old: str = ""
    is_condition: bool = False
    at: Position | None = None
    arguments: Mapping[str, Any] = {}


class Batch(NamedTuple):
    """Questions, and the data they are about. `old` has earlier data of nodes under any names, such as digests."""

    questions: Sequence[Question]
    nodes: Mapping[str, NodeData] = {}
    old: Mapping[str, NodeData] = {}
    parameters: Mapping[str, Any] = {}


class Failure(NamedTuple):
    """Why an expression has no value: PLAN-062 if it cannot be read, PLAN-063 for the data of a node, PLAN-064 for a limit."""

    issue: Issue
    reason: str


class Answer(NamedTuple):
    """The value of an expression, if there is no failure. The value of a condition is true or false."""

    value: Any = None
    failure: Failure | None = None


def gather_problems(questions: Sequence[Question], answers: Sequence[Answer]) -> list[PlanProblem]:
    """What is wrong, once for each expression and reason, with the first node and how many others there are."""
    failed: dict[tuple[str, str, Failure], list[Question]] = {}
    for question, answer in zip(questions, answers, strict=True):
        if answer.failure is not None:
            failed.setdefault((question.task, question.what, answer.failure), []).append(question)
    return [_make_problem(failure, questions) for (_, _, failure), questions in failed.items()]


def _make_problem(failure: Failure, questions: Sequence[Question]) -> PlanProblem:
    first = questions[0]
    where = f" on {first.node}" if first.node else ""
    if len(questions) > 1:
        where += f" and {len(questions) - 1} other {'node' if len(questions) == 2 else 'nodes'}"
    return make_problem(
        failure.issue, first.at, what=f"{first.what} of task {first.task}", where=where, reason=failure.reason
    )
