"""Properties of the base package over generated values."""

import math
import sys
import unicodedata
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from precast.base import canonical
from precast.base.clock import ManualClock
from precast.base.errors import InputError
from precast.base.ids import TimeOrderedIds
from precast.base.spans import TAB_COLUMNS, WINDOW_COLUMNS, Source, Span, render, visible, width

GUTTER = len("    1 | ")

# ---- canonical JSON

leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=-(2**300), max_value=2**300)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.sampled_from(["null", "[", "{", "NaN", 0, 0.0, -0.0, 1, 1.0, True, "1"])
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=4), inner, max_size=5),
    max_leaves=25,
)
not_finite = st.sampled_from([math.nan, math.inf, -math.inf, -math.nan])


def exact(value: object) -> object:
    """A value that equals another only if types and signs agree too: in Python 1 == 1.0 == True and 0.0 == -0.0."""
    if isinstance(value, dict):
        return "object", frozenset((key, exact(item)) for key, item in value.items())
    if isinstance(value, list):
        return "array", tuple(exact(item) for item in value)
    if isinstance(value, float):
        return "float", value.hex()
    return type(value).__name__, value


def reordered(value: Any, draw: Callable[[st.SearchStrategy[Any]], Any]) -> Any:
    """The same value with the keys of every object in another order."""
    if isinstance(value, dict):
        return {key: reordered(value[key], draw) for key in draw(st.permutations(list(value)))}
    if isinstance(value, list):
        return [reordered(item, draw) for item in value]
    return value


@given(values, st.data())
def test_encode_objects_in_another_order_gives_equal_bytes(value: Any, data: st.DataObject) -> None:
    assert canonical.encode(reordered(value, data.draw)) == canonical.encode(value)


@given(values)
def test_encode_then_decode_gives_the_value_with_its_types(value: Any) -> None:
    assert exact(msgspec.json.decode(canonical.encode(value))) == exact(value)


@given(values)
def test_encode_what_was_decoded_gives_the_same_bytes(value: Any) -> None:
    data = canonical.encode(value)
    assert canonical.encode(msgspec.json.decode(data)) == data


@given(st.lists(values, min_size=2, max_size=6))
def test_encode_gives_equal_bytes_only_for_equal_values(several: list[Any]) -> None:
    for one in several:
        for other in several:
            assert (canonical.encode(one) == canonical.encode(other)) == (exact(one) == exact(other))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_encode_float_has_the_fewest_digits_and_the_mark_of_a_float(value: float) -> None:
    def digits(text: str) -> str:
        return text.lstrip("-").split("e")[0].replace(".", "").strip("0")

    text = canonical.encode(value).decode()
    assert "." in text or "e" in text
    assert float(text).hex() == value.hex()
    assert digits(text) == digits(repr(value))


@given(st.data(), st.lists(st.text(max_size=3) | st.integers(0, 3), max_size=12), not_finite)
def test_encode_not_finite_number_anywhere_is_refused(data: st.DataObject, path: list[str | int], bad: float) -> None:
    value: Any = bad
    for step in path:
        around = data.draw(values)
        if isinstance(step, str):
            value = {**(around if isinstance(around, dict) else {"other": around}), step: value}
        else:
            value = [around] * step + [value]
    with pytest.raises(InputError) as caught:
        canonical.encode(value)
    assert caught.value.code == "JSON-001"


@given(st.lists(st.sampled_from("[{("), min_size=250, max_size=262), st.integers(60, 600), leaves)
def test_encode_depth_alone_decides_whatever_the_callers_stack(kinds: list[str], spare: int, leaf: object) -> None:
    value: Any = leaf
    for kind in kinds:
        value = [value] if kind == "[" else (value,) if kind == "(" else {"k": value}

    def attempt() -> str:
        try:
            return "written" if canonical.encode(value) else ""
        except InputError as error:
            return error.code

    def descend(frames: int) -> str:
        return attempt() if frames <= 0 else descend(frames - 1)

    used = 0
    frame = sys._getframe()
    while frame := frame.f_back:  # type: ignore[assignment]
        used += 1
    wanted = "written" if len(kinds) <= canonical.MAX_DEPTH else "JSON-002"
    assert descend(sys.getrecursionlimit() - used - spare) == wanted


# ---- spans

characters = st.characters(exclude_categories=()) | st.sampled_from("\n\r\t \x1b\x00\u202e\u0301\ufe0f日😀ab")
texts = st.text(characters, max_size=40)
long_lines = st.text(
    st.sampled_from("ab日\t\u0301\x1b\udc80"), min_size=WINDOW_COLUMNS - 5, max_size=WINDOW_COLUMNS * 3
)


