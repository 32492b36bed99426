"""Secrets that a fact has chosen, and Sensitive values whose text is in the clear: a warning, or an error by policy."""

from typing import Any

import pytest

from precast.base.spans import Source
from precast.lang.compile import CompileFailure, CompileResult, compile_catalog
from precast.lang.file_trees import FileStore, TextTree
from precast.lang.inputs import ABSENT, Answer, Inputs, SecretPolicy
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.settings import Settings

FACTS = {
    "role": "db",
    "site": "north",
    "networking": {"fqdn": "a.example.org"},
    "fqdn": "a.example.org",
    "list": ["db"],
}


class Everything:
    """A source that has every document and field."""

    def __init__(self, policy: str = "warn") -> None:
        self._policy = policy

    def document(self, source: str, path: str) -> Answer:
        return True

    def answer(self, source: str, path: str, field: str) -> Answer:
        return ABSENT if field in ("plain", "a::p") else "an hmac"

    def value(self, source: str, path: str, field: str) -> Any:
        return "hunter2" if field else {"a": "hunter2"}

    def policy(self) -> str:
        return self._policy


def hiera(path: str, options: str = "{source: vault}") -> str:
    return (
        f"version: 5\nhierarchy:\n  - {{name: s, lookup_key: precast::secrets, path: '{path}', options: {options}}}\n"
    )


def compiled(code: str, files: dict[str, str] | None = None, policy: str = "warn") -> CompileResult:
    node = NodeData(
        "n.example.org", FACTS, {"certname": "n.example.org", "extensions": {"pp_role": "db"}}, {}, {"tier": "x"}
    )
    answers = NodeAnswers(node, FileStore(TextTree(files or {})), secrets=Everything(policy))
    return compile_catalog(Inputs(answers), Settings(), Source("manifests/site.pp", code))


def problems(code: str, files: dict[str, str] | None = None) -> list[str]:
    return [f"{problem.code} {problem.text}" for problem in compiled(code, files).problems]


CHOSEN = [
    "notice(precast::secret('v', \"app/${facts['role']}\", 'x'))",
    "notice(precast::secret('v', \"app/${::role}\", 'x'))",
    "notice(precast::secret('v', \"app/${role}\", 'x'))",
    "notice(precast::secret('v', 'app', $facts['role']))",
    "$r = $facts['role']\nnotice(precast::secret('v', \"app/${r}\", 'x'))",
    "$r = $facts['role'] ? { 'db' => 'a', default => 'b' }\n$p = \"app/${r}\"\nnotice(precast::secret('v', $p))",
    "class a($p = \"app/${facts['role']}\") { notice(precast::secret('v', $p)) } include a",
    "class a { $p = \"app/${facts['role']}\" } include a\nnotice(precast::secret('v', $a::p))",
    "notice(precast::secret('v', \"app/${facts['networking']['fqdn']}\", 'x'))",
    "notice(lookup(\"db_${facts['role']}\"))",
    "$x = [1].map |$i| { lookup(\"db_${facts['role']}\") }",
]
NOT_CHOSEN = [
    "notice(precast::secret('v', \"app/${trusted['extensions']['pp_role']}\", 'x'))",
    "notice(precast::secret('v', \"app/${trusted['certname']}\", 'x'))",
    "notice(precast::secret('v', \"app/${tier}\", 'x'))",
    "notice(precast::secret('v', \"app/${server_facts['environment']}\", 'x'))",
    "$r = 'db'\nnotice(precast::secret('v', \"app/${r}\", 'x'))",
    "notice(lookup(\"plain\", Any, first, $facts['role']))",
    "notice($facts['role'])\nnotice(precast::secret('v', 'app', 'x'))",
]


@pytest.mark.parametrize("code", CHOSEN)
def test_fact_in_an_argument_is_a_warning(code: str) -> None:
    (problem,) = problems(code, {"hiera.yaml": hiera("common")})
    assert problem.startswith("SECRET-033 the fact ")
    assert "hunter2" not in problem


