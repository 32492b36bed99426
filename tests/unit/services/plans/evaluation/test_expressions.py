"""What expressions mean: the data, comparisons with the data of the last success, values that leave them, and their errors."""

from typing import Any

import pytest

from precast.services.plans.evaluation.messages import Exceeded, Invalid
from tests.unit.services.plans.evaluation.evaluating import ask, evaluate, reason

DATA = {
    "uid": "1",
    "roles": ["controller", "ceph"],
    "debug": False,
    "ironic": {"enabled": True, "key": "k"},
    "nodes": [{"uid": "1", "fqdn": "a"}, {"uid": "2", "fqdn": "b"}],
    "network": {"nodes": {"node-1": {"uid": "1", "r": ["x"]}, "node-2": {"uid": "2", "r": ["y"]}}},
}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("$.ironic.enabled and not $.debug", True),
        ("$.get('absent')", None),
        ("$.get('absent', {}).get('x', 3)", 3),
        ("'controller' in $.roles", True),
        ("$.roles.any($.matches('^(primary-)?controller$'))", True),
        ("$.network.nodes.values().where('x' in $.r).uid", ["1"]),
        ("$.network.nodes.get(concat('node-', $.uid)).uid", "1"),
        ("$.network.nodes.values().where($.uid = new($.uid)).uid.first()", "1"),
        ("switch($.debug => 1, true => 6)", 6),
        ("len($.roles)", 2),
        ("$.roles.toSet()", ["ceph", "controller"]),
        ("dict(a => $.uid) + {b => 2}", {"a": "1", "b": 2}),
        ("{old => [1, {x => null}]}", {"old": [1, {"x": None}]}),
        ("let(x => $.uid) -> concat($x, '!')", "1!"),
        ("coalesce(null, 2)", 2),
        ("$.ironic?.key", "k"),
        ("null?.key", None),
        ("1 + 2 * 3", 7),
        ("$.roles.orderBy($)", ["ceph", "controller"]),
    ],
)
def test_expression_has_its_value(expression: str, value: Any) -> None:
    assert evaluate(expression, DATA) == value


def test_documents_are_variables_and_the_node_wins() -> None:
    node, common = {"a": "node"}, {"a": "common", "b": {"c": 1}}
    assert evaluate("[$.a, $.b.c, $node.a, $common.a]", node, common=common) == ["node", 1, "node", "common"]
    assert evaluate("$", node, common=common) == {"a": "node", "b": {"c": 1}}
    assert evaluate("$node", node, common=common) == {"a": "node"}
    assert evaluate("$parameters.version", {}, parameters={"version": "2"}) == "2"


def test_value_can_be_written_as_yaml_and_json() -> None:
    assert evaluate("$node.toYaml()", {"b": ["é", None], "a": {"x": 1}}) == "a:\n  x: 1\nb:\n- é\n- null\n"
    assert evaluate("$.a.toJson()", {"a": {"y": 1, "x": [True]}}) == '{"x":[true],"y":1}'
    assert evaluate("{x => $.a, y => $.a}.toYaml()", {"a": [1]}) == "x:\n- 1\ny:\n- 1\n"  # no anchors


