"""The demo without a terminal."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.timeout(300)
def test_demo_without_a_terminal_shows_every_scene_and_ends_by_itself() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "demo"], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\033" not in done.stdout, "no colours and no moving bars without a terminal"
    for scene in (
        "The store",
        "Migration",
        "The work queue on SQLite",
        "The work queue on PostgreSQL",
        "The net kernel",
        "The Puppet language",
        "Boot",
        "A server, three nodes",
        "Facts",
        "Catalogs",
        "Secrets",
        "Trust",
        "Exported resources",
        "Jobs",
        "Futures",
        "Machines",
        "Backup",
    ):
        assert f"━━ {scene}" in done.stdout
    assert "the demo failed" not in done.stdout
    assert done.stderr == ""
