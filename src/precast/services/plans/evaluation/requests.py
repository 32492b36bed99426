"""Makes the requests of a batch: the questions about one node together, and what nodes have in common sent once."""

from collections.abc import Mapping, Sequence
from typing import Any

from precast.base import canonical
from precast.services.plans.evaluation.batches import Batch, Question
from precast.services.plans.evaluation.messages import NOTHING, Evaluation, Request


def group_by_node(questions: Sequence[Question]) -> list[list[int]]:
    """The indexes of the questions about each node, those over the same data together."""
    groups: dict[str, list[int]] = {}
    for index, question in enumerate(questions):
        groups.setdefault(question.node, []).append(index)
    return [
        sorted(group, key=lambda index: (questions[index].old, id(questions[index].arguments)))
        for group in groups.values()
    ]


class RequestWriter:
    """Writes the requests of a batch to one process, and knows what it has been sent."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._expressions: dict[str, int] = {}
        self._common: dict[bytes, int] = {}
        self._numbers: dict[int, int] = {}  # of common mappings, by their identity
        self._parameters: dict[int, int] = {}  # of the parameters with the arguments of a task, by their identity
        self._last = NOTHING
        self._new_expressions: dict[int, str] = {}
        self._new_documents: dict[int, bytes] = {}

    def write(self, questions: Sequence[Question]) -> Request:
        """The request for questions about one node. The data of the node itself is forgotten after it."""
        self._new_expressions, self._new_documents = {}, {}
        node = common = NOTHING
        passing: dict[str, int] = {}
        if questions and (data := self._batch.nodes.get(questions[0].node)) is not None:
            node, common = self._add(data.node), self._add_common(data.common)
            passing = {
                old: self._add(self._batch.old[old].node) for old in dict.fromkeys(q.old for q in questions) if old
            }
        evaluations = [self._make_evaluation(question, passing) for question in questions]
        forget = [] if node == NOTHING else [node, *passing.values()]
        return Request(evaluations, node, common, self._new_expressions, self._new_documents, forget)

    def _make_evaluation(self, question: Question, passing: Mapping[str, int]) -> Evaluation:
        number = self._expressions.get(question.expression)
        if number is None:
            number = self._expressions[question.expression] = len(self._expressions)
            self._new_expressions[number] = question.expression
        parameters = self._add_parameters(question.arguments)
        if question.old not in passing:
            return Evaluation(number, question.is_condition, parameters)
        old_common = self._add_common(self._batch.old[question.old].common)
        return Evaluation(number, question.is_condition, parameters, passing[question.old], old_common)

    def _add_parameters(self, arguments: Mapping[str, Any]) -> int:
        number = self._parameters.get(id(arguments))
        if number is None:
            number = self._add_shared({**self._batch.parameters, **arguments})
            self._parameters[id(arguments)] = number
        return number

    def _add(self, data: Mapping[str, Any]) -> int:
        return self._add_text(canonical.encode(data))

    def _add_common(self, data: Mapping[str, Any]) -> int:
        number = self._numbers.get(id(data))
        if number is None:
            number = self._numbers[id(data)] = self._add_shared(data)
        return number

    def _add_shared(self, data: Mapping[str, Any]) -> int:
        """Add what many requests use, if it has not been sent."""
        text = canonical.encode(data)
        number = self._common.get(text)
        if number is None:
            number = self._common[text] = self._add_text(text)
        return number

    def _add_text(self, text: bytes) -> int:
        self._last += 1
        self._new_documents[self._last] = text
        return self._last
