"""Requests that an operator decides on, on both databases: who gets what, and what strangers cannot do."""

import asyncio

import pytest
from cryptography import x509

from precast.base.clock import ManualClock
from precast.base.errors import PrecastError
from precast.services.identity import requests
from precast.services.identity.certificates import key_digest
from precast.services.identity.requests import REQUEST_FOR, host_of
from precast.wire.identity.bodies import RequestBody
from tests.contract.identity.identity_site import Key, Site, code_of, new_key, request_of


def digest_of(key: Key) -> str:
    return key_digest(x509.load_pem_x509_csr(request_of(key, "x").encode()))


async def names_waiting(site: Site) -> list[str]:
    return [one.node for one in await site.requests.waiting(("", ""), 100)]


async def test_request_waits_until_it_is_signed_and_the_same_key_gets_the_certificate(site: Site) -> None:
    key = new_key()
    came = await site.ask("web1", key)
    assert (came.certificate, came.fingerprint) == (None, digest_of(key))
    assert await site.fleet.list() == []
    (row,) = await site.requests.waiting(("", ""), 100)
    assert (row.node, row.key_digest, row.address) == ("web1", digest_of(key), "192.0.2.1")
    serial = await site.requests.sign("web1", "", {"pp_role": "web"}, "person:ann")
    for _ in range(2):
        again = await site.ask("web1", key)
        assert again.certificate is not None
        certificate = x509.load_pem_x509_certificate(again.certificate.certificate.encode())
        assert f"{certificate.serial_number:x}" == serial
        assert certificate.public_key() == key.public_key()
    (known,) = await site.nodes.certificates()
    assert (known.serial, known.extensions) == (serial, {"pp_role": "web"})
    assert await names_waiting(site) == []
    assert await site.deeds() == [
        ("address:192.0.2.1", "certificate.request", "web1"),
        ("person:ann", "certificate.sign", "web1"),
    ]


async def test_other_key_gets_nothing_of_a_signed_request(site: Site) -> None:
    key, stranger = new_key(), new_key()
    await site.ask("web1", key)
    await site.ask("web1", stranger)
    assert await code_of(site.requests.sign("web1", "", {}, "person:ann")) == "CA-011"
    await site.requests.sign("web1", digest_of(key), {}, "person:ann")
    assert (await site.ask("web1", stranger)).certificate is None
    # Nor can it be signed now: the name is in use.
    assert await code_of(site.requests.sign("web1", digest_of(stranger), {}, "person:ann")) == "CA-005"
    assert await code_of(site.ask("web1", new_key())) == "CA-005"


async def test_fingerprint_as_openssl_prints_it_is_understood_and_a_wrong_one_signs_nothing(site: Site) -> None:
    key = new_key()
    await site.ask("web1", key)
    for wrong in ("x", digest_of(new_key()), digest_of(key)[:-1], digest_of(key)[:16]):
        assert await code_of(site.requests.sign("web1", wrong, {}, "person:ann")) == "CA-010"
    pairs = digest_of(key).upper()
    await site.requests.sign(
        "web1", "SHA256:" + ":".join(pairs[at : at + 2] for at in range(0, 64, 2)), {}, "person:ann"
    )


async def test_rejected_key_is_told_and_a_new_one_may_ask(site: Site) -> None:
    key = new_key()
    await site.ask("web1", key)
    assert await site.requests.reject("web1", "", "who is this?", "person:ann") == [digest_of(key)]
    assert await code_of(site.ask("web1", key)) == "CA-008"
    assert await code_of(site.requests.sign("web1", "", {}, "person:ann")) == "CA-010"
    assert await code_of(site.requests.reject("web1", "", "", "person:ann")) == "CA-010"
    assert (await site.ask("web1", new_key())).certificate is None
    assert ("person:ann", "certificate.reject", "web1") in await site.deeds()


async def test_request_goes_by_itself_when_nobody_decides(site: Site, clock: ManualClock) -> None:
    key = new_key()
    await site.ask("web1", key)
    clock.advance(REQUEST_FOR.total_seconds())
    assert await names_waiting(site) == []
    assert await code_of(site.requests.sign("web1", "", {}, "person:ann")) == "CA-010"
    # It may ask anew, and the old row is gone.
    await site.ask("web1", key)
    assert await names_waiting(site) == ["web1"]


