"""Fuel's older conditions: what they mean over the data of a node, and how errors show their place."""

from typing import Any

import pytest

from precast.base.errors import InputError
from precast.plans import issues
from precast.plans.conditions import MAX_CHARS, MAX_DEPTH, MAX_TERMS, parse_condition

DATA = {
    "storage": {"volumes_ceph": True, "objects_ceph": {"value": False}},
    "murano": {"enabled": True},
    "debug": False,
    "mode": "single",
    "roles": ["controller", "ceph-osd"],
    "cluster": {"mode": "ha_compact", "id": 7},
    "count": 1,
    "nothing": None,
}


def holds(text: str, data: dict[str, Any] | None = None) -> bool:
    return parse_condition(text).evaluate(DATA if data is None else data)


@pytest.mark.parametrize(
    "text",
    [
        "settings:storage.volumes_ceph.value == true or settings:storage.objects_ceph.value == true",
        'cluster:mode == "ha_compact"',
        "cluster:mode != 'multinode' and cluster:id == 7",
        "'ceph-osd' in settings:roles",
        "not 'compute' in settings:roles",
        "not ('compute' in settings:roles or settings:debug)",
        "settings:additional_components.murano.value == true",
        "settings:common.debug.value == false",
        "settings:common.mode == 'single'",
        "settings:nothing == null",
        "settings:absent.value? == null",
        "'compact' in cluster:mode",
        "'value' in settings:storage.objects_ceph",
        ":debug == false",
        "settings:count == 1\n  and\tcluster:id != -1",
        "true",
    ],
)
def test_condition_that_holds_is_true(text: str) -> None:
    assert holds(text)


@pytest.mark.parametrize(
    "text",
    [
        "settings:storage.objects_ceph.value == true",
        "settings:count == true",  # one is not true
        "true == 1",
        "'cont' in settings:roles",  # an item, not a part of one
        "false or null",
        "not true",
        "settings:absent?",
        "cluster:mode == cluster:id",
    ],
)
def test_condition_that_does_not_hold_is_false(text: str) -> None:
    assert not holds(text)


def test_not_binds_closer_than_comparison_as_in_fuel() -> None:
    assert holds("not false == true")
    assert not holds("not settings:mode == 'other'")  # (not 'single') == 'other'


def test_in_binds_closer_than_not() -> None:
    assert holds("not 'compute' in settings:roles")
    assert not holds("not 'controller' in settings:roles == true")


def test_and_binds_closer_than_or() -> None:
    assert holds("true or false and false")
    assert not holds("(true or false) and false")


def test_right_side_is_not_evaluated_when_the_left_side_decides() -> None:
    assert holds("true or settings:absent")
    assert not holds("false and settings:absent")


def test_setting_that_exists_as_written_wins_over_fuels_short_form() -> None:
    assert holds("settings:a.value == 'long'", {"a": {"value": "long"}})
    assert holds("settings:a.value == 'short'", {"a": "short"})


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        ("settings:a ==", 14, "instead of its end"),
        ("settings:a = true", 12, "'=' is not expected here"),
        ("(settings:a == true", 20, "`)` is expected instead of its end"),
        ("settings:a == true)", 19, "an operator is expected instead of ')'"),
        ("settings:a settings:b", 12, "an operator is expected"),
        ("or true", 1, "instead of 'or'"),
        ("", 1, "instead of its end"),
        ("settings:a == 'open", 15, '"\'" is not expected here'),
        ("a.b == true", 2, "'.' is not expected here"),
        ("word == true", 1, "instead of 'word'"),
        ("settings:a\n  == &", 6, "'&' is not expected here"),
    ],
)
def test_invalid_condition_is_refused_with_its_place(text: str, column: int, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_condition(text, "condition of task web")
    assert issues.BAD_CONDITION.matches(caught.value)
    assert reason in caught.value.message
    assert "condition of task web cannot be read" in caught.value.message
    assert caught.value.source is not None
    assert caught.value.span is not None
    assert caught.value.source.position(caught.value.span.start).column == column


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("settings:storage.absent == true", "no value at storage.absent"),
        ("cluster:absent", "no value at cluster.absent"),
        ("1 in settings:count", "the right side of `in`"),
        ("1 in cluster:mode", "the right side of `in`"),
    ],
)
def test_condition_over_data_that_it_cannot_read_is_an_error(text: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        holds(text)
    assert issues.BAD_CONDITION_VALUE.matches(caught.value)
    assert reason in caught.value.message


@pytest.mark.parametrize(
    "text",
    ["(" * 1_000 + "true" + ")" * 1_000, "not " * 1_000 + "true", " or ".join(["true"] * 1_000), "x" * 20_000],
    ids=["parentheses", "nots", "terms", "characters"],
)
def test_huge_condition_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_condition(text)
    assert issues.BAD_CONDITION.matches(caught.value)


def test_condition_within_the_limits_is_evaluated() -> None:
    deep = "(" * (MAX_DEPTH - 1) + "true" + ")" * (MAX_DEPTH - 1)
    wide = " and ".join(["true"] * MAX_TERMS)
    assert len(wide) < MAX_CHARS
    assert holds(deep)
    assert holds(wide)
