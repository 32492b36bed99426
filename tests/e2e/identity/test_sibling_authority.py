"""A corporate root above an imported Puppet authority has other children. None of them speaks for a node, and none is a server.

The root signs the imported authority and a sibling. The sibling and the root itself issue certificates with the serial number and the
name of a node, and certificates for the address of the server. All handshakes are real.
"""

import base64
import contextlib
import json
import ssl
import threading
from collections.abc import Iterator
from http.client import HTTPSConnection
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from lab.puppet_ca import PuppetAuthority
from precast.wire.identity.bodies import RenewBody
from tests.contract.identity.identity_site import new_key, request_of
from tests.e2e.identity.test_puppet_import import adopt, init, status
from tests.e2e.precast_command import DEADLINE_S, assert_fine, assert_refused
from tests.e2e.precast_server import Server, running

NODE = "web1.example.com"


class Company:
    """A root, the Puppet authority below it that Precast takes over, and a sibling of that authority."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.puppet = PuppetAuthority(place / "puppet")
        self.sibling = PuppetAuthority(place / "sibling", below=self.puppet, name="vpn")
        self.root = PuppetAuthority(place / "root", below=self.puppet, has_intermediate=False)
        self.agent = place / "agent"
        self.serial = self.puppet.sign(self.agent, NODE).serial_number

    def forge(self, issuer: str, name: str = NODE) -> Path:
        """A certificate with the serial of the node, by another authority of the company; returns its ssldir."""
        ssldir = self.place / f"forged-{issuer}"
        authority: PuppetAuthority = getattr(self, issuer)
        authority.sign(ssldir, name, serial=self.serial, is_local=True)
        with (ssldir / f"certs/{name}.pem").open("ab") as file:  # the chain that a client sends
            file.write((authority.cadir / "ca_crt.pem").read_bytes())
        return ssldir


def renew(server: Server, ssldir: Path) -> tuple[int, str]:
    """Ask for the next certificate with the proof of a key; returns the status and the code of the error."""
    request = request_of(new_key(), NODE)
    old_key = serialization.load_pem_private_key((ssldir / f"private_keys/{NODE}.pem").read_bytes(), password=None)
    assert isinstance(old_key, rsa.RSAPrivateKey)
    der = x509.load_pem_x509_csr(request.encode()).public_bytes(serialization.Encoding.DER)
    proof = base64.b64encode(old_key.sign(der, padding.PKCS1v15(), hashes.SHA256())).decode()
    body = RenewBody(request, (ssldir / f"certs/{NODE}.pem").read_text(), proof)
    answer = server.ask("POST", "/v1/renewals", body=msgspec.json.encode(body))
    return answer.status, answer.body.get("code", "")


@pytest.fixture
def company(tmp_path: Path) -> Company:
    return Company(tmp_path / "company")


@pytest.fixture
def server(company: Company, tmp_path: Path) -> Iterator[Server]:
    with running(init(tmp_path / "data", company.puppet.cadir)[0]) as server:
        assert (
            status(server, company.agent, NODE) == 400
        )  # the node itself is known: its body is refused, not its certificate
        yield server


@pytest.mark.parametrize("issuer", ["sibling", "root"])
def test_certificate_of_a_sibling_authority_with_the_serial_of_a_node_opens_nothing(
    company: Company, server: Server, issuer: str
) -> None:
    forged = company.forge(issuer)
    with pytest.raises((ssl.SSLError, ConnectionError)):  # refused by TLS; a client may see that only when it reads
        status(server, forged, NODE)
    assert renew(server, forged) == (403, "CA-007")
    assert len([row for row in server.read("ca", "list") if row["node"] == NODE]) == 1


def test_second_certificate_of_the_imported_authority_with_the_serial_of_a_node_opens_nothing(
    company: Company, server: Server
) -> None:
    """Here TLS trusts the issuer; only the comparison with the stored certificate refuses."""
    forged = company.forge("puppet")
    assert status(server, forged, NODE) == 401
    assert renew(server, forged) == (403, "CA-007")
    other_name = company.forge("puppet", "db1.example.com")
    assert status(server, other_name, "db1.example.com") == 401


@contextlib.contextmanager
def false_server(ssldir: Path, port: int = 0) -> Iterator[int]:
    """A server with a forged certificate for this machine, which answers every request with an empty object."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # http.server's own name
            seen.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        do_POST = do_GET  # noqa: N815 - http.server's own name

        def log_message(self, *_: object) -> None:
            pass

    seen: list[str] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(ssldir / f"certs/{NODE}.pem", ssldir / f"private_keys/{NODE}.pem")
    http = HTTPServer(("127.0.0.1", port), Handler)
    http.socket = context.wrap_socket(http.socket, server_side=True)
    http.handle_error = lambda *_: None  # type: ignore[method-assign] # failed handshakes are expected
    thread = threading.Thread(target=http.serve_forever)
    thread.start()
    try:
        yield http.server_port
    finally:
        http.shutdown()
        thread.join(DEADLINE_S)
        http.server_close()
    assert seen == []


@pytest.mark.parametrize("issuer", ["sibling", "root"])
def test_agents_refuse_a_server_whose_certificate_a_sibling_authority_issued(
    company: Company, server: Server, issuer: str
) -> None:
    moved = company.place / "moved"
    assert_fine(adopt(server, moved, company.agent, NODE))
    forged = company.forge(issuer)
    with false_server(forged) as port:
        false = Server(server.data, server.admin)
        false.port = port
        # While it moves over, the machine has nothing but the files of Puppet's agent, with the root among them.
        assert_refused(adopt(false, company.place / "new", company.agent, NODE), 77, "HTTP-003")
        # An enrolled agent, and a person with the server's bundle.
        state = moved / "var/lib/precast/agent"
        for trusted in (state / "authority.pem", server.authority):
            context = ssl.create_default_context(cafile=str(trusted))
            connection = HTTPSConnection("127.0.0.1", port, context=context, timeout=DEADLINE_S)
            with pytest.raises(ssl.SSLCertVerificationError):
                connection.request("GET", "/v1/authority")


def test_agents_and_people_are_given_only_the_authority_that_signs_servers(company: Company, server: Server) -> None:
    """Puppet's authority issues certificates that are valid for servers too, so agents stop trusting it when they move over."""
    assert_fine(adopt(server, company.place / "moved", company.agent, NODE))
    handed_out = (company.place / "moved/var/lib/precast/agent/authority.pem").read_text()
    bundle = server.command("ca", "bundle").out
    told = server.ask("GET", "/v1/authority").body["certificates"]
    assert handed_out == bundle == told == server.authority.read_text()
    assert handed_out.count("BEGIN CERTIFICATE") == 1
    status_of_rotation = json.loads(server.command("ca", "rotate", "--status", "--json").out)
    assert len(status_of_rotation["others"]) == 1
