"""Rotation of the authority on a running server, with real TLS: docs/howto/rotate-the-ca.md, step by step."""

import json
import shutil
import ssl
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPSConnection
from pathlib import Path

import pytest

from precast.base import https
from tests.e2e.precast_command import DEADLINE_S, CommandResult, assert_fine, assert_refused
from tests.e2e.precast_server import Server, precast, running, tls_error


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with running(Server.init(tmp_path / "data")) as started:
        yield started


def enrol(server: Server, root: Path, name: str) -> Path:
    assert_fine(server.enrol(root, name, server.read("token", "enrol", name)["token"]))
    return root / "var/lib/precast/agent"


def renew(server: Server, root: Path) -> CommandResult:
    return precast("agent", "renew", "--url", server.url, "--root", root)


def is_known(server: Server, state: Path, trust: Path | None = None) -> bool:
    """Whether the server answers a node that uses its own certificate, and its own trust or another file."""
    with closing(connect(server, state, trust or state / "authority.pem")) as connection:
        try:
            connection.request("POST", "/v1/facts", b"")
            return connection.getresponse().status == 400
        except (ssl.SSLError, ConnectionError):
            return False


def connect(server: Server, state: Path, trust: Path) -> HTTPSConnection:
    context = https.trust_authority(trust.read_text())
    context.load_cert_chain(state / "certificate.pem", state / "key.pem")
    return HTTPSConnection("127.0.0.1", server.port, context=context, timeout=DEADLINE_S)


def run_trusting(server: Server, file: Path) -> CommandResult:
    """Run a command as a person who trusts the certificates in this file."""
    return precast("node", "list", env={**server.env, "PRECAST_CA": str(file)})


def certificates_in(path: Path) -> int:
    return path.read_text().count("BEGIN CERTIFICATE")


def test_rotation_disconnects_no_node(server: Server, tmp_path: Path) -> None:
    first, second = enrol(server, tmp_path / "a", "web1"), enrol(server, tmp_path / "b", "web2")
    assert is_known(server, first)
    assert is_known(server, second)
    early = server.read("token", "enrol", "web3")["token"]
    old = tmp_path / "old.pem"
    old.write_bytes(server.authority.read_bytes())

    # This connection stays open during the whole rotation.
    open_one = connect(server, first, old)

    def is_still_served() -> bool:
        open_one.request("POST", "/v1/facts", b"")
        came = open_one.getresponse()
        return (came.status, json.loads(came.read())["code"]) == (400, "API-004")

    assert is_still_served()
    began = server.read("ca", "rotate")
    assert began["others"] != [began["current"]]
    assert began["in_use_by"] == ["web1", "web2"]
    assert is_still_served()
    open_one.close()

    # The server answers clients that trust only the old authority, and clients that trust only the new one.
    assert_fine(run_trusting(server, old))
    bundle = server.command("ca", "bundle")
    assert_fine(bundle)
    new = tmp_path / "new.pem"
    new.write_text(bundle.out.split("-----END CERTIFICATE-----\n")[0] + "-----END CERTIFICATE-----\n")
    assert new.read_bytes() not in old.read_bytes()
    assert_fine(run_trusting(server, new))
    assert is_known(server, first)
    # Tokens from before and after the rotation enrol nodes.
    assert_fine(server.enrol(tmp_path / "c", "web3", early))
    assert is_known(server, enrol(server, tmp_path / "d", "web4"))

    assert_refused(server.command("ca", "rotate"), 73, "CA-012")
    assert_refused(server.command("ca", "rotate", "--finish"), 73, "CA-013", "2 (web1, web2)")
    for root in (tmp_path / "a", tmp_path / "b"):
        assert_fine(renew(server, root))
    assert certificates_in(first / "authority.pem") == 2
    assert is_known(server, first)
    # web2 has renewed but not used its new certificate: the old one may still be its only one.
    assert server.read("ca", "rotate", "--status")["in_use_by"] == ["web2"]
    assert is_known(server, second)
    done = server.read("ca", "rotate", "--finish")
    assert (done["current"], done["others"]) == (began["current"], [])

    assert is_known(server, first)
    assert_fine(run_trusting(server, new))
    assert_refused(run_trusting(server, old), 77, "HTTP-003")
    assert certificates_in(server.authority) == 1
    assert_fine(renew(server, tmp_path / "a"))
    assert certificates_in(first / "authority.pem") == 1
    assert_refused(server.command("ca", "rotate", "--finish"), 73, "CA-015")
    actions = [row["action"] for row in server.read("audit") if row["action"].startswith("authority.")]
    assert actions == ["authority.retire", "authority.rotate", "authority.prepare"]
    # The rotation survives a restart, and the authority can be rotated again.
    server.stop()
    server.start()
    assert is_known(server, first)
    assert server.read("ca", "rotate")["current"] != began["current"]


def test_forced_finish_revokes_certificates_in_use(server: Server, tmp_path: Path) -> None:
    state = enrol(server, tmp_path / "a", "web1")
    assert is_known(server, state)
    assert_fine(server.command("ca", "rotate"))
    assert_fine(server.command("ca", "rotate", "--finish", "--force"))
    # The certificate is refused at the handshake, and the node no longer trusts the server either.
    assert not is_known(server, state)
    assert not is_known(server, state, server.authority)
    (row,) = server.read("ca", "list")
    assert row["revoked_why"] == "its authority was retired"
    assert_refused(
        server.enrol(tmp_path / "a", "web1", server.read("token", "enrol", "web1")["token"]), 73, "AGENT-001"
    )
    assert is_known(server, enrol(server, tmp_path / "new", "web1"))


def test_prepared_successor_is_trusted_by_another_server_before_it_signs(server: Server, tmp_path: Path) -> None:
    """Two hosts, each with a copy of the directory: prepare, copy, rotate, copy."""
    other = Server(tmp_path / "other", server.admin, str(server.data / "precast.db"))

    def copy() -> None:
        (other.data / "authority").mkdir(parents=True, exist_ok=True)
        for path in (other.data / "authority").iterdir():
            path.unlink()
        for path in (server.data / "authority").iterdir():
            (other.data / "authority" / path.name).write_bytes(path.read_bytes())
        shutil.copy2(server.data / "secrets.key", other.data)

    assert_refused(server.command("ca", "rotate", "--prepare", "--finish"), 64, "CLI-001")
    prepared = server.read("ca", "rotate", "--prepare")
    assert prepared["is_prepared"]
    assert_refused(server.command("ca", "rotate", "--finish"), 73, "CA-012")
    copy()
    with running(other):
        rotated = server.read("ca", "rotate")
        assert rotated["current"] in prepared["others"]
        # The other server still signs with the old key, and accepts certificates of the new one.
        assert is_known(other, enrol(server, tmp_path / "a", "web1"))
        assert is_known(server, enrol(other, tmp_path / "b", "web2"))
        copy()
        while tls_error(other, https.trust_authority(_only_new(server))):
            pass  # it looks once a second; the test's own deadline ends this
        assert is_known(other, enrol(other, tmp_path / "c", "web3"))


def _only_new(server: Server) -> str:
    head, end, _ = server.authority.read_text().partition("-----END CERTIFICATE-----\n")
    return head + end
