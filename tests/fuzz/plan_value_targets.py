"""Fuzz targets for what plans contain: older conditions, and types of parameters with values that are given for them."""

import contextlib

from precast.base.errors import PrecastError
from precast.plans.conditions import parse_condition
from precast.plans.model import Plan
from precast.plans.parameters import check_parameters
from tests.fuzz.target import FuzzTarget

_DATA = {
    "a": {"b": {"value": True}, "c": [1, "x"]},
    "mode": "ha",
    "cluster": {"mode": "ha", "id": 3},
    "common": {"d": None},
}


def check_condition(data: bytes) -> None:
    """A condition is refused by a declared error, or holds or does not; twice the same."""
    with contextlib.suppress(PrecastError):
        condition = parse_condition(data.decode("utf-8", "replace"))
        assert condition.evaluate(_DATA) is condition.evaluate(_DATA)


def check_parameter(data: bytes) -> None:
    """A type is refused by a declared error, or a value by one, or the value is one that the same type accepts again."""
    kind, _, text = data.decode("utf-8", "replace").partition("\0")
    plan = Plan("p", (), parameters={"p": {"type": kind}})
    with contextlib.suppress(PrecastError):
        chosen = check_parameters(plan, {"p": text})
        assert check_parameters(plan, chosen) == chosen


TARGETS = {
    "conditions": FuzzTarget(
        check_condition,
        (
            b"settings:a.b.value == true or not 'x' in settings:a.c and (cluster:mode != \"ha\")",
            b"settings:common.d? == null and settings:additional_components.a.value == -1",
        ),
        ("precast.plans.conditions",),
    ),
    "parameters": FuzzTarget(
        check_parameter,
        (
            b"Struct[{a => Array[Integer[1, 5]], Optional[b] => Enum[x, y]}]\0" + b'{"a": [1, 2], "b": "x"}',
            b"Variant[Pattern[/^v\\d+(\\.\\d+)*$/], Tuple[Float, Boolean]]\0v1.20.3",
            b"Optional[Hash[String[1], NotUndef[Data], 1, 3]]\0null",
        ),
        ("precast.plans.parameters", "precast.plans.values.parameter_types", "precast.lang.datatypes.construction"),
    ),
}
