"""Requests that an operator signs or rejects, on both databases, and what strangers cannot do."""

import asyncio

import pytest
from cryptography import x509

from precast.base.clock import ManualClock
from precast.base.errors import PrecastError
from precast.services.identity import requests
from precast.services.identity.certificates import fingerprint, key_digest
from precast.services.identity.requests import REQUEST_FOR, host_of, network_of
from precast.wire.identity.bodies import RequestBody
from tests.contract.identity.identity_site import Key, Site, code_of, new_key, request_of


def digest_of(key: Key) -> str:
    return key_digest(x509.load_pem_x509_csr(request_of(key, "x").encode()))


async def pending_names(site: Site) -> list[str]:
    return [request.node for request in await site.requests.list_pending(("", ""), 100)]


async def test_request_is_pending_until_it_is_signed_and_the_same_key_gets_the_certificate(site: Site) -> None:
    key = new_key()
    response = await site.request("web1", key)
    assert (response.certificate, response.fingerprint) == (None, digest_of(key))
    assert await site.fleet.list() == []
    (row,) = await site.requests.list_pending(("", ""), 100)
    assert (row.node, row.key_digest, row.address) == ("web1", digest_of(key), "192.0.2.1")
    serial = await site.requests.sign("web1", "", {"pp_role": "web"}, "person:ann")
    for _ in range(2):
        again = await site.request("web1", key)
        assert again.certificate is not None
        certificate = x509.load_pem_x509_certificate(again.certificate.certificate.encode())
        assert f"{certificate.serial_number:x}" == serial
        assert certificate.public_key() == key.public_key()
    (known,) = await site.nodes.list_certificates()
    assert (known.serial, known.extensions) == (serial, {"pp_role": "web"})
    assert await pending_names(site) == []
    assert await site.audit_entries() == [
        ("address:192.0.2.1", "certificate.request", "web1"),
        ("person:ann", "certificate.sign", "web1"),
    ]


async def test_another_key_cannot_fetch_a_signed_certificate(site: Site) -> None:
    key, stranger = new_key(), new_key()
    await site.request("web1", key)
    await site.request("web1", stranger)
    assert await code_of(site.requests.sign("web1", "", {}, "person:ann")) == "CA-011"
    await site.requests.sign("web1", digest_of(key), {}, "person:ann")
    assert (await site.request("web1", stranger)).certificate is None
    # It cannot be signed either, because the name is in use.
    assert await code_of(site.requests.sign("web1", digest_of(stranger), {}, "person:ann")) == "CA-005"
    assert await code_of(site.request("web1", new_key())) == "CA-005"


async def test_fingerprint_as_openssl_prints_it_is_accepted_and_a_wrong_one_refused(site: Site) -> None:
    key = new_key()
    await site.request("web1", key)
    for wrong in ("x", digest_of(new_key()), digest_of(key)[:-1], digest_of(key)[:16]):
        assert await code_of(site.requests.sign("web1", wrong, {}, "person:ann")) == "CA-010"
    pairs = digest_of(key).upper()
    await site.requests.sign(
        "web1", "SHA256:" + ":".join(pairs[at : at + 2] for at in range(0, 64, 2)), {}, "person:ann"
    )


async def test_rejected_key_gets_an_error_and_a_new_key_may_request(site: Site) -> None:
    key = new_key()
    await site.request("web1", key)
    assert await site.requests.reject("web1", "", "who is this?", "person:ann") == [digest_of(key)]
    assert await code_of(site.request("web1", key)) == "CA-008"
    assert await code_of(site.requests.sign("web1", "", {}, "person:ann")) == "CA-010"
    assert await code_of(site.requests.reject("web1", "", "", "person:ann")) == "CA-010"
    assert (await site.request("web1", new_key())).certificate is None
    assert ("person:ann", "certificate.reject", "web1") in await site.audit_entries()


async def test_undecided_request_expires(site: Site, clock: ManualClock) -> None:
    key = new_key()
    await site.request("web1", key)
    clock.advance(REQUEST_FOR.total_seconds())
    assert await pending_names(site) == []
    assert await code_of(site.requests.sign("web1", "", {}, "person:ann")) == "CA-010"
    # The key may send a new request, and the old row is deleted.
    await site.request("web1", key)
    assert await pending_names(site) == ["web1"]


async def test_requests_are_limited_for_an_address_and_in_total(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "MAX_PENDING_FROM_ADDRESS", 2)
    monkeypatch.setattr(requests, "MAX_PENDING", 3)
    known = new_key()
    await site.request("a", known, "2001:db8::1")
    await site.request("b", new_key(), "2001:db8::2")
    # Another address of the same network counts as the same address.
    assert await code_of(site.request("c", new_key(), "2001:db8:0:0:ffff::3")) == "CA-009"
    await site.request("d", new_key(), "192.0.2.8")
    # The list is full, and no network has so many requests that one of them makes room for the same network.
    assert await code_of(site.request("e", new_key(), "192.0.2.9")) == "CA-009"
    # A key with a pending request may still poll, and a decision makes room for another request.
    await site.request("a", known, "2001:db8::1")
    await site.requests.reject("b", "", "", "person:ann")
    await site.request("e", new_key(), "192.0.2.9")
    assert await pending_names(site) == ["a", "d", "e"]


async def test_requests_of_a_network_are_limited(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "MAX_PENDING_FROM_NETWORK", 3)
    for networks in (("192.0.2.{}", "198.51.100.1"), ("2001:db8:5:{}::1", "2001:db8:6:1::1")):
        flood, other = networks
        for number in range(1, 4):
            await site.request(f"n{number}", new_key(), flood.format(number))
        assert await code_of(site.request("n4", new_key(), flood.format(4))) == "CA-009"
        await site.request("other", new_key(), other)


