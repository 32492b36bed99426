"""Canonical JSON beyond what `tests/spec/canonical.txt` can write down: Structs, cycles, the caller's stack."""

import dataclasses
import enum
import math
import sys
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from precast.base import canonical
from precast.base.errors import InputError, PrecastError


class Package(msgspec.Struct, frozen=True):
    version: str
    name: str
    size: float = 0.0


class Tagged(msgspec.Struct, tag="zed", tag_field="kind", rename="camel"):
    z_end: object = None
    a_start: object = None


class Row(msgspec.Struct, array_like=True):
    first: float
    second: object


@dataclasses.dataclass
class Point:
    x: float
    note: object = None


class Shade(enum.Enum):
    DARK = "dark"


def nested_lists(depth: int, innermost: object = 0) -> Any:
    value: list[Any] = [innermost]
    for _ in range(depth - 1):
        value = [value]
    return value


def code_of(value: object) -> str:
    with pytest.raises(InputError) as caught:
        canonical.encode(value)
    return caught.value.code


def near_the_end_of_the_stack(call: Callable[[], Any], spare_frames: int) -> Any:
    """What a call gives whose caller has used up all but a few frames of the interpreter's stack."""
    used = 0
    frame = sys._getframe()
    while frame := frame.f_back:  # type: ignore[assignment]
        used += 1

    def descend(frames: int) -> Any:
        return call() if frames == 0 else descend(frames - 1)

    return descend(sys.getrecursionlimit() - used - spare_frames)


def test_encode_struct_gives_the_bytes_of_the_same_object_as_a_dict() -> None:
    package = Package(version="1.2", name="nginx", size=0.5)
    assert canonical.encode(package) == b'{"name":"nginx","size":0.5,"version":"1.2"}'
    assert canonical.encode(package) == canonical.encode(msgspec.to_builtins(package))


def test_encode_tagged_struct_sorts_the_tag_and_renamed_fields_too() -> None:
    assert canonical.encode(Tagged(z_end=1, a_start=2)) == b'{"aStart":2,"kind":"zed","zEnd":1}'


def test_encode_dataclass_gives_the_bytes_of_the_same_object_as_a_dict() -> None:
    assert canonical.encode(Point(1.5, "x")) == canonical.encode({"x": 1.5, "note": "x"})


def test_encode_set_sorts_its_members() -> None:
    assert canonical.encode({10, 9, 100}) == b"[9,10,100]"
    assert canonical.encode(frozenset("badc")) == b'["a","b","c","d"]'


def test_encode_set_without_an_order_is_refused() -> None:
    assert code_of({1, "a"}) == "JSON-003"


def test_encode_enum_writes_its_value() -> None:
    assert canonical.encode({"shade": Shade.DARK}) == b'{"shade":"dark"}'


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        [math.inf],
        (1, -math.inf),
        {"a": {"b": math.nan}},
        {math.nan},
        frozenset([math.inf]),
        Package("1", "n", math.nan),
        Tagged(z_end=[math.nan]),
        Row(math.nan, None),
        Row(1.0, {"deep": [Point(1.0, math.inf)]}),
        Point(math.nan),
        [None, "null", math.nan],
    ],
    ids=repr,
)
def test_encode_not_finite_number_anywhere_is_refused(value: object) -> None:
    assert code_of(value) == "JSON-001"


@pytest.mark.parametrize("value", ["null", ["NaN", None], {"null": "null"}, {"a": None}, "[" * 500, {"{" * 300: "["}])
def test_encode_text_that_looks_like_trouble_is_left_alone(value: object) -> None:
    assert msgspec.json.decode(canonical.encode(value)) == value


@pytest.mark.parametrize(
    "wrap",
    [lambda v: [v], lambda v: (v,), lambda v: {"k": v}, Tagged, lambda v: Row(1.0, v), lambda v: Point(1.0, v)],
    ids=["list", "tuple", "dict", "struct", "array_like", "dataclass"],
)
def test_encode_any_container_counts_as_one_level(wrap: Callable[[object], object]) -> None:
    value: object = 0
    for _ in range(canonical.MAX_DEPTH):
        value = wrap(value)
    assert canonical.encode(value)
    assert code_of(wrap(value)) == "JSON-002"


