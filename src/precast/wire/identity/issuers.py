"""Who issued a certificate: nodes and servers decide it alike."""

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm


def is_issued_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    """Whether an authority has signed a certificate, expired or not."""
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError, TypeError, UnsupportedAlgorithm):
        return False
    return True
