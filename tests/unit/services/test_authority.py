"""The certificate authority: made once, and what it signs."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from precast.base.errors import PrecastError
from precast.services import certificates
from precast.services.authority import NODE_FOR, Authority

NOW = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority.create(tmp_path / "authority", NOW)


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


def test_authority_loaded_again_is_the_same(authority: Authority, tmp_path: Path) -> None:
    again = Authority.load(tmp_path / "authority")
    assert again.fingerprint == authority.fingerprint
    node = again.sign_node(certificates.read_request(request("web1")), NOW, {})
    assert authority.has_signed(node)
    assert (tmp_path / "authority").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "authority").iterdir()} == {0o600}


def test_authority_is_never_overwritten(authority: Authority, tmp_path: Path) -> None:
    (tmp_path / "authority" / "certificate.pem").unlink()
    before = (tmp_path / "authority" / "key.pem").read_bytes()
    for attempt in (lambda path: Authority.create(path, NOW), Authority.refuse_existing):
        with pytest.raises(PrecastError) as caught:
            attempt(tmp_path / "authority")
        assert caught.value.code == "CA-002"
    assert (tmp_path / "authority" / "key.pem").read_bytes() == before


@pytest.mark.parametrize("damage", ["missing", "empty key", "other key"])
def test_authority_that_is_not_whole_is_not_used(authority: Authority, tmp_path: Path, damage: str) -> None:
    place = tmp_path / "authority"
    if damage == "missing":
        (place / "certificate.pem").unlink()
    elif damage == "empty key":
        (place / "key.pem").write_bytes(b"")
    else:
        (place / "key.pem").write_bytes(certificates.private_pem(ec.generate_private_key(ec.SECP256R1())))
    with pytest.raises(PrecastError) as caught:
        Authority.load(place)
    assert caught.value.code == ("CA-001" if damage == "missing" else "CA-003")


def test_node_certificate_is_a_clients_whatever_the_request_asks_for(authority: Authority) -> None:
    signed = authority.sign_node(certificates.read_request(request("web1", is_ca=True)), NOW, {"pp_role": "web"})
    found = signed.extensions
    assert not found.get_extension_for_class(x509.BasicConstraints).value.ca
    assert list(found.get_extension_for_class(x509.ExtendedKeyUsage).value) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    assert found.get_extension_for_class(x509.SubjectAlternativeName).value.get_values_for_type(x509.DNSName) == [
        "web1"
    ]
    assert signed.not_valid_after_utc == NOW + NODE_FOR
    assert signed.not_valid_before_utc < NOW


def test_certificate_of_another_authority_is_not_ours(authority: Authority, tmp_path: Path) -> None:
    other = Authority.create(tmp_path / "other", NOW)
    assert not authority.has_signed(other.sign_node(certificates.read_request(request("web1")), NOW, {}))
    assert not authority.has_signed(other.certificate)


def test_request_that_is_not_usable_is_refused() -> None:
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
