"""References in place of secrets: which values they replace, what they carry, and that nothing else of a body changes."""

import hashlib
import hmac
from typing import Any

import msgspec
import pytest

from precast.base import canonical
from precast.base.errors import InputError
from precast.catalog import unknown
from precast.catalog.body import Body, ResourceData, decode
from precast.catalog.diff import compare_catalogs
from precast.catalog.secret_references import HiddenBody, hide_secrets, make_reference, references
from precast.catalog.sensitive import HIDDEN, is_sensitive, secret_texts, sensitive_parameters

KEY = b"the reference key of an environment"


def salt(value: bytes) -> bytes:
    return hmac.digest(KEY, value, hashlib.sha256)


def refer(value: bytes) -> str:
    return make_reference(salt(value), value)


def ref_of(value: Any) -> str:
    return refer(canonical.encode(value))


def body(parameters: dict[str, Any], secret: tuple[str, ...] = ()) -> Body:
    resources = (
        ResourceData("File", "/a", {"ensure": "file"}, ("file",)),
        ResourceData("File", "/b", parameters, ("file",), sensitive_parameters=secret),
    )
    return Body(resources, (), ("settings",), ("class",), {})


def hide(parameters: dict[str, Any], secret: tuple[str, ...] = ()) -> HiddenBody:
    return hide_secrets(body(parameters, secret).encoded(), refer)


def hidden(value: Any, *, is_named: bool = False) -> Any:
    """The parameter with this value after it was hidden."""
    return decode(hide({"content": value}, ("content",) if is_named else ()).body).resources[1].parameters["content"]


def sensitive(value: Any) -> dict[str, Any]:
    return {"__ptype": "Sensitive", "__pvalue": value}


def reference(value: Any) -> dict[str, Any]:
    return {"__ptype": "Precast::Secret", "__pvalue": ref_of(value)}


@pytest.mark.parametrize("value", ["s3cret", 1234, None, [1, "a"], {"a": {"b": 1.5}}, sensitive("inner")])
def test_named_parameter_and_sensitive_value_become_references(value: Any) -> None:
    if value is not None:
        assert hidden(value, is_named=True) == reference(value)
    assert hidden(sensitive(value)) == sensitive(reference(value))
    assert hidden({"a": [1, sensitive(value)]}) == {"a": [1, sensitive(reference(value))]}
    deferred = {"__ptype": "Deferred", "name": "join", "arguments": [[sensitive(value), "x"], ","]}
    assert hidden(deferred) == {**deferred, "arguments": [[sensitive(reference(value)), "x"], ","]}


def test_values_are_found_by_their_references() -> None:
    result = hide({"content": "one", "mode": sensitive("two"), "owner": [sensitive("one")]}, ("content",))
    assert result.values == {ref_of("one"): b'"one"', ref_of("two"): b'"two"'}
    found = [ref for resource in decode(result.body).resources for ref in references(resource.parameters)]
    assert sorted(found) == sorted([ref_of("one"), ref_of("two"), ref_of("one")])
    assert b'"one"' not in result.body
    assert b'"two"' not in result.body


def test_equal_secrets_give_equal_bytes_and_changed_ones_do_not() -> None:
    assert hide({"content": sensitive("a")}) == hide({"content": sensitive("a")})
    assert hide({"content": sensitive("a")}).body != hide({"content": sensitive("b")}).body


def test_body_without_secrets_keeps_its_bytes() -> None:
    encoded = body({"content": "Sensitive", "mode": 'a "Sensitive" text'}).encoded()
    assert hide_secrets(encoded, refer) == HiddenBody(encoded, {})


def test_hidden_body_is_canonical() -> None:
    result = hide({"content": sensitive("ü\u2028"), "z": None, "a": 1.0})
    assert canonical.encode(msgspec.json.decode(result.body)) == result.body


def test_reference_carries_the_holes_of_its_value() -> None:
    name, zone = (
        {"__ptype": unknown.HOLE, "__pvalue": path}
        for path in (["facts", "networking", "hostname"], ["trusted", "certname"])
    )
    text = {"__ptype": unknown.TEXT, "__pvalue": ["pw-", zone, "-", name, "-", name]}
    shown = hidden(text, is_named=True)
    assert shown == {
        **reference(text),
        "holes": [[["facts", "networking", "hostname"], name], [["trusted", "certname"], zone]],
    }
    # Filling a catalog fills the holes of the reference, so that another value gives another catalog.
    filled = unknown.fill(shown, lambda root, path: f"{root} {path[-1]}")
    assert filled["holes"] == [
        [["facts", "networking", "hostname"], "facts hostname"],
        [["trusted", "certname"], "trusted certname"],
    ]


@pytest.mark.parametrize(
    "forged", [{"__ptype": "Precast::Secret", "__pvalue": "0" * 64}, {"__ptype": "Precast::Secret"}]
)
def test_body_that_names_a_reference_itself_is_refused(forged: dict[str, Any]) -> None:
    for value in (forged, [forged], sensitive(forged), {"a": {"b": forged}}):
        with pytest.raises(InputError, match=r"File\[/b\] has a value of the type Precast::Secret"):
            hidden(value)
    with pytest.raises(InputError):
        hidden(forged, is_named=True)


@pytest.mark.parametrize(
    "kind", [{"__ptype": "Precast::Text", "__pvalue": ["Precast::", "Secret"]}, ["Precast::Secret"]]
)
def test_type_that_filling_could_make_a_reference_is_refused(kind: Any) -> None:
    forged = {"__ptype": kind, "__pvalue": "0" * 64}
    for value in (forged, [forged], sensitive(forged)):
        with pytest.raises(InputError, match="whose type is no text"):
            hidden(value)


def test_title_may_have_the_name_of_the_type() -> None:
    encoded = Body((ResourceData("Notify", "Precast::Secret", {}, ()),), (), (), (), {}).encoded()
    assert hide_secrets(encoded, refer).body == encoded


def test_reference_is_sensitive_and_has_no_texts() -> None:
    before, after = (decode(hide({"content": value}, ("content",)).body) for value in ("one", "two"))
    resource = before.resources[1]
    assert is_sensitive(resource.parameters["content"])
    assert sensitive_parameters(resource) == {"content"}
    assert list(secret_texts(resource)) == []
    # A changed secret shows as changed, without its value or its reference.
    (change,) = compare_catalogs(before, after).changes
    assert [(each.name, each.before, each.after) for each in change.parameters] == [("content", HIDDEN, HIDDEN)]
