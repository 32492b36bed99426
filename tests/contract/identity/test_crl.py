"""The published list of revoked certificates, on both databases: what it names, when it is signed again, and what cannot be taken back."""

from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from precast.base.clock import ManualClock
from precast.services.identity import crl as service
from precast.services.identity import issues
from precast.services.identity.crl import CrlService
from precast.services.identity.signer.revocations import RENEW_BEFORE, VALID_FOR
from precast.store.identity.revocations import Revocations
from tests.contract.identity.identity_site import Site, code_of, new_key, renewal


@pytest.fixture
def crl(site: Site) -> CrlService:
    return CrlService(Revocations(site.database), site.signer, site.database.clock)


async def read(crl: CrlService, clock: ManualClock) -> x509.CertificateRevocationList:
    clock.advance(service.CHECK_EVERY_S)
    return x509.load_der_x509_crl(await crl.read())


def serials(revoked: x509.CertificateRevocationList) -> list[str]:
    return sorted(f"{row.serial_number:x}" for row in revoked)


async def test_list_names_revoked_certificates_and_is_signed_by_the_authority(
    site: Site, crl: CrlService, clock: ManualClock
) -> None:
    empty = await read(crl, clock)
    assert serials(empty) == []
    await site.enrol("web1", await site.token())
    await site.enrol("web2", await site.token())
    assert (await read(crl, clock)) == empty
    gone = await site.enrolment.revoke("web1", "person:ann", "")
    revoked = await read(crl, clock)
    assert serials(revoked) == gone
    key = site.authority.certificate.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert revoked.is_signature_valid(key)
    assert revoked.issuer == site.authority.certificate.subject
    numbers = [each.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number for each in (empty, revoked)]
    assert numbers[0] < numbers[1]
    assert (await crl.read_pem()).startswith("-----BEGIN X509 CRL-----\nM")
    assert x509.load_pem_x509_crl((await crl.read_pem()).encode()) == revoked


async def test_list_is_signed_again_before_it_ends(site: Site, crl: CrlService, clock: ManualClock) -> None:
    first = await read(crl, clock)
    clock.advance((VALID_FOR - RENEW_BEFORE).total_seconds())
    second = await read(crl, clock)
    assert first.next_update_utc is not None
    assert second.next_update_utc is not None
    assert second.next_update_utc > first.next_update_utc
    assert second.next_update_utc > clock.now() + timedelta(days=6)


async def test_list_with_more_rows_than_one_request_takes_is_whole(
    site: Site, crl: CrlService, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MAX_ITEMS", 2)
    token, gone = await site.token(uses=5), []
    for number in range(5):
        await site.enrol(f"web{number}", token)
        gone += await site.enrolment.revoke(f"web{number}", "person:ann", "")
    assert serials(await read(crl, clock)) == sorted(gone)


async def test_revocation_stays_in_the_list_though_the_server_leaves_it_out(
    site: Site, crl: CrlService, clock: ManualClock
) -> None:
    key = new_key()
    old = (await site.enrol("web1", await site.token(), key)).certificate
    gone = await site.enrolment.revoke("web1", "person:ann", "")
    await read(crl, clock)
    answer = await site.signer.sign_crl([], is_last=True)
    assert serials(x509.load_der_x509_crl(answer.der)) == gone
    # And the signer itself does not renew it, whatever the database says.
    request = renewal(key, old, new_key(), "web1")
    assert await code_of(site.signer.renew(request.request, request.certificate, request.proof)) == "CA-007"


async def test_list_of_a_new_authority_names_its_own_certificates(
    site: Site, crl: CrlService, clock: ManualClock
) -> None:
    await site.enrol("web1", await site.token())
    await site.enrolment.revoke("web1", "person:ann", "")
    await read(crl, clock)
    await site.rotation.rotate("person:ann", prepare_only=False)
    await site.enrol("web2", await site.token())
    gone = await site.enrolment.revoke("web2", "person:ann", "")
    revoked = await read(crl, clock)
    assert serials(revoked) == gone
    key = site.authority.certificate.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert revoked.is_signature_valid(key)


async def test_list_is_served_while_the_signer_is_away_until_it_ends(
    site: Site, crl: CrlService, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await site.enrol("web1", await site.token())
    first = await read(crl, clock)
    await site.enrolment.revoke("web1", "person:ann", "")
    asked = 0

    async def fail(*values: object, **options: object) -> None:
        nonlocal asked
        asked += 1
        raise issues.SIGNER_UNAVAILABLE.error(reason="it gave no answer in time")

    monkeypatch.setattr(site.signer, "sign_crl", fail)
    assert (await read(crl, clock)) == first
    # Anybody may ask for the list: not everyone waits for a signer that is away.
    for _ in range(5):
        await crl.read()
    assert asked == 1
    clock.advance(VALID_FOR.total_seconds())
    assert await code_of(crl.read()) == "CA-030"
    assert await code_of(crl.read_pem()) == "CA-030"
    assert asked == 2
