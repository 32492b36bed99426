"""Collecting the exports of other nodes: the question, its answer, and what values become of them."""

from typing import Any

import msgspec
import pytest

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.catalog.exports import ExportedResource, decode_exports, digest_exports
from precast.lang.compile import CompileFailure, CompileResult, compile_catalog
from precast.lang.exports import KnownExports, is_match
from precast.lang.file_trees import FileStore, TextTree
from precast.lang.inputs import ExportedQuery, Inputs
from precast.lang.issues import compiler as issues
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.settings import Settings
from tests.unit.lang.small_manifests import FACTS, parameters

NODE = "web1.example.com"


def note(title: str, node: str = "b.example", tags: tuple[str, ...] = (), **given: Any) -> ExportedResource:
    return ExportedResource(node, "Notify", title, given, ("notify", *tags))


def collected(code: str, *exports: ExportedResource) -> CompileResult:
    answers = NodeAnswers(NodeData.local(NODE, FACTS), FileStore(TextTree({})), exports=KnownExports(exports))
    return compile_catalog(Inputs(answers), Settings(storeconfigs=True), Source("site.pp", code))


def failure(code: str, *exports: ExportedResource) -> PrecastError:
    with pytest.raises(CompileFailure) as raised:
        collected(code, *exports)
    return raised.value.error


def reads(result: CompileResult) -> list[tuple[Any, Any]]:
    return [(read.question, read.answer) for read in result.trace if isinstance(read.question, ExportedQuery)]


def titles(result: CompileResult) -> list[str]:
    return [resource.title for resource in result.body.resources if resource.type == "Notify"]


def test_collector_asks_for_the_digest_of_its_result() -> None:
    result = collected("Notify <<| tag == 'One' and message != 'x' |>>", note("a", tags=("one",)), note("b"))
    query = ("and", ("=", "tag", "one"), ("!=", ("parameter", "message"), "x"))
    assert reads(result) == [(ExportedQuery("Notify", query), digest_exports([note("a", tags=("one",))]))]
    assert titles(result) == ["a"]


def test_empty_result_has_an_answer_too() -> None:
    assert reads(collected("Notify <<| |>>", note("mine", NODE))) == [
        (ExportedQuery("Notify", None), digest_exports([]))
    ]


def test_equal_queries_are_one_question() -> None:
    assert len(reads(collected("Notify <<| title == 'a' |>> Notify <<| title == a |>>", note("a")))) == 1


def test_identity_fact_in_a_query_is_asked_for() -> None:
    result = collected("Notify <<| message == $trusted['certname'] |>>", note("a", message=NODE), note("b"))
    assert reads(result)[0][0] == ExportedQuery("Notify", ("=", ("parameter", "message"), NODE))
    assert titles(result) == ["a"]


def test_no_question_without_storeconfigs() -> None:
    answers = NodeAnswers(NodeData.local(NODE, FACTS), FileStore(TextTree({})), exports=KnownExports([note("a")]))
    result = compile_catalog(Inputs(answers), Settings(), Source("site.pp", "@@notify { 'own': } Notify <<| |>>"))
    assert reads(result) == []
    assert titles(result) == ["own"]
    assert [line.level for line in result.logs] == ["warning", "warning"]


def test_no_warning_with_storeconfigs() -> None:
    result = collected(
        "@@notify { 'own': } create_resources('@@notify', {'n' => {}}) Notify <<| |>> notice($settings::storeconfigs)"
    )
    assert [(line.level, line.message) for line in result.logs] == [("notice", "true")]


def test_own_export_is_virtual_until_it_is_collected() -> None:
    code = "@@notify { ['a', 'b', 'c']: } Notify <<| title == 'a' |>> Notify <| title == 'b' |>"
    marks = {
        each.title: (each.exported, each.virtual) for each in collected(code).body.resources if each.type == "Notify"
    }
    assert marks == {"a": (True, False), "b": (True, False), "c": (True, True)}


def test_collected_resource_is_placed_at_the_collector() -> None:
    result = collected("\nclass mon { Notify <<| |>> }\ninclude mon", note("a"))
    assert result.source_map.places["Notify[a]"].line == 2
    assert ("Class[Mon]", "Notify[a]") in [(edge.source, edge.target) for edge in result.body.edges]


def test_duplicate_is_an_error_at_the_collector() -> None:
    error = failure("\n  Notify <<| |>>", note("a", "b.example"), note("a", "c.example"))
    assert error.code == "LANG-781"
    assert "b.example exports it and c.example exports it" in error.message
    assert "site.pp:2:3" in error.render()


def test_sensitive_value_arrives_as_one() -> None:
    secret = {"__ptype": "Sensitive", "__pvalue": "canary"}
    code = """define show($message) { notice("got ${message}") notify { "n": message => $message } } Show <<| |>>"""
    result = collected(code, ExportedResource("b.example", "Show", "x", {"message": secret}))
    assert [line.message for line in result.logs] == ["got Sensitive [value redacted]"]
    (shown,) = (resource for resource in result.body.resources if resource.title == "n")
    assert shown.sensitive_parameters == ("message",)
    assert shown.parameters == {"message": "canary"}


