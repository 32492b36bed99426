"""The list of revoked certificates as the signer has it, and the CRL that it signs.

The list only grows until certificates are too old to be renewed: a server that leaves revocations out gets a CRL that has them. The CRL
names the certificates of the authority that signs it; the list has those of its predecessors too, so that none of them is renewed.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

from precast.base.files import write_private
from precast.services.identity.authority import Authority, issuer_key
from precast.services.identity.issuance import GRACE_S
from precast.services.identity.signer.messages import Crl, Revocation

# How long a CRL is valid, and how long before its end the next one is signed.
VALID_FOR = timedelta(days=7)
RENEW_BEFORE = timedelta(days=6)
# More revocations than this are refused; the list must stay readable in one piece.
MAX_REVOCATIONS = 200_000


class RevocationFile(msgspec.Struct, frozen=True):
    """The content of the file."""

    number: int = 0
    revocations: list[Revocation] = []
    authority: str = ""  # the fingerprint of the authority that signed the CRL
    crl: bytes = b""
    next_update: datetime | None = None


class RevocationList:
    """The revocations of one directory. Every method needs the lock of the directory."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "revocations.json"
        self._stamp: tuple[int, int] | None = None
        self._content = RevocationFile()
        self._by_certificate: dict[tuple[str, str], Revocation] = {}

    def refresh(self) -> None:
        """Read the file if another process has written it."""
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return
        stamp = (status.st_ino, status.st_mtime_ns)
        if stamp != self._stamp:
            self._content = msgspec.json.decode(self._path.read_bytes(), type=RevocationFile)
            self._by_certificate = {(row.authority, row.serial): row for row in self._content.revocations}
            self._stamp = stamp

    def has(self, authority: str, serial: str) -> bool:
        return (authority, serial) in self._by_certificate

    def has_room_for(self, revocations: Iterable[Revocation]) -> bool:
        new = {(row.authority, row.serial) for row in revocations} - self._by_certificate.keys()
        return len(self._by_certificate) + len(new) <= MAX_REVOCATIONS

    def add(self, revocations: Iterable[Revocation], now: datetime) -> None:
        """Add revocations, forget those of certificates that cannot be renewed any more, and write the file if anything is new.

        Of two ends of one certificate the later one counts: a wrong one must not make the list forget it.
        """
        known = self._by_certificate
        new = {
            (row.authority, row.serial): row
            for row in revocations
            if (old := known.get((row.authority, row.serial))) is None or old.not_after < row.not_after
        }
        if new:
            rows = {**known, **new}.values()
            kept = [row for row in rows if row.not_after + timedelta(seconds=GRACE_S) > now]
            self._write(RevocationFile(self._content.number, kept))

    def sign(self, authority: Authority, now: datetime) -> Crl:
        """Return the CRL; it is signed again if the list or the authority has changed, or if it ends soon."""
        stored = self._content
        is_fresh = stored.next_update is not None and stored.next_update - RENEW_BEFORE > now
        if not stored.crl or not is_fresh or stored.authority != authority.fingerprint:
            own = [row for row in stored.revocations if row.authority in authority.own_fingerprints]
            number, until = stored.number + 1, (now + VALID_FOR).replace(microsecond=0)
            crl = _sign(authority, own, number, now, until)
            self._write(RevocationFile(number, stored.revocations, authority.fingerprint, crl, until))
        return Crl(self._content.crl, self._content.next_update)

    def _write(self, content: RevocationFile) -> None:
        write_private(self._path, msgspec.json.encode(content))
        self.refresh()


def _sign(authority: Authority, rows: list[Revocation], number: int, now: datetime, until: datetime) -> bytes:
    builder = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(authority.certificate.subject)
        .last_update(now - timedelta(minutes=5))
        .next_update(until)
        .add_extension(x509.CRLNumber(number), critical=False)
        .add_extension(issuer_key(authority.certificate), critical=False)
    )
    for row in rows:
        revoked = x509.RevokedCertificateBuilder().serial_number(int(row.serial, 16)).revocation_date(row.revoked_at)
        builder = builder.add_revoked_certificate(revoked.build())
    return builder.sign(authority.key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)
