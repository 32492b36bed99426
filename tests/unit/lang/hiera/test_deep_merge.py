"""Corners of deep merges that Ruby's library has; each was compared with it."""

from typing import Any

import pytest

from precast.base.errors import InputError
from precast.lang.hiera.merging import merged, strategy
from precast.lang.values.core import from_data, rich

KNOCKOUT = {"strategy": "deep", "knockout_prefix": "--"}
SORT = {"strategy": "deep", "sort_merged_arrays": True}


def put_together(merge: Any, *values: Any) -> Any:
    return rich(merged(strategy(from_data(merge)), [from_data(value) for value in values], lambda value: value, None))


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
        ),  # both sides are one array there, and lose what moved up
        (KNOCKOUT, ({"x": ["--", "b"]}, {}), {"x": ["b"]}),
        ({**KNOCKOUT, "merge_hash_arrays": True}, ([{"a": 1}], [{"b": 2}, {"c": 3}]), [{"b": 2, "a": 1}, {"c": 3}]),
        (SORT, ([["b"], []], [["a", "c"]]), [[], ["a", "c"], ["b"]]),
        ({"strategy": "unconstrained_deep", "overwrite_arrays": True}, ({"a": [1]}, {"a": [2]}), {"a": [1]}),
    ],
)
def test_merge_is_as_the_library_has_it(merge: Any, values: tuple[Any, ...], wanted: Any) -> None:
    assert put_together(merge, *values) == wanted


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
def test_what_cannot_be_merged_is_an_error(merge: Any, values: tuple[Any, ...], code: str) -> None:
    with pytest.raises(InputError) as caught:
        put_together(merge, *values)
    assert caught.value.code == code
