"""Every row of truth in this directory, and where PRECAST_CORPORA is set those of the corpora, answered by tools/oracle.py.

A row that is known to differ stands in `unequal.txt` with the reason, and must go from there once it is equal.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spec.lang.rows import EXPRESSIONS, MANIFESTS, Row, corpora, difference, read_rows, unequal
from tools.oracle import answer

ROOT = Path(__file__).resolve().parents[3]
ROWS = [("expr", row) for row in read_rows(*EXPRESSIONS)] + [("manifest", row) for row in read_rows(*MANIFESTS)]
STRICT_ROWS = [(mode, row) for mode, row in ROWS if "strict8" in row]
KNOWN = unequal()
FEWEST_ROWS = 2_500
# Of the rows of the corpora so many must be equal, in values, errors, and catalogs.
LEAST_EQUAL = 0.98


def test_no_row_is_lost() -> None:
    assert len(ROWS) >= FEWEST_ROWS
    assert KNOWN.keys() <= {row["id"] for _, row in ROWS} | {f"{row['id']}:strict" for _, row in STRICT_ROWS}


@pytest.mark.parametrize(("mode", "row"), ROWS, ids=[row["id"] for _, row in ROWS])
def test_row_is_as_puppet_says(mode: str, row: Row) -> None:
    found = difference(mode, row, answer(mode, row))
    assert bool(found) == (row["id"] in KNOWN), found or "it is equal now: take it out of unequal.txt"


@pytest.mark.parametrize(("mode", "row"), STRICT_ROWS, ids=[row["id"] for _, row in STRICT_ROWS])
def test_row_is_as_puppet_8_says_when_strict(mode: str, row: Row) -> None:
    found = difference(mode, row["strict8"], answer(mode, row, is_strict=True))
    known = f"{row['id']}:strict" in KNOWN
    assert bool(found) == known, found or "it is equal now: take it out of unequal.txt"


def test_answers_do_not_depend_on_what_a_row_expects() -> None:
    """The same bytes for rows with their truth, with false expectations, and with none."""
    fields = ("id", "source", "files", "facts", "node", "modulepath")
    for mode, paths in (("expr", EXPRESSIONS[:1]), ("manifest", MANIFESTS)):
        rows = read_rows(*paths)[:60]
        false = [
            {**row, "expect": "false", "string": "false", "error": not row.get("error"), "resources": [], "logs": []}
            for row in rows
        ]
        none = [{name: row[name] for name in fields if name in row} for row in rows]
        assert asked(mode, rows) == asked(mode, false) == asked(mode, none)


def asked(mode: str, rows: list[Row]) -> bytes:
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    done = subprocess.run(
        [sys.executable, "tools/oracle.py", mode], cwd=ROOT, input=lines.encode(), capture_output=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize(("mode", "name"), [("expr", "expressions"), ("manifest", "manifests")])
def test_corpus_is_as_puppet_says(mode: str, name: str) -> None:
    place = corpora()
    if place is None:
        pytest.skip("PRECAST_CORPORA names no directory with further rows")
    rows = read_rows(*(place / f"{name}.{origin}.jsonl" for origin in ("ours", "puppet-specs")))
    wrong = [
        f"{row['id']} {found}" for row in rows if (found := difference(mode, _without_asides(row), _answer(mode, row)))
    ]
    assert len(wrong) <= len(rows) * (1 - LEAST_EQUAL), "\n".join(wrong)


def _without_asides(row: Row) -> Row:
    return {name: value for name, value in row.items() if name not in ("logs", "order")}


def _answer(mode: str, row: Row) -> Row:
    return _without_asides(answer(mode, row))
