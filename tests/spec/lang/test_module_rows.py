"""Catalogs over real modules: the rows of the corpora, if they and Debian's modules are installed."""

from pathlib import Path

import pytest

from tests.spec.lang.rows import corpora, difference, read_rows
from tools.oracle import answer

# The share of rows that must be equal in resources, parameters, tags, edges and relationships.
MIN_EQUAL = 1.0


def test_catalogs_over_real_modules_equal_puppets() -> None:
    directory = corpora()
    path = directory / "modules.debian.jsonl" if directory is not None else None
    if path is None or not path.is_file():
        pytest.skip("PRECAST_CORPORA names no directory with rows over modules")
    rows = [row for row in read_rows(path) if all(Path(root).is_dir() for root in row.get("modulepath", ()))]
    if not rows:
        pytest.skip("the modules of the rows are not installed (puppet-module-*)")
    wrong = []
    for row in rows:
        wanted, actual = (
            {k: v for k, v in result.items() if k not in ("logs", "order")} for result in (row, answer("manifest", row))
        )
        problem = difference("manifest", wanted, actual)
        wrong += [f"{row['id']} {problem[:300]}"] if problem else []
    assert len(wrong) <= len(rows) * (1 - MIN_EQUAL), "\n".join(wrong)
