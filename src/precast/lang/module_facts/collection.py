"""The facts of one collection: those that the machine has, external ones, and those of modules, which are resolved when they are asked for.

As in Facter, the resolution with the highest weight that gives a value wins; an external fact weighs 10,000, and the machine's own fact
wins against weight 0. An error costs one fact. A fact that needs more of Ruby than there is has no value, and neither has any fact that
asks for it: with nil it would take another way than in Ruby.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.issues import erb as issues
from precast.lang.module_facts.execution import FactExecution
from precast.lang.module_facts.node import DeadlinePassed, LimitReached, Node
from precast.lang.module_facts.resolutions import Aggregate, Resolution
from precast.lang.module_facts.tables import system_error
from precast.lang.module_facts.values import NotAFactError, to_plain, to_ruby
from precast.lang.ruby.declarations.facts import added_facts
from precast.lang.ruby.declarations.ruby_file import load_ruby_file
from precast.lang.ruby.errors import exception_of, raised
from precast.lang.ruby.evaluation.closures import CALL_ERRORS
from precast.lang.ruby.execution import Jump
from precast.lang.ruby.objects import Proc

EXTERNAL_WEIGHT: Final = 10_000
# Of one resolution or one file, unless the fact has a timeout of its own.
FACT_S: Final = 30.0
FILE_S: Final = 30.0
TOTAL_S: Final = 60.0

ProblemKind = Literal["error", "timeout", "refused", "late", "told"]


class Problem(NamedTuple):
    """Why a fact is missing, or what its code told with `Facter.warn`; `place` is the file, with the line if it is known."""

    kind: ProblemKind
    fact: str  # empty for a whole file
    place: str
    reason: str


class CustomFact:
    """A fact of modules, with its resolutions in the order of their definition."""

    def __init__(self, name: str, place: str) -> None:
        self.name = name
        self.place = place
        self.resolutions: list[Resolution] = []
        self.refusal: PrecastError | None = None
        self.is_searching = False
        self.is_known = False
        self.value: Any = None
        self.is_own = False  # whether the value comes from a module


class FactCollection:
    """The facts of one collection. `machine` has those of the machine with their flat names, `external` those that override them."""

    def __init__(
        self,
        node: Node,
        files: Mapping[str, str],
        machine: Mapping[str, Any],
        external: Mapping[str, Any],
        total_s: float = TOTAL_S,
    ) -> None:
        self.node = node
        self._total_s = total_s
        self.machine = machine
        self.external = external
        self.facts: dict[str, CustomFact] = {}
        self.problems: list[Problem] = []
        self._recursions = 0
        self.execution = FactExecution(node, files)
        self.execution.facts = self
        # Facter loads the files of a directory in this order; Puppet's agent has those of all modules in one.
        self._waiting = sorted(
            (path for path in files if is_fact_file(path)), key=lambda path: (path.rpartition("/")[2], path)
        )

    # Files

    def load_all(self) -> None:
        while self._waiting:
            self._load(self._waiting.pop(0))

    def _load_named(self, name: str) -> None:
        """Load the files that are named like a fact, before all others."""
        for path in [path for path in self._waiting if path.endswith(f"/{name}.rb")]:
            self._waiting.remove(path)
            self._load(path)

    def _load(self, path: str) -> None:
        self.execution.steps = 0
        limit_s = self._limit(FILE_S)
        if limit_s <= 0:
            self._note("late", path, path, "")
            return
        try:
            self.node.within(limit_s, lambda: self.execution.load(path))
        except DeadlinePassed:
            self._note("timeout", "", path, f"the file was not loaded within {limit_s:g} s")
        except (PrecastError, Jump, OSError, LimitReached, MemoryError, RecursionError, *CALL_ERRORS) as raw:
            error = as_ruby_error(raw)
            if exception_of(error) is None:
                self._refuse_rest(path, error)
            else:
                self._note("error", "", place_of(error, path), error.message)

    def _refuse_rest(self, path: str, error: PrecastError) -> None:
        """Note that a file needs more of Ruby: the facts that it would add further on are refused, too."""
        self._note("refused", "", place_of(error, path), error.message)
        text = self.execution.files[path]
        code = load_ruby_file(path, text, text)
        for added in added_facts(code) if code is not None else ():
            if added.name is not None and added.name not in self.facts:
                self.facts[added.name] = fact = CustomFact(added.name, f"{path}:{added.line}")
                fact.refusal = error

    # Definitions

    def add(self, name: str, options: dict[str, Any], block: Proc | None) -> CustomFact:
        fact = self.fact_named(name)
        self.add_resolution(fact, None, options, block)
        return fact

    def fact_named(self, name: str) -> CustomFact:
        key = name.lower()
        if key not in self.facts:
            self.facts[key] = CustomFact(key, self.execution.path)
        return self.facts[key]

    def add_resolution(
        self, fact: CustomFact, name: str | None, options: dict[str, Any], block: Proc | None
    ) -> Resolution:
        """Add a resolution, or open the one with this name. Errors in its block cost only the fact."""
        kind = options.pop("type", "simple")
        resolution = next((each for each in fact.resolutions if name is not None and each.name == name), None)
        if resolution is None:
            made = {"simple": Resolution, "aggregate": Aggregate}.get(str(kind))
            if made is None:
                raise raised(
                    "ArgumentError", f"Expected resolution type to be one of (:simple, :aggregate) but was {kind}"
                )
            resolution = made(name, fact.name)
            fact.resolutions.append(resolution)
        fact.is_known = False
        resolution.given_weight = options.get("weight", resolution.given_weight)
        resolution.timeout_s = float(options.get("timeout") or resolution.timeout_s)
        resolution.fixed_value = options.get("value", resolution.fixed_value)
        if block is not None and block.call_as is not None:
            try:
                block.call_as(resolution, None, (resolution,))
            except (PrecastError, *CALL_ERRORS) as raw:
                error = as_ruby_error(raw)
                if exception_of(error) is None:
                    fact.refusal = error
                    self._note("refused", fact.name, place_of(error, fact.place), error.message)
                else:
                    self._note("error", fact.name, place_of(error, fact.place), error.message)
        return resolution

    # Values

    def value(self, query: str) -> Any:
        """The value of a fact, or of a part of one such as `os.family`, as Ruby sees it; None if there is none.

        Raises what no code may rescue if the fact needs more of Ruby.
        """
        name = query.lower()
        if name not in self.facts:
            self._load_named(name)
        if name in self.facts:
            return to_ruby(self.resolve(self.facts[name]))
        found = self._given(name)
        if found is None and self._waiting:
            self.load_all()
            if name in self.facts:
                return to_ruby(self.resolve(self.facts[name]))
        if found is None and "." in name:
            head, _, rest = name.partition(".")
            found = _part(self.value(head), rest)
        return to_ruby(found)

    def has(self, name: str) -> bool:
        return self.value(name) is not None or name.lower() in self.facts

    def _given(self, name: str) -> Any:
        return self.external[name] if name in self.external else self.machine.get(name)

    def resolve(self, fact: CustomFact) -> Any:
        """The value of a fact as plain data. Raises its refusal, and Ruby's error for a fact that asks for itself."""
        if fact.refusal is not None:
            raise fact.refusal.copy()
        if fact.is_known:
            return fact.value
        if fact.is_searching:
            self._recursions += 1
            raise raised("RuntimeError", f"Caught recursion on {fact.name}")
        fact.is_searching, recursions = True, self._recursions
        steps, self.execution.steps = self.execution.steps, 0
        try:
            value, weight = self._first_value(fact)
        except PrecastError as error:
            fact.refusal = error
            self._note("refused", fact.name, place_of(error, fact.place), error.message)
            raise
        finally:
            fact.is_searching = False
            self.execution.steps = steps
        given = self._given(fact.name)
        fact.is_own = value is not None and (weight > 0 or given is None)
        fact.value = value if fact.is_own else given
        # A fact of a circle may have a value when it is asked for first.
        fact.is_known = value is not None or recursions == self._recursions
        return fact.value

    def _first_value(self, fact: CustomFact) -> tuple[Any, int]:
        """The value of the first resolution that has one, with its weight. An external fact is given, and so comes without a value."""
        if self._limit(1.0) <= 0:
            self._note("late", fact.name, fact.place, "")
            return None, 0
        for resolution in sorted(fact.resolutions, key=lambda each: -each.weight):
            if fact.name in self.external and resolution.weight <= EXTERNAL_WEIGHT:
                break
            try:
                value = self._run(fact, resolution)
            except _LostError:
                break
            if value is not None:
                return value, resolution.weight
        return None, 0

    def _run(self, fact: CustomFact, resolution: Resolution) -> Any:
        """Run a resolution. None if it has no value or took too long; raises _LostError after an error, and what no code may rescue."""
        limit_s = self._limit(resolution.timeout_s or FACT_S)

        def resolve() -> Any:
            return resolution.resolve(self.execution) if resolution.is_suitable(self.execution) else None

        try:
            return to_plain(self.node.within(limit_s, resolve))
        except DeadlinePassed:
            self._note("timeout", fact.name, fact.place, f"it took more than {limit_s:g} s")
            return None
        except NotAFactError as error:
            self._note("error", fact.name, fact.place, str(error))
            return None
        except (PrecastError, Jump, OSError, LimitReached, MemoryError, RecursionError, *CALL_ERRORS) as raw:
            problem = as_ruby_error(raw)
            if exception_of(problem) is None:
                raise problem from None
            self._note("error", fact.name, place_of(problem, fact.place), problem.message)
            raise _LostError from None

    def command_output(self, command: str) -> str | None:
        from precast.lang.module_facts.commands import execute

        output = execute(self.execution, command, on_fail=None)
        return None if output is None else str(output)

    def _limit(self, limit_s: float) -> float:
        """The seconds that something may take: its limit, or what is left of the time for all facts of modules."""
        return min(limit_s, self._total_s - self.node.elapsed_s())

    def _note(self, kind: ProblemKind, fact: str, place: str, reason: str) -> None:
        self.problems.append(Problem(kind, fact, place, reason))

    def tell(self, message: str) -> None:
        """Note what code told with `Facter.warn`."""
        self._note("told", "", self.execution.path, message)

    # The end

    def results(self) -> Iterator[tuple[str, Any]]:
        """Resolve all facts, and yield those that come from modules, with the problems noted meanwhile in `problems`."""
        self.load_all()
        for name in list(self.facts):
            fact = self.facts[name]
            try:
                value = self.resolve(fact)
            except PrecastError:
                continue  # noted where it was raised
            if fact.is_own:
                yield name, value


