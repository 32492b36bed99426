"""Imports the authority of a Puppet server, so that its agents need not be enrolled again.

The layout is Puppet's own: `ca_crt.pem` (the certificate that signs, then those above it), `ca_key.pem`, `ca_crl.pem`,
`inventory.txt`, `signed/NAME.pem`. Its key is used once, to sign our authority as its successor, and is not stored. An inconsistent
authority stops the import; a single certificate that cannot be used is skipped and reported.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple, TypeVar

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from precast.base.errors import PrecastError
from precast.services.identity import certificates, extensions, issues
from precast.services.identity.authority import Authority, cross_sign
from precast.services.identity.issuance import GRACE_S
from precast.store.identity.certificates import Certificate
from precast.wire.identity.issuers import is_issued_by
from precast.wire.identity.names import check_name

T = TypeVar("T")

SigningKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
# OpenSSL's default settings refuse shorter keys.
MIN_RSA_BITS = 2048
REVOKED_WHY = "revoked in Puppet"


class SkippedCertificate(NamedTuple):
    """A certificate that is not imported, and the reason."""

    name: str
    reason: str


class UnusableCertificate(Exception):
    """The reason why a certificate is skipped."""


class PuppetCa:
    """A Puppet authority, read from its files."""

    def __init__(self, directory: Path) -> None:
        """Raises InputError CA-016 if a file is missing, unreadable or inconsistent with the others."""
        self._directory = directory
        # The certificate that signs, then those above it.
        self.path = _read(directory / "ca_crt.pem", x509.load_pem_x509_certificates)
        key = _read(directory / "ca_key.pem", lambda data: serialization.load_pem_private_key(data, password=None))
        if not isinstance(key, SigningKey) or key.public_key() != self.certificate.public_key():
            raise self._bad("ca_key.pem", "it does not belong to the first certificate in ca_crt.pem")
        if isinstance(key, rsa.RSAPrivateKey) and key.key_size < MIN_RSA_BITS:
            raise self._bad("ca_key.pem", f"it has {key.key_size} bits, but TLS requires at least {MIN_RSA_BITS}")
        self._key = key
        for lower, upper in zip(self.path, self.path[1:], strict=False):
            if not is_issued_by(lower, upper):
                raise self._bad("ca_crt.pem", "its certificates do not form a chain")
        if not is_issued_by(self.path[-1], self.path[-1]):
            raise self._bad("ca_crt.pem", "the root certificate is missing")
        self._revoked = self._read_revoked()

    @property
    def certificate(self) -> x509.Certificate:
        return self.path[0]

    def successor(self, now: datetime) -> Authority:
        """Create an authority that this one has signed, and that accepts the nodes of this one, but of none above it."""
        # An authority whose path length is 0 still allows a self-issued certificate, that is, one of its own name.
        limit = self.certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.path_length
        new = Authority.new(now, self.certificate.subject if limit == 0 else None)
        signature = cross_sign(self._key, self.certificate, new, now)
        return Authority(new.key, new.certificate, (), [signature, *self.path[:-1]], [self.certificate])

    def read_nodes(self, now: datetime) -> tuple[list[Certificate], list[SkippedCertificate]]:
        """Read the valid and the revoked certificates of agents; returns them and those that are skipped."""
        records: dict[str, Certificate] = {}  # by name
        skipped: list[SkippedCertificate] = []
        for file in sorted((self._directory / "signed").glob("*.pem")):
            try:
                record = self._read_node(file, now)
                records[record.node] = record
            except (PrecastError, UnusableCertificate) as error:
                skipped.append(SkippedCertificate(file.name, str(error)))
            except (ValueError, OSError):
                skipped.append(SkippedCertificate(file.name, "it is not a certificate in PEM"))
        named = {certificate.name.removesuffix(".pem") for certificate in skipped}
        serials = {record.serial for record in records.values()}
        for serial, name in self._inventory():
            if serial not in serials and name not in named:
                skipped.append(SkippedCertificate(name, f"the file of its certificate {serial} is missing"))
        return list(records.values()), skipped

    def _read_node(self, file: Path, now: datetime) -> Certificate:
        certificate = x509.load_pem_x509_certificate(file.read_bytes())
        node = check_name(certificates.common_name(certificate))
        if file.name != f"{node}.pem":  # Puppet names the file after the node, so that a name has one certificate
            raise UnusableCertificate(f"it is the certificate of {node}, whose own file is {node}.pem")
        if not is_issued_by(certificate, self.certificate):
            raise UnusableCertificate("another authority issued it")
        if certificate.not_valid_after_utc + timedelta(seconds=GRACE_S) <= now:
            raise UnusableCertificate("it has expired")
        is_revoked = certificate.serial_number in self._revoked
        return Certificate(
            fingerprint=certificates.fingerprint(certificate),
            serial=certificates.serial_text(certificate),
            node=node,
            key_digest=certificates.key_digest(certificate),
            extensions=extensions.from_x509(certificate),
            issued_at=certificate.not_valid_before_utc,
            not_after=certificate.not_valid_after_utc,
            revoked_at=now if is_revoked else None,
            revoked_why=REVOKED_WHY if is_revoked else None,
            authority=certificates.fingerprint(self.certificate),
        )

    def _read_revoked(self) -> set[int]:
        """Read the revoked serials from the revocation list of the signing authority, which the import requires."""
        data = _read(self._directory / "ca_crl.pem", bytes.decode)
        for block in data.split("-----BEGIN X509 CRL-----")[1:]:
            try:
                revocations = x509.load_pem_x509_crl(b"-----BEGIN X509 CRL-----" + block.encode())
                key = self.certificate.public_key()
                assert isinstance(key, rsa.RSAPublicKey | ec.EllipticCurvePublicKey), "its private key was checked"
                if revocations.issuer == self.certificate.subject and revocations.is_signature_valid(key):
                    return {revocation.serial_number for revocation in revocations}
            except (ValueError, TypeError):
                continue
        raise self._bad("ca_crl.pem", "it contains no revocation list of this authority")

    def _inventory(self) -> list[tuple[str, str]]:
        """Read serial and name of all issued certificates that are not revoked; the lines are `0x0002 FROM UNTIL /CN=name`.

        The file may be missing.
        """
        try:
            lines = (self._directory / "inventory.txt").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []
        issued = []
        for line in lines:
            words = line.split()
            if len(words) == 4 and words[0].lower().startswith("0x") and words[3].startswith("/CN="):
                serial = words[0][2:].lower().lstrip("0")
                if serial and set(serial) <= set("0123456789abcdef") and int(serial, 16) not in self._revoked:
                    issued.append((serial, words[3].removeprefix("/CN=")))
        return issued

    def _bad(self, file: str, reason: str) -> PrecastError:
        return issues.NO_PUPPET_CA.error(path=self._directory / file, reason=reason)


def _read(path: Path, parse: Callable[[bytes], T]) -> T:
    try:
        return parse(path.read_bytes())
    except OSError as error:
        raise issues.NO_PUPPET_CA.error(path=path, reason=error.strerror) from error
    except (ValueError, TypeError) as error:  # TypeError: a key with a password
        raise issues.NO_PUPPET_CA.error(path=path, reason="it is not readable as PEM without a password") from error
