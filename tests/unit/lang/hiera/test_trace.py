"""What a look-up leaves in the trace: the digest or absence of files, and the keys read from them, never more."""

import contextlib
from typing import Any

import pytest

from precast.base.spans import Source
from precast.lang.compile import CompileFailure, CompileResult, compile_catalog
from precast.lang.inputs import ABSENT, DataFile, DataKey, FactPath, FileDigest, Inputs, Question, TrustedPath
from precast.lang.settings import Settings
from tests.unit.lang.compiling import compiled, inputs

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


def looked_up(node: str, own: str | None = None, common: str = COMMON, code: str = CODE) -> CompileResult:
    files = {"hiera.yaml": HIERA, "data/common.yaml": common}
    if own is not None:
        files[f"data/nodes/{node}.yaml"] = own
    return compiled(code, files, node=node)


def answers(result: CompileResult, kind: type[Question]) -> dict[Question, Any]:
    return {read.question: read.answer for read in result.trace if isinstance(read.question, kind)}


def test_nodes_without_files_of_their_own_share_trace_and_catalog() -> None:
    one, two = looked_up("web1.example.com"), looked_up("web2.example.com")
    assert one.trace == two.trace
    assert one.body.digest() == two.body.digest()
    assert answers(one, DataFile)[DataFile(OWN)] is ABSENT
    assert not any(read.question == TrustedPath(("certname",)) for read in one.trace)


def test_nodes_with_equal_files_of_their_own_share_trace_and_catalog() -> None:
    one, two = looked_up("web1.example.com", "port: 8080\n"), looked_up("web2.example.com", "port: 8080\n")
    assert one.trace == two.trace
    assert one.body.digest() == two.body.digest() != looked_up("web3.example.com").body.digest()


def test_nodes_whose_files_differ_in_keys_nobody_reads_differ_only_in_the_file() -> None:
    one, two = looked_up("web1.example.com", "port: 1\nx: 1\n"), looked_up("web2.example.com", "port: 1\nx: 2\n")
    assert answers(one, DataKey) == answers(two, DataKey)
    assert answers(one, DataFile) != answers(two, DataFile)
    assert one.body.digest() == two.body.digest()


def test_fact_in_a_path_stays_open_whichever_it_is() -> None:
    result = looked_up("web1.example.com")
    assert DataFile(("data/os/", ("facts", "os", "family"), ".yaml")) in answers(result, DataFile)
    assert FactPath(("os", "family")) not in answers(result, FactPath)


def test_only_keys_that_were_looked_up_are_asked_for() -> None:
    keys = {
        question.key for question in answers(looked_up("web1.example.com"), DataKey) if isinstance(question, DataKey)
    }
    assert keys == {"port", "name", "lookup_options"}


def test_order_inside_a_value_is_part_of_its_answer() -> None:
    question = DataKey(("data/common.yaml",), "h", "yaml_data")
    code = "notify { 'x': message => lookup('h') }"
    there = looked_up("web1.example.com", code=code)
    turned = looked_up("web1.example.com", common=COMMON.replace("{a: 1, b: 2}", "{b: 2, a: 1}"), code=code)
    assert answers(there, DataKey)[question] != answers(turned, DataKey)[question]


def test_absence_of_hiera_yaml_is_traced_for_environment_and_modules() -> None:
    files = {"modules/m/manifests/init.pp": "class m($a = 1) { }"}
    found = answers(compiled("include m", files), FileDigest)
    assert found[FileDigest("hiera.yaml")] is ABSENT
    assert found[FileDigest("modules/m/hiera.yaml")] is ABSENT


@pytest.mark.parametrize("text", ["port: [1\n", "- port\n", "port: 2020-01-01\n", "\x01", "port: &a [*a]\n"])
@pytest.mark.parametrize("place", ["data/common.yaml", "modules/m/data/common.yaml"])
def test_a_broken_file_answers_each_key_otherwise_than_any_good_one(text: str, place: str) -> None:
    files = {
        "hiera.yaml": HIERA,
        "data/common.yaml": "{}",
        "modules/m/manifests/init.pp": "class m($port = 1) { }",
        "modules/m/hiera.yaml": "version: 5\n",
        "modules/m/data/common.yaml": "{}",
        place: text,
    }
    given = inputs(files)
    trace = _trace_of(given, "include m\n$x = lookup('port', {default_value => 1})")
    path = (place,)
    assert any(read[0] == DataFile(path) and read[1] is not ABSENT for read in trace)
    told = [answer for question, answer in trace if isinstance(question, DataKey) and question.path == path]
    assert told
    assert all(answer.startswith("broken:") for answer in told)


def _trace_of(given: Inputs, code: str) -> list[tuple[Question, Any]]:
    with contextlib.suppress(CompileFailure):
        compile_catalog(given, Settings(), Source("site.pp", code))
    return [(read.question, read.answer) for read in given.trace]


def test_whatever_is_taken_from_a_file_follows_a_key_of_it() -> None:
    """Also for options, default hierarchies, JSON and encrypted files: whether a file changed is judged by its keys alone."""
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


def test_a_warm_process_asks_what_a_fresh_one_asks() -> None:
    assert looked_up("web1.example.com").trace == looked_up("web1.example.com").trace


def test_an_identity_fact_in_data_stays_open_in_the_catalog() -> None:
    message = looked_up("web1.example.com").body.resources[-1].parameters["message"]
    assert message == {
        "__ptype": "Precast::Text",
        "__pvalue": ["80 I am ", {"__ptype": "Precast::Hole", "__pvalue": ["facts", "networking", "fqdn"]}],
    }


def test_an_empty_file_is_told_of_and_counts_as_one_without_keys() -> None:
    one, two = looked_up("web1.example.com", "---\n"), looked_up("web2.example.com", "x: 1\n")
    assert answers(one, DataKey) == answers(two, DataKey)
    assert one.body.digest() == two.body.digest()
    assert not any(read.question == TrustedPath(("certname",)) for read in one.trace)
    assert str(one.logs[0].message) == "/data/nodes/<trusted.certname>.yaml: file does not contain a valid yaml hash"


@pytest.mark.parametrize(
    ("kernel", "wanted"), [("../common", "80 "), ("./Linux", "1 "), ("../../../secret", "80 "), ("/../Linux", "80 ")]
)
def test_a_fact_with_dots_and_slashes_leads_nowhere_else(kernel: str, wanted: str) -> None:
    """To where its path leads inside the environment, as in Puppet; never out of it."""
    files = {
        "hiera.yaml": HIERA.replace("os/%{facts.os.family}", "kernels/%{facts.kernel}"),
        "data/common.yaml": COMMON,
        "data/kernels/Linux.yaml": "port: 1\n",
        "../secret.yaml": "port: 2\n",
    }
    facts = {"kernel": kernel, "networking": {"fqdn": "n"}}
    result = compiled("notify { 'x': message => \"${lookup('port')} \" }", files, facts=facts)
    assert result.body.resources[-1].parameters["message"] == wanted
