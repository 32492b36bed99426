"""A compile worker that was taken over, as each kind of server starts it: what it can still do is nothing."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import ordinary_user, unit_restrictions

UNIT = Path(__file__).resolve().parents[3] / "packaging/systemd/precast-server.service"
ORDINARY = [sys.executable, "-m", "lab.ordinary_user"]
RESTRICTED = [sys.executable, "-m", "lab.unit_restrictions", str(UNIT)]

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def can_expand_filters() -> bool:
    return unit_restrictions.HEADER.exists() and os.uname().machine == "x86_64"


SERVERS = [
    pytest.param([], id="as-this-user"),
    pytest.param(ORDINARY, id="as-an-ordinary-user", marks=needs_root),
    pytest.param(
        RESTRICTED,
        id="in-the-shipped-unit",
        marks=[
            needs_root,
            pytest.mark.needs("systemd-analyze"),
            pytest.mark.skipif(not can_expand_filters(), reason="no header of system calls"),
        ],
    ),
]


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory that every user may enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="precast-site-") as name:
        Path(name).chmod(0o777)
        yield Path(name)


def achieved(prefix: list[str], directory: Path, level: str = "strict") -> dict[str, str]:
    command = [*prefix, sys.executable, "-m", "lab.hostile_worker", "serve", str(directory), level]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("prefix", SERVERS)
def test_worker_that_was_taken_over_reaches_nothing(prefix: list[str], directory: Path) -> None:
    found = achieved(prefix, directory)
    # An attempt counts only if the kernel refused it; an error of any other kind would prove nothing.
    assert {name: outcome for name, outcome in found.items() if outcome != "refused"} == {
        "find the password in the environment": "nothing there",
        "read an inherited descriptor": "nothing there",
        "status": "user 65534, 1 thread" if os.geteuid() == 0 and not prefix else f"user {ordinary(prefix)}, 1 thread",
    }
    assert len(found) > 30


def ordinary(prefix: list[str]) -> int:
    return ordinary_user.USER if prefix else os.geteuid()
