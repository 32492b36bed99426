"""A disk that runs full at the Nth page of a write: one clear error, nothing half-written, and writes succeed again with free space."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
NAMESPACE = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "-m"]

pytestmark = pytest.mark.needs("unshare")


def run_out_of_space(engine: str, directory: Path, pages: list[int]) -> list[dict[str, Any]]:
    if subprocess.run([*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", str(directory)], capture_output=True).returncode:
        pytest.skip("cannot mount here, not even in a namespace")
    # The path must be short, because it contains PostgreSQL's socket.
    place = Path(directory)
    done = subprocess.run(
        [*NAMESPACE, sys.executable, "-m", "lab.small_disk", engine, str(place), *map(str, pages)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def expect_all_or_nothing(outcome: dict[str, Any], acked: set[int]) -> None:
    tried = outcome["earlier"] + 1
    if outcome["code"] is None:
        acked.add(tried)
    else:
        assert outcome["code"] == "STORE-006"
        assert "no space left" in outcome["message"]
        assert "free some space" in outcome["message"]
        assert tried not in outcome["found_when_full"]
        assert tried not in outcome["found_after"]
    assert outcome["halves_when_full"] == outcome["halves_after"] == outcome["problems"] == []
    assert acked <= set(outcome["found_when_full"])


def test_sqlite_on_a_full_disk_stores_a_write_whole_or_not_at_all(tmp_path: Path) -> None:
    pages = [*range(34), 60]
    outcomes = run_out_of_space("sqlite", tmp_path, pages)
    assert [outcome["free_pages"] for outcome in outcomes] == pages
    for outcome in outcomes:
        acked = {1, 2, 3}
        expect_all_or_nothing(outcome, acked)
        assert set(outcome["found_after"]) == acked | {5}
    failed = [outcome["free_pages"] for outcome in outcomes if outcome["code"]]
    print(f"\nSQLite: the write failed with {failed[0]} to {failed[-1]} free pages, and never by half")
    # The write fails at any of its pages: it needs more than 25, and fits into 60.
    assert set(range(26)) <= set(failed)
    assert 60 not in failed


def test_postgresql_on_a_full_disk_stores_a_write_whole_or_not_at_all(tmp_path_factory: pytest.TempPathFactory) -> None:
    pages = [0, 1, 2, 3, 5, 10, 30, 100]
    outcomes = run_out_of_space("postgresql", tmp_path_factory.mktemp("pg"), pages)
    assert [outcome["free_pages"] for outcome in outcomes] == pages
    acked: set[int] = set()
    for number, outcome in enumerate(outcomes):
        first = 1 + number * 1000
        acked |= set(range(first, outcome["earlier"] + 1))
        assert outcome["code"] is not None
        expect_all_or_nothing(outcome, acked)
        acked.add(outcome["earlier"] + 2)
        assert set(outcome["found_after"]) == acked


def test_agents_store_on_a_full_disk_keeps_a_record_whole_or_not_at_all(tmp_path: Path) -> None:
    outcomes = run_out_of_space("agent", tmp_path, [*range(30), 60])
    for outcome in outcomes:
        assert outcome["damage"] is None
        assert outcome["kept"] == [1, 2, 3, *([] if outcome["code"] else [4]), 5]
        if outcome["code"]:
            assert outcome["code"] == "AGENT-010"
            assert "full" in outcome["message"]
            assert "the free space on its disk" in outcome["message"]
    failed = [outcome["free_pages"] for outcome in outcomes if outcome["code"]]
    assert set(range(20)) <= set(failed)
    assert 60 not in failed
