"""A real server whose disk runs full says so in its log once, goes on, and says when it stores again."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
NAMESPACE = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "-m"]

pytestmark = pytest.mark.needs("unshare")


def test_full_disk_is_in_the_log_of_a_real_server_until_it_stores_again(tmp_path: Path) -> None:
    if subprocess.run([*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", str(tmp_path)], capture_output=True).returncode:
        pytest.skip("cannot mount here, not even in a namespace")
    done = subprocess.run(
        [*NAMESPACE, sys.executable, "-m", "lab.server_disk", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["before"][0] == found["after"][0] == 0
    assert found["is_running"]
    for code, error in found["full"]:
        assert code == 75, error
        assert "Traceback" not in error
    lines = found["log"].splitlines()
    failures = [line for line in lines if "STORE-006" in line]
    # One line for each time that the disk ran full, not for each write: work of the server itself may succeed in between.
    repairs = [line for line in lines if "stores again" in line]
    assert 1 <= len(failures) <= len(repairs) + 1
    assert re.fullmatch(
        r"\S+Z ERROR precast\.store\.commit: there is no space left .*/disk/precast\.db.* \[STORE-006\]; .*free some space.*",
        failures[0],
    )
    assert re.fullmatch(r"\S+Z WARNING precast\.store\.commit: the database stores again, after \d+ s", repairs[-1])
    assert not any("Traceback" in line for line in lines)
