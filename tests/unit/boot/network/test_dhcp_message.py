"""DHCP messages: the content of ours, and the parsing of a server's, valid or malformed."""

import ipaddress
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.dhcp_server import reply
from precast.boot.network.devices import dhcp_message as message

MAC = bytes.fromhex("525400000001")
XID = 0xDEADBEEF


def packet(kind: int = message.OFFER, **options: object) -> bytes:
    """An IP packet as a server sends it."""
    asked = message.build_request(message.DISCOVER, XID, MAC, 0)[28:]
    body = reply(asked, kind, "192.0.2.10", "192.0.2.1", **options)  # type: ignore[arg-type]
    udp = struct.pack("!HHHH", 67, 68, 8 + len(body), 0)
    return struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28 + len(body), 0, 0, 64, 17, 0, bytes(4), b"\xff" * 4) + udp + body


def test_question_is_a_datagram_to_everybody() -> None:
    sent = message.build_request(message.DISCOVER, XID, MAC, 3, name="web1")
    assert len(sent) >= 328  # 300 bytes of BOOTP, as relays want it
    assert struct.unpack("!H", sent[2:4]) == (len(sent),)
    assert message._checksum(sent[:20]) == 0
    assert sent[16:20] == b"\xff" * 4
    assert struct.unpack("!HH", sent[20:24]) == (68, 67)
    assert b"web1" in sent


def test_offer_says_address_routes_and_servers() -> None:
    offer = message.parse_answer(packet(prefix=25, router="192.0.2.126", servers=["192.0.2.53"], mtu=1400), XID, MAC)
    assert offer is not None
    assert (offer.kind, offer.address, offer.server) == (message.OFFER, "192.0.2.10/25", "192.0.2.1")
    assert (offer.routes, offer.nameservers, offer.mtu) == ((("0.0.0.0/0", "192.0.2.126"),), ("192.0.2.53",), 1400)


def test_classless_routes_take_the_place_of_routers() -> None:
    routes = [("10.0.0.0/8", "192.0.2.2"), ("169.254.169.254/32", "0.0.0.0"), ("0.0.0.0/0", "192.0.2.3")]
    offer = message.parse_answer(packet(router="192.0.2.126", routes=routes), XID, MAC)
    assert offer is not None
    assert offer.routes == (("10.0.0.0/8", "192.0.2.2"), ("169.254.169.254/32", None), ("0.0.0.0/0", "192.0.2.3"))


@pytest.mark.parametrize(("xid", "mac"), [(XID + 1, MAC), (XID, bytes.fromhex("525400000002"))])
def test_answer_to_somebody_else_is_none(xid: int, mac: bytes) -> None:
    assert message.parse_answer(packet(), xid, mac) is None


def test_refusal_is_an_answer() -> None:
    offer = message.parse_answer(packet(message.NAK), XID, MAC)
    assert offer is not None
    assert offer.kind == message.NAK


@given(st.integers(0, 400), st.binary(max_size=40))
def test_broken_answer_is_no_answer_and_never_an_error(cut: int, noise: bytes) -> None:
    whole = packet(routes=[("10.0.0.0/8", "192.0.2.2")])
    offer = message.parse_answer(whole[:cut] + noise, XID, MAC)
    if offer is not None:
        ipaddress.ip_interface(offer.address)


@given(st.binary(max_size=400))
def test_noise_is_no_answer(noise: bytes) -> None:
    assert message.parse_answer(noise, XID, MAC) is None