VALUES = [
    {"__ptype": "Precast::Future", "__pvalue": "key"},
    {"__ptype": "Precast::Futures", "__pvalue": "key"},
    {"__ptype": "Deferred", "name": "upcase", "arguments": ["a"]},
    {"__ptype": "Precast::Text", "__pvalue": ["a ", {"__ptype": "Precast::Future", "__pvalue": "key"}]},
    {"__ptype": "Hash", "__pvalue": [1, "a", 2, "b"]},
    {"__ptype": "Regexp", "__pvalue": "a.*"},
    {"__ptype": "Binary", "__pvalue": "AAEC"},
    {"__ptype": "Timestamp", "__pvalue": "2026-11-19T04:00:00.000000000 UTC"},
    {"__ptype": "Timespan", "__pvalue": "1-02:03:04.5"},
    {"__ptype": "SemVer", "__pvalue": "1.2.3-rc1"},
    {"__ptype": "SemVerRange", "__pvalue": ">=1.2.3"},
    {"__ptype": "URI", "__pvalue": "https://example.com/a"},
    {"__ptype": "Default"},
    {"__ptype": "Pcore::IntegerType", "from": 1},
    {"__ptype": "Mymodule::Thing", "size": 3},
    {"__ptype": "SemVer", "__pvalue": "none"},
    {"__ptype": "Sensitive", "__pvalue": {"__ptype": "Precast::Secret", "__pvalue": "ab12"}},
    {"a": [1, 2.5, None, True, {}], "b": "é"},
    [],
]


@pytest.mark.parametrize("value", VALUES, ids=[str(value)[:40] for value in VALUES])
def test_value_is_in_the_catalog_as_it_was_exported(value: Any) -> None:
    nested = {"inside": [value]}
    result = collected("Notify <<| |>>", note("a", message=nested))
    assert msgspec.json.decode(result.body.encoded())["resources"][-1]["parameters"] == {"message": nested}


def test_future_of_an_exporter_passes_through_a_define() -> None:
    export = ExportedResource("b.example", "Show", "x", {"message": VALUES[0]})
    result = collected('define show($message) { notify { "n": message => "is ${message}" } } Show <<| |>>', export)
    assert parameters(result, "Notify[n]")["message"]["__ptype"] == "Precast::Text"


def test_future_in_a_metaparameter_is_refused() -> None:
    error = failure("Notify <<| |>>", note("a", tag=VALUES[0]))
    assert error.code == issues.NOT_KNOWN_YET.code
    assert "site.pp:1:1" in error.render()


MATCHES: list[tuple[Any, bool]] = [
    (None, True),
    (("=", "title", "The Note"), True),
    (("=", "title", "the note"), True),
    (("!=", "title", "the note"), False),
    (("=", "tag", "one"), True),
    (("=", "tag", "three"), False),
    (("!=", "tag", "three"), True),
    (("=", ("parameter", "names"), "B"), True),
    (("=", ("parameter", "names"), ("a", "b")), True),
    (("=", ("parameter", "names"), ("a",)), False),
    (("!=", ("parameter", "names"), "a"), True),
    (("=", ("parameter", "size"), 1), True),
    (("=", ("parameter", "size"), 1.0), True),
    (("=", ("parameter", "size"), True), False),
    (("=", ("parameter", "size"), "1"), False),
    (("=", ("parameter", "missing"), None), True),
    (("=", ("parameter", "hidden"), "s"), False),
    (("!=", ("parameter", "hidden"), "s"), True),
    (("and", ("=", "tag", "one"), ("or", ("=", "tag", "x"), ("=", "title", "the note"))), True),
    (("or", ("=", "tag", "x"), ("=", "tag", "y")), False),
]


@pytest.mark.parametrize(("query", "matches"), MATCHES)
def test_query_matches_as_the_language_compares(query: Any, matches: bool) -> None:
    hidden = {"__ptype": "Sensitive", "__pvalue": "s"}
    export = note("The Note", tags=("one", "two"), names=["a", "b"], size=1, hidden=hidden)
    assert is_match(export, ExportedQuery("Notify", query)) is matches
    # The query of a stored trace has lists instead of tuples.
    stored = msgspec.json.decode(msgspec.json.encode(ExportedQuery("Notify", query)), type=ExportedQuery)
    assert is_match(export, stored) is matches
    assert not is_match(export, ExportedQuery("File", query))


@pytest.mark.parametrize(
    "code", ["$v = {'a' => 1} Notify <<| message == $v |>>", "$v = Sensitive('a') Notify <<| message == $v |>>"]
)
def test_value_that_no_question_can_contain_is_refused(code: str) -> None:
    assert failure(code).code == "LANG-780"


def test_list_that_is_not_one_of_exports_is_refused() -> None:
    for data in (b"{}", b"[1]", b'[{"type": "Notify"}]'):
        with pytest.raises(msgspec.ValidationError):
            decode_exports(data)


def test_hundred_collected_resources_ask_one_question() -> None:
    result = collected("Notify <<| |>>", *(note(f"n{number}", message="m") for number in range(100)))
    assert len(titles(result)) == 100
    assert len(reads(result)) == 1
