"""Whether an authority that this node trusts has signed a document. Needs `cryptography`, so the daemon never imports it."""

import base64
import binascii
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from precast.agent import issues
from precast.agent.identity.credentials import reason_of


def is_signed(authority: Path, data: bytes, signature: str) -> bool:
    """Whether one of the authorities in a file has signed the data. Raises UnavailableError AGENT-004 if the file cannot be read."""
    try:
        decoded = base64.b64decode(signature, validate=True)
        trusted = x509.load_pem_x509_certificates(authority.read_bytes())
    except binascii.Error:
        return False
    except (OSError, ValueError) as error:
        raise issues.CANNOT_KEEP.error(path=authority, reason=reason_of(error)) from error
    return any(_has_signed(certificate, decoded, data) for certificate in trusted)


def _has_signed(authority: x509.Certificate, signature: bytes, data: bytes) -> bool:
    key = authority.public_key()
    if not isinstance(key, ec.EllipticCurvePublicKey):
        return False  # such as Puppet's authority, which signs no documents
    try:
        key.verify(signature, data, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        return False
    return True
