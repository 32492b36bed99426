"""Certificates of another authority in the store, on both databases."""

from datetime import timedelta

from precast.base.clock import ManualClock
from precast.store.identity.certificates import Certificate
from tests.contract.identity.identity_site import Site, code_of


async def test_imported_certificates_are_known_and_an_import_is_idempotent(site: Site, clock: ManualClock) -> None:
    now, later = clock.now(), clock.now() + timedelta(days=365)
    good = Certificate("2", "web1", "k1", {"pp_role": "web"}, now, later, authority="puppet")
    revoked = Certificate("3", "old1", "k2", {}, now, later, now, "revoked in Puppet", authority="puppet")
    for _ in range(2):
        await site.database.write(site.nodes.import_certificates, [good, revoked])
    assert [certificate.serial for certificate in await site.nodes.list_certificates()] == ["3", "2"]
    known = await site.recognition.recognise("2")
    assert known is not None
    assert (known.node, known.extensions, known.authority) == ("web1", {"pp_role": "web"}, "puppet")
    assert await site.recognition.recognise("3") is None
    assert await code_of(site.enrol("web1", await site.token())) == "CA-005"
    await site.enrol("old1", await site.token())
    # A certificate that was revoked after the first import stays revoked.
    await site.enrolment.revoke("web1", "person:ann", "stolen")
    await site.database.write(site.nodes.import_certificates, [good, revoked])
    assert await site.recognition.recognise("2") is None


async def test_empty_import_succeeds(site: Site) -> None:
    await site.database.write(site.nodes.import_certificates, [])
    assert await site.nodes.list_certificates() == []
