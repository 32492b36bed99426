"""Answers requests: keeps the expressions and documents that it was sent, and evaluates."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

from precast.base import canonical
from precast.services.plans.evaluation.data import NO_DATA, Document, ValueTable
from precast.services.plans.evaluation.evaluator import Evaluator, Subject
from precast.services.plans.evaluation.failures import OutOfTime, explain
from precast.services.plans.evaluation.library import thaw
from precast.services.plans.evaluation.messages import NOTHING, Evaluation, Exceeded, Reply, Request, Value
from precast.services.plans.evaluation.results import Result
from precast.services.plans.evaluation.terms import Term

# The largest value that leaves an expression.
MAX_VALUE_BYTES: Final = 1024 * 1024
# The text of the values that are stored converted, for documents that have the same.
MAX_TABLE_BYTES: Final = 32 * 1024 * 1024

TRUE: Final = Value(b"true")
FALSE: Final = Value(b"false")

Limited = Callable[[], AbstractContextManager[None]]


class Worker:
    """The work of one process. `limited` limits the time of what is done inside it."""

    def __init__(self, limited: Limited) -> None:
        self._limited = limited
        self._evaluator = Evaluator()
        self._values = ValueTable(MAX_TABLE_BYTES)
        self._documents: dict[int, Document] = {NOTHING: NO_DATA}
        self._expressions: dict[int, Term | Reply] = {}
        self._chosen: tuple[int, ...] = ()

    def answer(self, request: Request) -> list[Reply]:
        """The replies to the evaluations of a request, in order."""
        for number, text in request.documents.items():
            self._documents[number] = self._values.read_document(text)
        for number, expression in request.expressions.items():
            self._expressions[number] = self._parse(expression)
        replies = [self._evaluate(evaluation, request) for evaluation in request.evaluations]
        for number in request.forget:
            del self._documents[number]
        return replies

    def _parse(self, text: str) -> Term | Reply:
        try:
            with self._limited():
                return self._evaluator.parse(text)
        except (Exception, OutOfTime) as error:  # noqa: BLE001 - an expression can raise anything
            return explain(error)

    def _evaluate(self, evaluation: Evaluation, request: Request) -> Reply:
        term = self._expressions[evaluation.expression]
        if not isinstance(term, Term):
            return term
        if request.node == NOTHING:
            return Value(b"null")
        self._choose_subject(evaluation, request)
        try:
            with self._limited():
                return _make_reply(self._evaluator.evaluate(term), evaluation.is_condition)
        except (Exception, OutOfTime) as error:  # noqa: BLE001 - an expression can raise anything
            return explain(error)

    def _choose_subject(self, evaluation: Evaluation, request: Request) -> None:
        chosen = (request.node, request.common, *evaluation[2:])
        if chosen == self._chosen:
            return
        node, common, parameters, old_node, old_common = (self._documents[number] for number in chosen)
        old = None if evaluation.old_node == NOTHING else old_node.over(old_common)
        self._evaluator.set_subject(Subject(node, common, parameters, old))
        self._chosen = chosen


def _make_reply(result: Result, is_condition: bool) -> Reply:
    if is_condition:
        return TRUE if result.value else FALSE
    if result.reply is None:
        text = canonical.encode(thaw(result.value))
        result.reply = Value(text) if len(text) <= MAX_VALUE_BYTES else Exceeded("size")
    reply: Reply = result.reply
    return reply
