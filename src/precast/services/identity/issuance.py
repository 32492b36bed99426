"""What every way to a certificate has in common: it is signed and recorded alike, and can be renewed for a while after its end."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from cryptography import x509

from precast.services.identity import certificates
from precast.services.identity.authority import Authority
from precast.store.identity.certificates import Certificate

# How long after its end a certificate can still be renewed by proof of its key.
GRACE_S = 30 * 86400


class Issued(NamedTuple):
    """A node's certificate, and how it is recorded before anyone sees it."""

    pem: str
    record: Certificate


def issue(
    authority: Authority, request: x509.CertificateSigningRequest, given: Mapping[str, str], now: datetime
) -> Issued:
    """Sign a request that was read by `read_request`."""
    signed = authority.sign_node(request, now, given)
    record = Certificate(
        serial=certificates.serial_text(signed),
        node=certificates.common_name(signed),
        key_digest=certificates.key_digest(signed),
        extensions=dict(given),
        issued_at=now,
        not_after=signed.not_valid_after_utc,
        authority=authority.fingerprint,
    )
    return Issued(certificates.certificate_pem(signed), record)