async def test_flood_of_requests_displaces_itself_and_never_a_lone_machine(
    site: Site, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty addresses fill the list; every machine that asks afterwards gets in, and those that were there before stay."""
    monkeypatch.setattr(requests, "MAX_PENDING", 40)
    monkeypatch.setattr(requests, "MAX_PENDING_FROM_ADDRESS", 2)
    await site.request("early", new_key(), "203.0.113.1")
    for number in range(39):
        clock.advance(1)
        await site.request(f"flood{number:02}", new_key(), f"198.51.100.{number % 20}")
    machines = {f"web{number}": f"192.0.{number}.1" for number in range(10)}
    for name, address in machines.items():
        clock.advance(1)
        await site.request(name, new_key(), address)
        # The flood goes on meanwhile, and cannot take the place back.
        assert await code_of(site.request(f"more-{name}", new_key(), "198.51.100.77")) == "CA-009"
    pending = await pending_names(site)
    assert len(pending) == 40
    assert {"early", *machines} <= set(pending)
    assert [name for name in pending if name.startswith("flood")] == [f"flood{number:02}" for number in range(29)]
    displaced = [entry.detail.get("displaced") for entry in await site.audit.read_latest(limit=100)]
    assert [name for name in displaced if name] == [f"flood{number:02}" for number in range(29, 39)]


async def test_machine_beside_a_flood_in_one_network_stays(
    site: Site, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "MAX_PENDING", 5)
    for number in range(4):
        clock.advance(1)
        await site.request(f"flood{number}", new_key(), "198.51.100.1")
    clock.advance(1)
    await site.request("beside", new_key(), "198.51.100.2")  # the newest of the network, but not of its busiest address
    await site.request("web1", new_key(), "192.0.2.1")
    assert await pending_names(site) == ["beside", "flood0", "flood1", "flood2", "web1"]


async def test_list_full_of_lone_machines_refuses_another(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "MAX_PENDING", 3)
    for number in range(3):
        await site.request(f"web{number}", new_key(), f"192.0.{number}.1")
    assert await code_of(site.request("web9", new_key(), "192.0.9.1")) == "CA-009"
    assert await pending_names(site) == ["web0", "web1", "web2"]


@pytest.mark.parametrize("request_pem", ["", "x", "\ud800", "-----BEGIN CERTIFICATE REQUEST-----\nAA\n"])
async def test_invalid_request_is_not_stored(site: Site, request_pem: str) -> None:
    body = RequestBody(request_pem)
    assert await code_of(site.requests.submit(body, "192.0.2.1")) == "CA-004"
    assert (await site.audit_entries(), await pending_names(site)) == ([], [])


async def test_request_is_signed_once_when_two_operators_sign_at_two_servers(site: Site, other_site: Site) -> None:
    await site.request("web1", new_key())
    results = await asyncio.gather(
        *(server.requests.sign("web1", "", {}, "person:ann") for server in (site, other_site) * 3),
        return_exceptions=True,
    )
    assert sum(isinstance(result, str) for result in results) == 1
    assert {result.code for result in results if isinstance(result, PrecastError)} <= {"CA-005", "CA-010"}
    assert len(await site.nodes.list_certificates()) == 1


async def test_signing_a_name_that_was_enrolled_in_the_meantime_is_refused(site: Site) -> None:
    await site.request("web1", new_key())
    await site.enrol("web1", await site.token())
    assert await code_of(site.requests.sign("web1", "", {}, "person:ann")) == "CA-005"
    await site.enrolment.clean("web1", "person:ann", "")
    await site.requests.sign("web1", "", {}, "person:ann")


async def test_key_whose_certificate_was_revoked_makes_a_new_request(site: Site) -> None:
    key = new_key()
    await site.request("web1", key)
    await site.requests.sign("web1", "", {}, "person:ann")
    assert (await site.request("web1", key)).certificate is not None
    await site.enrolment.clean("web1", "person:ann", "made anew")
    assert (await site.request("web1", key)).certificate is None
    assert await pending_names(site) == ["web1"]
    serial = await site.requests.sign("web1", "", {}, "person:ann")
    response = (await site.request("web1", key)).certificate
    assert response is not None
    certificate = x509.load_pem_x509_certificate(response.certificate.encode())
    assert f"{certificate.serial_number:x}" == serial
    assert await site.recognition.recognise(fingerprint(certificate)) is not None


async def test_signing_with_unknown_extensions_is_refused(site: Site) -> None:
    await site.request("web1", new_key())
    assert await code_of(site.requests.sign("web1", "", {"role": "x"}, "person:ann")) == "AUTH-004"
    assert await code_of(site.requests.sign("*", "", {}, "person:ann")) == "CA-010"


def test_ipv6_address_counts_as_the_network_of_its_host() -> None:
    assert host_of("192.0.2.1") == "192.0.2.1"
    assert host_of("::ffff:192.0.2.1") == "192.0.2.1"
    assert host_of("2001:db8::1") == host_of("2001:db8::ffff:1") == "2001:db8::/64"
    assert host_of("fe80::1%eth0") == host_of("fe80::2%eth0")
    assert host_of("") == "unknown"


def test_networks_around_a_host() -> None:
    assert network_of("192.0.2.1") == network_of("::ffff:192.0.2.99") == "192.0.2.0/24"
    assert network_of("2001:db8:5:1::1") == network_of("2001:db8:5:ffff::1") == "2001:db8:5::/48"
    assert network_of("2001:db8:6::1") != network_of("2001:db8:5::1")
    assert network_of("") == "unknown"
