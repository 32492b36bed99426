"""Runs every specification row of this directory, and those of the corpora if PRECAST_CORPORA is set, through tools/oracle.py.

A row that is known to differ is listed in `unequal.txt` with the reason, and must be removed from there once it is equal.
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
MIN_ROWS = 2_500
# The share of the corpora's rows that must be equal in values, errors and catalogs.
MIN_EQUAL = 0.98


def test_no_row_is_lost() -> None:
    assert len(ROWS) >= MIN_ROWS
    assert KNOWN.keys() <= {row["id"] for _, row in ROWS} | {f"{row['id']}:strict" for _, row in STRICT_ROWS}


@pytest.mark.parametrize(("mode", "row"), ROWS, ids=[row["id"] for _, row in ROWS])
def test_row_equals_puppets_answer(mode: str, row: Row) -> None:
    problem = difference(mode, row, answer(mode, row))
    assert bool(problem) == (row["id"] in KNOWN), problem or "the row is equal now: remove it from unequal.txt"


@pytest.mark.parametrize(("mode", "row"), STRICT_ROWS, ids=[row["id"] for _, row in STRICT_ROWS])
def test_row_equals_puppet_8s_answer_when_strict(mode: str, row: Row) -> None:
    problem = difference(mode, row["strict8"], answer(mode, row, is_strict=True))
    known = f"{row['id']}:strict" in KNOWN
    assert bool(problem) == known, problem or "the row is equal now: remove it from unequal.txt"


def test_answers_do_not_depend_on_what_a_row_expects() -> None:
    """The output is the same for rows with their results, with false results, and with none."""
    fields = ("id", "source", "files", "facts", "node", "modulepath")
    for mode, paths in (("expr", EXPRESSIONS[:1]), ("manifest", MANIFESTS)):
        rows = read_rows(*paths)[:60]
        false = [
            {**row, "expect": "false", "string": "false", "error": not row.get("error"), "resources": [], "logs": []}
            for row in rows
        ]
        none = [{name: row[name] for name in fields if name in row} for row in rows]
        assert oracle_output(mode, rows) == oracle_output(mode, false) == oracle_output(mode, none)


def oracle_output(mode: str, rows: list[Row]) -> bytes:
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    done = subprocess.run(
        [sys.executable, "tools/oracle.py", mode], cwd=ROOT, input=lines.encode(), capture_output=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize(("mode", "name"), [("expr", "expressions"), ("manifest", "manifests")])
def test_corpus_equals_puppets_answers(mode: str, name: str) -> None:
    directory = corpora()
    if directory is None:
        pytest.skip("PRECAST_CORPORA names no directory with further rows")
    rows = read_rows(*(directory / f"{name}.{origin}.jsonl" for origin in ("ours", "puppet-specs")))
    wrong = [
        f"{row['id']} {problem}"
        for row in rows
        if (problem := difference(mode, _without_details(row), _answer(mode, row)))
    ]
    assert len(wrong) <= len(rows) * (1 - MIN_EQUAL), "\n".join(wrong)


def _without_details(row: Row) -> Row:
    return {name: value for name, value in row.items() if name not in ("logs", "order")}


def _answer(mode: str, row: Row) -> Row:
    return _without_details(answer(mode, row))
