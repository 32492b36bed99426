"""Evaluates expressions over the data of nodes, once for all nodes whose data answers alike.

A condition compares the data of a node with the data of its last success: `changed(x)` evaluates `x` on both. Without an earlier success
everything has changed. What cannot be evaluated on the earlier data is null there, and has changed.

While a term is evaluated, a *frame* notes what it reads of the documents, and what it asks of other terms. With these notes its result is
stored. A term with variables of its own is evaluated without a frame of its own, and whatever it is part of is not stored.
"""

from collections.abc import Hashable
from typing import Any, Final, NamedTuple

from yaql.language import exceptions, expressions, utils  # type: ignore[import-untyped]

from precast.services.plans.evaluation import library
from precast.services.plans.evaluation.data import NO_DATA, Document, NotedMapping, is_same
from precast.services.plans.evaluation.results import Question, Result
from precast.services.plans.evaluation.terms import (
    COMMON,
    NODE,
    PARAMETERS,
    Term,
    Terms,
    refuse_unknown,
    split_operands,
)

# The sides of a comparison.
NEW: Final = 0
OLD: Final = 1

# Comparisons that are remembered for all nodes; then all are forgotten.
MAX_COMPARISONS: Final = 50_000
_DATA: Final = "$"
_LIMITS: Final = (
    MemoryError,
    RecursionError,
    exceptions.CollectionTooLargeException,
    exceptions.MemoryQuotaExceededException,
)


class Subject(NamedTuple):
    """The data that expressions are evaluated over."""

    node: Document = NO_DATA
    common: Document = NO_DATA
    parameters: Document = NO_DATA
    old: Document | None = None  # None: there was no success before


class _Frame:
    """What a term has read so far. `is_shared`: it has used no variables of other terms."""

    __slots__ = ("is_shared", "reads")

    def __init__(self) -> None:
        self.reads: dict[Question, Hashable] = {}
        self.is_shared = True


class _Operand(expressions.Expression):  # type: ignore[misc]
    """An operand of the outermost operators of an expression, as a term of its own."""

    def __init__(self, evaluator: "Evaluator", term: Term) -> None:
        self.uses_receiver = False
        self._evaluator = evaluator
        self._term = term

    def __call__(self, receiver: Any, context: Any, engine: Any) -> Any:
        return self._evaluator.ask("new", self._term)


