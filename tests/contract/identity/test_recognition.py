"""When a certificate of a node is superseded by a later one, on both databases."""

import asyncio

from cryptography import x509

from precast.base.clock import ManualClock
from precast.services.identity.authority import NODE_FOR
from precast.services.identity.certificates import fingerprint
from precast.services.identity.recognition import OVERLAP
from tests.contract.identity.identity_site import Key, Site, code_of, new_key, renewal


class Machine:
    """A node's key and certificate at one time."""

    def __init__(self, key: Key, certificate: str) -> None:
        self.key = key
        self.certificate = certificate
        self.fingerprint = fingerprint(x509.load_pem_x509_certificate(certificate.encode()))

    async def next(self, site: Site) -> "Machine":
        """Renew the certificate with a new key."""
        key = new_key()
        response = await site.enrolment.renew(renewal(self.key, self.certificate, key, "web1"))
        return Machine(key, response.certificate)

    async def is_known(self, site: Site) -> bool:
        return await site.recognition.recognise(self.fingerprint) is not None

    async def renewal_code(self, site: Site) -> str:
        return await code_of(site.enrolment.renew(renewal(self.key, self.certificate, new_key(), "web1")))


async def enrolled(site: Site) -> Machine:
    key = new_key()
    return Machine(key, (await site.enrol("web1", await site.token(), key)).certificate)


async def test_old_certificate_is_accepted_until_the_new_one_is_used_and_a_short_overlap(
    site: Site, clock: ManualClock
) -> None:
    old = await enrolled(site)
    assert await old.is_known(site)
    new = await old.next(site)
    clock.advance(86400)
    assert await old.is_known(site)
    assert await new.is_known(site)
    # Requests in flight with the old certificate may complete.
    clock.advance(OVERLAP.total_seconds() - 1)
    assert await old.is_known(site)
    clock.advance(1)
    assert not await old.is_known(site)
    assert await new.is_known(site)
    assert (await site.audit_entries())[-1] == ("node:web1", "certificate.supersede", "web1")


async def test_superseded_certificate_is_never_renewed(site: Site, clock: ManualClock) -> None:
    stolen = await enrolled(site)
    current = await stolen.next(site)
    assert await current.is_known(site)
    assert await stolen.renewal_code(site) == "CA-007"
    # Nor by a chain of renewals that began in time.
    for _ in range(3):
        clock.advance(NODE_FOR.total_seconds() / 2)
        current = await current.next(site)
        assert await current.is_known(site)
        assert await stolen.renewal_code(site) == "CA-007"


async def test_machine_that_missed_the_response_can_retry(site: Site) -> None:
    old = await enrolled(site)
    assert await old.is_known(site)
    lost, got = await old.next(site), await old.next(site)
    assert await got.is_known(site)
    assert not await lost.is_known(site)


async def test_of_two_holders_of_one_key_the_first_to_use_its_certificate_is_accepted(site: Site) -> None:
    old = await enrolled(site)
    machine, thief = await old.next(site), await old.next(site)
    assert await machine.is_known(site)
    # A certificate that was never used has no overlap, and cannot be renewed.
    assert not await thief.is_known(site)
    assert await thief.renewal_code(site) == "CA-007"
    assert await (await machine.next(site)).is_known(site)


async def test_renewal_counts_as_a_use_of_the_old_certificate(site: Site) -> None:
    old = await enrolled(site)
    new = await old.next(site)
    await new.next(site)
    assert await old.renewal_code(site) == "CA-007"


async def test_concurrent_first_uses_at_two_servers_leave_exactly_one_certificate(site: Site, other_site: Site) -> None:
    old = await enrolled(site)
    several = [await old.next(site) for _ in range(6)]
    known = await asyncio.gather(
        *(machine.is_known((site, other_site)[at % 2]) for at, machine in enumerate(several)),
    )
    assert sum(known) == 1
    assert [await machine.is_known(other_site) for machine in several] == known


async def test_certificate_used_at_two_servers_concurrently_is_accepted_by_both(site: Site, other_site: Site) -> None:
    old = await enrolled(site)
    new = await old.next(site)
    assert await asyncio.gather(*(new.is_known(server) for server in (site, other_site) * 4)) == [True] * 8


async def test_revoked_or_expired_certificate_is_not_accepted(site: Site, clock: ManualClock) -> None:
    node = await enrolled(site)
    assert await node.is_known(site)
    clock.advance(NODE_FOR.total_seconds())
    assert await code_of(node.is_known(site)) == "WIRE-003", "the node learns that this is a matter of clocks"
    renewed = await node.next(site)
    assert await renewed.is_known(site)
    await site.enrolment.revoke("web1", "person:ann", "")
    assert not await renewed.is_known(site)
    assert await site.recognition.recognise("abc") is None
