"""Unknown values: where they stay holes, where they become a question, where they are an error."""

from typing import Any

import pytest

from precast.catalog import unknown
from precast.catalog.futures import Need, read_need
from precast.lang.values.catalog_data import value_of
from precast.lang.values.unknowns import DeferredCall, Future, Hole, UnknownText, join, replace
from tests.unit.lang.small_manifests import asked, compiled, evaluated, failure, parameters

FQDN = {"__ptype": "Precast::Hole", "__pvalue": ["facts", "networking", "fqdn"]}
KIND = {"ask": "fact_kind", "path": ["networking", "fqdn"]}
VALUE = {"ask": "fact", "path": ["networking", "fqdn"]}


def open_and_asked(code: str, **others: object) -> tuple[object, list[dict[str, object]]]:
    """The message of the single notify, and the questions about facts."""
    result = compiled(code, **others)  # type: ignore[arg-type]
    return parameters(result, "Notify[x]")["message"], [
        question for question in asked(result) if "path" in question and question["ask"] != "file"
    ]


def test_fact_passed_on_stays_a_hole() -> None:
    message, questions = open_and_asked("notify { 'x': message => $facts['networking']['fqdn'] }")
    assert message == FQDN
    assert KIND in questions
    assert VALUE not in questions


def test_fact_interpolated_stays_a_hole_in_the_text() -> None:
    message, questions = open_and_asked("notify { 'x': message => \"on ${facts['networking']['fqdn']}!\" }")
    assert message == {"__ptype": "Precast::Text", "__pvalue": ["on ", FQDN, "!"]}
    assert VALUE not in questions


def test_fact_in_array_and_hash_stays_a_hole() -> None:
    message, questions = open_and_asked("$a = [{ 'n' => $facts['networking']['fqdn'] }]\nnotify { 'x': message => $a }")
    assert message == [{"n": FQDN}]
    assert VALUE not in questions


def test_fact_in_template_stays_a_hole() -> None:
    files = {"modules/m/templates/t.epp": "<%- | String[1] $name | -%>\nname=<%= $name %>\n"}
    code = "notify { 'x': message => epp('m/t.epp', { 'name' => $facts['networking']['fqdn'] }) }"
    message, questions = open_and_asked(code, files=files)
    assert message == {"__ptype": "Precast::Text", "__pvalue": ["name=", FQDN, "\n"]}
    assert VALUE not in questions


def test_fact_in_typed_class_parameter_stays_a_hole() -> None:
    code = "class c(String[1] $n) { notify { 'x': message => $n } }\nclass { 'c': n => $facts['networking']['fqdn'] }"
    message, questions = open_and_asked(code)
    assert message == FQDN
    assert VALUE not in questions


@pytest.mark.parametrize(
    "code",
    [
        "if $facts['networking']['fqdn'] == 'a' { notice('') } notify { 'x': message => 1 }",
        "case $facts['networking']['fqdn'] { /web/: { notice('') } default: { notice('') } } notify { 'x': message => 1 }",
        "if $facts['networking']['fqdn'] =~ /web/ { } notify { 'x': message => 1 }",
        "notify { 'x': message => $facts['networking']['fqdn'][0] }",
        "notify { 'x': message => 'a' } notify { $facts['networking']['fqdn']: }",
        "notify { 'x': message => 'a' } notify { \"n ${facts['networking']['fqdn']}\": }",
        "define d(Enum['web1.example.com'] $n) { } d { 'a': n => $facts['networking']['fqdn'] } notify { 'x': message => 1 }",
        "$h = { $facts['networking']['fqdn'] => 1 } notify { 'x': message => 1 }",
        "notify { 'x': message => $facts['networking']['fqdn'].length }",
        "notify { 'x': message => 1, tag => $facts['networking']['fqdn'] }",
        "notify { 'x': message => 1, alias => $facts['networking']['fqdn'] }",
        "notify { 'x': message => 1 } file { 'f': path => \"/${facts['networking']['fqdn']}\" }",
        "notify { 'x': message => 1 } file { '/f': source => \"puppet:///modules/m/${facts['networking']['fqdn']}\" }",
        "@notify { 'x': message => $facts['networking']['fqdn'] } Notify <| message == 'web1.example.com' |>",
    ],
)
def test_fact_needed_becomes_a_question(code: str) -> None:
    _, questions = open_and_asked(code)
    assert VALUE in questions


def test_fact_in_condition_alone_needs_no_value() -> None:
    message, questions = open_and_asked(
        "notify { 'x': message => if $facts['networking']['fqdn'] { 'yes' } else { 'no' } }"
    )
    assert message == "yes"
    assert VALUE not in questions


def test_identity_fact_that_is_absent_is_undef() -> None:
    result = evaluated("$facts['networking']['ip6']")
    assert result.value is None


def test_top_scope_and_trusted_identity_stay_holes() -> None:
    result = evaluated("[$fqdn, $trusted['certname']]")
    assert result.value == (Hole("facts", ("fqdn",)), Hole("trusted", ("certname",)))


def test_deferred_interpolated_becomes_deferred_text() -> None:
    result = compiled("$d = Deferred('join', [['a'], '-'])\nnotify { 'x': message => \"v=${d}\" }")
    call = {"__ptype": "Deferred", "name": "join", "arguments": [["a"], "-"]}
    assert parameters(result, "Notify[x]")["message"] == {"__ptype": "Precast::Text", "__pvalue": ["v=", call]}


