"""The difference of two catalogs shows no Sensitive, wherever in a parameter it is."""

import json
from typing import Any

import msgspec
import pytest

from precast.catalog.body import Body, ResourceData
from precast.catalog.diff import compare_catalogs
from precast.catalog.sensitive import HIDDEN

OLD, NEW = "hunter2-old", "hunter2-new"


def _sensitive(value: Any) -> Any:
    return {"__ptype": "Sensitive", "__pvalue": value}


def _body(value: Any) -> Body:
    return Body((ResourceData("Exec", "x", {"environment": value, "path": "/bin"}, ()),), (), (), (), {})


PLACES = [
    lambda value: {"password": _sensitive(value)},
    lambda value: ["A=1", _sensitive(value)],
    lambda value: {"a": [{"b": {"c": _sensitive(value)}}]},
    lambda value: {"__ptype": "Hash", "__pvalue": [1, _sensitive(value)]},
    lambda value: {"__ptype": "Deferred", "name": "f", "arguments": [_sensitive(value)]},
    lambda value: {"__ptype": "Precast::Text", "__pvalue": ["x=", _sensitive(value)]},
    lambda value: _sensitive({"key": value}),
]


@pytest.mark.parametrize("place", PLACES)
def test_sensitive_inside_a_value_is_hidden_in_every_change(place: Any) -> None:
    pairs = [(None, place(NEW)), (place(OLD), place(NEW)), (OLD, place(NEW)), (place(OLD), NEW)]
    for before, after in pairs:
        difference = compare_catalogs(None if before is None else _body(before), _body(after))
        (change,) = difference.changes
        shown = {parameter.name: parameter for parameter in change.parameters}
        assert shown["environment"].after == HIDDEN
        text = json.dumps(msgspec.to_builtins(difference))
        assert OLD not in text
        assert NEW not in text


def test_other_parameters_of_the_resource_are_shown() -> None:
    (change,) = compare_catalogs(None, _body([_sensitive(NEW)])).changes
    assert [parameter.after for parameter in change.parameters] == [HIDDEN, "/bin"]
