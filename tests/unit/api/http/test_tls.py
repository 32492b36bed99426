"""The server's certificate, made anew while it runs; with real handshakes in memory and a clock that is moved by hand."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from precast.api.http.tls import RENEW_BEFORE, ServerTls
from precast.base import https
from precast.base.clock import ManualClock
from precast.services.identity.authority import SERVER_FOR, Authority
from precast.services.identity.authority_files import AuthorityFiles, HeldAuthority

# OpenSSL goes by the machine's time, so the story must end about now.
START = datetime.now(UTC) - SERVER_FOR + RENEW_BEFORE


@pytest.fixture
def files(tmp_path: Path) -> AuthorityFiles:
    made = AuthorityFiles(tmp_path / "authority")
    with made.creating(Authority.new(START)):
        return made


class Wire:
    """A client and a server that hand each other what they write."""

    def __init__(self, client: ssl.SSLContext, server: ssl.SSLContext) -> None:
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.client = client.wrap_bio(to_client, to_server, server_hostname="localhost")
        self.server = server.wrap_bio(to_server, to_client, server_side=True)
        waiting = [self.client, self.server]
        while waiting:
            for one in list(waiting):
                try:
                    one.do_handshake()
                    waiting.remove(one)
                except ssl.SSLWantReadError:
                    pass

    @property
    def serial(self) -> int:
        shown = self.client.getpeercert(binary_form=True)
        assert shown is not None
        return x509.load_der_x509_certificate(shown).serial_number

    def say(self, text: bytes) -> bytes:
        self.client.write(text)
        return self.server.read()


def test_certificate_is_made_anew_before_its_end_and_open_connections_go_on(files: AuthorityFiles) -> None:
    clock = ManualClock(START)
    held = HeldAuthority(files)
    tls = ServerTls(held, ["localhost"], clock)
    client = https.trusting(held.current.pem)
    before = Wire(client, tls.context)
    assert before.serial == tls.certificate.serial_number
    clock.advance((SERVER_FOR - RENEW_BEFORE).total_seconds() - 1)
    assert not tls.look()
    clock.advance(1)
    assert tls.look()
    assert not tls.look()
    after = Wire(client, tls.context)
    assert after.serial == tls.certificate.serial_number != before.serial
    assert tls.certificate.not_valid_after_utc == clock.now().replace(microsecond=0) + SERVER_FOR
    assert before.say(b"still here") == b"still here"


def test_two_servers_of_one_directory_have_certificates_of_their_own(files: AuthorityFiles) -> None:
    clock = ManualClock(datetime.now(UTC))
    one, two = (ServerTls(HeldAuthority(files), ["localhost"], clock) for _ in range(2))
    assert one.certificate.public_key() != two.certificate.public_key()
    client = https.trusting(files.load().pem)
    assert Wire(client, one.context).serial != Wire(client, two.context).serial
    assert sorted(path.name for path in files.directory.iterdir()) == ["certificate.pem", "key.pem"]


def test_authority_that_cannot_be_read_leaves_the_server_as_it_was(files: AuthorityFiles) -> None:
    clock = ManualClock(datetime.now(UTC))
    held = HeldAuthority(files)
    tls = ServerTls(held, ["localhost"], clock)
    pem = held.current.pem
    files.key.write_bytes(b"half a fi")
    assert not tls.look()
    assert Wire(https.trusting(pem), tls.context).serial == tls.certificate.serial_number


def test_retired_authority_is_refused_by_the_next_handshake(files: AuthorityFiles) -> None:
    clock = ManualClock(datetime.now(UTC))
    held = HeldAuthority(files)
    tls = ServerTls(held, ["localhost"], clock)
    old = held.current
    new = Authority.new(clock.now() - timedelta(days=1), old.certificate.subject)
    files.prepare(new, old.sign_successor(new, clock.now()))
    files.switch()
    assert tls.look()
    # By the old one's signature on the new one, and directly.
    Wire(https.trusting(old.pem), tls.context)
    Wire(https.trusting(new.pem), tls.context)
    files.retire()
    assert tls.look()
    Wire(https.trusting(new.pem), tls.context)
    with pytest.raises(ssl.SSLCertVerificationError):
        Wire(https.trusting(old.pem), tls.context)
