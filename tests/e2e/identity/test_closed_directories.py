"""Commands on the signer's directory, by a user who may not read it: one line with the next step, and never an internal error."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.precast_command import DEADLINE_S, PRECAST, CommandResult, assert_refused, environment
from tests.e2e.precast_server import Server

ORDINARY = [sys.executable, "-m", "lab.ordinary_user"] if os.geteuid() == 0 else []


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    server = Server.init(tmp_path_factory.mktemp("closed") / "data")
    for path in (server.data / "authority", server.data / "signer"):
        path.chmod(0)
    return server.data


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["signer", "verify-log"], "CA-041"),
        (["signer", "--socket", "signer.sock"], "CA-003"),
        (["ca", "request"], "CA-003"),
        (["ca", "encrypt"], "CA-003"),
        (["ca", "decrypt"], "CA-003"),
        (["ca", "install", "chain.pem"], "CA-003"),
    ],
)
def test_command_says_that_another_user_has_to_run_it(closed: Path, words: list[str], code: str) -> None:
    done = subprocess.run(
        [*ORDINARY, str(PRECAST), *words, "--data", str(closed)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env=environment({}),
        timeout=DEADLINE_S,
    )
    assert_refused(CommandResult(done.returncode, done.stdout, done.stderr), 75, code)
    assert "Permission denied" in done.stderr
    assert "run the command as" in done.stderr
