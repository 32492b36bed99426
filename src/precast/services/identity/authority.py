"""The certificate authority: the key that signs, the authorities it trusts besides itself, and its chain to earlier ones.

Keys are elliptic curves (P-256). The certificate of the authority is valid for ten years, of a node for thirty days, of a server for
ninety. Certificates begin a few minutes in the past, because clocks differ.

An authority that replaced another has the other's signature on its own key. Servers send that signature, so a node that trusts only
the earlier authority trusts the server. Successors keep the name: a self-issued certificate does not count towards the length of a
path (RFC 5280, 6.1), and the first authority allows no intermediate ones.

An authority is trusted for itself, never because another one signed it: a root above it has other children too. An authority that was
imported is trusted for the nodes it issued certificates to, and not for servers.
"""

import contextlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from precast.base.digests import Digest
from precast.services.identity import certificates
from precast.services.identity import extensions as names
from precast.wire.identity.issuers import is_issued_by

AUTHORITY_FOR = timedelta(days=3650)
NODE_FOR = timedelta(days=30)
SERVER_FOR = timedelta(days=90)
BACKDATED = timedelta(minutes=5)
# Nobody can replace an authority as easily as a node's certificate, and it may have been created by a clock that was ahead.
AUTHORITY_BACKDATED = timedelta(days=365)


class PublicAuthority:
    """The authority as everyone but the signer knows it: certificates, and no key.

    `others` are trusted besides it: its predecessor, or its prepared successor. `imported` has issued certificates of nodes and signs
    no servers. `chain` leads from its certificate to a predecessor or to the imported one.
    """

    def __init__(
        self,
        certificate: x509.Certificate,
        others: Sequence[x509.Certificate] = (),
        chain: Sequence[x509.Certificate] = (),
        imported: Sequence[x509.Certificate] = (),
    ) -> None:
        self.certificate = certificate
        self.others = tuple(others)
        self.imported = tuple(imported)
        # While a successor is only prepared, the chain belongs to the successor, and servers do not send it.
        self.chain = tuple(chain) if chain and chain[0].public_key() == certificate.public_key() else ()

    @property
    def pem(self) -> str:
        """The authorities that sign servers, this one first: what nodes and people trust."""
        return "".join(map(certificates.certificate_pem, (self.certificate, *self.others)))

    @property
    def issuers(self) -> tuple[x509.Certificate, ...]:
        """The authorities whose certificates of nodes are accepted."""
        return (self.certificate, *self.others, *self.imported)

    @property
    def fingerprint(self) -> Digest:
        return certificates.fingerprint(self.certificate)

    def find_issuers(self, certificate: x509.Certificate) -> list[x509.Certificate]:
        """The authorities that issued a node's certificate, expired or not. There are several if one key has several certificates."""
        return [issuer for issuer in self.issuers if is_issued_by(certificate, issuer)]

    def has_signed(self, certificate: x509.Certificate) -> bool:
        """Whether this authority or a trusted one issued a node's certificate, expired or not."""
        return bool(self.find_issuers(certificate))

    @property
    def own_fingerprints(self) -> list[Digest]:
        """The fingerprints of all trusted certificates of this authority's key."""
        key = self.certificate.public_key()
        return [certificates.fingerprint(each) for each in self.issuers if each.public_key() == key]


