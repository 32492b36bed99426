"""Certificate requests and certificates: parses untrusted requests, and reads the few properties that identify them."""

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import NameOID

from precast.base import digests
from precast.base.digests import Digest
from precast.services.identity import issues
from precast.wire.identity.names import check_name

CURVE = ec.SECP256R1()
# What reading a foreign request or certificate raises: it may have any version, key and encoding. UnicodeError is a ValueError.
UNREADABLE = (ValueError, TypeError, UnsupportedAlgorithm, x509.InvalidVersion)


def read_request(pem: str) -> x509.CertificateSigningRequest:
    """Parse a request and check its name, key and signature. Raises InputError CA-004 or WIRE-001."""
    try:
        request = x509.load_pem_x509_csr(pem.encode())
        is_signed = request.is_signature_valid
        key = request.public_key()
        name = common_name(request)
    except UNREADABLE:
        raise issues.BAD_REQUEST.error(reason="it is not a certificate request in PEM") from None
    if not is_signed:
        raise issues.BAD_REQUEST.error(reason="it is not signed by its own key")
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, type(CURVE)):
        raise issues.BAD_REQUEST.error(reason="its key is not on the curve P-256")
    check_name(name)
    return request


def common_name(named: x509.CertificateSigningRequest | x509.Certificate) -> str:
    """The name of a request or certificate. Raises InputError CA-004 if it has none, or several."""
    values = [attribute.value for attribute in named.subject]
    if len(values) != 1 or named.subject.get_attributes_for_oid(NameOID.COMMON_NAME) == []:
        raise issues.BAD_REQUEST.error(reason="its subject is not exactly one common name")
    return str(values[0])


def fingerprint(certificate: x509.Certificate) -> Digest:
    return digests.of_bytes(certificate.public_bytes(serialization.Encoding.DER))


def fingerprint_of_pem(pem: str) -> Digest:
    """The fingerprint of a certificate that a node has sent. Raises DeniedError CA-007 if it is not one."""
    try:
        return fingerprint(x509.load_pem_x509_certificate(pem.encode()))
    except (ValueError, UnicodeEncodeError):
        raise issues.RENEWAL_DENIED.error() from None


def key_digest(holder: x509.Certificate | x509.CertificateSigningRequest) -> Digest:
    """The digest that identifies the public key of a certificate or request."""
    spki = serialization.PublicFormat.SubjectPublicKeyInfo
    return digests.of_bytes(holder.public_key().public_bytes(serialization.Encoding.DER, spki))


def serial_text(certificate: x509.Certificate) -> str:
    return f"{certificate.serial_number:x}"


def certificate_pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def request_pem(request: x509.CertificateSigningRequest) -> bytes:
    return request.public_bytes(serialization.Encoding.PEM)


def private_pem(key: ec.EllipticCurvePrivateKey | Ed25519PrivateKey, passphrase: bytes | None = None) -> bytes:
    """A key in PKCS #8; with a passphrase, encrypted by it (PBES2: AES-256, and a slow derivation of the key)."""
    encryption = (
        serialization.NoEncryption() if passphrase is None else serialization.BestAvailableEncryption(passphrase)
    )
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
