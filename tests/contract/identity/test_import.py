"""Certificates of another authority in the store, on both databases."""

from datetime import timedelta

from precast.base.clock import ManualClock
from precast.store.identity.certificates import Certificate
from tests.contract.identity.identity_site import Site, code_of


async def test_imported_certificates_are_known_and_an_import_can_be_done_again(site: Site, clock: ManualClock) -> None:
    now, later = clock.now(), clock.now() + timedelta(days=365)
    good = Certificate("2", "web1", "k1", {"pp_role": "web"}, now, later, authority="puppet")
    taken = Certificate("3", "old1", "k2", {}, now, later, now, "revoked in Puppet", authority="puppet")
    for _ in range(2):
        await site.database.write(site.nodes.importing, [good, taken])
    assert [one.serial for one in await site.nodes.certificates()] == ["3", "2"]
    known = await site.recognition.recognise("2")
    assert known is not None
    assert (known.node, known.extensions, known.authority) == ("web1", {"pp_role": "web"}, "puppet")
    assert await site.recognition.recognise("3") is None
    assert await code_of(site.enrol("web1", await site.token())) == "CA-005"
    await site.enrol("old1", await site.token())
    # What was revoked after the first import stays so.
    await site.enrolment.revoke("web1", "person:ann", "stolen")
    await site.database.write(site.nodes.importing, [good, taken])
    assert await site.recognition.recognise("2") is None


async def test_import_of_nothing_is_fine(site: Site) -> None:
    await site.database.write(site.nodes.importing, [])
    assert await site.nodes.certificates() == []