class _LostError(Exception):
    """A resolution failed: Facter then tries no other one."""


def is_fact_file(path: str) -> bool:
    """Whether Facter loads a file by itself: those of lib/facter, not of the folders in it."""
    return path.partition("/")[2].removeprefix("lib/facter/").count("/") == 0 and "/lib/facter/" in path


def _part(value: Any, path: str) -> Any:
    for part in path.split("."):
        if isinstance(value, list) and part.isdigit():
            value = value[int(part)] if int(part) < len(value) else None
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


def as_ruby_error(error: BaseException) -> PrecastError:
    """The error of Ruby code for whatever running it raised."""
    if isinstance(error, PrecastError):
        return error
    if isinstance(error, Jump):
        return raised("LocalJumpError", f"unexpected {error.kind}")
    if isinstance(error, OSError):
        found = system_error(error)
        assert isinstance(found, PrecastError)
        return found
    if isinstance(error, LimitReached):
        return issues.NOT_IN_SUBSET.error(construct=str(error))
    if isinstance(error, MemoryError):
        return issues.NOT_IN_SUBSET.error(construct="so much memory")
    if isinstance(error, RecursionError):
        return issues.TOO_DEEP.error()
    return raised("StandardError", str(error) or type(error).__name__)


def place_of(error: PrecastError, default: str) -> str:
    """The file and line of an error of Ruby code."""
    if isinstance(error.source, Source) and error.span is not None:
        return f"{error.source.path}:{error.source.position(error.span.start).line}"
    return default
