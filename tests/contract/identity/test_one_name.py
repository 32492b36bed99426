"""One name, one machine: whichever ways to a certificate are tried at once, on two servers, and whatever became of earlier ones."""

import asyncio

import pytest

from precast.base.clock import ManualClock
from precast.base.errors import PrecastError
from precast.services.identity.authority import NODE_FOR
from precast.services.identity.issuance import GRACE_S
from tests.contract.identity.identity_site import Key, Site, code_of, new_key, renewal


async def live_keys(site: Site, name: str = "web1") -> set[str]:
    """The keys that have a certificate for the name that is neither revoked nor superseded."""
    rows = await site.nodes.list_certificates(limit=500)
    return {row.key_digest for row in rows if row.node == name and row.revoked_at is None and row.superseded_at is None}


@pytest.mark.parametrize("first", [0, 1])
async def test_token_and_operator_on_two_servers_give_a_name_to_one_machine(
    site: Site, other_site: Site, first: int
) -> None:
    """Six machines with a token and two whose requests an operator signs, all at the same time."""
    servers = (site, other_site)
    token = await site.token(uses=10)
    asking = [new_key() for _ in range(2)]
    for key in asking:
        await site.request("web1", key)
    pending = await site.requests.list_pending(("", ""), 10)
    attempts = [
        *(servers[at % 2].enrol("web1", token) for at in range(6)),
        *(
            servers[at % 2].requests.sign("web1", row.key_digest, {}, "person:ann")
            for at, row in enumerate(pending, start=first)
        ),
    ]
    results = await asyncio.gather(*(attempts if first else reversed(attempts)), return_exceptions=True)
    codes = [result.code for result in results if isinstance(result, PrecastError)]
    assert codes == ["CA-005"] * 7, results
    assert len(await live_keys(site)) == 1
    assert len(await site.nodes.list_certificates()) == 1


async def test_cleaned_name_goes_to_the_next_machine_and_not_back(site: Site, other_site: Site) -> None:
    token = await site.token(uses=10)
    old = new_key()
    certificate = (await site.enrol("web1", token, old)).certificate
    await site.enrolment.clean("web1", "person:ann", "made again")
    assert await live_keys(site) == set()
    # The former machine has lost the name: its certificate renews nothing, neither before nor after another one has it.
    assert await code_of(site.enrolment.renew(renewal(old, certificate, new_key(), "web1"))) == "CA-007"
    results = await asyncio.gather(
        *((site, other_site)[at % 2].enrol("web1", token) for at in range(4)), return_exceptions=True
    )
    assert [result.code for result in results if isinstance(result, PrecastError)] == ["CA-005"] * 3
    assert len(await live_keys(site)) == 1
    assert await code_of(other_site.enrolment.renew(renewal(old, certificate, new_key(), "web1"))) == "CA-007"
    assert await code_of(site.enrol("web1", token, old)) == "CA-005"


async def test_name_of_an_expired_certificate_stays_with_its_machine_for_the_grace_period(
    site: Site, clock: ManualClock
) -> None:
    key = new_key()
    await site.enrol("web1", await site.token(), key)
    clock.advance(NODE_FOR.total_seconds() + GRACE_S - 1)
    assert await code_of(site.enrol("web1", await site.token())) == "CA-005"
    clock.advance(1)
    await site.enrol("web1", await site.token())


async def test_clock_that_jumped_gives_the_name_of_a_node_to_no_other_machine(site: Site, clock: ManualClock) -> None:
    await site.enrol("web1", await site.token(), new_key())
    await site.guard.check()
    clock.set_ahead(NODE_FOR.total_seconds() + GRACE_S + 1)
    assert await code_of(site.enrol("web1", await site.token())) == "CA-005"
    assert await code_of(site.request("web1", new_key())) == "CA-005"


async def test_renewals_of_two_keys_for_one_name_leave_one_of_them(site: Site, other_site: Site) -> None:
    """Somebody who copied the key renews at one server while the machine renews at the other: the first one used stays."""
    key = new_key()
    first = (await site.enrol("web1", await site.token(), key)).certificate
    keys: list[Key] = [new_key() for _ in range(4)]
    renewed = await asyncio.gather(
        *((site, other_site)[at % 2].enrolment.renew(renewal(key, first, new, "web1")) for at, new in enumerate(keys))
    )
    results = await asyncio.gather(
        *(
            (site, other_site)[at % 2].enrolment.renew(renewal(new, body.certificate, new_key(), "web1"))
            for at, (new, body) in enumerate(zip(keys, renewed, strict=True))
        ),
        return_exceptions=True,
    )
    assert sorted(result.code for result in results if isinstance(result, PrecastError)) == ["CA-007"] * 3