class Authority(PublicAuthority):
    """The key and certificate that sign all others. Only the signer and local commands have one."""

    def __init__(
        self,
        key: ec.EllipticCurvePrivateKey,
        certificate: x509.Certificate,
        others: Sequence[x509.Certificate] = (),
        chain: Sequence[x509.Certificate] = (),
        imported: Sequence[x509.Certificate] = (),
    ) -> None:
        super().__init__(certificate, others, chain, imported)
        self.key = key

    @classmethod
    def new(cls, now: datetime, subject: x509.Name | None = None) -> "Authority":
        """Create an authority, with a name of its own or its predecessor's."""
        key = ec.generate_private_key(certificates.CURVE)
        serial = x509.random_serial_number()
        name = subject or x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Precast authority {serial:x}"[:40])])
        builder = _authority_builder(name, name, key.public_key(), serial, now, now + AUTHORITY_FOR)
        return cls(key, builder.sign(key, hashes.SHA256()))

    def sign_successor(self, successor: "Authority", now: datetime) -> x509.Certificate:
        """Sign the key of a successor."""
        return cross_sign(self.key, self.certificate, successor, now)

    def sign_node(
        self, request: x509.CertificateSigningRequest, now: datetime, extensions: Mapping[str, str], crl_url: str = ""
    ) -> x509.Certificate:
        """Issue a certificate for a node, as a TLS client only. Other properties of the request are ignored."""
        builder = _builder(
            request.subject,
            self.certificate.subject,
            request.public_key(),
            x509.random_serial_number(),
            now - BACKDATED,
            now + NODE_FOR,
        )
        for extension in names.to_x509(extensions):
            builder = builder.add_extension(extension, critical=False)
        if crl_url:
            place = x509.DistributionPoint([x509.UniformResourceIdentifier(crl_url)], None, None, None)
            builder = builder.add_extension(x509.CRLDistributionPoints([place]), critical=False)
        return self._finish(builder, [x509.DNSName(certificates.common_name(request))], ExtendedKeyUsageOID.CLIENT_AUTH)

    def sign_server(self, key: ec.EllipticCurvePublicKey, hosts: Sequence[str], now: datetime) -> x509.Certificate:
        """Issue a certificate for a server with these names and addresses."""
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0][:64])])
        serial, since = x509.random_serial_number(), now - BACKDATED
        builder = _builder(name, self.certificate.subject, key, serial, since, now + SERVER_FOR)
        return self._finish(builder, [_general_name(host) for host in hosts], ExtendedKeyUsageOID.SERVER_AUTH)

    def sign_document(self, data: bytes) -> bytes:
        """Sign a document that is not a certificate; the document must state its own type."""
        return self.key.sign(data, ec.ECDSA(hashes.SHA256()))

    def _finish(
        self, builder: x509.CertificateBuilder, hosts: Sequence[x509.GeneralName], usage: x509.ObjectIdentifier
    ) -> x509.Certificate:
        return (
            builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(digital_signature=True), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
            .add_extension(issuer_key(self.certificate), critical=False)
            .sign(self.key, hashes.SHA256())
        )


def cross_sign(
    key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey, by: x509.Certificate, successor: Authority, now: datetime
) -> x509.Certificate:
    """Sign the successor's name and key with the key of another authority, until the earlier expiry of the two."""
    own = successor.certificate
    until = min(own.not_valid_after_utc, by.not_valid_after_utc)
    builder = _authority_builder(
        own.subject, by.subject, own.public_key(), x509.random_serial_number(), now, until
    ).add_extension(issuer_key(by), critical=False)
    return builder.sign(key, hashes.SHA256())


def issuer_key(authority: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    """The extension by which a certificate or a CRL names the key of its issuer."""
    try:
        identifier = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        key = authority.public_key()
        assert isinstance(key, ec.EllipticCurvePublicKey | rsa.RSAPublicKey), "no other key signs for us"
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(key)
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)


def _authority_builder(
    subject: x509.Name, issuer: x509.Name, key: object, serial: int, now: datetime, until: datetime
) -> x509.CertificateBuilder:
    return (
        _builder(subject, issuer, key, serial, now - AUTHORITY_BACKDATED, until)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(key_cert_sign=True, crl_sign=True), critical=True)
    )


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: object,
    serial: int,
    since: datetime,
    until: datetime,
) -> x509.CertificateBuilder:
    assert isinstance(key, ec.EllipticCurvePublicKey), "read_request lets no other through"
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(serial)
        .not_valid_before(since)
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
