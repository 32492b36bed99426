"""Names as selectors, dependencies and subsets write them: exact, or a regular expression between slashes.

An expression is anchored at its start only, as in Fuel: `/ceph/` means every name that begins with `ceph`. Plans come from outside, so
expressions are matched by automata, in time linear in the name; look-around and back-references are refused.
"""

from collections.abc import Callable, Collection, Iterable

from precast.net.model.compiler import guess
from precast.plans import issues
from precast.wire.query.automata import StepMeter, TooManySteps
from precast.wire.query.patterns import BadPattern, Pattern

# What all expressions of a plan may cost together: some seconds of work. Plans with hundreds of tasks need a hundredth of it.
MAX_EXPRESSIONS = 500
MAX_STEPS = 2_500_000
MAX_TESTS = 2_000_000
# Comparing a name with all others takes milliseconds.
MAX_SUGGESTIONS = 200


def is_expression(name: str) -> bool:
    return len(name) > 2 and name.startswith("/") and name.endswith("/")


def check_name(name: str) -> str | None:
    """Why a name cannot be used, because its expression is invalid or not supported; None if it can."""
    if not is_expression(name):
        return None
    try:
        _compile(name, StepMeter(0))
    except BadPattern as error:
        return error.reason
    return None


class NameMatcher:
    """Finds names by exact name or by expression. All expressions share one limit of work."""

    def __init__(self) -> None:
        self._meter = StepMeter(MAX_STEPS)
        self._tests_left = MAX_TESTS
        self._tests: dict[str, Callable[[str], bool]] = {}
        self._suggestions_left = MAX_SUGGESTIONS

    def find(self, wanted: str, names: Collection[str]) -> list[str]:
        """The names that match, in their order. Raises InputError PLAN-030 or PLAN-031 for an expression."""
        if not is_expression(wanted):
            return [wanted] if wanted in names else []
        test = self._test(wanted)
        self._tests_left -= len(names)
        if self._tests_left < 0:
            raise issues.EXPENSIVE_PATTERNS.error(pattern=wanted)
        try:
            return [name for name in names if test(name)]
        except TooManySteps:
            raise issues.EXPENSIVE_PATTERNS.error(pattern=wanted) from None

    def find_any(self, wanted: Iterable[str], names: Collection[str]) -> set[str]:
        """The names that match one of those wanted. Raises what `find` raises."""
        return {name for item in wanted for name in self.find(item, names)}

    def suggest(self, name: str, known: Iterable[str], similarity: float = 0.6) -> str:
        """`; did you mean x?` for a name that matches nothing; empty if no name is similar, or after many suggestions."""
        if is_expression(name) or not self._suggestions_left:
            return ""
        self._suggestions_left -= 1
        return guess(name, known, similarity)

    def _test(self, wanted: str) -> Callable[[str], bool]:
        if wanted not in self._tests:
            if len(self._tests) == MAX_EXPRESSIONS:
                raise issues.EXPENSIVE_PATTERNS.error(pattern=wanted)
            try:
                self._tests[wanted] = _compile(wanted, self._meter).matches
            except BadPattern as error:
                raise issues.BAD_PATTERN.error(pattern=wanted, reason=error.reason) from None
        return self._tests[wanted]


def _compile(name: str, meter: StepMeter) -> Pattern:
    Pattern(name[1:-1])  # alone, because the group around it could complete its parentheses
    return Pattern(f"^(?:{name[1:-1]})", meter)
