"""A node checks the values of secrets, and fills them in where the references are: the result is what was compiled."""

from typing import Any

import msgspec
import pytest

from precast.base import canonical
from precast.catalog.body import Body, ResourceData
from precast.catalog.secret_references import REFERENCE, make_reference
from precast.catalog.secret_values import fill_secrets, find_references, is_value_of

SALT = b"s" * 32
CERTNAME = {"__ptype": "Precast::Hole", "__pvalue": ["trusted", "certname"]}
FQDN = {"__ptype": "Precast::Hole", "__pvalue": ["facts", "networking", "fqdn"]}


def reference(value: Any, *pairs: Any) -> dict[str, Any]:
    ref = make_reference(SALT, canonical.encode(value))
    return {"__ptype": REFERENCE, "__pvalue": ref} | ({"holes": list(pairs)} if pairs else {})


def values(*given: Any) -> dict[str, bytes]:
    return {make_reference(SALT, data): data for data in map(canonical.encode, given)}


def body(*, secret: tuple[str, ...] = (), **parameters: Any) -> Body:
    return Body((ResourceData("Exec", "x", parameters, (), sensitive_parameters=secret),), (), (), (), {})


def parameters(filled: Body) -> dict[str, Any]:
    return filled.resources[0].parameters


def sensitive(value: Any) -> dict[str, Any]:
    return {"__ptype": "Sensitive", "__pvalue": value}


def test_value_is_accepted_only_with_the_salt_and_the_bytes_that_its_reference_was_made_of() -> None:
    ref = make_reference(SALT, b'"hunter2"')
    assert is_value_of(ref, SALT, b'"hunter2"')
    assert not is_value_of(ref, SALT, b'"hunter3"')
    assert not is_value_of(ref, b"t" * 32, b'"hunter2"')
    # A key of an HMAC is filled up with zeros: a salt of another length could give the same reference.
    assert make_reference(SALT + b"\0", b'"hunter2"') == ref
    assert not is_value_of(ref, SALT + b"\0", b'"hunter2"')


@pytest.mark.parametrize("value", ["hunter2", 1234, None, True, ["a", {"b": 1.5}], {"x": {"y": "z"}}])
def test_values_are_filled_in_at_any_depth(value: Any) -> None:
    stored = body(secret=("bare",), bare=reference(value), nested={"a": [sensitive(reference(value)), "open"]})
    assert find_references(stored) == {make_reference(SALT, canonical.encode(value))}
    filled = parameters(fill_secrets(stored, values(value)))
    assert filled.get("bare") == value
    assert filled["nested"] == {"a": [sensitive(value), "open"]}
    assert "bare" in filled or value is None


def test_value_with_holes_is_filled_with_what_the_reference_has_for_the_node() -> None:
    text = {"__ptype": "Precast::Text", "__pvalue": ["key of ", CERTNAME, " at ", FQDN]}
    template = {"line": text, "name": CERTNAME}
    pairs: Any = ([["trusted", "certname"], "web1"], [["facts", "networking", "fqdn"], ["not", "a", "text"]])
    filled = parameters(fill_secrets(body(x=sensitive(reference(template, *pairs))), values(template)))["x"]["__pvalue"]
    assert filled["name"] == "web1"
    assert filled["line"] == {"__ptype": "Precast::Text", "__pvalue": ["key of web1 at ", ["not", "a", "text"]]}
    pairs = ([["trusted", "certname"], "web1"], [["facts", "networking", "fqdn"], "web1.example"])
    filled = parameters(fill_secrets(body(x=sensitive(reference(template, *pairs))), values(template)))["x"]["__pvalue"]
    assert filled["line"] == "key of web1 at web1.example"


def test_hole_without_a_pair_stays_a_hole() -> None:
    template = [CERTNAME, FQDN]
    stored = body(x=reference(template, [["trusted", "certname"], "web1"]))
    assert parameters(fill_secrets(stored, values(template)))["x"] == ["web1", FQDN]


def test_what_is_waited_for_stays_in_the_value() -> None:
    later = {"__ptype": "Deferred", "name": "f", "arguments": [{"__ptype": "Precast::Future", "__pvalue": "k"}]}
    assert parameters(fill_secrets(body(x=sensitive(reference(later))), values(later)))["x"] == sensitive(later)


def test_reference_without_a_value_stays_and_other_resources_are_the_same() -> None:
    stored = body(x=sensitive(reference("a")), y=reference("b"))
    filled = parameters(fill_secrets(stored, values("b")))
    assert filled == {"x": sensitive(reference("a")), "y": "b"}
    plain = body(x="open")
    assert fill_secrets(plain, values("b")).resources[0] is plain.resources[0]


def test_value_that_looks_like_a_reference_is_not_filled_again() -> None:
    stored = body(x=reference(reference("b")))
    assert parameters(fill_secrets(stored, values("b", reference("b"))))["x"] == reference("b")


def test_what_is_no_reference_names_no_secret() -> None:
    strange: list[Any] = [{"__ptype": REFERENCE, "__pvalue": given} for given in (1, None, "x" * 64, ["a"])]
    stored = body(x=[*strange, {"__ptype": REFERENCE}])
    assert find_references(stored) == frozenset()
    assert parameters(fill_secrets(stored, values("b"))) == parameters(stored)
    assert msgspec.json.encode(fill_secrets(stored, {})) == msgspec.json.encode(stored)