class Evaluator:
    """Evaluates terms over one subject after the other."""

    def __init__(self) -> None:
        self._engine = library.make_engine()
        self._library = library.make_library(self)
        self._functions = library.names_of_functions(self._library)
        self._terms = Terms()
        self._frames: list[_Frame] = []
        self._missing = Result(None)  # of a term that has no value over the earlier data
        self._comparisons: dict[tuple[str, int, int], Result | bool] = {}
        self.set_subject(Subject())

    def parse(self, text: str) -> Term:
        """The term of an expression. Raises yaql's errors, and `Unknown` for names that nothing defines."""
        expression = self._engine(text).expression
        refuse_unknown(expression, self._functions)
        return self._terms.get(split_operands(expression, self._make_operand))

    def set_subject(self, subject: Subject) -> None:
        """What is evaluated from now on is evaluated over this data."""
        self._has_old = subject.old is not None
        self._documents = {NODE: subject.node, COMMON: subject.common, PARAMETERS: subject.parameters}
        self._sides = (subject.node.over(subject.common), subject.old or NO_DATA)
        self._data = tuple(NotedMapping(_DATA, side, self._note) for side in self._sides)
        self._contexts = tuple(self._make_context(data) for data in self._data)
        self._answers: dict[Question, Result | bool] = {}

    def evaluate(self, term: Term) -> Result:
        """The result of a term over the subject. Raises yaql's errors, those of Python's operators, and `library.NotData`."""
        try:
            return self._evaluate(term, NEW)
        finally:
            self._frames.clear()

    def ask(self, kind: str, term: Term) -> Any:
        """Answer a question about a closed term, for the term that is being evaluated."""
        question = (kind, term)
        answer = self._answer(question)
        self._frames[-1].reads[question] = answer.token if isinstance(answer, Result) else answer
        return answer.value if isinstance(answer, Result) else answer

    # What the library asks

    def new(self, expression: Any, context: Any) -> Any:
        term = self._terms.get(expression)
        return self.ask("new", term) if term.is_closed else self._inline(expression, context, NEW).value

    def old(self, expression: Any, context: Any) -> Any:
        term = self._terms.get(expression)
        return self.ask("old", term) if term.is_closed else self._inline_old(expression, context).value

    def is_changed(self, expression: Any, context: Any) -> bool:
        return bool(self._compare("changed", expression, context))

    def added(self, expression: Any, context: Any) -> Any:
        return self._compare("added", expression, context)

    def deleted(self, expression: Any, context: Any) -> Any:
        return self._compare("deleted", expression, context)

    def _compare(self, kind: str, expression: Any, context: Any) -> Any:
        term = self._terms.get(expression)
        if term.is_closed:
            return self.ask(kind, term)
        new, old = self._inline(expression, context, NEW), self._inline_old(expression, context)
        answer = self._compare_results(kind, new, old)
        return answer.value if isinstance(answer, Result) else answer

    # Questions and answers

    def _answer(self, question: Question) -> Result | bool:
        answer = self._answers.get(question)
        if answer is None:
            kind, term = question
            if kind == "new":
                answer = self._evaluate(term, NEW)
            elif kind == "old":
                answer = self._evaluate_old(term)
            else:
                answer = self._compare_results(kind, self._evaluate(term, NEW), self._evaluate_old(term))
            self._answers[question] = answer
        return answer

    def _compare_results(self, kind: str, new: Result, old: Result) -> Result | bool:
        if not self._has_old or old is self._missing:
            return True if kind == "changed" else new if kind == "added" else self._missing
        key = kind, new.token, old.token
        answer = self._comparisons.get(key)
        if answer is None:
            if len(self._comparisons) >= MAX_COMPARISONS:
                self._comparisons.clear()
            answer = self._comparisons[key] = _compare_values(kind, new.value, old.value)
        return answer

    def _evaluate(self, term: Term, side: int) -> Result:
        """The result of a term over the data of one side: a stored one, if it has been evaluated over the same before."""
        result = self._find(term, side)
        if result is not None:
            return result
        frame = _Frame()
        self._frames.append(frame)
        try:
            value = library.settle(term.expression(utils.NO_VALUE, self._contexts[side], self._engine))
        finally:
            self._frames.pop()
        return term.results.store(frame.reads, value) if frame.is_shared else Result(value)

    def _find(self, term: Term, side: int) -> Result | None:
        def answer(question: Question) -> Hashable:
            kind, what = question
            if kind == _DATA:
                return self._sides[side].token(what)
            if kind in self._documents:
                return self._documents[kind].token(what)
            found = self._answer(question)
            return found.token if isinstance(found, Result) else found

        try:
            return term.results.find(answer)
        except Exception as error:  # noqa: BLE001 - a part of the term has no value here; its evaluation says why
            _raise_limit(error)
            return None

    def _evaluate_old(self, term: Term) -> Result:
        try:
            return self._evaluate(term, OLD)
        except Exception as error:  # noqa: BLE001 - whatever the reason, it has no value over the earlier data
            _raise_limit(error)
            return self._missing

    def _inline(self, expression: Any, context: Any, side: int) -> Result:
        """The result of a part that uses variables of the term around it."""
        for frame in self._frames:
            frame.is_shared = False
        inner = context.create_child_context()
        inner[_DATA] = self._data[side]
        return Result(library.settle(expression(utils.NO_VALUE, inner, self._engine)))

    def _inline_old(self, expression: Any, context: Any) -> Result:
        try:
            return self._inline(expression, context, OLD)
        except Exception as error:  # noqa: BLE001 - as in `_evaluate_old`
            _raise_limit(error)
            return self._missing

    def _note(self, name: str, key: Any, token: Hashable) -> None:
        self._frames[-1].reads[name, key] = token

    def _make_operand(self, expression: Any) -> Any:
        term = self._terms.get(expression)
        return _Operand(self, term) if term.is_closed else expression

    def _make_context(self, data: NotedMapping) -> Any:
        context = self._library.create_child_context()
        context[_DATA] = data
        for name, document in self._documents.items():
            context[f"${name}"] = NotedMapping(name, document, self._note)
        return context


def _compare_values(kind: str, new: Any, old: Any) -> Result | bool:
    if kind == "changed":
        return not is_same(new, old)
    return Result(library.find_added(old, new) if kind == "added" else library.find_added(new, old))


def _raise_limit(error: Exception) -> None:
    """Raise an error again that says that a limit has been reached."""
    if isinstance(error, _LIMITS):
        raise error
