"""Runs every line of `canonical.txt`; the file is written so that another implementation can run it too."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from precast.base import canonical
from precast.base.errors import PrecastError

CASES = Path(__file__).with_name("canonical.txt")
FEWEST_CASES = 115


class Case(NamedTuple):
    line: int
    given: str
    wanted: str


def read_cases(text: str) -> list[Case]:
    """The cases of a file. Raises ValueError for a malformed line."""
    cases = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        given, arrow, wanted = line.partition(" => ")
        if not arrow or not wanted or " => " in wanted:
            raise ValueError(f"line {number} is not INPUT => OUTPUT: {line}")
        case = Case(number, given, wanted)
        try:
            value_of(given)
            outcome_of(wanted)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}: {line}") from None
        cases.append(case)
    return cases


def value_of(given: str) -> Any:
    word, _, argument = given.partition(" ")
    if word == "@key":
        return {json.loads(argument): 0}
    if word in ("@arrays", "@objects"):
        value: Any = [] if word == "@arrays" else {}
        for _ in range(int(argument) - 1):
            value = [value] if word == "@arrays" else {"k": value}
        return value
    return json.loads(given)


def outcome_of(wanted: str) -> bytes | str:
    """The expected bytes, or the code of an error as text."""
    word, _, argument = wanted.partition(" ")
    if word == "@arrays":
        return b"[" * int(argument) + b"]" * int(argument)
    if word == "@objects":
        return b'{"k":' * (int(argument) - 1) + b"{}" + b"}" * (int(argument) - 1)
    if wanted.startswith("hex:"):
        return bytes.fromhex(wanted.removeprefix("hex:"))
    if re.fullmatch(r"[A-Z]+-\d{3}", wanted):
        return wanted
    json.loads(wanted)
    return wanted.encode()


def encoded(value: object) -> bytes | str:
    try:
        return canonical.encode(value)
    except PrecastError as error:
        return error.code


@pytest.mark.parametrize("case", read_cases(CASES.read_text(encoding="utf-8")), ids=lambda case: f"line {case.line}")
def test_canonical_case_gives_exactly_the_expected_bytes(case: Case) -> None:
    assert encoded(value_of(case.given)) == outcome_of(case.wanted), case.given


def test_canonical_file_holds_all_its_cases() -> None:
    assert len(read_cases(CASES.read_text(encoding="utf-8"))) >= FEWEST_CASES


@pytest.mark.parametrize(
    "text", ["1 -> 1", "1 =>", "1 => ", " => 1", "[1 => [1", "1 => [1", "1 => 1 => 1", "@arrays x => []", "1 => hex:7"]
)
def test_canonical_file_with_an_unreadable_line_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="line 2"):
        read_cases(f"null => null\n{text}\n")