async def test_requests_are_bounded_for_an_address_and_in_all(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "MAX_WAITING_FROM_ADDRESS", 2)
    monkeypatch.setattr(requests, "MAX_WAITING", 3)
    known = new_key()
    await site.ask("a", known, "2001:db8::1")
    await site.ask("b", new_key(), "2001:db8::2")
    # Another address of the same network is no other address.
    assert await code_of(site.ask("c", new_key(), "2001:db8:0:0:ffff::3")) == "CA-009"
    await site.ask("d", new_key(), "2001:db8:0:1::1")
    assert await code_of(site.ask("e", new_key(), "192.0.2.9")) == "CA-009"
    # Who waits may still look, and what is decided makes room.
    await site.ask("a", known, "2001:db8::1")
    await site.requests.reject("b", "", "", "person:ann")
    await site.ask("e", new_key(), "192.0.2.9")
    assert await names_waiting(site) == ["a", "d", "e"]


@pytest.mark.parametrize("request_pem", ["", "x", "\ud800", "-----BEGIN CERTIFICATE REQUEST-----\nAA\n"])
async def test_request_that_is_none_leaves_no_trace(site: Site, request_pem: str) -> None:
    body = RequestBody(request_pem)
    assert await code_of(site.requests.ask(body, "192.0.2.1")) == "CA-004"
    assert (await site.deeds(), await names_waiting(site)) == ([], [])


async def test_request_is_signed_once_when_two_operators_sign_at_two_servers(site: Site, other_site: Site) -> None:
    await site.ask("web1", new_key())
    results = await asyncio.gather(
        *(one.requests.sign("web1", "", {}, "person:ann") for one in (site, other_site) * 3), return_exceptions=True
    )
    assert sum(isinstance(one, str) for one in results) == 1
    assert {one.code for one in results if isinstance(one, PrecastError)} <= {"CA-005", "CA-010"}
    assert len(await site.nodes.certificates()) == 1


async def test_signature_of_a_name_that_was_enrolled_meanwhile_is_refused(site: Site) -> None:
    await site.ask("web1", new_key())
    await site.enrol("web1", await site.token())
    assert await code_of(site.requests.sign("web1", "", {}, "person:ann")) == "CA-005"
    await site.enrolment.clean("web1", "person:ann", "")
    await site.requests.sign("web1", "", {}, "person:ann")


async def test_key_whose_certificate_was_taken_back_asks_anew(site: Site) -> None:
    key = new_key()
    await site.ask("web1", key)
    await site.requests.sign("web1", "", {}, "person:ann")
    assert (await site.ask("web1", key)).certificate is not None
    await site.enrolment.clean("web1", "person:ann", "made anew")
    assert (await site.ask("web1", key)).certificate is None
    assert await names_waiting(site) == ["web1"]
    serial = await site.requests.sign("web1", "", {}, "person:ann")
    came = (await site.ask("web1", key)).certificate
    assert came is not None
    assert f"{x509.load_pem_x509_certificate(came.certificate.encode()).serial_number:x}" == serial
    assert await site.recognition.recognise(serial) is not None


async def test_signature_with_strange_extensions_is_refused(site: Site) -> None:
    await site.ask("web1", new_key())
    assert await code_of(site.requests.sign("web1", "", {"role": "x"}, "person:ann")) == "AUTH-004"
    assert await code_of(site.requests.sign("*", "", {}, "person:ann")) == "CA-010"


def test_address_counts_as_the_network_a_host_can_fill() -> None:
    assert host_of("192.0.2.1") == "192.0.2.1"
    assert host_of("::ffff:192.0.2.1") == "192.0.2.1"
    assert host_of("2001:db8::1") == host_of("2001:db8::ffff:1") == "2001:db8::/64"
    assert host_of("fe80::1%eth0") == host_of("fe80::2%eth0")
    assert host_of("") == "unknown"
