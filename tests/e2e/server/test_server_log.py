"""The log of a real server: what happened to the site, with times, and nothing that a stranger could forge."""

import re
import time
from pathlib import Path

import pytest

from tests.e2e.precast_command import DEADLINE_S, assert_fine, assert_refused
from tests.e2e.precast_server import Server, precast, running

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (DEBUG|INFO|WARNING|ERROR|CRITICAL) precast[\w.]*: [^\n]+")


def wait_for(server: Server, pattern: str) -> list[str]:
    """The lines of the log that match, as soon as there is one."""
    deadline = time.monotonic() + DEADLINE_S
    while not (found := [line for line in server.log.splitlines() if re.search(pattern, line)]):
        assert time.monotonic() < deadline, server.log
        time.sleep(0.05)
    return found


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server.init(tmp_path / "data")


def test_log_names_enrolments_refusals_changes_and_compile_errors_with_their_times(
    server: Server, tmp_path: Path
) -> None:
    with running(server):
        token = server.read("token", "enrol", "web1")
        assert_fine(server.enrol(tmp_path / "web1", "web1", token["token"]))
        (line,) = wait_for(server, "certificate.enrol")
        assert re.search(
            f" INFO precast.changes: node:web1 certificate.enrol web1 .*token={token['id']}.*127.0.0.1", line
        )
        assert server.enrol(tmp_path / "web9", "web9", token["token"]).code != 0
        (line,) = wait_for(server, "refused")
        assert re.search(r" WARNING precast.enrolment: an enrolment from 127.0.0.1 is refused: .*web9", line)
        (tmp_path / "code/manifests").mkdir(parents=True)
        (tmp_path / "code/manifests/site.pp").write_text('fail("first\nsecond \\u{1b}[31m")\n')
        assert_fine(server.command("env", "deploy", "production", "--from", tmp_path / "code"))
        wait_for(server, "INFO precast.changes: .*environment.deploy production")
        assert_fine(precast("agent", "facts", "--url", server.url, "--root", tmp_path / "web1"))
        lines = wait_for(server, "production does not compile")
        assert len(lines) == 1
        assert "first" in lines[0]
        assert_fine(server.command("ca", "revoke", "web1", "--why", "stolen"))
        (line,) = wait_for(server, "certificate.revoke")
        server.stop()
        log = server.log
    lines = [line for line in log.splitlines() if not line.startswith("serving on ")]
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    secrets = [token["token"].rpartition(".")[2], server.admin.rpartition(".")[2]]
    assert not any(secret in log for secret in secrets)


def test_log_level_leaves_out_what_is_less_important(server: Server) -> None:
    server.more = ["--log-level", "warning"]
    with running(server):
        server.read("token", "enrol", "web1")
        server.stop()
        assert " INFO " not in server.log


def test_command_whose_signer_cannot_write_prints_its_error_once(server: Server) -> None:
    (server.data / "signer/lock").unlink()
    (server.data / "signer/lock").mkdir()
    assert_refused(precast("server", "admin", "--data", server.data), 75, "CA-030", "cannot write its state")


def test_server_whose_log_cannot_be_written_goes_on(server: Server) -> None:
    server.prefix = ["sh", "-c", 'exec "$0" "$@" 2>/dev/full']
    with running(server):
        server.read("token", "enrol", "web1")
        server.read("token", "enrol", "web2")
        assert server.stop() == 0
