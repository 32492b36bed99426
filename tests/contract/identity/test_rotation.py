"""Rotation of the authority on both databases: what is written down, and what stands in the way of the end."""

import asyncio

from cryptography import x509

from precast.base.clock import ManualClock
from precast.base.errors import PrecastError
from precast.services.identity.authority import NODE_FOR
from precast.services.identity.certificates import serial_text
from precast.store.engine.query import Query, Transaction
from tests.contract.identity.identity_site import Site, code_of, new_key, renewal


async def rotate(site: Site) -> str:
    return (await site.rotation.rotate("person:ann", prepare_only=False)).current


async def see(site: Site, certificate: str) -> None:
    serial = serial_text(x509.load_pem_x509_certificate(certificate.encode()))
    assert await site.recognition.recognise(serial) is not None


async def test_old_authority_is_retired_when_every_node_has_shown_a_new_certificate(site: Site) -> None:
    key, new = new_key(), new_key()
    before = site.authority.fingerprint
    old = (await site.enrol("web1", await site.token(), key)).certificate
    await see(site, old)
    current = await rotate(site)
    assert [row.authority for row in await site.nodes.certificates()] == [before]
    assert await code_of(site.rotation.finish("person:ann", is_forced=False)) == "CA-013"
    came = await site.enrolment.renew(renewal(key, old, new, "web1"))
    assert came.authority.count("BEGIN CERTIFICATE") == 2
    assert (await site.rotation.status()).in_use_by == ["web1"]
    await see(site, came.certificate)
    done = await site.rotation.finish("person:ann", is_forced=False)
    assert (done.current, done.others, done.in_use_by) == (current, [], [])
    assert {row.authority for row in await site.nodes.certificates()} == {before, current}
    assert await site.nodes.live_of_others(current, 10) == []


async def test_certificates_that_do_not_say_their_authority_are_the_first_ones(site: Site) -> None:
    def forget() -> Transaction[None]:
        yield Query("test.forget", "UPDATE certificate SET authority = ''")()

    before = site.authority.fingerprint
    await site.enrol("web1", await site.token())
    await site.database.write(forget)
    await rotate(site)
    assert [row.authority for row in await site.nodes.certificates()] == [before]
    assert (await site.rotation.status()).in_use_by == ["web1"]


async def test_certificate_that_ended_does_not_stand_in_the_way_and_is_not_renewed_afterwards(
    site: Site, clock: ManualClock
) -> None:
    key = new_key()
    old = (await site.enrol("web1", await site.token(), key)).certificate
    await rotate(site)
    clock.advance(NODE_FOR.total_seconds())
    await site.rotation.finish("person:ann", is_forced=False)
    assert await code_of(site.enrolment.renew(renewal(key, old, new_key(), "web1"))) == "CA-007"


async def test_finish_by_force_takes_every_certificate_of_the_old_one_back(site: Site) -> None:
    await site.enrol("web1", await site.token())
    await rotate(site)
    kept = await site.enrol("web2", await site.token())
    await site.rotation.finish("person:ann", is_forced=True)
    rows = {row.node: row.revoked_why for row in await site.nodes.certificates()}
    assert rows == {"web1": "its authority was retired", "web2": None}
    await see(site, kept.certificate)
    # The name is free for a machine that was left behind.
    await site.enrol("web1", await site.token())


async def test_rotation_in_the_wrong_order_is_refused(site: Site) -> None:
    assert await code_of(site.rotation.finish("person:ann", is_forced=True)) == "CA-015"
    prepared = await site.rotation.rotate("person:ann", prepare_only=True)
    assert prepared.is_prepared
    assert await site.rotation.rotate("person:ann", prepare_only=True) == prepared
    assert await code_of(site.rotation.finish("person:ann", is_forced=True)) == "CA-012"
    current = await rotate(site)
    assert current in prepared.others
    assert await code_of(rotate(site)) == "CA-012"
    assert [deed[1] for deed in await site.deeds()] == ["authority.prepare", "authority.rotate"]


async def test_rotations_at_two_servers_at_once_are_one(site: Site, other_site: Site) -> None:
    results = await asyncio.gather(*(rotate(one) for one in (site, other_site) * 2), return_exceptions=True)
    assert sum(isinstance(one, str) for one in results) == 1
    assert [one.code for one in results if isinstance(one, PrecastError)] == ["CA-012"] * 3
    await site.rotation.status()
    await other_site.rotation.status()
    assert site.authority.fingerprint == other_site.authority.fingerprint


async def test_server_that_has_not_looked_yet_signs_with_the_new_one_all_the_same(site: Site, other_site: Site) -> None:
    key = new_key()
    old = (await site.enrol("web1", await site.token(), key)).certificate
    await see(site, old)
    current = await rotate(site)
    assert other_site.authority.fingerprint != current
    came = await other_site.enrolment.renew(renewal(key, old, new_key(), "web1"))
    assert came.authority.count("BEGIN CERTIFICATE") == 2
    await see(site, came.certificate)
    assert (await site.rotation.finish("person:ann", is_forced=False)).current == current
