"""Odd cases of deep merges, each compared with Ruby's library."""

from typing import Any

import pytest

from precast.base.errors import InputError
from precast.lang.hiera.merge_strategies import merge_variants, strategy_for
from precast.lang.values.base import from_data, rich

KNOCKOUT = {"strategy": "deep", "knockout_prefix": "--"}
SORT = {"strategy": "deep", "sort_merged_arrays": True}


def merge_data(merge: Any, *values: Any) -> Any:
    return rich(
        merge_variants(
            strategy_for(from_data(merge)), [from_data(value) for value in values], lambda value: value, None
        )
    )


@pytest.mark.parametrize(
    ("merge", "values", "wanted"),
    [
        ("deep", ({"a": [1, 1]}, {}), {"a": [1]}),  # an array under a new key is merged with itself
        ("deep", ({"a": False}, {"a": 1}), {"a": False}),
        ("deep", ({"a": 1}, {"a": False}), {"a": 1}),
        ("deep", (None, {"a": 1}), {"a": 1}),
        ("deep", ([1], {"a": 1}), [1]),
        (KNOCKOUT, (["--a", "z"], ["a", "b"]), ["b", "z"]),
        (KNOCKOUT, (["--", "z"], ["a", "b"]), ["z"]),
        (KNOCKOUT, ({"x": "--"}, {"x": [1]}), {"x": ""}),
        (
            KNOCKOUT,
            ({"x": {"y": ["--t", "u"]}}, {}),
            {"x": {"y": []}},
        ),  # both sides are the same array there, and lose the items that moved up
        (KNOCKOUT, ({"x": ["--", "b"]}, {}), {"x": ["b"]}),
        ({**KNOCKOUT, "merge_hash_arrays": True}, ([{"a": 1}], [{"b": 2}, {"c": 3}]), [{"b": 2, "a": 1}, {"c": 3}]),
        (SORT, ([["b"], []], [["a", "c"]]), [[], ["a", "c"], ["b"]]),
        ({"strategy": "unconstrained_deep", "overwrite_arrays": True}, ({"a": [1]}, {"a": [2]}), {"a": [1]}),
    ],
)
def test_merge_gives_the_result_of_rubys_library(merge: Any, values: tuple[Any, ...], wanted: Any) -> None:
    assert merge_data(merge, *values) == wanted


@pytest.mark.parametrize(
    ("merge", "values", "code"),
    [
        (SORT, ([1], ["a"]), "HIERA-043"),
        (SORT, ([True], [1]), "HIERA-043"),
        ({"strategy": "deep", "knockout_prefix": ""}, ({}, {}), "HIERA-040"),
        ({"strategy": "deep", "knockout_prefix": "("}, ({}, {}), "HIERA-040"),
        ("unique", ([1], {"a": 1}), "HIERA-040"),
        ("hash", ({"a": 1}, [1]), "HIERA-040"),
        ("nope", (), "HIERA-041"),
        ({"knockout_prefix": "-"}, (), "HIERA-042"),
    ],
)
def test_values_that_cannot_be_merged_are_an_error(merge: Any, values: tuple[Any, ...], code: str) -> None:
    with pytest.raises(InputError) as caught:
        merge_data(merge, *values)
    assert caught.value.code == code