@pytest.mark.parametrize(
    ("expression", "new", "old", "value"),
    [
        ("changed($.a)", {"a": 1}, {"a": 2}, True),
        ("changed($.a)", {"a": 1, "b": 1}, {"a": 1, "b": 2}, False),
        ("changed($)", {"a": 1}, {"a": 1}, False),
        ("changed($)", {"a": 1}, {"a": 1, "b": None}, True),
        ("changed($.a)", {"a": 1}, {"a": True}, True),
        ("changed($.a)", {"a": 1}, {"a": 1.0}, True),
        ("changed($.a)", {"a": {"x": [1, {"y": 2}]}}, {"a": {"x": [1, {"y": 2}]}}, False),
        ("changed($.a)", {"a": [1, 2]}, {"a": [2, 1]}, True),
        ("changed($.a.toSet())", {"a": [1, 2]}, {"a": [2, 1]}, False),
        ("changed($.a)", {"a": 1}, {}, True),
        ("changed($.get('a'))", {}, {"b": 1}, False),
        ("changed($.a.where($ > 1))", {"a": [0, 2]}, {"a": [1, 2]}, False),
        ("changed($.a.select($ * 2))", {"a": [1]}, {"a": [2]}, True),
        ("changedAny($.a, $.b)", {"a": 1, "b": 1}, {"a": 1, "b": 2}, True),
        ("changedAny($.a, $.b)", {"a": 1, "b": 1}, {"a": 1, "b": 1}, False),
        ("changedAny()", {}, {}, False),
        ("changedAll($.a, $.b)", {"a": 1, "b": 1}, {"a": 1, "b": 2}, False),
        ("changedAll($.a, $.b)", {"a": 1, "b": 1}, {"a": 0, "b": 2}, True),
        ("[new($.a), old($.a)]", {"a": 1}, {"a": 2}, [1, 2]),
        ("old($.a.b.c)", {"a": 1}, {"a": {}}, None),
        ("old($.a.b.c).isUndef()", {"a": 1}, {"a": {}}, True),
        ("len(old($))", {"a": 1}, {"a": 1, "b": 2}, 2),
        ("not (old($.a) or old($.b))", {}, {"a": False, "b": False}, True),
        ("added($.a)", {"a": [1, 2, 2, 3]}, {"a": [3, 2]}, [1, 2]),
        ("deleted($.a)", {"a": [3]}, {"a": [1, 3, 1]}, [1, 1]),
        ("added($.a)", {"a": {"x": 1, "y": 2}}, {"a": {"x": 0}}, {"x": 1, "y": 2}),
        ("deleted($.a)", {"a": {"x": 1}}, {"a": {"x": 0, "z": 3}}, {"x": 0, "z": 3}),
        ("added($.a.toSet())", {"a": [1, 2]}, {"a": [2]}, [1]),
        ("added($.a)", {"a": "x"}, {"a": "y"}, "x"),
        ("added($.a)", {"a": "x"}, {"a": "x"}, None),
        ("$.uid in added($.nodes).uid", {"uid": "2", "nodes": [{"uid": "1"}, {"uid": "2"}]}, {"nodes": [{"uid": "1"}]}, True),
        ("$.uid in added($.nodes).uid", {"uid": "1", "nodes": [{"uid": "1"}, {"uid": "2"}]}, {"nodes": [{"uid": "1"}]}, False),
        ("let(k => a) -> changed($.get($k))", {"a": 1}, {"a": 2}, True),
        ("let(k => b) -> changed($.get($k))", {"a": 1, "b": 1}, {"a": 2, "b": 1}, False),
        ("let(k => a) -> [new($.get($k)), old($.get($k))]", {"a": 1}, {"a": 2}, [1, 2]),
        ("[a, b].where(changed($.get($)))", {"a": 1, "b": 1}, {"a": 1, "b": 2}, []),  # $ is the data there
        ("$.list.where($ = old($.x))", {"list": [1, 2], "x": 1}, {"x": 2}, [2]),
    ],
)  # fmt: skip
def test_comparison_is_with_the_data_of_the_last_success(
    expression: str, new: dict[str, Any], old: dict[str, Any], value: Any
) -> None:
    assert evaluate(expression, new, old) == value


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("changed($.a)", True),
        ("changed($.get('absent'))", True),
        ("changedAny($.a)", True),
        ("changedAll($.a, $.get('b'))", True),
        ("added($.a)", [1, 2]),
        ("coalesce(deleted($.a), [])", []),
        ("old($.a)", None),
        ("old($)", {}),
        ("let(k => a) -> changed($.get($k))", True),
        ("let(k => a) -> [added($.get($k)), deleted($.get($k))]", [[1, 2], None]),
    ],
)
def test_without_a_success_before_everything_has_changed(expression: str, value: Any) -> None:
    assert evaluate(expression, {"a": [1, 2]}) == value


