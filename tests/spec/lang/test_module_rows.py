"""Catalogs over real modules: the rows of the corpora, where these and Debian's modules are."""

from pathlib import Path

import pytest

from tests.spec.lang.rows import corpora, difference, read_rows
from tools.oracle import answer

# Of the rows so many must be equal in resources, parameters, tags, edges and relationships.
LEAST_EQUAL = 1.0


def test_catalogs_over_real_modules_are_as_puppet_says() -> None:
    place = corpora()
    path = place / "modules.debian.jsonl" if place is not None else None
    if path is None or not path.is_file():
        pytest.skip("PRECAST_CORPORA names no directory with rows over modules")
    rows = [row for row in read_rows(path) if all(Path(each).is_dir() for each in row.get("modulepath", ()))]
    if not rows:
        pytest.skip("the modules of the rows are not installed (puppet-module-*)")
    wrong = []
    for row in rows:
        wanted, found = (
            {k: v for k, v in each.items() if k not in ("logs", "order")} for each in (row, answer("manifest", row))
        )
        problem = difference("manifest", wanted, found)
        wrong += [f"{row['id']} {problem[:300]}"] if problem else []
    assert len(wrong) <= len(rows) * (1 - LEAST_EQUAL), "\n".join(wrong)