def naive_position(text: str, offset: int) -> tuple[int, int]:
    line, column, at = 1, 1, 0
    while at < offset:
        is_inside_crlf = text[at] == "\r" and text[at + 1 : at + 2] == "\n"
        if text[at] in "\r\n" and not is_inside_crlf:
            line, column = line + 1, 1
        else:
            column += 1
        at += 1
    return line, column


def cells_of(row: str) -> list[str]:
    """What stands in each column of a terminal: a wide character fills two, a mark joins the one before it."""
    cells: list[str] = []
    for char in row:
        if unicodedata.category(char) in ("Mn", "Me"):
            cells[-1] += char
        else:
            cells.append(char)
            if unicodedata.east_asian_width(char) in ("W", "F"):
                cells.append("")
    return cells


def a_span_in(data: st.DataObject, text: str) -> Span:
    start = data.draw(st.integers(0, len(text)))
    return Span(start, data.draw(st.integers(start, len(text))))


@given(texts, st.data())
def test_position_of_any_offset_agrees_with_a_naive_count(text: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    assert Source("a", text).position(offset) == naive_position(text, offset)


@given(texts)
def test_line_texts_and_breaks_make_up_the_text(text: str) -> None:
    source = Source("a", text)
    last = source.position(len(text)).line
    assert "\n".join(source.line_text(line) for line in range(1, last + 1)) == text.replace("\r\n", "\n").replace(
        "\r", "\n"
    )


@given(texts | long_lines, texts, texts, texts, st.data())
def test_render_of_any_span_shows_every_control_character(
    text: str, path: str, message: str, hint: str, data: st.DataObject
) -> None:
    shown = render(Source(path, text), a_span_in(data, text), "error", message, "TEST-001", hint)
    assert shown.replace("\n", "").isprintable()
    assert shown.count("\n") == (3 if hint else 2)
    shown.encode()  # no lone surrogate either, on which a strict stream would fail


@given(texts | long_lines, st.data())
def test_render_of_any_span_puts_the_caret_under_its_characters(text: str, data: st.DataObject) -> None:
    span = a_span_in(data, text)
    source = Source("a", text)
    line = source.line_text(source.position(span.start).line)
    first = source.position(span.start).column - 1
    marked = line[first : first + max(span.end - span.start, 1)]

    _, shown, carets = render(source, span, "error", "wrong", "TEST-001").split("\n")
    before, _, under = carets[GUTTER:].partition("^")
    cells = cells_of(shown)[GUTTER:]
    underlined = "".join(cells[len(before) : len(before) + 1 + len(under)])

    assert carets[:GUTTER] == "      | "
    assert not before.strip()
    assert not under.strip("~")
    if not marked:  # past the end of the line: the caret stands right after it
        assert len(before) == len(cells)
    elif width(visible(marked[0])) > 0:  # a mark alone has no column to stand under
        bare = "".join(char for char in visible(marked) if width(char))
        got = "".join(char for char in underlined if width(char))
        row = "".join(char for char in shown if width(char))
        assert got == bare or (len(line) > WINDOW_COLUMNS and bare.startswith(got) and row.endswith(got + "…"))


@given(st.text(characters))
def test_visible_text_is_printable_and_keeps_what_was(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable()
    if text.isprintable():
        assert shown == text
    assert len(shown) >= len(text)
    assert visible("\t") == " " * TAB_COLUMNS


# ---- ids

moments = st.datetimes(datetime(1960, 1, 1), datetime(9999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001
jumps = st.floats(-4e9, 4e9, allow_nan=False) | st.floats(-0.01, 0.01) | st.just(0.0)


@given(moments, st.lists(jumps, max_size=30), st.sampled_from([lambda n: 0, lambda n: 2**n - 1]))
def test_ids_of_a_clock_that_jumps_ascend_and_are_version_7(
    start_at: datetime, steps: list[float], random_bits: Callable[[int], int]
) -> None:
    clock = ManualClock(start_at)
    ids = TimeOrderedIds(clock, random_bits)
    made = [ids.new()]
    latest_at = start_at
    for step in steps:
        try:
            clock.set_back(step)
        except OverflowError:
            continue
        latest_at = max(latest_at, clock.now())
        made.append(ids.new())
    assert made == sorted(set(made))
    assert {(uuid.UUID(made_id).version, uuid.UUID(made_id).variant) for made_id in made} == {(7, uuid.RFC_4122)}
    newest_ms = uuid.UUID(made[-1]).int >> 80
    latest_ms = max((latest_at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1), 0)
    assert latest_ms <= newest_ms <= latest_ms + 1
