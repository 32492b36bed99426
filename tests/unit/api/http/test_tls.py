"""The server's certificate is renewed while it runs; with real handshakes in memory and a manual clock."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from precast.api.http.tls import RENEW_BEFORE, ServerTls
from precast.base import https
from precast.base.clock import ManualClock
from precast.services.identity.authority import SERVER_FOR, Authority
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.signer.local import open_local_signer

# OpenSSL uses the machine's time, so the test must end about now.
START = datetime.now(UTC) - SERVER_FOR + RENEW_BEFORE


@pytest.fixture
def files(tmp_path: Path) -> AuthorityFiles:
    made = AuthorityFiles(tmp_path / "authority")
    with made.created(Authority.new(START)):
        return made


class TlsPair:
    """A TLS client and server, connected in memory."""

    def __init__(self, client: ssl.SSLContext, server: ssl.SSLContext) -> None:
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.client = client.wrap_bio(to_client, to_server, server_hostname="localhost")
        self.server = server.wrap_bio(to_server, to_client, server_side=True)
        waiting = [self.client, self.server]
        while waiting:
            for side in list(waiting):
                try:
                    side.do_handshake()
                    waiting.remove(side)
                except ssl.SSLWantReadError:
                    pass

    @property
    def serial(self) -> int:
        der = self.client.getpeercert(binary_form=True)
        assert der is not None
        return x509.load_der_x509_certificate(der).serial_number

    def say(self, text: bytes) -> bytes:
        self.client.write(text)
        return self.server.read()


async def test_certificate_is_renewed_before_it_expires_and_open_connections_continue(files: AuthorityFiles) -> None:
    clock = ManualClock(START)
    authority = await open_local_signer(files, clock, ["localhost"])
    tls = await ServerTls.create(authority, ["localhost"], clock)
    client = https.trust_authority(authority.current.pem)
    before = TlsPair(client, tls.context)
    assert before.serial == tls.certificate.serial_number
    clock.advance((SERVER_FOR - RENEW_BEFORE).total_seconds() - 1)
    assert not await tls.renew_if_due()
    clock.advance(1)
    assert await tls.renew_if_due()
    assert not await tls.renew_if_due()
    after = TlsPair(client, tls.context)
    assert after.serial == tls.certificate.serial_number != before.serial
    assert tls.certificate.not_valid_after_utc == clock.now().replace(microsecond=0) + SERVER_FOR
    assert before.say(b"still here") == b"still here"


async def test_two_servers_with_one_directory_have_separate_certificates(files: AuthorityFiles) -> None:
    clock = ManualClock(datetime.now(UTC))
    first, second = [
        await ServerTls.create(await open_local_signer(files, clock, ["localhost"]), ["localhost"], clock)
        for _ in range(2)
    ]
    assert first.certificate.public_key() != second.certificate.public_key()
    client = https.trust_authority(files.load().pem)
    assert TlsPair(client, first.context).serial != TlsPair(client, second.context).serial
    assert sorted(path.name for path in files.directory.iterdir()) == ["certificate.pem", "key.pem", "seal-key.pem"]


async def test_unreadable_authority_leaves_the_certificate_in_use(files: AuthorityFiles) -> None:
    clock = ManualClock(datetime.now(UTC))
    authority = await open_local_signer(files, clock, ["localhost"])
    tls = await ServerTls.create(authority, ["localhost"], clock)
    pem = authority.current.pem
    files.key.write_bytes(b"half a fi")
    assert not await tls.renew_if_due()
    assert TlsPair(https.trust_authority(pem), tls.context).serial == tls.certificate.serial_number


async def test_retired_authority_is_refused_by_the_next_handshake(files: AuthorityFiles) -> None:
    clock = ManualClock(datetime.now(UTC))
    authority = await open_local_signer(files, clock, ["localhost"])
    tls = await ServerTls.create(authority, ["localhost"], clock)
    old = files.load()
    new = Authority.new(clock.now() - timedelta(days=1), old.certificate.subject)
    files.prepare(new, old.sign_successor(new, clock.now()))
    files.switch()
    assert await tls.renew_if_due()
    # A client that trusts the old authority accepts the cross-signed chain, one that trusts the new authority the direct chain.
    TlsPair(https.trust_authority(old.pem), tls.context)
    TlsPair(https.trust_authority(new.pem), tls.context)
    files.retire()
    assert await tls.renew_if_due()
    TlsPair(https.trust_authority(new.pem), tls.context)
    with pytest.raises(ssl.SSLCertVerificationError):
        TlsPair(https.trust_authority(old.pem), tls.context)
