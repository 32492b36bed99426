"""The certificate authority and the certificates it signs."""

from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from precast.base.errors import PrecastError
from precast.services.identity import certificates
from precast.services.identity.authority import NODE_FOR, Authority

NOW = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def authority() -> Authority:
    return Authority.new(NOW)


def request(*names: str, key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | None = None, is_ca: bool = False) -> str:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name) for name in names])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    if is_ca:
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    made = builder.sign(key or ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM).decode()


def code_of(pem: str) -> str:
    with pytest.raises(PrecastError) as caught:
        certificates.read_request(pem)
    return caught.value.code


def test_node_certificate_is_for_clients_only_whatever_the_request_contains(authority: Authority) -> None:
    signed = authority.sign_node(certificates.read_request(request("web1", is_ca=True)), NOW, {"pp_role": "web"})
    extensions = signed.extensions
    assert not extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert list(extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    assert extensions.get_extension_for_class(x509.SubjectAlternativeName).value.get_values_for_type(x509.DNSName) == [
        "web1"
    ]
    assert signed.not_valid_after_utc == NOW + NODE_FOR
    assert signed.not_valid_before_utc < NOW


def test_certificate_of_another_authority_is_not_accepted(authority: Authority) -> None:
    other = Authority.new(NOW)
    assert not authority.has_signed(other.sign_node(certificates.read_request(request("web1")), NOW, {}))
    assert not authority.has_signed(other.certificate)


def test_invalid_request_is_refused() -> None:
    good = request("web1")
    cut = good[:-60]
    key = ec.generate_private_key(ec.SECP384R1())
    assert certificates.common_name(certificates.read_request(good)) == "web1"
    assert [
        code_of(pem) for pem in ("", "x", "\ud800", cut, request(), request("a", "b"), request("web1", key=key))
    ] == ["CA-004"] * 7
    assert code_of(request("web1", key=rsa.generate_private_key(65537, 2048))) == "CA-004"
    assert [code_of(request(name)) for name in ("*", "../x", "Web1", "a b")] == ["WIRE-001"] * 4


def test_serial_is_hex_as_tls_prints_it_without_leading_zeros(authority: Authority) -> None:
    signed = authority.sign_node(certificates.read_request(request("web1")), NOW, {})
    text = certificates.serial_text(signed)
    assert int(text, 16) == signed.serial_number
    assert text == text.lower().lstrip("0")


def test_node_certificate_names_the_list_of_revocations_only_if_it_has_an_address(authority: Authority) -> None:
    wanted = certificates.read_request(request("web1"))
    plain, named = (
        authority.sign_node(wanted, NOW, {}),
        authority.sign_node(wanted, NOW, {}, "http://pki.example.com/a.crl"),
    )
    with pytest.raises(x509.ExtensionNotFound):
        plain.extensions.get_extension_for_class(x509.CRLDistributionPoints)
    ((place,),) = [
        each.full_name or [] for each in named.extensions.get_extension_for_class(x509.CRLDistributionPoints).value
    ]
    assert place.value == "http://pki.example.com/a.crl"
