"""The trace of a lookup: the digest or absence of files, and the keys read from them, nothing else."""

import contextlib
from typing import Any

import pytest

from precast.base.spans import Source
from precast.lang.compile import CompileFailure, CompileResult, compile_catalog
from precast.lang.inputs import ABSENT, DataFile, DataKey, FactPath, FileDigest, Inputs, Question, TrustedPath
from precast.lang.settings import Settings
from tests.unit.lang.small_manifests import compiled, inputs

HIERA = """\
version: 5
hierarchy:
  - {name: node, path: "nodes/%{trusted.certname}.yaml"}
  - {name: os, path: "os/%{facts.os.family}.yaml"}
  - {name: common, path: common.yaml}
"""
COMMON = 'port: 80\nname: "I am %{facts.networking.fqdn}"\nother: 1\nh: {a: 1, b: 2}\n'
CODE = "notify { 'x': message => \"${lookup('port')} ${lookup('name')}\" }"
OWN = ("data/nodes/", ("trusted", "certname"), ".yaml")


def compile_lookups(node: str, own: str | None = None, common: str = COMMON, code: str = CODE) -> CompileResult:
    files = {"hiera.yaml": HIERA, "data/common.yaml": common}
    if own is not None:
        files[f"data/nodes/{node}.yaml"] = own
    return compiled(code, files, node=node)


def answers(result: CompileResult, kind: type[Question]) -> dict[Question, Any]:
    return {read.question: read.answer for read in result.trace if isinstance(read.question, kind)}


def test_nodes_without_files_of_their_own_share_trace_and_catalog() -> None:
    first, second = compile_lookups("web1.example.com"), compile_lookups("web2.example.com")
    assert first.trace == second.trace
    assert first.body.digest() == second.body.digest()
    assert answers(first, DataFile)[DataFile(OWN)] is ABSENT
    assert not any(read.question == TrustedPath(("certname",)) for read in first.trace)


def test_nodes_with_equal_files_of_their_own_share_trace_and_catalog() -> None:
    first, second = (
        compile_lookups("web1.example.com", "port: 8080\n"),
        compile_lookups("web2.example.com", "port: 8080\n"),
    )
    assert first.trace == second.trace
    assert first.body.digest() == second.body.digest() != compile_lookups("web3.example.com").body.digest()


def test_nodes_whose_files_differ_in_unread_keys_differ_only_in_the_file_digest() -> None:
    first, second = (
        compile_lookups("web1.example.com", "port: 1\nx: 1\n"),
        compile_lookups("web2.example.com", "port: 1\nx: 2\n"),
    )
    assert answers(first, DataKey) == answers(second, DataKey)
    assert answers(first, DataFile) != answers(second, DataFile)
    assert first.body.digest() == second.body.digest()


def test_any_fact_in_a_path_stays_a_hole() -> None:
    result = compile_lookups("web1.example.com")
    assert DataFile(("data/os/", ("facts", "os", "family"), ".yaml")) in answers(result, DataFile)
    assert FactPath(("os", "family")) not in answers(result, FactPath)


def test_only_keys_that_were_looked_up_are_asked_for() -> None:
    keys = {
        question.key
        for question in answers(compile_lookups("web1.example.com"), DataKey)
        if isinstance(question, DataKey)
    }
    assert keys == {"port", "name", "lookup_options"}


def test_order_inside_a_value_is_part_of_its_answer() -> None:
    question = DataKey(("data/common.yaml",), "h", "yaml_data")
    code = "notify { 'x': message => lookup('h') }"
    original = compile_lookups("web1.example.com", code=code)
    reordered = compile_lookups("web1.example.com", common=COMMON.replace("{a: 1, b: 2}", "{b: 2, a: 1}"), code=code)
    assert answers(original, DataKey)[question] != answers(reordered, DataKey)[question]


def test_absence_of_hiera_yaml_is_traced_for_environment_and_modules() -> None:
    files = {"modules/m/manifests/init.pp": "class m($a = 1) { }"}
    digests = answers(compiled("include m", files), FileDigest)
    assert digests[FileDigest("hiera.yaml")] is ABSENT
    assert digests[FileDigest("modules/m/hiera.yaml")] is ABSENT


