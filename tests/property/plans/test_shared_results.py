"""Results that nodes share are those that each node alone has.

The evaluator stores results by what an expression has read, and takes them for other nodes. The reference here knows neither terms nor
stored results: it evaluates the whole expression again for every node, with comparing functions of three lines each.

The lists here are complete (`toList`). YAQL compares lazy ones by identity and takes them for true; the evaluator completes the operands of
the outermost operators first.
"""

from contextlib import nullcontext
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from yaql.language import utils  # type: ignore[import-untyped]

from precast.base import canonical
from precast.services.plans.evaluation import library
from precast.services.plans.evaluation.batches import Batch, NodeData, Question
from precast.services.plans.evaluation.data import freeze, is_same
from precast.services.plans.evaluation.messages import Value
from precast.services.plans.evaluation.requests import RequestWriter, group_by_node
from precast.services.plans.evaluation.worker import Worker

LEAVES = (
    "$.a", "$.b.get('x')", "$.c", "$.get('a')", "$.get('c', [])", "$.get(b, 1)", "$.get($.a)", "$", "$node.a", "$common.b", "$common",
    "$parameters.p", "1", "true", "null", "[]", "'a'", "$.c.select($ + 1).toList()", "$.values().toList()",
    "$.keys().toList()",
)  # fmt: skip
FORMS = (
    "{0} and {1}", "{0} or {1}", "not {0}", "({0}) = ({1})", "({0}) in [{1}, 1]", "new({0})", "old({0})", "changed({0})",
    "changedAny({0}, {1})", "changedAll({0}, {1})", "added({0})", "deleted({0})", "[{0}, {1}]", "switch({0} => {1}, true => 0)",
    "coalesce({0}, {1})", "$.get('c', []).where($ = {0}).toList()", "$.get('c', []).select([$, new({0}), changed({1})]).toList()",
    "let(k => {0}) -> [$k, changed([$k, $.get(a)]), old($.get($k)), added([$k])]", "[0, 1].where(changed({0})).toList()",
    "[1, 2].select($ * 2).where({0}).toList()", "({0}).get('x', {1})", "len({0})",
)  # fmt: skip
expressions = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.builds(lambda form, one, other: form.format(one, other), st.sampled_from(FORMS), inner, inner),
    max_leaves=6,
)
values = st.one_of(
    st.sampled_from([0, 1, 2, True, None, "a"]),
    st.lists(st.integers(0, 2), max_size=3),
    st.fixed_dictionaries({"x": st.integers(0, 1)}),
)
documents = st.dictionaries(st.sampled_from("abcd"), values, max_size=4)
datas = st.builds(NodeData, documents, documents)


class Plain:
    """Evaluates one expression over one node."""

    def __init__(self, data: NodeData, old: NodeData | None, parameters: dict[str, Any]) -> None:
        self._has_old = old is not None
        self._engine = library.make_engine()
        self._new = _freeze({**data.common, **data.node})
        self._old = _freeze({**old.common, **old.node} if old else {})
        self._context = library.make_library(self).create_child_context()
        variables = {"$node": data.node, "$common": data.common, "$parameters": parameters}
        for name, value in variables.items():
            self._context[name] = _freeze(value)

    def evaluate(self, text: str) -> Any:
        return self._run(self._engine(text).expression, self._context, self._new)

    def _run(self, expression: Any, context: Any, data: Any) -> Any:
        inner = context.create_child_context()
        inner["$"] = data
        return library.settle(expression(utils.NO_VALUE, inner, self._engine))

    def new(self, expression: Any, context: Any) -> Any:
        return self._run(expression, context, self._new)

    def old(self, expression: Any, context: Any) -> Any:
        return self._find_old(expression, context)[1]

    def is_changed(self, expression: Any, context: Any) -> bool:
        new, (is_found, old) = self.new(expression, context), self._find_old(expression, context)
        return not self._has_old or not is_found or not is_same(new, old)

    def added(self, expression: Any, context: Any) -> Any:
        new, (is_found, old) = self.new(expression, context), self._find_old(expression, context)
        return library.find_added(old, new) if self._has_old and is_found else new

    def deleted(self, expression: Any, context: Any) -> Any:
        new, (is_found, old) = self.new(expression, context), self._find_old(expression, context)
        return library.find_added(new, old) if self._has_old and is_found else None

    def _find_old(self, expression: Any, context: Any) -> tuple[bool, Any]:
        try:
            return True, self._run(expression, context, self._old)
        except Exception:  # noqa: BLE001 - an expression can raise anything
            return False, None


def _freeze(data: Any) -> Any:
    """Frozen data with its keys in order, as documents are sent."""
    return freeze(msgspec.json.decode(canonical.encode(data)))


@given(
    st.lists(expressions, min_size=1, max_size=4),
    st.lists(st.tuples(datas, st.none() | datas), min_size=1, max_size=5),
    st.fixed_dictionaries({"p": st.integers(0, 1)}),
)
def test_shared_results_are_those_of_each_node_alone(
    texts: list[str], nodes: list[tuple[NodeData, NodeData | None]], parameters: dict[str, Any]
) -> None:
    data = {f"n{number}": new for number, (new, _) in enumerate(nodes)}
    olds = {f"n{number}": old for number, (_, old) in enumerate(nodes) if old is not None}
    questions = [
        Question("t", "condition", text, node, node if node in olds else "") for node in data for text in texts
    ]
    shared = _ask_together(Batch(questions, data, olds, parameters))
    alone = [
        _ask_alone(question.expression, data[question.node], olds.get(question.node), parameters)
        for question in questions
    ]
    assert list(zip(questions, shared, strict=True)) == list(zip(questions, alone, strict=True))


def _ask_together(batch: Batch) -> list[str]:
    """What one worker replies: twice, because the second time everything is stored."""
    worker, writer = Worker(nullcontext), RequestWriter(batch)
    replies: dict[int, str] = {}
    for _ in range(2):
        for group in group_by_node(batch.questions):
            answered = worker.answer(writer.write([batch.questions[index] for index in group]))
            for index, reply in zip(group, answered, strict=True):
                text = reply.json.decode() if isinstance(reply, Value) else "failed"
                assert replies.setdefault(index, text) == text
    return [replies[index] for index in range(len(batch.questions))]


def _ask_alone(text: str, data: NodeData, old: NodeData | None, parameters: dict[str, Any]) -> str:
    try:
        value = library.thaw(Plain(data, old, parameters).evaluate(text))
        return canonical.encode(value).decode()
    except Exception:  # noqa: BLE001 - an expression can raise anything
        return "failed"


@given(values, values)
def test_equal_values_have_equal_texts(one: Any, other: Any) -> None:
    assert is_same(freeze(one), freeze(other)) == (msgspec.json.encode(one) == msgspec.json.encode(other))
