"""Collects what is wrong with a plan, so that one load reports everything.

Their number is bounded, because a file of nonsense would otherwise be answered by a larger one; so is the work that finding them takes.
"""

from collections.abc import Iterable, Mapping

import msgspec

from precast.base.errors import Issue, PrecastError
from precast.net.model.compiler import guess
from precast.plans import issues
from precast.plans.expanding.problems import make_problem, place_of
from precast.plans.loading.nodes import shorten
from precast.plans.model import PlanProblem, Position
from precast.plans.names import MAX_EXPRESSIONS, check_name, is_expression

MAX_PROBLEMS = 1_000  # errors, and as many warnings; further ones are dropped
MAX_SUGGESTIONS = 200


class Problems:
    """The errors and warnings of one load."""

    def __init__(self) -> None:
        self.errors: list[PlanProblem] = []
        self.warnings: list[PlanProblem] = []
        self._suggestions_left = MAX_SUGGESTIONS
        self._patterns: set[str] = set()

    def error(self, issue: Issue, at: Position | None, /, **values: object) -> None:
        self.add(make_problem(issue, at, **values))

    def warn(self, issue: Issue, at: Position | None, /, **values: object) -> None:
        if len(self.warnings) < MAX_PROBLEMS:
            self.warnings.append(make_problem(issue, at, **values))

    def add_error(self, error: PrecastError, at: Position | None) -> None:
        """Report an error that has been raised."""
        self.add(PlanProblem(at, error.code, error.message, error.hint))

    def add(self, problem: PlanProblem, at: Position | None = None) -> None:
        """Report an error that has been found elsewhere, at its own place or at this one."""
        if len(self.errors) < MAX_PROBLEMS:
            self.errors.append(problem if problem.at is not None else msgspec.structs.replace(problem, at=at))

    def suggest(self, name: str, known: Iterable[str]) -> str:
        """`; did you mean x?`, or an empty text: if no known name is similar, or after many suggestions, which take time."""
        if self._suggestions_left == 0:
            return ""
        self._suggestions_left -= 1
        return guess(name, known)

    def check_pattern(self, name: str, at: Position) -> None:
        """Report an expression between slashes that is not supported. Beyond `MAX_EXPRESSIONS` the expansion refuses the plan anyway."""
        if name in self._patterns or not is_expression(name) or len(self._patterns) == MAX_EXPRESSIONS:
            return
        self._patterns.add(name)
        if (reason := check_name(name)) is not None:
            self.error(issues.BAD_PATTERN, at, pattern=shorten(name), reason=reason)

    def sort(self, files: Mapping[str, int]) -> None:
        """Put the problems in the order of the files, lines and columns; those without a place last."""

        def place(problem: PlanProblem) -> tuple[float, str, int, int]:
            if problem.at is None:
                return float("inf"), "", 0, 0
            return files.get(problem.at.file, len(files)), problem.at.file, problem.at.line, problem.at.column

        self.errors.sort(key=place)
        self.warnings.sort(key=place)


def show_place(at: Position, seen_from: str) -> str:
    """A place in a message about another one: the line is enough within a file."""
    return f"line {at.line}" if at.file == seen_from else place_of(at)
