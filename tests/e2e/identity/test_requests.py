"""A machine without a token: it sends a request, an operator compares fingerprints and decides, and the machine fetches its certificate."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from precast.base.digests import of_bytes
from tests.e2e.precast_command import DEADLINE_S, PRECAST, CommandResult, assert_fine, assert_refused, environment
from tests.e2e.precast_server import Server, precast, running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(Server.init(tmp_path_factory.mktemp("site") / "data")) as started:
        yield started


def fingerprint(server: Server) -> str:
    from ssl import PEM_cert_to_DER_cert

    return of_bytes(PEM_cert_to_DER_cert(server.authority.read_text()))


def words(server: Server, root: Path, name: str) -> list[str]:
    where = ["agent", "enrol", "--url", server.url, "--root", str(root), "--name", name]
    return [*where, "--ca-fingerprint", fingerprint(server)]


def ask(server: Server, root: Path, name: str) -> CommandResult:
    return precast(*words(server, root, name))


def test_machine_that_waits_gets_its_certificate_when_it_is_signed(server: Server, tmp_path: Path) -> None:
    waiting = subprocess.Popen(
        [PRECAST, *words(server, tmp_path, "web1"), "--wait", str(DEADLINE_S)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
    )
    assert waiting.stderr is not None
    line = waiting.stderr.readline()
    assert "[AGENT-006]" in line
    shown = re.findall(r"[0-9a-f]{64}", line)
    (row,) = server.read("ca", "list", "--pending")
    assert (row["node"], row["fingerprint"], row["address"]) == ("web1", shown[0], "127.0.0.1")
    assert shown[0] in server.command("ca", "list").out
    signed = server.command("ca", "sign", "web1", "--fingerprint", shown[0], "--extension", "pp_role=web")
    assert_fine(signed)
    out, err = waiting.communicate(timeout=DEADLINE_S)
    assert (waiting.returncode, err) == (0, "")
    assert "web1 is enrolled" in out
    state = tmp_path / "var/lib/precast/agent"
    assert server.ask("POST", "/v1/facts", node=state).body["code"] == "API-004"  # known as a node, and sent no body
    (known,) = [row for row in server.read("ca", "list") if row["node"] == "web1"]
    assert known["extensions"] == {"pp_role": "web"}


def test_machine_that_asks_once_prints_what_the_operator_needs(server: Server, tmp_path: Path) -> None:
    ran = ask(server, tmp_path, "web2")
    assert_refused(ran, 75, "AGENT-006", "waits for an operator")
    (row,) = [row for row in server.read("ca", "list", "--pending") if row["node"] == "web2"]
    assert f"precast ca sign web2 --fingerprint {row['fingerprint']}" in ran.err
    assert_refused(server.command("ca", "sign", "web2", "--fingerprint", "0" * 64), 66, "CA-010")
    assert_fine(server.command("ca", "sign", "web2", "--fingerprint", row["fingerprint"]))
    assert_fine(ask(server, tmp_path, "web2"))
    assert_refused(ask(server, tmp_path, "web2"), 73, "AGENT-001")
    assert_refused(ask(server, tmp_path / "other", "web2"), 73, "CA-005")


def test_rejected_machine_stops_waiting_with_an_error(server: Server, tmp_path: Path) -> None:
    assert_refused(ask(server, tmp_path, "web3"), 75, "AGENT-006")
    assert_fine(server.command("ca", "reject", "web3", "--why", "not ours"))
    assert_refused(precast(*words(server, tmp_path, "web3"), "--wait", "60"), 77, "CA-008")
    assert_refused(server.command("ca", "reject", "web3"), 66, "CA-010")


def test_request_to_another_authority_is_not_sent(server: Server, tmp_path: Path) -> None:
    line = words(server, tmp_path, "web4")
    assert_refused(precast(*line[:-1], "0" * 64), 77, "AGENT-002")
    assert_refused(precast(*line[:-1], "abc"), 64, "CLI-001")
    assert_refused(precast(*line[:-2]), 64, "CLI-028")
    assert "web4" not in [row["node"] for row in server.read("ca", "list", "--pending")]
