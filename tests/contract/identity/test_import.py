"""Certificates of another authority in the store, on both databases."""

from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from precast.app.people import import_certificates
from precast.base.clock import ManualClock
from precast.store.identity.certificates import Certificate
from tests.contract.identity.identity_site import Site, code_of

if TYPE_CHECKING:
    from precast.services.identity.puppet_ca import PuppetCa


async def test_imported_certificates_are_known_and_an_import_is_idempotent(site: Site, clock: ManualClock) -> None:
    now, later = clock.now(), clock.now() + timedelta(days=365)
    good = Certificate("f2", "2", "web1", "k1", {"pp_role": "web"}, now, later, authority="puppet")
    revoked = Certificate("f3", "3", "old1", "k2", {}, now, later, now, "revoked in Puppet", authority="puppet")
    for _ in range(2):
        await site.database.write(site.nodes.import_certificates, [good, revoked])
    assert [certificate.serial for certificate in await site.nodes.list_certificates()] == ["3", "2"]
    known = await site.recognition.recognise("f2")
    assert known is not None
    assert (known.node, known.extensions, known.authority) == ("web1", {"pp_role": "web"}, "puppet")
    assert await site.recognition.recognise("f3") is None
    assert await code_of(site.enrol("web1", await site.token())) == "CA-005"
    await site.enrol("old1", await site.token())
    # A certificate that was revoked after the first import stays revoked.
    await site.enrolment.revoke("web1", "person:ann", "stolen")
    await site.database.write(site.nodes.import_certificates, [good, revoked])
    assert await site.recognition.recognise("f2") is None


async def test_import_of_a_name_that_belongs_to_another_machine_imports_nothing(site: Site, clock: ManualClock) -> None:
    await site.enrol("web1", await site.token())
    now, later = clock.now(), clock.now() + timedelta(days=365)
    foreign = Certificate("f2", "2", "web1", "k1", {}, now, later, authority="puppet")
    other = Certificate("f3", "3", "db1", "k2", {}, now, later, authority="puppet")
    puppet = SimpleNamespace(certificate=site.authority.certificate)
    assert await code_of(import_certificates(site.database, cast("PuppetCa", puppet), [other, foreign])) == "CA-005"
    assert [certificate.node for certificate in await site.nodes.list_certificates()] == ["web1"]
    # When an operator has cleaned the name, the machine that Puppet knows by it may have it.
    await site.enrolment.clean("web1", "person:ann", "")
    await import_certificates(site.database, cast("PuppetCa", puppet), [other, foreign])
    assert await site.recognition.recognise("f2") is not None


async def test_certificates_with_one_serial_of_two_authorities_are_two(site: Site, clock: ManualClock) -> None:
    now, later = clock.now(), clock.now() + timedelta(days=365)
    web = Certificate("f2", "2", "web1", "k1", {}, now, later, authority="puppet")
    db = Certificate("f3", "2", "db1", "k2", {}, now, later, authority="other")
    await site.database.write(site.nodes.import_certificates, [web, db])
    await site.enrolment.revoke("web1", "person:ann", "stolen")
    assert await site.recognition.recognise("f2") is None
    known = await site.recognition.recognise("f3")
    assert known is not None
    assert known.node == "db1"
    assert await site.nodes.list_revoked(now) == ["f2"]


async def test_empty_import_succeeds(site: Site) -> None:
    await site.database.write(site.nodes.import_certificates, [])
    assert await site.nodes.list_certificates() == []
