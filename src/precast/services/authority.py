"""The certificate authority: one key in one directory, never in the database.

Keys are elliptic curves (P-256). The authority signs for ten years, a node for thirty days, a server for ninety. Certificates
begin a few minutes in the past, because clocks differ.
"""

import contextlib
import os
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from precast.base.digests import Digest
from precast.services import certificates, issues
from precast.services import extensions as names

AUTHORITY_FOR = timedelta(days=3650)
NODE_FOR = timedelta(days=30)
SERVER_FOR = timedelta(days=90)
BACKDATED = timedelta(minutes=5)


class Authority:
    """The key and certificate that all others come from."""

    def __init__(self, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> None:
        self._key = key
        self.certificate = certificate

    @staticmethod
    def refuse_existing(directory: Path) -> None:
        """Raises ConflictError CA-002 if there is an authority, or a part of one."""
        if any(os.path.lexists(directory / name) for name in ("key.pem", "certificate.pem")):
            raise issues.AUTHORITY_EXISTS.error(place=directory)

    @classmethod
    def create(cls, directory: Path, now: datetime) -> "Authority":
        """Make a new one. Raises ConflictError CA-002 if there is one: it is never overwritten."""
        key = ec.generate_private_key(certificates.CURVE)
        # Serial numbers are what tells authorities of one name apart.
        serial = x509.random_serial_number()
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Precast authority {serial:x}"[:40])])
        certificate = (
            _builder(name, name, key.public_key(), serial, now, now + AUTHORITY_FOR)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(key_cert_sign=True, crl_sign=True), critical=True)
            .sign(key, hashes.SHA256())
        )
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            # The key first: a certificate without its key would look like an authority.
            _write_new(directory / "key.pem", certificates.private_pem(key))
            _write_new(directory / "certificate.pem", certificate.public_bytes(serialization.Encoding.PEM))
        except FileExistsError:
            raise issues.AUTHORITY_EXISTS.error(place=directory) from None
        except OSError as error:
            raise issues.AUTHORITY_UNREADABLE.error(place=directory, reason=error.strerror) from error
        return cls(key, certificate)

    @classmethod
    def load(cls, directory: Path) -> "Authority":
        """Raises NotFoundError CA-001 if there is none, UnavailableError CA-003 if it cannot be used."""
        try:
            key = serialization.load_pem_private_key((directory / "key.pem").read_bytes(), password=None)
            certificate = x509.load_pem_x509_certificate((directory / "certificate.pem").read_bytes())
        except FileNotFoundError:
            raise issues.NO_AUTHORITY.error(place=directory) from None
        except (OSError, ValueError, TypeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not a key or certificate in PEM"
            raise issues.AUTHORITY_UNREADABLE.error(place=directory, reason=reason) from error
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
            raise issues.AUTHORITY_UNREADABLE.error(
                place=directory, reason="key and certificate do not belong together"
            )
        return cls(key, certificate)

    @property
    def pem(self) -> str:
        return certificates.certificate_pem(self.certificate)

    @property
    def fingerprint(self) -> Digest:
        return certificates.fingerprint(self.certificate)

    def sign_node(
        self, request: x509.CertificateSigningRequest, now: datetime, extensions: Mapping[str, str]
    ) -> x509.Certificate:
        """A certificate for a node: it may be a client, nothing else. What else the request asks for is not looked at."""
        builder = _builder(
            request.subject,
            self.certificate.subject,
            request.public_key(),
            x509.random_serial_number(),
            now,
            now + NODE_FOR,
        )
        for extension in names.to_x509(extensions):
            builder = builder.add_extension(extension, critical=False)
        return self._finish(builder, [x509.DNSName(certificates.common_name(request))], ExtendedKeyUsageOID.CLIENT_AUTH)

    def sign_server(self, key: ec.EllipticCurvePublicKey, hosts: Sequence[str], now: datetime) -> x509.Certificate:
        """A certificate for a server that is reached by these names and addresses."""
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0][:64])])
        builder = _builder(name, self.certificate.subject, key, x509.random_serial_number(), now, now + SERVER_FOR)
        return self._finish(builder, [_general_name(host) for host in hosts], ExtendedKeyUsageOID.SERVER_AUTH)

    def has_signed(self, certificate: x509.Certificate) -> bool:
        """Whether a certificate is ours, whatever the time."""
        try:
            certificate.verify_directly_issued_by(self.certificate)
        except (InvalidSignature, ValueError, TypeError):
            return False
        return True

    def _finish(
        self, builder: x509.CertificateBuilder, hosts: Sequence[x509.GeneralName], usage: x509.ObjectIdentifier
    ) -> x509.Certificate:
        authority = self.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
        return (
            builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(digital_signature=True), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(authority), critical=False)
            .sign(self._key, hashes.SHA256())
        )


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: object,
    serial: int,
    now: datetime,
    until: datetime,
) -> x509.CertificateBuilder:
    assert isinstance(key, ec.EllipticCurvePublicKey), "read_request lets no other through"
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(serial)
        .not_valid_before(now - BACKDATED)
        .not_valid_after(until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, digital_signature: bool = False, key_cert_sign: bool = False, crl_sign: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=crl_sign,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    with contextlib.suppress(ValueError):
        return x509.IPAddress(ip_address(host))
    return x509.DNSName(host)


def _write_new(path: Path, data: bytes) -> None:
    """A file that is ours alone from its first moment, on the disk before we go on."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
