"""A call that reads below a fact asks only for the path it reads."""

import pytest

from precast.base.spans import Source
from precast.lang.compile import CompileFailure, evaluate
from precast.lang.file_trees import FileStore, TextTree
from precast.lang.inputs import FactKind, FactPath, Inputs, TrustedKind, TrustedPath
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.settings import Settings

FACTS = {"os": {"name": "Debian", "release": {"major": "12"}}, "networking": {"fqdn": "a.example.com"}}


def asked(code: str) -> tuple[object, list[object]]:
    """The value of the code, and the paths of the facts it asked for."""
    inputs = Inputs(NodeAnswers(NodeData.local("a.example.com", FACTS), FileStore(TextTree({}))))
    value = evaluate(Source("code", code), inputs, Settings()).value
    kinds = (FactPath, FactKind, TrustedPath, TrustedKind)
    return value, [read.question.path for read in inputs.trace if isinstance(read.question, kinds)]


@pytest.mark.parametrize(
    ("code", "value", "paths"),
    [
        ("$facts.dig('os', 'name')", "Debian", [("os", "name")]),
        ("dig($facts, 'os', 'release', 'major')", "12", [("os", "release", "major")]),
        ("get($facts, 'os.release.major')", "12", [("os", "release", "major")]),
        ("getvar('facts.os.name')", "Debian", [("os", "name")]),
        ("$facts['os'].dig('release', 'major')", "12", [("os", "release", "major")]),
        ("$os.dig('name')", "Debian", [("os", "name")]),
        ("get($facts, 'os.nope', 'other')", "other", [("os", "nope"), ("os",)]),
        ("$facts.dig('nope', 'x')", None, [("nope", "x"), ("nope",)]),
        ("$facts['nope'].dig('x')", None, [("nope", "x"), ("nope",)]),
    ],
)
def test_only_the_path_is_asked_for(code: str, value: object, paths: list[object]) -> None:
    assert asked(code) == (value, paths)


def test_assigned_variable_is_not_a_fact() -> None:
    value, paths = asked("$x = {'a' => {'b' => 1}} $x.dig('a', 'b')")
    assert (value, paths) == (1, [])


def test_wrong_path_is_refused_at_the_call() -> None:
    with pytest.raises(CompileFailure) as caught:
        asked("notice(1)\nget($facts, 'os..name')")
    error = caught.value.error
    assert error.code == "LANG-418"
    assert error.span is not None
    assert error.span.start == 10
