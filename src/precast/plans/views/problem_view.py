"""A problem of a plan as commands and the API show it."""

from precast.base.errors import PrecastError
from precast.plans.model import PlanProblem
from precast.wire.plans.bodies import ProblemView


def view_problem(problem: PlanProblem) -> ProblemView:
    at = problem.at
    place = ("", 0, 0) if at is None else (at.file, at.line, at.column)
    return ProblemView(*place, problem.code, problem.text, problem.hint)


def problem_of(error: PrecastError) -> PlanProblem:
    """An error that concerns the whole plan."""
    return PlanProblem(None, error.code, error.message, error.hint)