@pytest.mark.parametrize("code", NOT_CHOSEN)
def test_trusted_data_classification_and_plain_code_are_fine(code: str) -> None:
    assert problems(code, {"hiera.yaml": hiera("common")}) == []


@pytest.mark.parametrize(
    ("path", "options", "fact"),
    [
        ("app/%{facts.role}", "{source: vault}", "facts"),
        ("app/%{::role}", "{source: vault}", "role"),
        ("app/%{role}", "{source: vault}", "role"),
        ("app/%{facts.networking.fqdn}", "{source: vault}", "facts"),
        ("app/%{chosen}", "{source: vault}", "facts"),
        ("app", '{source: "%{facts.role}"}', "facts"),
        ("app/%{trusted.certname}", "{source: vault}", ""),
        ("app/%{trusted.extensions.pp_role}", "{source: vault}", ""),
        ("app/%{tier}", "{source: vault}", ""),
        ("app/%{fixed}", "{source: vault}", ""),
    ],
)
def test_fact_in_the_path_of_a_level_is_a_warning(path: str, options: str, fact: str) -> None:
    code = "$chosen = $facts['role']\n$fixed = 'x'\nnotice(lookup('token'))"
    found = problems(code, {"hiera.yaml": hiera(path, options)})
    what = "chooses a secret: the level 's' of the hierarchy, for the key 'token'"
    assert found == ([f"SECRET-033 the fact {fact}, which the node itself sends, {what}"] if fact else [])


def test_hiera_vault_and_mapped_paths_are_followed_too() -> None:
    vault = (
        "version: 5\nhierarchy:\n  - {name: s, lookup_key: hiera_vault, options: {mounts: {kv: ['%{facts.role}']}}}\n"
    )
    assert len(problems("notice(lookup('token'))", {"hiera.yaml": vault})) == 1
    mapped = "version: 5\nhierarchy:\n  - {name: s, mapped_paths: [facts.list, r, '%{r}.yaml']}\n"
    data = "token: t\nlookup_options: {token: {convert_to: Sensitive}}\n"
    found = problems("notice(lookup('token'))", {"hiera.yaml": mapped, "data/db.yaml": data})
    assert [text[:10] for text in found] == ["SECRET-034", "SECRET-033"]


def test_plain_data_behind_a_fact_is_fine() -> None:
    files = {
        "hiera.yaml": "version: 5\nhierarchy:\n  - {name: s, path: '%{facts.role}.yaml'}\n",
        "data/db.yaml": "a: b\n",
    }
    assert problems("notice(lookup('a'))", files) == []


def test_sensitive_from_a_data_file_in_the_clear_is_a_warning() -> None:
    data = "token: hunter2\nother: x\nlookup_options: {token: {convert_to: Sensitive}}\n"
    files = {"hiera.yaml": "version: 5\nhierarchy:\n  - {name: s, path: common.yaml}\n", "data/common.yaml": data}
    found = problems("notice(lookup('token'))\nnotice(lookup('token'))\nnotice(lookup('other'))", files)
    assert found == [
        "SECRET-034 the value of 'token' is made Sensitive, but its text is in a data file of the environment"
    ]


def test_policy_refuses_with_a_place_and_is_part_of_the_trace() -> None:
    code = "notice(precast::secret('v', \"app/${facts['role']}\", 'x'))"
    with pytest.raises(CompileFailure) as caught:
        compiled(code, policy="refuse")
    assert caught.value.error.code == "SECRET-033"
    assert caught.value.error.span is not None
    asked = [read.answer for read in compiled(code).trace if isinstance(read.question, SecretPolicy)]
    assert asked == ["warn"]
    fine = compiled("notice(precast::secret('v', 'app', 'x'))")
    assert not any(isinstance(read.question, SecretPolicy) for read in fine.trace)


def test_refused_level_is_an_error_too() -> None:
    with pytest.raises(CompileFailure) as caught:
        compiled("notice(lookup('token'))", {"hiera.yaml": hiera("app/%{facts.role}")}, "refuse")
    assert caught.value.error.code == "SECRET-033"
