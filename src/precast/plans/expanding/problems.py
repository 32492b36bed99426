"""Makes the problems of a plan from declared issues."""

from precast.base.errors import Issue
from precast.plans.model import PlanProblem, Position


def make_problem(issue: Issue, at: Position | None, **values: object) -> PlanProblem:
    """The problem that an issue describes, at a place of the plan."""
    error = issue.error(**values)
    return PlanProblem(at, error.code, error.message, error.hint)


def place_of(at: Position) -> str:
    """A position as messages show it."""
    return f"{at.file}:{at.line}"
