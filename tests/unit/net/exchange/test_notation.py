"""The text notation: what it declares, and its errors."""

import pytest

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.net.exchange.notation import parse
from precast.net.exchange.notation_writer import write
from precast.net.model.declarations import NetDeclaration, Place, Transition
from precast.net.model.durations import format_duration, parse_duration

TEXT = """\
# a comment
net "rolling upgrade"     # another
place a, b = 2 capacity 4
limit batch = 3
lock apt
step Exec[apt-get update] 1m30s priority 5
  holds batch, apt
step "with, comma" 250ms
  needs Exec[apt-get update]
  reads 2*a
transition t auto
  takes a, b
  gives 3*b
  on failure gives nothing
  on skip gives a
goal 2*b, a
"""


def test_text_with_every_statement_declares_what_it_says() -> None:
    assert parse(Source("x.net", TEXT)).declared == NetDeclaration(
        "rolling upgrade",
        (
            Place("a", 2, 4),
            Place("b", 2, 4),
            Place("batch", 3, is_limit=True),
            Place("apt", 1, is_limit=True),
        ),
        (
            Transition("Exec[apt-get update]", True, holds=(("batch", 1), ("apt", 1)), duration_ms=90_000, priority=5),
            Transition("with, comma", True, ("Exec[apt-get update]",), reads=(("a", 2),), duration_ms=250),
            Transition(
                "t", takes=(("a", 1), ("b", 1)), gives=(("b", 3),), on_failure=(), on_skip=(("a", 1),), is_auto=True
            ),
        ),
        (("b", 2), ("a", 1)),
    )


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_text_with_any_line_break_is_read_alike(line_break: str) -> None:
    assert parse(Source("x", TEXT.replace("\n", line_break))).declared == parse(Source("x", TEXT)).declared


@pytest.mark.parametrize(
    "name",
    [
        "plain",
        "File[/etc/a b]",
        "a b",
        "",
        '"',
        "nothing",
        "2*x",
        "#",
        "a#b",
        "ü→",
        "x\ny",
        "\x1b[31m",
        "a,b",
        "a=b",
        "[",
        "]",
        "\\",
        "\u2028",
        "🙂",
    ],
)
def test_name_of_any_kind_survives_writing_and_reading(name: str) -> None:
    declared = NetDeclaration(name, (Place(name, 1),), (Transition(name, takes=((name, 2),)),), ((name, 1),))
    text = write(declared)
    assert parse(Source("x", text)).declared == declared
    assert all(char.isprintable() or char == "\n" for char in text)


@pytest.mark.parametrize(
    ("text", "line", "column", "code", "part"),
    [
        ("stepp A", 1, 1, "NET-011", "did you mean step?"),
        ("step A\n needs Bb\nstep B\n", 2, 8, "NET-003", "step Bb is not declared"),
        ("place slots\nstep A\n holds slot", 3, 8, "NET-002", "did you mean slots?"),
        ("place a\nplace b, a", 2, 10, "NET-001", "a is declared twice"),
        ("step A\nstep A", 2, 6, "NET-001", "A is declared twice"),
        ("place a = x", 1, 11, "NET-010", "expected a whole number from 0"),
        ("place a = -1", 1, 11, "NET-010", "found '-1'"),
        ("place a = 3 capacity 2", 1, 7, "NET-005", "starts with 3 tokens and holds at most 2"),
        ("place a b", 1, 9, "NET-010", "expected a comma or the end of the line, found 'b'"),
        ("place", 1, 6, "NET-010", "expected a name, found the end of the line"),
        ("limit a", 1, 8, "NET-010", "expected '=' and how many at once"),
        ("  takes a", 1, 3, "NET-012", "'takes' belongs to a transition"),
        ("transition t\n needs a", 2, 2, "NET-012", "'needs' belongs to a step"),
        ("step A 1.2345s", 1, 8, "NET-013", "not a duration in whole milliseconds"),
        ("step A 5", 1, 8, "NET-013", "'5' is not a duration"),
        ('step "open', 1, 6, "NET-010", "a closing quote"),
        ('step "bad \\q"', 1, 6, "NET-010", "JSON's escapes"),
        ("transition t\n on fire gives a", 2, 5, "NET-010", "'failure' or 'skip'"),
        ("transition t\n on failure a", 2, 13, "NET-010", "expected 'gives'"),
        ("place a\ntransition t\n takes 0*a", 3, 8, "NET-010", "a whole number from 1"),
        ("place a\ngoal", 2, 5, "NET-010", "expected a name"),
    ],
)
def test_text_that_is_wrong_is_reported_at_its_place(text: str, line: int, column: int, code: str, part: str) -> None:
    source = Source("x.net", text)
    with pytest.raises(PrecastError) as caught:
        parse(source)
    error = caught.value
    assert error.span is not None
    assert (error.code, source.position(error.span.start)) == (code, (line, column))
    assert part in error.message
    assert error.hint


@pytest.mark.parametrize(
    ("text", "duration_ms"),
    [
        ("250ms", 250),
        ("90s", 90_000),
        ("1m30s", 90_000),
        ("1.5s", 1_500),
        ("2h", 7_200_000),
        ("1h1ms", 3_600_001),
        ("0s", 0),
    ],
)
def test_duration_is_read_and_written_back(text: str, duration_ms: int) -> None:
    assert parse_duration(text) == duration_ms
    assert parse_duration(format_duration(duration_ms)) == duration_ms


@pytest.mark.parametrize("text", ["", "5", "s", "1.0005s", "-1s", "1 s", "1d", "9" * 50 + "s"])
def test_duration_that_is_none_is_refused(text: str) -> None:
    assert parse_duration(text) is None
