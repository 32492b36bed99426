"""Enrols this machine as a node: it makes a key, requests a certificate, and renews it.

The key of an enrolment is made once, and written to the disk before the first request: a machine that was interrupted repeats the request
with the same key and gets its certificate. Each enrolment begins a new life (`state.life`) with a new key; a renewal does not. The
authority is verified by its fingerprint, which comes from the token or from an operator, before the machine trusts anything.
"""

import base64
import os
import ssl
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import NameOID

from precast.agent import issues
from precast.agent.identity.credentials import Credentials, reason_of
from precast.agent.network.http_client import OpenClient, direct_http
from precast.agent.state.life import NAME as LIFE
from precast.base import digests, https
from precast.base.digests import Digest
from precast.base.files import make_private_directory, write_private
from precast.wire.identity.bodies import (
    AuthorityBody,
    CertificateBody,
    EnrolBody,
    RenewBody,
    RequestAnswer,
    RequestBody,
)
from precast.wire.identity.issuers import is_issued_by
from precast.wire.identity.names import check_name
from precast.wire.identity.tokens import parse_enrolment

T = TypeVar("T")
OwnKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


class Identity(Credentials):
    """Credentials that can be made and renewed. `open_client` says how servers are asked."""

    def __init__(self, root: Path, open_client: OpenClient = direct_http) -> None:
        super().__init__(root)
        self._open_client = open_client

    def enrol(self, url: str, token: str, name: str, *, again: bool = False) -> x509.Certificate:
        """Request the first certificate with a token and store it. With `again`, it replaces a certificate that there is.

        Raises ConflictError AGENT-001 if there is one, DeniedError AGENT-002 if the server does not have the token's authority,
        and the server's error.
        """
        parsed = parse_enrolment(token)
        key = self._first_key(name, again)
        context = https.trust_authority(self._trusted_authority(url, parsed.fingerprint))
        body = EnrolBody(_request_pem(key, name), token.strip())
        return self._begin_life(self._post(url, context, "/v1/enrolments", body, CertificateBody), key)

    def request(self, url: str, fingerprint: Digest, name: str, *, again: bool = False) -> x509.Certificate:
        """Request the first certificate without a token, from the authority with this fingerprint, and store it if it is signed.

        Raises UnavailableError AGENT-006 while the request waits for an operator: the caller repeats it later. Otherwise as `enrol`.
        """
        key = self._first_key(name, again)
        context = https.trust_authority(self._trusted_authority(url, fingerprint))
        answer = self._post(url, context, "/v1/requests", RequestBody(_request_pem(key, name)), RequestAnswer)
        if answer.certificate is None:
            raise issues.WAITS.error(name=name, fingerprint=_key_digest(key))
        return self._begin_life(answer.certificate, key)

    def current(self) -> x509.Certificate:
        """The current certificate. Raises NotFoundError AGENT-003 if the machine is not enrolled."""
        return self._load()[1]

    def name(self) -> str:
        """The node's name, from its certificate."""
        return _name(self.current())

    def due_at(self) -> datetime:
        """When the next certificate is due: after two thirds of this one's life."""
        certificate = self.current()
        begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        return begin + (end - begin) * 2 / 3

    def renew(self, url: str) -> x509.Certificate:
        """Request the next certificate for a new key, signed with the old one. Raises NotFoundError AGENT-003 if not enrolled."""
        old_key, old = self._load()
        key = ec.generate_private_key(ec.SECP256R1())
        return self._store(self._ask_renewal(url, self.anonymous_context(), old_key, old, key), key)

    def adopt(self, url: str, puppet: Path, name: str, *, again: bool = False) -> x509.Certificate:
        """Request the first certificate, signed with the key of Puppet's agent in its `ssldir`, and store it.

        Raises as `renew`, ConflictError AGENT-001 if there is one, UnavailableError AGENT-004 if Puppet's files cannot be used.
        """
        check_name(name)
        if self.certificate.exists() and not again:
            raise issues.ENROLLED.error(path=self.certificate)
        file = f"{name}.pem"
        try:
            make_private_directory(self.directory)
            old = x509.load_pem_x509_certificate((puppet / "certs" / file).read_bytes())
            old_key = _load_key(puppet / "private_keys" / file)
            known = x509.load_pem_x509_certificates((puppet / "certs" / "ca.pem").read_bytes())
        except (OSError, ValueError) as error:
            path = getattr(error, "filename", None) or puppet
            raise issues.CANNOT_KEEP.error(path=path, reason=reason_of(error)) from error
        issuer = next((certificate for certificate in known if is_issued_by(old, certificate)), None)
        if issuer is None:
            reason = f"certs/ca.pem does not contain the authority that issued certs/{file}"
            raise issues.CANNOT_KEEP.error(path=puppet, reason=reason)
        # Only the authority that issued our certificate is trusted: one above it may have signed others, who are no Puppet servers.
        context = https.trust_authority(issuer.public_bytes(serialization.Encoding.PEM).decode())
        key = ec.generate_private_key(ec.SECP256R1())
        return self._begin_life(self._ask_renewal(url, context, old_key, old, key), key)

    def _ask_renewal(
        self,
        url: str,
        context: ssl.SSLContext,
        old_key: OwnKey,
        old: x509.Certificate,
        key: ec.EllipticCurvePrivateKey,
    ) -> CertificateBody:
        request = _request(key, _name(old))
        body = RenewBody(
            _pem(request),
            old.public_bytes(serialization.Encoding.PEM).decode(),
            base64.b64encode(_sign(old_key, request.public_bytes(serialization.Encoding.DER))).decode(),
        )
        return self._post(url, context, "/v1/renewals", body, CertificateBody)

    def _trusted_authority(self, url: str, fingerprint: Digest) -> str:
        """Fetch the authority's certificate from an untrusted server, and trust it only if it has this fingerprint."""
        with self._open_client(https.trust_any()) as client:
            response = client.get(url, "/v1/authority", {})
        return _find_authority(url, response.body, fingerprint)

    def _post(self, url: str, context: ssl.SSLContext, path: str, body: msgspec.Struct, answer: type[T]) -> T:
        with self._open_client(context) as client:
            return https.read_answer(url, client.post(url, path, msgspec.json.encode(body)), answer)

    def _first_key(self, name: str, again: bool) -> ec.EllipticCurvePrivateKey:
        check_name(name)
        if self.certificate.exists() and not again:
            raise issues.ENROLLED.error(path=self.certificate)
        return self._own_key()

    def _own_key(self) -> ec.EllipticCurvePrivateKey:
        """The key of an interrupted enrolment, or a new key, which is written to the disk before it is used."""
        try:
            make_private_directory(self.directory)
            if self.enrolment_key.exists() and not self._has_left_key():
                key = _load_key(self.enrolment_key)
                if not isinstance(key, ec.EllipticCurvePrivateKey):
                    raise ValueError("it is not a key on an elliptic curve")
                return key
            key = ec.generate_private_key(ec.SECP256R1())
            write_private(self.enrolment_key, _key_pem(key))
        except (OSError, ValueError) as error:
            raise issues.CANNOT_KEEP.error(path=self.directory, reason=reason_of(error)) from error
        return key

    def _has_left_key(self) -> bool:
        """Whether the enrolment's key is that of the certificate: its enrolment was interrupted after everything else was stored."""
        if not self.certificate.exists():
            return False
        certificate = x509.load_pem_x509_certificate(self.certificate.read_bytes())
        return _load_key(self.enrolment_key).public_key() == certificate.public_key()

    def _load(self) -> tuple[OwnKey, x509.Certificate]:
        try:
            certificate = x509.load_pem_x509_certificate(self.certificate.read_bytes())
            # A renewal was interrupted after its certificate was written: the key of the new certificate is beside the old key.
            if self.next_key.exists() and _load_key(self.next_key).public_key() == certificate.public_key():
                self.next_key.replace(self.key)
            return _load_key(self.key), certificate
        except FileNotFoundError:
            raise issues.NOT_ENROLLED.error() from None
        except (OSError, ValueError) as error:
            raise issues.CANNOT_KEEP.error(path=self.directory, reason=reason_of(error)) from error

    def _begin_life(self, issued: CertificateBody, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
        """Store the certificate of an enrolment, which begins a new life.

        The life is written first: the new certificate must never be used with the state of an earlier life. A crash in between leaves the
        enrolment's key, so that the command can be repeated.
        """
        try:
            write_private(self.directory / LIFE, os.urandom(16).hex().encode())
            certificate = self._store(issued, key)
            self.enrolment_key.unlink(missing_ok=True)
        except OSError as error:
            raise issues.CANNOT_KEEP.error(path=self.directory, reason=reason_of(error)) from error
        return certificate

    def _store(self, issued: CertificateBody, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
        """Store a certificate and its key. A crash at any point leaves a certificate with its key: the old pair or the new one."""
        try:
            certificate = x509.load_pem_x509_certificate(issued.certificate.encode())
            write_private(self.authority, issued.authority.encode())
            write_private(self.next_key, _key_pem(key))
            write_private(self.certificate, issued.certificate.encode())
            self.next_key.replace(self.key)
        except (OSError, ValueError) as error:
            raise issues.CANNOT_KEEP.error(path=self.directory, reason=reason_of(error)) from error
        return certificate


def _find_authority(url: str, data: bytes, fingerprint: Digest) -> str:
    """The certificate with this fingerprint among those of an untrusted server. Raises DeniedError AGENT-002."""
    try:
        pem = msgspec.json.decode(data, type=AuthorityBody).certificates
        certificates = x509.load_pem_x509_certificates(pem.encode())
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError):
        raise issues.OTHER_AUTHORITY.error(url=url) from None
    for certificate in certificates:
        if digests.of_bytes(certificate.public_bytes(serialization.Encoding.DER)) == fingerprint:
            return certificate.public_bytes(serialization.Encoding.PEM).decode()
    raise issues.OTHER_AUTHORITY.error(url=url)


def _request(key: ec.EllipticCurvePrivateKey, name: str) -> x509.CertificateSigningRequest:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    return x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())


def _request_pem(key: ec.EllipticCurvePrivateKey, name: str) -> str:
    return _pem(_request(key, name))


def _pem(request: x509.CertificateSigningRequest) -> str:
    return request.public_bytes(serialization.Encoding.PEM).decode()


def _key_digest(key: ec.EllipticCurvePrivateKey) -> Digest:
    """The fingerprint that an operator compares: computed here, not taken from the server."""
    spki = serialization.PublicFormat.SubjectPublicKeyInfo
    return digests.of_bytes(key.public_key().public_bytes(serialization.Encoding.DER, spki))


def _name(certificate: x509.Certificate) -> str:
    return str(certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)


def _sign(key: OwnKey, data: bytes) -> bytes:
    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(data, padding.PKCS1v15(), hashes.SHA256())
    return key.sign(data, ec.ECDSA(hashes.SHA256()))


def _load_key(path: Path) -> OwnKey:
    """Load a key: ours are on an elliptic curve, those of Puppet's agents are RSA."""
    key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(key, OwnKey):
        raise ValueError("it is not a key on an elliptic curve, nor RSA")
    return key


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
