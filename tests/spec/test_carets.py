"""Runs every case of `carets.txt`."""

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from precast.base.spans import Source, Span, render

CASES = Path(__file__).with_name("carets.txt")
FEWEST_CASES = 35
FIELDS = {"text": "", "path": "site.pp", "message": "it is wrong", "hint": ""}

_TERM = re.compile(r'("(?:[^"\\]|\\.)*")(?:@(\d+))?')


class Case(NamedTuple):
    name: str
    fields: dict[str, str]
    span: Span
    rows: list[str]


def read_cases(text: str) -> list[Case]:
    """The cases of a file. Raises ValueError for a malformed case."""
    _, *blocks = re.split(r"^== ", text, flags=re.MULTILINE)
    return [read_case(block) for block in blocks]


def read_case(block: str) -> Case:
    head, mark, body = block.partition("\n--\n")
    name, *lines = head.split("\n")
    fields = dict(FIELDS)
    span = None
    for line in lines:
        field, colon, value = line.partition(": ")
        if field == "span":
            start, end = map(int, value.split(" "))
            span = Span(start, end)
        elif colon and field in FIELDS:
            fields[field] = read_text(value)
        else:
            raise ValueError(f"case {name!r}: unknown field in {line!r}")
    rows = body.rstrip("\n").split("\n")
    if not mark or span is None or not all(row.endswith("$") for row in rows):
        raise ValueError(f"case {name!r} has no span, no -- or a row without $")
    return Case(name, fields, span, [row[:-1] for row in rows])


def read_text(value: str) -> str:
    parts = []
    for term in value.split(" + "):
        match = _TERM.fullmatch(term)
        if match is None:
            raise ValueError(f"{term} is not a JSON string")
        parts.append(json.loads(match[1]) * int(match[2] or 1))
    return "".join(parts)


@pytest.mark.parametrize("case", read_cases(CASES.read_text(encoding="utf-8")), ids=lambda case: case.name)
def test_render_case_gives_exactly_the_expected_text(case: Case) -> None:
    source = Source(case.fields["path"], case.fields["text"])
    shown = render(source, case.span, "error", case.fields["message"], "TEST-001", case.fields["hint"])
    assert shown.split("\n") == case.rows


def test_carets_file_holds_all_its_cases() -> None:
    cases = read_cases(CASES.read_text(encoding="utf-8"))
    assert len(cases) >= FEWEST_CASES
    assert len({case.name for case in cases}) == len(cases)


@pytest.mark.parametrize(
    "text",
    [
        '== x\ntext: "a"\n--\nrow$\n',
        '== x\ntext: "a"\nspan: 0 1\nrow$\n',
        '== x\ntext: "a"\nspan: 0 1\n--\nrow\n',
        "== x\ntext: a\nspan: 0 1\n--\nrow$\n",
        '== x\ntxet: "a"\nspan: 0 1\n--\nrow$\n',
        "== x\nspan: 0\n--\nrow$\n",
    ],
    ids=["no span", "no mark", "open row", "no JSON", "unknown field", "half a span"],
)
def test_carets_file_with_an_unreadable_case_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_cases(text)