def test_old_data_is_that_of_the_node_over_what_was_common_then() -> None:
    others = {"common": {"a": 1, "b": 1}, "old_common": {"a": 1, "b": 2}}
    assert evaluate("[changed($.a), changed($.b), changed($.c)]", {"c": 1}, {"c": 1}, **others) == [False, True, False]
    assert evaluate("changed($common.b)", {}, {}, **others) is False  # a variable is the same on both sides


@pytest.mark.parametrize("value", [[], {}, "", 0, None, False])
def test_condition_with_an_empty_value_is_false(value: Any) -> None:
    assert evaluate("$.a", {"a": value}, is_condition=True) is False


@pytest.mark.parametrize("value", [[0], {"a": 0}, "x", 1, True])
def test_condition_with_a_value_is_true(value: Any) -> None:
    assert evaluate("$.a", {"a": value}, is_condition=True) is True


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("$.a and", "it ends too early"),
        ("$.a = = 1", "'=' is not expected at character 7"),
        ("$.a ~ 1", "'~' is not expected at character 5"),
        ("'open", '"\'" is not expected at character 1'),
        ("changedany($.a)", "there is no function changedany; did you mean changedAny?"),
        ("$.a.wehre($)", "there is no function wehre; did you mean where?"),
        ("$commn.a", "there is no variable $commn; did you mean $common?"),
        ("now()", "there is no function now"),
        ("random()", "there is no function random"),
        ("call(len, [[]], {})", "there is no function call"),
        ("def(f, 1) -> f()", "there is no function"),
        ("", "it ends too early"),
    ],
)
def test_expression_that_cannot_be_read_is_refused(expression: str, text: str) -> None:
    assert text in reason(expression, {"a": 1})


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("$.absent", "there is no key 'absent'"),
        ("$.a.b", "what has no keys is asked for the key 'b'"),
        ("$.a.__class__", "is not expected"),
        ("$.a.values()", 'No method "values"'),
        ("$.a / 0", "division"),
        ("int($.text)", "invalid literal"),
        ("changed($.absent)", "there is no key 'absent'"),
        ("[1].assert(false, 'no way')", "no way"),
        ("regex('a')", "is not plain data"),
        ("{1 => 2}", "the key 1 of a mapping is not a text"),
        ("with(1)", "is not plain data"),
        ("$.text.matches('(')", "unterminated subpattern"),
    ],
)
def test_expression_without_a_value_says_why(expression: str, text: str) -> None:
    assert text in reason(expression, {"a": 1, "text": "x"})


def test_reason_does_not_repeat_the_data() -> None:
    assert "hunter2" not in reason("$.a.values().values()", {"a": {"password": "hunter2"}})
    assert "hunter2" not in reason("$.a.matches('x')", {"a": {"password": "hunter2"}})
    assert "hunter2" not in reason("$.a + 1", {"a": {"password": "hunter2"}})


@pytest.mark.parametrize(
    ("expression", "limit"),
    [
        ("range(1000000).toList()", "items"),
        ("[1].cycle().toList()", "items"),
        ("[[1].cycle()]", "items"),
        ("1.repeat()", "items"),
        ("'x' * 100000000", "memory"),
        ("[1] * 100000000", "memory"),
        ("'x' * 2000000", "size"),
        ("not " * 3000 + "true", "depth"),
        ("changed(range(1000000))", "items"),
        ("old(range(1000000))", "items"),  # a limit is no missing value
    ],
)
def test_expression_beyond_a_limit_is_stopped(expression: str, limit: str) -> None:
    assert ask(expression, {}) == Exceeded(limit)  # type: ignore[arg-type]


def test_expression_that_is_not_evaluated_is_still_read() -> None:
    from precast.services.plans.evaluation.batches import Batch, Question
    from tests.unit.services.plans.evaluation.evaluating import reply_to

    good, bad = reply_to(Batch([Question("t", "condition", "$.a.b"), Question("t", "condition", "$.a.")]))
    assert not isinstance(good, Invalid)
    assert isinstance(bad, Invalid)
