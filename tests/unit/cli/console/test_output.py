"""Tables, JSON, and output that cannot be written."""

import io
import json
import sys

import pytest

from precast.cli.console.output import (
    OutputFailed,
    StreamedJson,
    StreamedTable,
    print_json,
    print_table,
    watched_stdout,
)


class Full(io.StringIO):
    """A stream on a device without space."""

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


class LateFull(io.StringIO):
    """The same behind a buffer, so that the error is raised by the flush."""

    def flush(self) -> None:
        raise OSError(28, "No space left on device")


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.split("\n")[:-1]


def test_print_table_puts_numbers_right_and_the_rest_left(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["NAME", "COUNT", "SHARE"], [("a", 5, 0.5), ("longer", 1234567, 10.25)])
    assert printed(capsys) == [
        "NAME      COUNT  SHARE",
        "a             5    0.5",
        "longer  1234567  10.25",
    ]


def test_print_table_without_rows_prints_its_heads(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["NAME", "COUNT"], [])
    assert printed(capsys) == ["NAME  COUNT"]


def test_print_table_with_none_among_numbers_shows_a_dash_and_keeps_them_right(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table(["N", "WHO"], [(1, None), (None, "x"), (200, None)])
    assert printed(capsys) == ["  N  WHO", "  1  -", "  -  x", "200  -"]


def test_print_table_with_truth_values_or_nothing_at_all_puts_them_left(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["HELD", "NONE", "X"], [(True, None, 1), (False, None, 2)])
    assert printed(capsys) == ["HELD   NONE  X", "True   -     1", "False  -     2"]


def test_print_table_with_wide_characters_and_marks_keeps_its_columns(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["NAME", "X"], [("日本語", "a"), ("e\u0301", "b")])
    assert printed(capsys) == ["NAME    X", "日本語  a", "e\u0301       b"]


def test_print_table_with_hostile_cells_writes_their_controls_out(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["NAME", "X"], [("a\x1b[2J\nb", "c")])
    assert printed(capsys) == ["NAME              X", "a\\u{1b}[2J\\u{a}b  c"]


@pytest.mark.parametrize("row", [("a",), ("a", "b", "c")])
def test_print_table_with_a_row_of_another_length_is_refused(row: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="zip"):
        print_table(["ONE", "TWO"], [row])


def test_print_json_prints_one_document_that_reads_back(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"b": [1, 1.5, None, True], "a": "日本 \x1b\x9b\u202e \ud800"}
    print_json(value)
    out = capsys.readouterr().out
    assert json.loads(out) == value
    assert out.isascii()
    assert out.replace("\n", "").isprintable()


def test_print_json_of_a_value_that_json_cannot_represent_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="JSON"):
        print_json([float("nan")])
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("stream", [Full(), LateFull()], ids=["at once", "when flushed"])
def test_watched_stdout_that_cannot_be_written_raises_its_own_error(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", stream)
    with pytest.raises(OutputFailed) as caught, watched_stdout():
        print("text")
    assert caught.value.reason.errno == 28
    assert sys.stdout is stream


def test_watched_stdout_leaves_other_failures_alone() -> None:
    with pytest.raises(BrokenPipeError), watched_stdout():
        raise BrokenPipeError(32, "a socket's")


def test_watched_stdout_whatever_the_locale_writes_utf8(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    with watched_stdout():
        print("日本\udc80", flush=True)
    assert written.getvalue() == "日本\\udc80\n".encode()


def test_watched_stdout_that_is_closed_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with watched_stdout():
        print("nobody reads this")


def test_watched_stdout_passes_everything_else_through(capfd: pytest.CaptureFixture[str]) -> None:
    with watched_stdout():
        assert sys.stdout.isatty() is False
        sys.stdout.write("one\n")
        print("two")
    assert capfd.readouterr().out == "one\ntwo\n"


def test_streamed_table_prints_each_page_at_once_and_its_heads_once(capsys: pytest.CaptureFixture[str]) -> None:
    table = StreamedTable()
    table.add(["NAME", "COUNT"], [("web1", 5)])
    assert printed(capsys) == ["NAME  COUNT", "web1      5"]
    table.add(["NAME", "COUNT"], [("longer1", 12), ("b", 3)])
    assert printed(capsys) == ["longer1     12", "b            3"]
    table.add(["NAME", "COUNT"], [])
    assert printed(capsys) == []


@pytest.mark.parametrize("pages", [[], [[]], [[{"a": [1, {"b": "x\ny"}]}]], [[{"a": 1}, {}], [], [{"c": None}]]])
def test_streamed_json_is_the_document_of_all_pages(
    pages: list[list[object]], capsys: pytest.CaptureFixture[str]
) -> None:
    document = StreamedJson()
    texts = []
    for page in pages:
        document.add(page)
        texts.append(capsys.readouterr().out)
    assert all(bool(text) == bool(page) for text, page in zip(texts, pages, strict=True)), "it waits for the end"
    document.finish()
    streamed = "".join(texts) + capsys.readouterr().out
    print_json([value for page in pages for value in page])
    assert streamed == capsys.readouterr().out