@pytest.mark.parametrize("text", ["port: [1\n", "- port\n", "port: 2020-01-01\n", "\x01", "port: &a [*a]\n"])
@pytest.mark.parametrize("path", ["data/common.yaml", "modules/m/data/common.yaml"])
def test_broken_file_answers_every_key_with_its_own_digest(text: str, path: str) -> None:
    files = {
        "hiera.yaml": HIERA,
        "data/common.yaml": "{}",
        "modules/m/manifests/init.pp": "class m($port = 1) { }",
        "modules/m/hiera.yaml": "version: 5\n",
        "modules/m/data/common.yaml": "{}",
        path: text,
    }
    given = inputs(files)
    trace = _trace_of(given, "include m\n$x = lookup('port', {default_value => 1})")
    open_path = (path,)
    assert any(read[0] == DataFile(open_path) and read[1] is not ABSENT for read in trace)
    answered = [answer for question, answer in trace if isinstance(question, DataKey) and question.path == open_path]
    assert answered
    assert all(answer.startswith("broken:") for answer in answered)


def _trace_of(given: Inputs, code: str) -> list[tuple[Question, Any]]:
    with contextlib.suppress(CompileFailure):
        compile_catalog(given, Settings(), Source("site.pp", code))
    return [(read.question, read.answer) for read in given.trace]


def test_every_data_file_that_is_read_has_a_key_question() -> None:
    """Also for options, default hierarchies, JSON and encrypted files: a file counts as changed only if a key that was read changed."""
    files = {
        "hiera.yaml": (
            "version: 5\nhierarchy:\n  - {name: a, path: a.yaml}\n  - {name: j, path: j.json, data_hash: json_data}\n"
            "  - {name: e, path: e.yaml, lookup_key: eyaml_lookup_key}\n  - {name: g, glob: 'g/*.yaml'}\n"
        ),
        "data/a.yaml": "lookup_options: {m::x: {merge: unique}}\n",
        "data/j.json": '{"j": 1}',
        "data/e.yaml": "e: plain\n",
        "data/g/1.yaml": "g: 1\n",
        "modules/m/manifests/init.pp": "class m($x, $d) { }",
        "modules/m/hiera.yaml": "version: 5\ndefault_hierarchy: [{name: d, path: d.yaml}]\n",
        "modules/m/data/common.yaml": "m::x: [1]\n",
        "modules/m/data/d.yaml": "m::d: 1\n",
    }
    result = compiled("include m\n$v = [lookup('j'), lookup('e'), lookup('g')]", files)
    present = {
        read.question.path for read in result.trace if isinstance(read.question, DataFile) and read.answer is not ABSENT
    }
    keyed = {read.question.path for read in result.trace if isinstance(read.question, DataKey)}
    assert len(present) == 6
    assert present == keyed


def test_lookup_in_a_warm_process_asks_what_a_fresh_one_asks() -> None:
    assert compile_lookups("web1.example.com").trace == compile_lookups("web1.example.com").trace


def test_identity_fact_in_data_stays_a_hole_in_the_catalog() -> None:
    message = compile_lookups("web1.example.com").body.resources[-1].parameters["message"]
    assert message == {
        "__ptype": "Precast::Text",
        "__pvalue": ["80 I am ", {"__ptype": "Precast::Hole", "__pvalue": ["facts", "networking", "fqdn"]}],
    }


def test_empty_file_is_warned_about_and_counts_as_one_without_keys() -> None:
    first, second = compile_lookups("web1.example.com", "---\n"), compile_lookups("web2.example.com", "x: 1\n")
    assert answers(first, DataKey) == answers(second, DataKey)
    assert first.body.digest() == second.body.digest()
    assert not any(read.question == TrustedPath(("certname",)) for read in first.trace)
    assert str(first.logs[0].message) == "/data/nodes/<trusted.certname>.yaml: file does not contain a valid yaml hash"


@pytest.mark.parametrize(
    ("kernel", "wanted"), [("../common", "80 "), ("./Linux", "1 "), ("../../../secret", "80 "), ("/../Linux", "80 ")]
)
def test_fact_with_dots_and_slashes_does_not_leave_the_environment(kernel: str, wanted: str) -> None:
    """The path leads to the same file inside the environment as in Puppet, and never out of it."""
    files = {
        "hiera.yaml": HIERA.replace("os/%{facts.os.family}", "kernels/%{facts.kernel}"),
        "data/common.yaml": COMMON,
        "data/kernels/Linux.yaml": "port: 1\n",
        "../secret.yaml": "port: 2\n",
    }
    facts = {"kernel": kernel, "networking": {"fqdn": "n"}}
    result = compiled("notify { 'x': message => \"${lookup('port')} \" }", files, facts=facts)
    assert result.body.resources[-1].parameters["message"] == wanted
