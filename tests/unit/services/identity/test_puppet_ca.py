"""The import of a Puppet authority: what it imports, and what it refuses."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lab.puppet_ca import PuppetAuthority, key_pem, new_key
from precast.base.errors import PrecastError
from precast.services.identity.certificates import fingerprint
from precast.services.identity.puppet_ca import PuppetCa
from precast.wire.identity.issuers import is_issued_by

NOW = datetime.now(UTC)


@pytest.fixture
def puppet(tmp_path: Path) -> PuppetAuthority:
    return PuppetAuthority(tmp_path / "ca")


def test_certificates_are_imported_with_name_extensions_and_revocation(puppet: PuppetAuthority, tmp_path: Path) -> None:
    web = puppet.sign(tmp_path / "web", "web1.example.com", _1_13="web", _1_12="production", _2_7="own")
    stolen = puppet.sign(tmp_path / "stolen", "stolen.example.com")
    puppet.revoke(stolen)
    records, skipped_certificates = PuppetCa(puppet.cadir).read_nodes(NOW)
    assert skipped_certificates == []
    rows = {record.node: record for record in records}
    assert rows["web1.example.com"].extensions == {
        "pp_role": "web",
        "pp_environment": "production",
        "1.3.6.1.4.1.34380.1.2.7": "own",
    }
    assert rows["web1.example.com"].serial == f"{web.serial_number:x}"
    assert rows["web1.example.com"].revoked_at is None
    assert rows["stolen.example.com"].revoked_why == "revoked in Puppet"
    assert {record.authority for record in records} == {fingerprint(puppet.path[0])}


def test_unusable_certificates_are_reported_with_the_reason(puppet: PuppetAuthority, tmp_path: Path) -> None:
    puppet.sign(tmp_path / "a", "good")
    puppet.sign(tmp_path / "b", "UPPER")
    puppet.sign(tmp_path / "c", "ended", days=-60)
    puppet.sign(tmp_path / "d", "lost")
    (puppet.cadir / "signed" / "lost.pem").unlink()
    (puppet.cadir / "signed" / "broken.pem").write_text("-----BEGIN CERTIFICATE-----\nAAAA\n")
    other = PuppetAuthority(tmp_path / "other").sign(tmp_path / "e", "foreign")
    (puppet.cadir / "signed" / "foreign.pem").write_bytes((tmp_path / "e/certs/foreign.pem").read_bytes())
    assert other.issuer == puppet.path[0].subject  # the name alone proves nothing
    records, skipped_certificates = PuppetCa(puppet.cadir).read_nodes(NOW)
    assert [record.node for record in records] == ["good"]
    reasons = {skipped.name: skipped.reason for skipped in skipped_certificates}
    assert reasons["broken.pem"] == "it is not a certificate in PEM"
    assert reasons["ended.pem"] == "it has expired"
    assert reasons["foreign.pem"] == "another authority issued it"
    assert reasons["lost"].endswith("is missing")
    assert "is not a valid node name" in reasons["UPPER.pem"]


def test_name_has_one_certificate_however_many_files_claim_it(puppet: PuppetAuthority, tmp_path: Path) -> None:
    web = puppet.sign(tmp_path / "a", "web1.example.com")
    thief = PuppetAuthority(tmp_path / "unused")
    thief.key, thief.path = puppet.key, puppet.path
    thief.sign(tmp_path / "b", "web1.example.com", serial=77)
    (puppet.cadir / "signed" / "aaa.pem").write_bytes((tmp_path / "b/certs/web1.example.com.pem").read_bytes())
    records, skipped = PuppetCa(puppet.cadir).read_nodes(NOW)
    assert [record.fingerprint for record in records] == [fingerprint(web)]
    assert [(one.name, "web1.example.com.pem" in one.reason) for one in skipped] == [("aaa.pem", True)]


@pytest.mark.parametrize("has_intermediate", [True, False])
def test_successor_carries_the_signature_of_puppets_authority(tmp_path: Path, has_intermediate: bool) -> None:
    puppet = PuppetAuthority(tmp_path / "ca", has_intermediate=has_intermediate)
    new = PuppetCa(puppet.cadir).successor(NOW)
    assert is_issued_by(new.chain[0], puppet.path[0])
    assert new.chain[0].public_key() == new.certificate.public_key()
    assert list(new.chain[1:]) == puppet.path[:-1]
    assert list(new.imported) == puppet.path[:1]  # never one above it
    assert new.others == ()


def remove(name: str) -> Callable[[PuppetAuthority], object]:
    return lambda puppet: (puppet.cadir / name).unlink()


def write(name: str, data: bytes) -> Callable[[PuppetAuthority], object]:
    return lambda puppet: (puppet.cadir / name).write_bytes(data)


def only_signing(puppet: PuppetAuthority) -> None:
    first, end, _ = (puppet.cadir / "ca_crt.pem").read_bytes().partition(b"-----END CERTIFICATE-----\n")
    (puppet.cadir / "ca_crt.pem").write_bytes(first + end)


def foreign_list(puppet: PuppetAuthority) -> None:
    other = PuppetAuthority(puppet.cadir.parent / "other")
    (puppet.cadir / "ca_crl.pem").write_bytes((other.cadir / "ca_crl.pem").read_bytes())


@pytest.mark.parametrize(
    ("damage", "file"),
    [
        (remove("ca_crt.pem"), "ca_crt.pem"),
        (remove("ca_key.pem"), "ca_key.pem"),
        (remove("ca_crl.pem"), "ca_crl.pem"),
        (write("ca_crt.pem", b"x"), "ca_crt.pem"),
        (write("ca_key.pem", key_pem(new_key())), "ca_key.pem"),
        (write("ca_crl.pem", b""), "ca_crl.pem"),
        (only_signing, "ca_crt.pem"),
        (foreign_list, "ca_crl.pem"),
    ],
)
def test_inconsistent_authority_is_refused(
    puppet: PuppetAuthority, damage: Callable[[PuppetAuthority], object], file: str
) -> None:
    damage(puppet)
    with pytest.raises(PrecastError) as caught:
        PuppetCa(puppet.cadir)
    assert caught.value.code == "CA-016"
    assert file in caught.value.message
