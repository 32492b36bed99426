"""Compares the trees of programs and templates with those of real Puppet 7.23: rows of `trees.jsonl`."""

import json
from pathlib import Path
from typing import Any

import pytest

from precast.base.errors import InputError
from precast.base.spans import Source
from precast.lang.syntax.parser import parse, parse_epp
from tests.spec.lang.tree_text import same, tree_text

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("trees.jsonl").read_text(encoding="utf-8").splitlines()
]
MIN_ROWS = 600


def test_no_row_is_lost() -> None:
    assert len(ROWS) >= MIN_ROWS


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["source"][:40].replace("\n", "¶"))
def test_tree_equals_puppets(row: dict[str, Any]) -> None:
    source = Source("row.pp", row["source"])
    read = parse_epp if row.get("epp") else parse
    if "error" in row:
        with pytest.raises(InputError) as failure:
            read(source)
        assert failure.value.code.startswith("LANG-0")
        assert failure.value.span is not None
        return
    program = read(source)
    assert same(tree_text(program), row["tree"]), tree_text(program)
    assert [warning.message for warning in program.warnings] == row.get("warnings", [])