def test_encode_many_containers_side_by_side_is_not_deep() -> None:
    assert canonical.encode([[]] * 10_000) == b"[" + b",".join([b"[]"] * 10_000) + b"]"


def test_encode_depth_beyond_any_stack_is_refused() -> None:
    value = nested_lists(50_000)
    assert code_of(value) == "JSON-002"
    while isinstance(value, list):  # taken apart by hand: an interpreter may recurse when it frees such a value
        value = value.pop()


def test_encode_cycle_is_refused_as_too_deep() -> None:
    cycle: list[object] = []
    cycle += [cycle, cycle]  # two ways round: a walk level by level would never end
    assert code_of(cycle) == "JSON-002"
    cycle.clear()


def test_encode_value_at_the_limit_from_a_nearly_used_up_stack_is_written() -> None:
    value = nested_lists(canonical.MAX_DEPTH)
    assert near_the_end_of_the_stack(lambda: canonical.encode(value), 100) == b"[" * 256 + b"0" + b"]" * 256


def test_encode_value_beyond_the_limit_from_a_nearly_used_up_stack_is_refused() -> None:
    value = nested_lists(canonical.MAX_DEPTH + 1)
    assert near_the_end_of_the_stack(lambda: code_of(value), 100) == "JSON-002"


def test_encode_not_finite_number_from_a_nearly_used_up_stack_is_refused() -> None:
    value = nested_lists(canonical.MAX_DEPTH, math.nan)
    assert near_the_end_of_the_stack(lambda: code_of(value), 100) == "JSON-001"


@pytest.mark.parametrize("value", [object(), 1j, len, (x for x in "a"), {"a": msgspec.UNSET}, {b"k": 1}])
def test_encode_what_json_cannot_say_is_refused(value: object) -> None:
    assert code_of(value) == "JSON-003"


def test_encode_integer_of_4300_digits_is_written_and_a_longer_one_refused() -> None:
    assert canonical.encode(10**4299) == b"1" + b"0" * 4299
    assert code_of(10**4300) == "JSON-003"


def test_encode_raw_is_copied_as_it_is() -> None:
    inner = canonical.encode({"b": 1, "a": None})
    assert canonical.encode({"inner": msgspec.Raw(inner)}) == b'{"inner":{"a":null,"b":1}}'


TOKENS = [b"{", b"}", b"[", b"]", b",", b":", b'"', b'"a"', b'"a":', b"1", b"-", b".", b"e", b"E", b"+", b"0"]
TOKENS += [
    b"999",
    b"1e308",
    b"1e309",
    b"-1E+400",
    b"1" * 150,
    b"e99",
    b"1" * 309,
    b"1" * 400 + b".5",
    b"1" * 5000,
    b"null",
    b"true",
    b" ",
]
TOKENS += [b"\\", b"\\u00e9", b"\\ud800", "é".encode(), b"\xff", b"\x01", b'{"a":', b"[" * 300, b"]" * 300]


def is_read(read: Callable[[bytes], object], data: bytes) -> bool:
    try:
        read(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, PrecastError):
        return False
    return True


@given(
    st.lists(st.sampled_from(TOKENS)).map(b"".join)
    | st.lists(st.sampled_from(TOKENS)).map(lambda inside: b'{"a":' + b"".join(inside) + b"}")
    | st.dictionaries(st.text(), st.text() | st.floats(allow_nan=False, allow_infinity=False)).map(canonical.encode)
)
@example(b'{"a":1e999,"a":1}')
@example(b'{"a":1' + b"0" * 400 + b".5}")
@example(b'{"a":[-1E+0309]}')
@example(b'{"a":' + b"1" * 250 + b"e99}")
@example(b'{"a":' + b"1" * 209 + b".5E99}")
@settings(max_examples=500)
def test_decode_mapping_reads_what_canonical_bytes_could_say_and_nothing_else(data: bytes) -> None:
    if is_read(canonical.decode_mapping, data):
        value = canonical.decode_mapping(data)
        assert canonical.decode_mapping(canonical.encode(value)) == value
    else:
        assert not is_read(lambda text: canonical.encode(msgspec.json.decode(text, type=dict[str, Any])), data)
