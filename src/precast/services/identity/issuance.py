"""Issued node certificates: every way to a certificate records it alike, and admits its node to the fleet."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple, Protocol

from cryptography import x509

from precast.services.identity import certificates
from precast.store.engine.query import Transaction
from precast.store.identity.certificates import Certificate
from precast.wire.identity.bodies import RENEWAL_GRACE

# How long after its expiry a certificate can still be renewed by proof of its key.
GRACE_S = int(RENEWAL_GRACE.total_seconds())


class NodeAdmission(Protocol):
    """Classifies a node that has been given a certificate."""

    def admit(self, node: str, extensions: Mapping[str, str]) -> Transaction[None]:
        """Classify the node by the extensions of its certificate."""


class IssuedCertificate(NamedTuple):
    """A node's certificate, and the record that is stored before the certificate is sent."""

    pem: str
    record: Certificate
    trusted: str  # the certificates to trust, as PEM


def record_of(signed: x509.Certificate, given: Mapping[str, str], authority: str, issued_at: datetime) -> Certificate:
    """The record of a certificate that the authority with this fingerprint has signed."""
    return Certificate(
        fingerprint=certificates.fingerprint(signed),
        serial=certificates.serial_text(signed),
        node=certificates.common_name(signed),
        key_digest=certificates.key_digest(signed),
        extensions=dict(given),
        issued_at=issued_at,
        not_after=signed.not_valid_after_utc,
        authority=authority,
    )
