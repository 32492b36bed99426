"""A catalog depends only on its trace: if all its questions have the same answers, the catalog is the same.

For a data file only its presence and the keys that were read count, so any other change to it causes no compile.
"""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from precast.base.spans import Source
from precast.lang.compile import CompileFailure, compile_catalog
from precast.lang.file_trees import FileStore, TextTree
from precast.lang.inputs import ABSENT, DataFile, Inputs, Read
from precast.lang.node_answers import NodeAnswers, NodeData
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
PATHS = ("data/nodes/n1.yaml", "data/nodes/n2.yaml", "data/os/Debian.yaml", "data/extra/1.yaml", "data/common.yaml")
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
trees = st.dictionaries(st.sampled_from(PATHS), texts, max_size=4)


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
    """Whether other inputs give the same answers; for a data file only its presence counts."""

    def agrees(read: Read) -> bool:
        answer: Any = others.answer(read.question)
        if isinstance(read.question, DataFile):
            return (answer is ABSENT) == (read.answer is ABSENT)
        return bool(answer == read.answer)

    return all(map(agrees, trace))


@given(trees, trees, st.sampled_from(("n1", "n2")))
@settings(max_examples=300)
def test_inputs_with_equal_answers_have_the_same_catalog(
    first_files: dict[str, str], second_files: dict[str, str], node: str
) -> None:
    first, trace = outcome(answers("n1", first_files))
    others = answers(node, second_files)
    if holds(trace, others):
        assert outcome(others)[0] == first


@given(trees, st.sampled_from(PATHS))
@settings(max_examples=150)
def test_unread_key_changes_no_answer(files: dict[str, str], path: str) -> None:
    if path not in files or "[broken" in files[path]:
        return
    _, trace = outcome(answers("n1", files))
    assert holds(trace, answers("n1", {**files, path: files[path] + "nobody::reads: this\n"}))
