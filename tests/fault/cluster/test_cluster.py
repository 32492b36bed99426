"""Three servers on one PostgreSQL behind haproxy with real agents, while servers, database and network fail: presence heals within seconds,
what was acknowledged is stored, and nothing is executed twice or deleted.

The experiment (`lab.cluster.experiment`) runs in namespaces of its own, so that its processes and disks disappear with it.
"""

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from lab.wrong_clock import LIBRARIES

ROOT = Path(__file__).resolve().parents[3]
NAMESPACES = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
# What was promised, from the end of a fault until the database says of each node what is true.
RIGHT_S = 10.0
# The short test runs beside others: it shows that presence heals by itself, not how fast.
PATIENCE_S = 120.0

pytestmark = [
    pytest.mark.needs("haproxy"),
    pytest.mark.needs("strace"),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root for namespaces and disks"),
]


def run_experiment(directory: Path, *words: str) -> list[dict[str, Any]]:
    """Run the experiment and return its lines, which it also prints."""
    done = subprocess.run(
        [*NAMESPACES, sys.executable, "-m", "lab.cluster.experiment", str(directory / "c"), *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    print(f"\n{done.stdout}")
    assert done.returncode == 0
    return [json.loads(line) for line in done.stdout.splitlines()]


def expect_all_held(lines: list[dict[str, Any]], within_s: float) -> None:
    seed, *faults, figures = lines
    for fault in faults:
        assert fault["right_s"] is not None, (seed, fault)
        assert fault["right_s"] <= within_s, (seed, fault)
        assert (fault["back_s"] is not None, fault["away"], fault["passed_over"]) == (True, [], 0), (seed, fault)
    assert figures["settled_s"] is not None, (seed, figures)
    for name in ("reports_lost", "reports_twice", "facts_lost", "results_lost", "executed_twice"):
        assert figures[name] == 0, (seed, figures)
    assert figures["reports_acknowledged"] > 0, "no report was ever sent, so it proves nothing"
    # An agent whose clock is ahead refuses orders, because they have expired for it.
    refused = {"FAILED(refused)"} if any("agents' clock" in fault["fault"] for fault in faults) else set()
    assert set(figures["steps"]) - refused == {"COMPLETED"}, (seed, figures)


def print_table(lines: list[dict[str, Any]]) -> None:
    """Print the seconds until presence was right and all nodes were back, for each kind of fault."""
    kinds = defaultdict(list)
    for line in lines[1:-1]:
        kinds[line["fault"]].append((line["right_s"], line["back_s"]))
    print(f"{'fault':<45} {'times':>5} {'right, worst':>13} {'back, worst':>12}")
    for kind, seconds in kinds.items():
        right_s, back_s = (max(column) for column in zip(*seconds, strict=True))
        print(f"{kind:<45} {len(seconds):>5} {right_s:>11} s {back_s:>10} s")


@pytest.mark.timeout(600)
def test_cluster_heals_by_itself_after_a_fault(tmp_path: Path) -> None:
    kinds = ("kill a server", "pause a server", "freeze the database")
    words = [word for kind in kinds for word in ("--kinds", kind)]
    expect_all_held(run_experiment(tmp_path, "--agents", "6", "--lasts", "16", *words), PATIENCE_S)


@pytest.mark.soak
@pytest.mark.timeout(6 * 3600)
@pytest.mark.skipif(not LIBRARIES, reason="needs libfaketime (a Debian package)")
def test_cluster_of_a_hundred_agents_heals_by_itself_again_and_again(tmp_path: Path) -> None:
    lines = run_experiment(tmp_path, "--agents", "100", "--rounds", "3", "--lasts", "45", "--clocks")
    print_table(lines)
    expect_all_held(lines, RIGHT_S)
