"""Reads how many nodes do a task at a time, whether one of them is a canary, and how many nodes of a group may fail.

A strategy that cannot be read as Fuel means it never lets more nodes work at once than was meant: a computed amount becomes one.
"""

import re
from typing import Any, Final, NamedTuple

from precast.base.errors import PrecastError
from precast.plans import issues
from precast.plans.expanding.tolerances import count_tolerated
from precast.plans.loading.fields import Field, read_expression
from precast.plans.loading.shapes import EXPRESSION_SCHEMA, Shape, choice, flag, text

MAX_AMOUNT: Final = 1_000_000
_KEYS: Final = ("type", "amount", "canary")
_PERCENT: Final = re.compile("([0-9]{1,3})%")
_TYPE: Final = choice("parallel", "one_by_one")
_CANARY: Final = flag()
_TOLERANCE: Final = text("a number of nodes, or a percentage")
_AMOUNT: Final = "a number of nodes, or a percentage such as '30%'"


class Strategy(NamedTuple):
    at_once: int | None = None
    at_once_percent: int | None = None
    has_canary: bool = False


def strategy() -> Shape:
    amount = {
        "anyOf": [
            {"type": "integer", "minimum": 1, "maximum": MAX_AMOUNT},
            {"type": "string", "pattern": "^[0-9]+%?$"},
            EXPRESSION_SCHEMA,
        ],
        "description": "How many nodes, or which percentage of them, do the task at a time.",
    }
    canary = {
        "type": "boolean",
        "description": "One node first; the others only if it succeeds there.",
        "default": False,
    }
    kinds = {"enum": ["parallel", "one_by_one"], "description": "one_by_one: one node at a time."}
    properties = {"type": kinds, "amount": amount, "canary": canary}
    schema = {"anyOf": [kinds, {"type": "object", "properties": properties, "additionalProperties": False}]}
    return Shape(_read_strategy, schema)


def tolerance() -> Shape:
    """How many nodes may fail: a number, of which a negative one is what must be left over, or a percentage."""

    def read(field: Field) -> str | None:
        found: str | None = _TOLERANCE.read(field)
        if found is None:
            return None
        try:
            count_tolerated(found, 1)
        except PrecastError as error:
            field.problems.add_error(error, field.at)
            return None
        return found

    return Shape(read, {"type": ["integer", "string"], "pattern": "^[+-]?[0-9]+ *%?$"})


def _read_strategy(field: Field) -> Strategy | None:
    if field.node.is_text:
        kind = _read_type(field)
        return None if kind is None else Strategy(at_once=1 if kind == "one_by_one" else None)
    if not field.require_mapping("a strategy", "write `{type: parallel, amount: 5}` or `{type: one_by_one}`"):
        return None
    field.warn_unknown(_KEYS)
    type_field, amount, canary = field.get("type"), field.get("amount"), field.get("canary")
    kind = "parallel" if type_field is None else _read_type(type_field)
    has_canary = canary is not None and bool(_CANARY.read(canary))
    if kind == "one_by_one":
        if amount is not None:
            amount.warn(issues.NOT_READ, what=amount.label, reason="the type of the strategy is one_by_one")
        return Strategy(at_once=1, has_canary=has_canary)
    return Strategy(has_canary=has_canary) if amount is None else _read_amount(amount, has_canary)


def _read_type(field: Field) -> str | None:
    if field.node.text == "one-by-one":
        field.warn(issues.OTHER_SPELLING, what=field.label, found="one-by-one", usual="one_by_one")
        return "one_by_one"
    found: str | None = _TYPE.read(field)
    return found


def _read_amount(field: Field, has_canary: bool) -> Strategy | None:
    if read_expression(field) is not None:
        field.warn(issues.NOT_COMPUTED, what=field.label, instead="one node at a time does the task")
        return Strategy(at_once=1, has_canary=has_canary)
    value: Any = field.node.value
    if isinstance(value, str):
        if (percent := _PERCENT.fullmatch(value)) is not None and 1 <= int(percent[1]) <= 100:
            return Strategy(at_once_percent=int(percent[1]), has_canary=has_canary)
        value = int(value) if value.isascii() and value.isdigit() and len(value) < 8 else None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_AMOUNT:
        field.refuse(_AMOUNT)
        return None
    return Strategy(at_once=value, has_canary=has_canary)
