"""What every way to a certificate has in common: how it is recorded, and how long it can be renewed after its end."""

from collections.abc import Mapping
from datetime import datetime

from cryptography import x509

from precast.services import certificates
from precast.store.nodes import Certificate

# How long after its end a certificate can still be renewed by proof of its key.
GRACE_S = 30 * 86400


def record_of(signed: x509.Certificate, given: Mapping[str, str], now: datetime) -> Certificate:
    """A node's certificate, as it is recorded before anyone sees it."""
    return Certificate(
        serial=certificates.serial_text(signed),
        node=certificates.common_name(signed),
        key_digest=certificates.key_digest(signed),
        extensions=dict(given),
        issued_at=now,
        not_after=signed.not_valid_after_utc,
    )
