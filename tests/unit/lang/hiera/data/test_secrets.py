"""Secrets from sources: by a level of a hierarchy, by a function, with the options of hiera_vault; always Sensitive and traced."""

from typing import Any

import pytest

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.compile import CompileFailure, CompileResult, compile_catalog
from precast.lang.file_trees import FileStore, TextTree
from precast.lang.inputs import ABSENT, DENIED, Answer, Inputs, SecretDocument, SecretValue
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.settings import Settings

DOCUMENTS: dict[tuple[str, str], dict[str, Any]] = {
    ("vault", "app/web1.example.org"): {"db::password": "own", "nested": {"user": "u", "password": "p"}},
    ("vault", "app/common"): {"db::password": "common", "port": 5432, "text": "%{facts.kernel}"},
    ("kv", "common/api"): {"value": '{"a": [1]}', "other": "x"},
    ("kv", "common/single"): {"value": "[1, 2]"},
}


class Sources:
    """The documents above; only the sources vault and kv exist."""

    def document(self, source: str, path: str) -> Answer:
        if source not in ("vault", "kv") or path.startswith("forbidden"):
            return DENIED
        return True if (source, path) in DOCUMENTS else ABSENT

    def answer(self, source: str, path: str, field: str) -> Answer:
        document = DOCUMENTS.get((source, path), {})
        return f"hmac of {field}" if field in document or not field else ABSENT

    def policy(self) -> str:
        return "warn"

    def value(self, source: str, path: str, field: str) -> Any:
        document = DOCUMENTS[source, path]
        return document[field] if field else document


HIERA = """\
version: 5
hierarchy:
  - name: secrets
    lookup_key: precast::secrets
    paths: ["app/%{trusted.certname}", "app/common"]
    options: {source: vault}
  - {name: plain, path: common.yaml}
"""
VAULT = """\
version: 5
hierarchy:
  - name: vault
    lookup_key: hiera_vault
    options: {OPTIONS}
"""


def compiled(code: str, hiera: str = HIERA, node: str = "web1.example.org") -> tuple[CompileResult, Inputs]:
    files = FileStore(TextTree({"hiera.yaml": hiera, "data/common.yaml": "plain: seen\n"}))
    facts = {"kernel": "Linux", "role": "../../forbidden", "site": "app"}
    inputs = Inputs(NodeAnswers(NodeData.local(node, facts), files, secrets=Sources()))
    return compile_catalog(inputs, Settings(), Source("site.pp", code)), inputs


def message(expression: str, **circumstances: str) -> Any:
    result, _ = compiled(f"notify {{ 'x': message => {expression} }}", **circumstances)
    return result.body.resources[-1].parameters["message"]


def failure(code: str, **circumstances: str) -> PrecastError:
    with pytest.raises(CompileFailure) as caught:
        compiled(code, **circumstances)
    return caught.value.error


def test_level_finds_fields_of_the_first_document_that_has_them() -> None:
    assert message("lookup('db::password').unwrap") == "own"
    assert message("lookup('db::password').unwrap", node="web2.example.org") == "common"
    assert message("lookup('port').unwrap") == 5432
    assert message("lookup('plain')") == "seen"


def test_values_are_sensitive_also_below_a_key_and_never_interpolated() -> None:
    result, _ = compiled("notify { 'x': message => lookup('db::password') }")
    assert result.body.resources[-1].sensitive_parameters == ("message",)
    assert message("String(lookup('nested.password'))") == "Sensitive [value redacted]"
    assert message("lookup('nested.password').unwrap") == "p"
    assert message("lookup('text').unwrap") == "%{facts.kernel}"


def test_trace_has_open_paths_and_answers_but_no_values() -> None:
    _, inputs = compiled("notify { 'x': message => lookup('db::password') }")
    reads = {read.question: read.answer for read in inputs.trace}
    own = ("app/", ("trusted", "certname"))
    assert reads[SecretDocument("vault", own)] is True
    assert reads[SecretValue("vault", own, "db::password")] == "hmac of db::password"
    assert SecretDocument("vault", ("app/common",)) not in reads
    assert not any("own" in str(answer) for answer in reads.values())


def test_keys_without_documents_are_asked_for_once_for_each_document() -> None:
    _, inputs = compiled("notice(lookup('plain'))", node="web3.example.org")
    asked = [read.question for read in inputs.trace if isinstance(read.question, SecretDocument | SecretValue)]
    own = ("app/", ("trusted", "certname"))
    expected = [SecretDocument("vault", own), SecretDocument("vault", ("app/common",))]
    assert asked == [*expected, SecretValue("vault", ("app/common",), "plain")]


