"""Results of an expression by what it has read: a tree of questions and answers, as traces of compiles have it.

Evaluation is deterministic, so the same answers always lead to the same next question. A node whose data answers alike therefore has the
same result, and the expression is evaluated once for all such nodes.
"""

from collections.abc import Callable, Hashable, Mapping
from itertools import count
from typing import Any, Final

# The kind and what is asked: the name of a document and a key of it, or a function and a term.
Question = tuple[str, Any]

# An expression that reads what is different on each node fills a tree that is never asked with success. After so many results without a
# hit for every second one, only the newest is stored: an old and a new state of one node often answer alike. A full tree is cleared.
TRIAL: Final = 64
MAX_RESULTS: Final = 1_000

_ROOT: Final = "root"
_tokens = count(1)


class Result:
    """A result and its token, which no other result has."""

    __slots__ = ("reply", "token", "value")

    def __init__(self, value: Any) -> None:
        self.token = next(_tokens)
        self.value = value
        self.reply: Any = None  # for the server, once it has been asked


class _Branch:
    """A question, and what follows from each answer."""

    __slots__ = ("answers", "question")

    def __init__(self, question: Question) -> None:
        self.question = question
        self.answers: dict[Hashable, _Branch | Result] = {}


class ResultTree:
    """The results of one expression."""

    def __init__(self) -> None:
        self._tree: dict[Hashable, _Branch | Result] = {}
        self._stored = 0
        self._hits = 0

    def find(self, answer: Callable[[Question], Hashable]) -> Result | None:
        """The result for the data that `answer` knows, if an earlier evaluation has read the same."""
        node = self._tree.get(_ROOT)
        while isinstance(node, _Branch):
            node = node.answers.get(answer(node.question))
        self._hits += node is not None
        return node

    def store(self, reads: Mapping[Question, Hashable], value: Any) -> Result:
        """Store the result of an evaluation with what it has read, in order."""
        if self._stored == MAX_RESULTS:
            self._stored = self._hits = 0
        self._stored += 1
        if self._stored == 1 or (self._stored > TRIAL and self._hits * 2 < self._stored):
            self._tree.clear()
        answers: dict[Hashable, _Branch | Result] = self._tree
        key: Hashable = _ROOT
        for question, answer in reads.items():
            node = answers.get(key)
            if not isinstance(node, _Branch) or node.question != question:
                node = answers[key] = _Branch(question)
            answers, key = node.answers, answer
        result = answers[key] = Result(value)
        return result
