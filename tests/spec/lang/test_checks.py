"""Compares the checker's findings with those of real Puppet 7.23: rows of `checks.jsonl`.

Errors are compared by text. `WORDED_OTHERWISE` lists the reasons why both refuse a program with different texts.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from precast.base.errors import InputError
from precast.base.spans import Source
from precast.lang.syntax.checker import check
from precast.lang.syntax.parser import parse

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("checks.jsonl").read_text(encoding="utf-8").splitlines()
]
MIN_ROWS = 650

# Beginnings of Puppet's texts that ours need not match.
WORDED_OTHERWISE = (
    "Syntax error",  # our text says what was expected
    "Illegal fully qualified name",
    "Illegal class reference",
    "Heredoc",
    "Unclosed quote",
    "Invalid produced text",  # texts of Ruby's parsers
    "premature end of char-class",
    "end pattern with unmatched parenthesis",
    "undefined method",  # Puppet crashes on a boolean as the name of a variable
    "Resource Defaults are not virtualizable",  # Puppet reports this for overrides too
    "Illegal number",
    "PP syntax checker",
)
# Puppet reports these twice for the same cause.
REPEATED = ("Invalid use of expression.", "Illegal parameter name.")
# Puppet does not recognise a plan.
OWN_WORDS = ("plan foo() {}",)


def test_no_row_is_lost() -> None:
    assert len(ROWS) >= MIN_ROWS


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["source"][:40].replace("\n", "¶"))
def test_findings_equal_puppets(row: dict[str, Any]) -> None:
    errors, warnings = findings(row["source"])
    wanted = row.get("errors", [])
    assert bool(errors) == bool(wanted), errors
    assert warnings == row.get("warnings", [])
    if not any(text.startswith(WORDED_OTHERWISE) for text in wanted) and row["source"] not in OWN_WORDS:
        assert without_repeats(errors) == without_repeats(wanted)


def findings(text: str) -> tuple[list[str], list[str]]:
    try:
        result = check(parse(Source("row.pp", text)))
    except InputError as error:
        return [error.message], []
    return [error.message for error in result.errors], [warning.message for warning in result.warnings]


def without_repeats(texts: list[str]) -> list[str]:
    unique = {text for text in texts if not text.startswith(REPEATED)}
    repeated = {text for text in texts if text.startswith(REPEATED[0])}
    return sorted(unique | repeated)


def test_file_of_a_module_holds_only_its_own_definitions() -> None:
    def refused(text: str, namespace: str) -> list[str]:
        return [error.code for error in check(parse(Source("x.pp", text)), namespace).errors]

    assert refused("class m {} class m::other {} define m::d {} function m::f() {1} type M::Z = String", "m") == []
    assert refused("class m::a {} class m::a::b {}", "m::a") == []
    assert refused("class m {} class other {}", "m") == ["LANG-102"]
    assert refused("class m::a {} class m::b {}", "m::a") == ["LANG-102"]
    assert refused("class m {} notice(1)", "m") == ["LANG-103"]
    assert refused("class m {} node default {}", "m") == ["LANG-103"]


def test_warning_is_an_error_when_strict() -> None:
    program = parse(Source("x.pp", "{a => 1, a => 2}"))
    assert [error.code for error in check(program, is_strict=True).errors] == ["LANG-151"]


def test_findings_stop_at_the_limit() -> None:
    assert len(check(parse(Source("x.pp", "$x::y = 1\n" * 50))).errors) == 20
