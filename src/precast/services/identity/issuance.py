"""Issues node certificates: every way to a certificate signs and records it alike, and admits its node to the fleet."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple, Protocol

from cryptography import x509

from precast.services.identity import certificates
from precast.services.identity.authority import Authority
from precast.store.engine.query import Transaction
from precast.store.identity.certificates import Certificate

# How long after its expiry a certificate can still be renewed by proof of its key.
GRACE_S = 30 * 86400


class NodeAdmission(Protocol):
    """Classifies a node that has been given a certificate."""

    def admit(self, node: str, extensions: Mapping[str, str]) -> Transaction[None]:
        """Classify the node by the extensions of its certificate."""


class IssuedCertificate(NamedTuple):
    """A node's certificate, and the record that is stored before the certificate is sent."""

    pem: str
    record: Certificate


def issue(
    authority: Authority, request: x509.CertificateSigningRequest, given: Mapping[str, str], now: datetime
) -> IssuedCertificate:
    """Sign a request that `read_request` has checked."""
    signed = authority.sign_node(request, now, given)
    record = Certificate(
        fingerprint=certificates.fingerprint(signed),
        serial=certificates.serial_text(signed),
        node=certificates.common_name(signed),
        key_digest=certificates.key_digest(signed),
        extensions=dict(given),
        issued_at=now,
        not_after=signed.not_valid_after_utc,
        authority=authority.fingerprint,
    )
    return IssuedCertificate(certificates.certificate_pem(signed), record)
