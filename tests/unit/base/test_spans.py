"""Positions and the cost of finding them; how an error is shown is in `tests/spec/carets.txt`."""

import tracemalloc

import pytest

from precast.base.spans import WINDOW_COLUMNS, Position, Source, Span, render, visible, width


@pytest.mark.parametrize(
    ("text", "offset", "place"),
    [
        ("", 0, (1, 1)),
        ("abc", 0, (1, 1)),
        ("abc", 3, (1, 4)),
        ("a\nb", 1, (1, 2)),
        ("a\nb", 2, (2, 1)),
        ("a\n", 2, (2, 1)),
        ("a\r\nb", 1, (1, 2)),
        ("a\r\nb", 2, (1, 3)),
        ("a\r\nb", 3, (2, 1)),
        ("a\rb", 2, (2, 1)),
        ("a\r\r\nb", 4, (3, 1)),
        ("a\n\rb", 3, (3, 1)),
        ("日本\n語", 3, (2, 1)),
        ("a\u2028b\x0cc\x85d", 6, (1, 7)),
    ],
)
def test_position_of_an_offset_counts_lines_and_characters_from_one(
    text: str, offset: int, place: tuple[int, int]
) -> None:
    assert Source("a.pp", text).position(offset) == Position(*place)


def test_line_text_of_each_line_leaves_out_its_break() -> None:
    source = Source("a.pp", "one\ntwo\r\nthree\rfour\n")
    assert [source.line_text(line) for line in range(1, 6)] == ["one", "two", "three", "four", ""]


class CountedText(str):
    """Text that counts how much of it `find` has looked through."""

    looked_through = 0

    def find(self, *args: object) -> int:
        found = super().find(*args)  # type: ignore[arg-type]
        start = args[1] if len(args) > 1 else 0
        assert isinstance(start, int)
        self.looked_through += (found if found >= 0 else len(self)) - start
        return found


def test_position_in_a_text_of_lone_returns_reads_it_only_once() -> None:
    text = CountedText("\r" * 10_000)
    assert Source("a.pp", text).position(10_000) == Position(10_001, 1)
    assert text.looked_through <= 2 * len(text)


def test_render_in_a_line_of_a_megabyte_shows_only_the_window() -> None:
    source = Source("a.pp", "x" * 1_000_000)
    source.position(0)
    tracemalloc.start()
    shown = render(source, Span(500_000, 1_000_000), "error", "wrong", "TEST-001")
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert max(map(len, shown.split("\n"))) < WINDOW_COLUMNS + 20
    assert peak_bytes < 2_000_000


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("plain é 日本 😀", "plain é 日本 😀"),
        ("\t", "    "),
        ("\n", "\\u{a}"),
        ("\x1b[0m", "\\u{1b}[0m"),
        ("\u202e\u2069\u200b", "\\u{202e}\\u{2069}\\u{200b}"),
        ("\udc80", "\\u{dc80}"),
        ("\U000e0001", "\\u{e0001}"),
    ],
)
def test_visible_text_has_nothing_that_moves_the_cursor(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("", 0),
        ("abc", 3),
        ("é", 1),
        ("e\u0301", 1),
        ("日本", 4),
        ("ｆ", 2),
        ("😀", 2),
        ("\u0e01\u0e31", 1),
        ("1\u20dd", 1),
    ],
)
def test_width_of_visible_text_counts_terminal_columns(text: str, columns: int) -> None:
    assert width(text) == columns
