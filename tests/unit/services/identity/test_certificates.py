"""A certificate request of a stranger is refused by a declared error, whatever it contains."""

import base64

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from precast.base.errors import InputError
from precast.services.identity import certificates


def _der() -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "web1")])
    request = x509.CertificateSigningRequestBuilder().subject_name(name)
    return request.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()).public_bytes(
        serialization.Encoding.DER
    )


def _pem(der: bytes) -> str:
    body = base64.encodebytes(der).decode()
    return f"-----BEGIN CERTIFICATE REQUEST-----\n{body}-----END CERTIFICATE REQUEST-----\n"


def test_request_is_read() -> None:
    assert certificates.common_name(certificates.read_request(_pem(_der()))) == "web1"


@pytest.mark.parametrize(
    ("part", "changed"),
    [
        (b"\x02\x01\x00", b"\x02\x01\x04"),  # the version
        (b"\x2a\x86\x48\xce\x3d\x02\x01", b"\x2a\x86\x48\xce\x3d\x02\x05"),  # the kind of key
        (b"\x2a\x86\x48\xce\x3d\x03\x01\x07", b"\x2a\x86\x48\xce\x3d\x03\x01\x0f"),  # the curve
        (b"web1", b"\xff\xfe\xfd\xfc"),  # the name
    ],
)
def test_request_with_unknown_parts_is_refused(part: bytes, changed: bytes) -> None:
    der = _der()
    assert part in der
    with pytest.raises(InputError, match="request"):
        certificates.read_request(_pem(der.replace(part, changed, 1)))
