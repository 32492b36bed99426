"""Functions with unknown values: they pass them on, defer the call, ask for the value, or refuse."""

import pytest

from precast.base.spans import Source
from precast.lang.compile import CompileFailure, evaluate
from precast.lang.file_trees import FileStore, TextTree
from precast.lang.inputs import FactPath, Inputs
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.settings import Settings
from precast.lang.values.base import to_string

FACTS = {"fqdn": "web1.example.com"}


def inputs() -> Inputs:
    return Inputs(NodeAnswers(NodeData.local("web1.example.com", FACTS), FileStore(TextTree({}))))


def shown(code: str) -> str:
    """Return the value as text, with unknown values in angle brackets."""
    return to_string(evaluate(Source("code", code), inputs(), Settings()).value)


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("[future('k')].map |$x| { [$x] }", "[[<future k>]]"),
        ("{a => future('k')}.filter |$k, $v| { $k == 'a' }", "{a => <future k>}"),
        ("with(future('k')) |$x| { $x }", "<future k>"),
        ("{a => {b => future('k')}}.dig('a', 'b')", "<future k>"),
        ("flatten([future('k')], $fqdn)", "[<future k>, <facts.fqdn>]"),
        ("join(['a', future('k'), $fqdn], '-')", "a-<future k>-<facts.fqdn>"),
        ("join(futures('k'), ',')", "<join(<futures k>, ,)>"),
        ("upcase(future('k'))", "<upcase(<future k>)>"),
        ("sprintf('%s!', [future('k')])", "<sprintf(%s!, [<future k>])>"),
        ("unwrap(future('k'))", "<unwrap(<future k>)>"),
        ("unwrap(Sensitive(future('k')))", "<unwrap(Sensitive [value redacted])>"),
        ("[1].filter |$x| { $fqdn }", "[1]"),
        ("upcase($fqdn)", "WEB1.EXAMPLE.COM"),
        ("length([future('k'), 1])", "2"),
    ],
)
def test_value_stays_unknown_or_is_deferred(code: str, value: str) -> None:
    assert shown(code) == value


@pytest.mark.parametrize(
    "code",
    [
        "length(future('k'))",
        "sort([future('k'), 1])",
        "future('k').each |$x| { }",
        "[1].filter |$x| { future('k') }",
        "[1].all |$x| { future('k') }",
        "[1].group_by |$x| { future('k') }",
        "include(future('k'))",
        "abs(future('k'))",
    ],
)
def test_future_that_is_needed_now_is_refused_with_a_hint(code: str) -> None:
    with pytest.raises(CompileFailure) as caught:
        shown(code)
    assert caught.value.error.code == "LANG-636"
    assert caught.value.error.hint
    assert caught.value.error.span is not None


@pytest.mark.parametrize(
    ("code", "asked"), [("upcase($fqdn)", True), ("join([$fqdn], ',')", False), ("[1].any |$x| { $fqdn }", False)]
)
def test_hole_becomes_a_question_only_where_its_text_is_needed(code: str, asked: bool) -> None:
    given = inputs()
    evaluate(Source("code", code), given, Settings())
    assert (FactPath(("fqdn",)) in [read.question for read in given.trace]) == asked
