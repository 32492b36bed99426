"""Only plain data becomes a fact, up to a limit."""

from datetime import date
from typing import Any

import pytest

from precast.agent.facts.fact_budget import MAX_DEPTH, FactBudget
from precast.base import canonical


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def circle() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


def laughs() -> Any:
    value: Any = "ha"
    for _ in range(30):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ({"a": [1, 2.5, None, True, "x"]}, {"a": [1, 2.5, None, True, "x"]}),
        ((1, 2), [1, 2]),
        ({3: "a", True: "b", 2.5: "c"}, {"3": "a", "true": "b", "2.5": "c"}),
        ("caf\udce9", "caf\ufffd"),
        ("\ud800", "\ufffd"),
        (nested(MAX_DEPTH), nested(MAX_DEPTH)),
    ],
)
def test_value_with_a_plain_form_gets_it(value: Any, plain: Any) -> None:
    kept, warnings = FactBudget().admit({"fact": value})
    assert (kept, warnings) == ({"fact": plain}, [])
    canonical.encode(kept)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (float("nan"), "FACT-030"),
        ([float("inf")], "FACT-030"),
        (2**64, "FACT-030"),
        (b"bytes", "FACT-030"),
        ({date(2030, 1, 1): 1}, "FACT-030"),
        ({1, 2}, "FACT-030"),
        (nested(MAX_DEPTH + 1), "FACT-031"),
        (circle(), "FACT-031"),
        (laughs(), "FACT-032"),
    ],
)
def test_value_without_a_plain_form_is_refused(value: Any, code: str) -> None:
    kept, (warning,) = FactBudget().admit({"sound": 1, "fact": value})
    assert (kept, warning.code) == ({"sound": 1}, code)
    assert "the fact fact is left out" in warning.message


def test_facts_beyond_the_budget_are_left_out_by_name_and_later_ones_may_fit() -> None:
    budget = FactBudget(max_values=10, max_bytes=100)
    kept, warnings = budget.admit({"a": list(range(8)), "b": [1, 2, 3], "c": "x" * 100, "d": 1})
    assert kept.keys() == {"a", "d"}
    assert [warning.code for warning in warnings] == ["FACT-032", "FACT-033"]
    assert "fact b" in warnings[0].message
    assert "fact c" in warnings[1].message


def test_budget_is_shared_by_all_facts() -> None:
    budget = FactBudget(max_values=10, max_bytes=1000)
    assert budget.admit({"a": [1] * 8})[1] == []
    assert [warning.code for warning in budget.admit({"b": [1] * 8})[1]] == ["FACT-032"]