def test_future_flows_into_a_parameter() -> None:
    result = compiled("notify { 'x': message => \"db at ${future('db/address')}\" }")
    future = {"__ptype": "Precast::Future", "__pvalue": "db/address"}
    assert parameters(result, "Notify[x]")["message"] == {"__ptype": "Precast::Text", "__pvalue": ["db at ", future]}


@pytest.mark.parametrize(
    ("code", "kind", "value"),
    [
        ("future('k', {timeout => 5})", "Precast::Future", {"key": "k", "timeout_s": 5}),
        ("future('k', {})", "Precast::Future", "k"),
        ("futures('k')", "Precast::Futures", "k"),
        ("futures('k', {at_least => 2})", "Precast::Futures", {"key": "k", "at_least": 2}),
        (
            "futures('k', {at_least => '80%', timeout => 9})",
            "Precast::Futures",
            {"key": "k", "at_least_percent": 80, "timeout_s": 9},
        ),
    ],
)
def test_options_of_a_future_are_those_of_a_need(code: str, kind: str, value: Any) -> None:
    data = parameters(compiled(f"notify {{ 'x': message => {code} }}"), "Notify[x]")["message"]
    assert data == {"__ptype": kind, "__pvalue": value}
    expected = {"key": value} if isinstance(value, str) else value
    assert read_need(data) == Need(**{"many": kind.endswith("s"), **expected})
    assert value_of(data) == evaluated(code).value


@pytest.mark.parametrize(
    "call",
    [
        "future('')",
        "future('k', {time => 5})",
        "future('k', {timeout => 0})",
        "future('k', {at_least => 1})",
        "futures('k', {at_least => -1})",
        "futures('k', {at_least => '101%'})",
        "futures('k', {at_least => future('n')})",
    ],
)
def test_future_with_a_wrong_option_is_an_error(call: str) -> None:
    assert failure(f"notify {{ 'x': message => {call} }}").error.code in ("LANG-400", "LANG-401", "LANG-636")


def test_key_of_a_future_and_of_a_promise_is_known_when_the_catalog_is_compiled() -> None:
    code = "\"db/${facts['networking']['fqdn']}\""
    result = compiled(f"notify {{ 'x': message => future({code}) }} promise {{ {code}: value => 1 }}")
    assert parameters(result, "Notify[x]")["message"]["__pvalue"] == "db/web1.example.com"
    assert parameters(result, "Promise[db/web1.example.com]") == {"value": 1}


@pytest.mark.parametrize("parameter", ["scope", "ttl", "type", "format"])
def test_promise_with_an_unknown_option_is_an_error(parameter: str) -> None:
    assert failure(f"promise {{ 'k': value => 1, {parameter} => future('x') }}").error.code == "LANG-636"


@pytest.mark.parametrize(
    "code",
    [
        "notify { future('k'): }",
        "if future('k') == 'x' { }",
        "if future('k') { notice('x') }",
        "unless future('k') { notice('x') }",
        "notice(!future('k'))",
        "notice(true and future('k'))",
        "notify { 'x': require => future('k') }",
        "notify { 'x': noop => future('k') }",
        "file { 'x': path => future('k') }",
        "class c { } class { 'c': tag => future('k') }",
        "@notify { 'x': message => future('k') } Notify <| message == 'x' |>",
    ],
)
def test_future_needed_is_an_error_with_a_hint(code: str) -> None:
    error = failure(code).error
    assert error.code == "LANG-636"
    assert "future k" in error.message
    assert error.hint
    assert error.span is not None


def test_promise_is_a_resource() -> None:
    result = compiled("promise { 'db/address': value => $facts['networking']['fqdn'] }")
    assert parameters(result, "Promise[db/address]") == {"value": FQDN}


def test_join_merges_adjacent_strings_and_gives_a_string_if_all_are_known() -> None:
    hole = Hole("facts", ("fqdn",))
    assert join(["a", "", "b"]) == "ab"
    assert join([]) == ""
    assert join(["a", hole, "b", "c"]) == UnknownText(("a", hole, "bc"))
    assert join([UnknownText(("x", hole)), "y"]) == UnknownText(("x", hole, "y"))
    assert join([("a", hole)]) == UnknownText(("[a, ", hole, "]"))
    assert replace(UnknownText(("a", hole, "b")), lambda _: "F") == "aFb"


def test_replace_goes_into_deferred_calls_and_leaves_futures() -> None:
    hole, future = Hole("facts", ("fqdn",)), Future("k")
    call = DeferredCall("join", ((hole, future),))
    assert replace(call, lambda u: "F" if u is hole else u) == DeferredCall("join", (("F", future),))


def test_filled_catalog_equals_one_compiled_for_the_value() -> None:
    result = compiled("notify { 'x': message => \"on ${facts['networking']['fqdn']}!\" }")
    filled = unknown.fill(parameters(result, "Notify[x]"), lambda root, path: "n1")
    assert filled == {"message": "on n1!"}
    assert list(unknown.holes(parameters(result, "Notify[x]"))) == [("facts", "networking", "fqdn")]
