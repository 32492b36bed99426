"""Rotation of the authority on both databases: what is recorded, and what prevents its completion."""

import asyncio

from cryptography import x509

from precast.base.clock import ManualClock
from precast.base.errors import PrecastError
from precast.services.identity.authority import NODE_FOR
from precast.services.identity.certificates import fingerprint
from precast.store.engine.query import Query, Transaction
from tests.contract.identity.identity_site import Site, code_of, new_key, renewal


async def rotate(site: Site) -> str:
    return (await site.rotation.rotate("person:ann", prepare_only=False)).current


async def see(site: Site, certificate: str) -> None:
    known = await site.recognition.recognise(fingerprint(x509.load_pem_x509_certificate(certificate.encode())))
    assert known is not None


async def test_old_authority_is_retired_when_every_node_has_used_a_new_certificate(site: Site) -> None:
    key, new = new_key(), new_key()
    before = site.authority.fingerprint
    old = (await site.enrol("web1", await site.token(), key)).certificate
    await see(site, old)
    current = await rotate(site)
    assert [row.authority for row in await site.nodes.list_certificates()] == [before]
    assert await code_of(site.rotation.finish("person:ann", is_forced=False)) == "CA-013"
    response = await site.enrolment.renew(renewal(key, old, new, "web1"))
    assert response.authority.count("BEGIN CERTIFICATE") == 2
    assert (await site.rotation.status()).in_use_by == ["web1"]
    await see(site, response.certificate)
    done = await site.rotation.finish("person:ann", is_forced=False)
    assert (done.current, done.others, done.in_use_by) == (current, [], [])
    assert {row.authority for row in await site.nodes.list_certificates()} == {before, current}
    assert await site.nodes.read_nodes_of_other_authorities(current, 10) == []


async def test_certificates_without_a_recorded_authority_belong_to_the_first(site: Site) -> None:
    def forget() -> Transaction[None]:
        yield Query("test.forget", "UPDATE certificate SET authority = ''")()

    before = site.authority.fingerprint
    await site.enrol("web1", await site.token())
    await site.database.write(forget)
    await rotate(site)
    assert [row.authority for row in await site.nodes.list_certificates()] == [before]
    assert (await site.rotation.status()).in_use_by == ["web1"]


async def test_expired_certificate_does_not_block_the_rotation_and_is_not_renewed_afterwards(
    site: Site, clock: ManualClock
) -> None:
    key = new_key()
    old = (await site.enrol("web1", await site.token(), key)).certificate
    await rotate(site)
    clock.advance(NODE_FOR.total_seconds())
    await site.rotation.finish("person:ann", is_forced=False)
    assert await code_of(site.enrolment.renew(renewal(key, old, new_key(), "web1"))) == "CA-007"


async def test_forced_finish_revokes_every_certificate_of_the_old_authority(site: Site) -> None:
    await site.enrol("web1", await site.token())
    await rotate(site)
    kept = await site.enrol("web2", await site.token())
    await site.rotation.finish("person:ann", is_forced=True)
    rows = {row.node: row.revoked_why for row in await site.nodes.list_certificates()}
    assert rows == {"web1": "its authority was retired", "web2": None}
    await see(site, kept.certificate)
    # The name is free for a machine that missed the rotation.
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
    assert [entry[1] for entry in await site.audit_entries()] == ["authority.prepare", "authority.rotate"]


async def test_concurrent_rotations_at_two_servers_are_one(site: Site, other_site: Site) -> None:
    results = await asyncio.gather(*(rotate(server) for server in (site, other_site) * 2), return_exceptions=True)
    assert sum(isinstance(result, str) for result in results) == 1
    assert [result.code for result in results if isinstance(result, PrecastError)] == ["CA-012"] * 3
    await site.rotation.status()
    await other_site.rotation.status()
    assert site.authority.fingerprint == other_site.authority.fingerprint


async def test_server_that_has_not_reloaded_yet_signs_with_the_new_authority(site: Site, other_site: Site) -> None:
    key = new_key()
    old = (await site.enrol("web1", await site.token(), key)).certificate
    await see(site, old)
    current = await rotate(site)
    assert other_site.authority.fingerprint != current
    response = await other_site.enrolment.renew(renewal(key, old, new_key(), "web1"))
    assert response.authority.count("BEGIN CERTIFICATE") == 2
    await see(site, response.certificate)
    assert (await site.rotation.finish("person:ann", is_forced=False)).current == current
