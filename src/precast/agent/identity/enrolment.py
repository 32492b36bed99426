"""How a machine becomes a node: a key of its own, a request, a certificate.

The key is made once and kept, and written before anyone is asked: a machine that was cut off asks again with the same key and
is given its certificate. The authority is known by its fingerprint, from the token or from an operator, before anything is
trusted.
"""

import base64
import ssl
from datetime import datetime
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import NameOID

from precast.agent import issues
from precast.agent.identity.credentials import Credentials, reason_of
from precast.base import digests, https
from precast.base.digests import Digest
from precast.base.files import write_private
from precast.wire.identity.bodies import (
    AuthorityBody,
    CertificateBody,
    EnrolBody,
    RenewBody,
    RequestAnswer,
    RequestBody,
)
from precast.wire.identity.names import check_name
from precast.wire.identity.tokens import parse_enrolment

OwnKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


class Identity(Credentials):
    """Makes what the directory holds."""

    def enrol(self, url: str, token: str, name: str) -> x509.Certificate:
        """Ask for the first certificate and keep it.

        Raises ConflictError AGENT-001 if there is one, DeniedError AGENT-002 if the server is not of the token's authority,
        and what the server says.
        """
        shown = parse_enrolment(token)
        key = self._first_key(name)
        context = https.trusting(_trusted_authority(url, shown.fingerprint))
        return self._keep(_post(url, context, "/v1/enrolments", EnrolBody(_request_pem(key, name), token.strip())), key)

    def request(self, url: str, fingerprint: Digest, name: str) -> x509.Certificate:
        """Ask for the first certificate without a token, of the authority with this fingerprint, and keep it if it is signed.

        Raises UnavailableError AGENT-006 while it waits for an operator: asking again is how to learn more. Otherwise as `enrol`.
        """
        key = self._first_key(name)
        context = https.trusting(_trusted_authority(url, fingerprint))
        body = msgspec.json.encode(RequestBody(_request_pem(key, name)))
        came = https.read_answer(url, https.call(url, context, "POST", "/v1/requests", body), RequestAnswer)
        if came.certificate is None:
            raise issues.WAITS.error(name=name, fingerprint=_key_digest(key))
        return self._keep(came.certificate, key)

    def current(self) -> x509.Certificate:
        """The certificate that there is. Raises NotFoundError AGENT-003 before the first."""
        return self._load()[1]

    def name(self) -> str:
        """For whom the certificate is."""
        return _name(self.current())

    def due_at(self) -> datetime:
        """When the next certificate is due: after two thirds of this one's life."""
        certificate = self.current()
        begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        return begin + (end - begin) * 2 / 3

    def renew(self, url: str) -> x509.Certificate:
        """Ask for the next certificate, with a new key, by proof of the old one. Raises NotFoundError AGENT-003 before the first."""
        old_key, old = self._load()
        return self._renew(url, self.trusting(), old_key, old)

    def adopt(self, url: str, puppet: Path, name: str) -> x509.Certificate:
        """Ask for the first certificate by proof of the key that Puppet's agent has, in its `ssldir`, and keep it.

        Raises as `renew`, ConflictError AGENT-001 if there is one, UnavailableError AGENT-004 if Puppet's files cannot be used.
        """
        check_name(name)
        if self.certificate.exists():
            raise issues.ENROLLED.error(path=self.certificate)
        file = f"{name}.pem"
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            old = x509.load_pem_x509_certificate((puppet / "certs" / file).read_bytes())
            old_key = _load_key(puppet / "private_keys" / file)
            context = https.trusting((puppet / "certs" / "ca.pem").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise issues.CANNOT_KEEP.error(path=puppet, reason=reason_of(error)) from error
        return self._renew(url, context, old_key, old)

    def _renew(self, url: str, context: ssl.SSLContext, old_key: OwnKey, old: x509.Certificate) -> x509.Certificate:
        key = ec.generate_private_key(ec.SECP256R1())
        request = _request(key, _name(old))
        body = RenewBody(
            _pem(request),
            old.public_bytes(serialization.Encoding.PEM).decode(),
            base64.b64encode(_sign(old_key, request.public_bytes(serialization.Encoding.DER))).decode(),
        )
        return self._keep(_post(url, context, "/v1/renewals", body), key)

    def _first_key(self, name: str) -> ec.EllipticCurvePrivateKey:
        check_name(name)
        if self.certificate.exists():
            raise issues.ENROLLED.error(path=self.certificate)
        return self._own_key()

    def _own_key(self) -> ec.EllipticCurvePrivateKey:
        """The key of an enrolment that was cut off, or a new one, on the disk before it is used."""
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self.key.exists():
                key = _load_key(self.key)
                if not isinstance(key, ec.EllipticCurvePrivateKey):
                    raise ValueError("it is not a key of ours")
                return key
            key = ec.generate_private_key(ec.SECP256R1())
            write_private(self.key, _key_pem(key))
        except (OSError, ValueError) as error:
            raise issues.CANNOT_KEEP.error(path=self.directory, reason=reason_of(error)) from error
        return key

    def _load(self) -> tuple[OwnKey, x509.Certificate]:
        try:
            certificate = x509.load_pem_x509_certificate(self.certificate.read_bytes())
            # A renewal that was cut off after its certificate came: the key that belongs to it waits beside the old one.
            if self.next_key.exists() and _load_key(self.next_key).public_key() == certificate.public_key():
                self.next_key.replace(self.key)
            return _load_key(self.key), certificate
        except FileNotFoundError:
            raise issues.NOT_ENROLLED.error() from None
        except (OSError, ValueError) as error:
            raise issues.CANNOT_KEEP.error(path=self.directory, reason=reason_of(error)) from error

    def _keep(self, came: CertificateBody, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
        """Put everything in its place. A crash at any point leaves a certificate with its key, the old pair or the new one."""
        try:
            certificate = x509.load_pem_x509_certificate(came.certificate.encode())
            write_private(self.authority, came.authority.encode())
            write_private(self.next_key, _key_pem(key))
            write_private(self.certificate, came.certificate.encode())
            self.next_key.replace(self.key)
        except (OSError, ValueError) as error:
            raise issues.CANNOT_KEEP.error(path=self.directory, reason=reason_of(error)) from error
        return certificate


def _trusted_authority(url: str, fingerprint: Digest) -> str:
    """The authority's certificate, taken from anyone, kept only if it has this fingerprint."""
    came = https.call(url, https.trusting_nobody(), "GET", "/v1/authority")
    try:
        pem = msgspec.json.decode(came.body, type=AuthorityBody).certificates
        found = x509.load_pem_x509_certificates(pem.encode())
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError):
        raise issues.OTHER_AUTHORITY.error(url=url) from None
    for certificate in found:
        if digests.of_bytes(certificate.public_bytes(serialization.Encoding.DER)) == fingerprint:
            return certificate.public_bytes(serialization.Encoding.PEM).decode()
    raise issues.OTHER_AUTHORITY.error(url=url)


def _post(url: str, context: ssl.SSLContext, path: str, body: msgspec.Struct) -> CertificateBody:
    return https.read_answer(url, https.call(url, context, "POST", path, msgspec.json.encode(body)), CertificateBody)


def _request(key: ec.EllipticCurvePrivateKey, name: str) -> x509.CertificateSigningRequest:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    return x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())


def _request_pem(key: ec.EllipticCurvePrivateKey, name: str) -> str:
    return _pem(_request(key, name))


def _pem(request: x509.CertificateSigningRequest) -> str:
    return request.public_bytes(serialization.Encoding.PEM).decode()


def _key_digest(key: ec.EllipticCurvePrivateKey) -> Digest:
    """What an operator compares: reckoned here, not taken from the server."""
    spki = serialization.PublicFormat.SubjectPublicKeyInfo
    return digests.of_bytes(key.public_key().public_bytes(serialization.Encoding.DER, spki))


def _name(certificate: x509.Certificate) -> str:
    return str(certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)


def _sign(key: OwnKey, data: bytes) -> bytes:
    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(data, padding.PKCS1v15(), hashes.SHA256())
    return key.sign(data, ec.ECDSA(hashes.SHA256()))


def _load_key(path: Path) -> OwnKey:
    """Ours are on a curve; those of Puppet's agents are RSA."""
    key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(key, OwnKey):
        raise ValueError("it is not a key on an elliptic curve, nor RSA")
    return key


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
