"""A trace is all that a catalog depends on: where each of its questions has the same answer, the catalog is the same.

Of a data file only its presence counts, and the keys that were read; so whatever else is changed in it compiles nothing.
"""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from precast.base.spans import Source
from precast.lang.answers import FileStore, NodeAnswers, NodeData, TextTree
from precast.lang.compile import CompileFailure, compile_catalog
from precast.lang.inputs import ABSENT, DataFile, Inputs, Read
from precast.lang.settings import Settings

HIERA = """\
version: 5
hierarchy:
  - {name: node, path: "nodes/%{trusted.certname}.yaml"}
  - {name: os, path: "os/%{facts.os.family}.yaml"}
  - {name: extra, glob: "extra/*.yaml"}
  - {name: common, path: common.yaml}
"""
CODE = """\
class app($port = 1, $hosts = [], $name_of = 'x') { notify { 'app': message => [$port, $hosts, $name_of] } }
include app
notify { 'b': message => lookup('tree', {default_value => 'none', merge => 'deep'}) }
"""
PLACES = ("data/nodes/n1.yaml", "data/nodes/n2.yaml", "data/os/Debian.yaml", "data/extra/1.yaml", "data/common.yaml")
values = st.sampled_from(
    (
        "80",
        "[a]",
        "[a, b]",
        "{x: 1}",
        "{x: 1, y: [1]}",
        "{y: [1], x: 1}",
        "~",
        "'%{facts.networking.fqdn}'",
        "\"%{lookup('unread')}\"",
    )
)
keys = st.sampled_from(("app::port", "app::hosts", "app::name_of", "tree", "unread", "other"))
options = st.sampled_from(
    ("", "lookup_options: {app::hosts: {merge: unique}}\n", "lookup_options: {unread: {merge: unique}}\n", "[broken\n")
)
texts = st.builds(
    lambda entries, more: "".join(f"{key}: {value}\n" for key, value in entries.items()) + more,
    st.dictionaries(keys, values, max_size=4),
    options,
)
trees = st.dictionaries(st.sampled_from(PLACES), texts, max_size=4)


def answers(node: str, files: dict[str, str]) -> NodeAnswers:
    facts = {"os": {"family": "Debian"}, "networking": {"fqdn": f"{node}.example.com"}}
    return NodeAnswers(NodeData.local(node, facts), FileStore(TextTree({"hiera.yaml": HIERA, **files})))


def outcome(given_answers: NodeAnswers) -> tuple[str, tuple[Read, ...]]:
    inputs = Inputs(given_answers)
    try:
        result = compile_catalog(inputs, Settings(), Source("site.pp", CODE))
    except CompileFailure as failure:
        return failure.error.code, inputs.trace
    return result.body.digest(), inputs.trace


def holds(trace: tuple[Read, ...], others: NodeAnswers) -> bool:
    """Whether a trace tells the truth of other inputs too, a data file by its presence alone."""

    def agrees(read: Read) -> bool:
        answer: Any = others.answer(read.question)
        if isinstance(read.question, DataFile):
            return (answer is ABSENT) == (read.answer is ABSENT)
        return bool(answer == read.answer)

    return all(map(agrees, trace))


@given(trees, trees, st.sampled_from(("n1", "n2")))
@settings(max_examples=300)
def test_inputs_that_answer_alike_have_the_same_catalog(one: dict[str, str], two: dict[str, str], node: str) -> None:
    first, trace = outcome(answers("n1", one))
    others = answers(node, two)
    if holds(trace, others):
        assert outcome(others)[0] == first


@given(trees, st.sampled_from(PLACES))
@settings(max_examples=150)
def test_a_key_nobody_reads_changes_no_answer(files: dict[str, str], place: str) -> None:
    if place not in files or "[broken" in files[place]:
        return
    _, trace = outcome(answers("n1", files))
    assert holds(trace, answers("n1", {**files, place: files[place] + "nobody::reads: this\n"}))
