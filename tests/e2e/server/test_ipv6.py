"""A stranger with a whole IPv6 network has one share, and not one for each address."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lab.ipv6_strangers import COUNT

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root"),
    pytest.mark.skipif(None in map(shutil.which, ("unshare", "ip")), reason="needs unshare and iproute2"),
]


def test_addresses_of_one_ipv6_network_share_a_quota(tmp_path: Path) -> None:
    command = ["unshare", "--net", sys.executable, "-m", "lab.ipv6_strangers", str(tmp_path / "site")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    # The quota refills while the requests are sent, so the exact numbers depend on the machine.
    assert found["one /64"]["200"] >= 10
    assert found["one /64"]["429"] > 0
    assert found["another /48"] == {"200": 1}
    assert found["one /48"]["200"] >= 40
    assert found["one /48"]["429"] > 0
    assert sum(found["one /64"].values()) == COUNT