def test_function_gives_a_field_or_the_whole_document() -> None:
    assert message("precast::secret('vault', 'app/common', 'port').unwrap") == 5432
    assert message("precast::secret('kv', 'common/api').unwrap['other']") == "x"
    assert message('precast::secret("vault", "app/${trusted[\'certname\']}", "db::password").unwrap') == "own"


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("precast::secret('nowhere', 'a', 'b')", "SECRET-030"),
        ("precast::secret('vault', 'forbidden/a', 'b')", "SECRET-030"),
        ("precast::secret('vault', '../a', 'b')", "SECRET-030"),
        ("precast::secret('vault', '/etc', 'b')", "SECRET-030"),
        ("precast::secret('vault', '.', 'b')", "SECRET-030"),
        ("precast::secret('vault', \"app/${facts['role']}\", 'b')", "SECRET-030"),
        ("precast::secret('vault', 'app/nothing')", "SECRET-031"),
        ("precast::secret('vault', 'app/common', 'nothing')", "SECRET-031"),
        ("precast::secret('vault', 1)", "LANG-411"),
    ],
)
def test_function_refuses_what_it_may_not_read_or_does_not_find(call: str, code: str) -> None:
    assert failure(f"notice({call})").code == code


def test_without_sources_nothing_may_be_read() -> None:
    files = FileStore(TextTree({"hiera.yaml": HIERA}))
    with pytest.raises(CompileFailure) as caught:
        compile_catalog(
            Inputs(NodeAnswers(NodeData.local("n", {}), files)), Settings(), Source("s.pp", "notice(lookup('a'))")
        )
    assert caught.value.error.code == "SECRET-030"


@pytest.mark.parametrize(
    ("options", "key", "value"),
    [
        ("{mounts: {kv: [common]}, default_field: value}", "api", '{"a": [1]}'),
        ("{mounts: {kv: [common]}, default_field: value, default_field_parse: json}", "api", {"a": [1]}),
        ("{mounts: {kv: [nowhere, common]}}", "api", {"value": '{"a": [1]}', "other": "x"}),
        (
            "{mounts: {kv: [common]}, default_field: value, default_field_behavior: only}",
            "api",
            {"value": '{"a": [1]}', "other": "x"},
        ),
        ("{mounts: {kv: common}, default_field: value, default_field_behavior: only}", "single", "[1, 2]"),
        ("{mounts: {kv: [common]}, default_field: value, strip_from_keys: ['secret::']}", "secret::single", "[1, 2]"),
        ('{mounts: {vault: ["%{facts.site}"]}}', "common", DOCUMENTS["vault", "app/common"]),
    ],
)
def test_options_of_hiera_vault_select_documents_and_fields(options: str, key: str, value: Any) -> None:
    assert message(f"lookup('{key}').unwrap", hiera=VAULT.replace("{OPTIONS}", options)) == value


def test_hiera_vault_asks_only_for_confined_keys() -> None:
    hiera = VAULT.replace("{OPTIONS}", "{mounts: {kv: [common]}, confine_to_keys: ['^api$']}")
    assert message("lookup('single', Any, first, 'default')", hiera=hiera) == "default"


def test_address_and_token_in_the_code_are_named_and_not_used() -> None:
    options = "{mounts: {kv: [common]}, address: 'https://vault.example.org', token: s.abc}"
    result, _ = compiled("notice(lookup('api'))", hiera=VAULT.replace("{OPTIONS}", options))
    (line,) = [line for line in result.logs if line.level == "warning"]
    assert "address, token" in str(line.message)
    assert "s.abc" not in str(line.message)


@pytest.mark.parametrize(
    "level",
    [
        "lookup_key: hiera_vault",
        "lookup_key: hiera_vault\n    options: {mounts: {}}",
        "lookup_key: precast::secrets\n    path: app/common",
        "lookup_key: precast::secrets\n    options: {source: vault}",
        "lookup_key: precast::secrets\n    glob: app/*\n    options: {source: vault}",
    ],
)
def test_incomplete_levels_are_an_error_that_names_the_file(level: str) -> None:
    error = failure("notice(lookup('a'))", hiera=f"version: 5\nhierarchy:\n  - name: x\n    {level}\n")
    assert error.code == "SECRET-032"
    assert "hiera.yaml" in error.message
