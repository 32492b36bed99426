"""Builds and parses DHCP messages (RFC 2131, 2132, 3442). Answers are untrusted: a malformed one is ignored, never an error."""

import ipaddress
import struct
from typing import NamedTuple

CLIENT_PORT, SERVER_PORT = 68, 67
DISCOVER, OFFER, REQUEST, ACK, NAK = 1, 2, 3, 5, 6
_MAGIC = b"\x63\x82\x53\x63"
_FIXED = struct.Struct("!BBBBIHH4s4s4s4s16s64s128s")
_IP = struct.Struct("!BBHHHBBH4s4s")
_UDP = struct.Struct("!HHHH")
_BROADCAST = 0x8000
_MASK, _ROUTERS, _SERVERS, _NAME, _DOMAIN, _MTU, _WANTED_ADDRESS = 1, 3, 6, 12, 15, 26, 50
_LEASE, _TYPE, _SERVER, _ASKED_FOR, _OVERLOAD, _ROUTES, _END = 51, 53, 54, 55, 52, 121, 255
_ASKED = bytes((_MASK, _ROUTERS, _SERVERS, _NAME, _DOMAIN, _MTU, _LEASE, _SERVER, _ROUTES))
# RFC 3442: classless routes replace the routers option, so they are requested first.
_ASKED = bytes((_ROUTES,)) + _ASKED.replace(bytes((_ROUTES,)), b"")


class DhcpOffer(NamedTuple):
    """An offer or a lease of a server."""

    kind: int
    address: str  # as CIDR
    server: str
    lease_s: int
    routes: tuple[tuple[str, str | None], ...]  # network and gateway; None: the network is on the link
    nameservers: tuple[str, ...]
    domain: str
    mtu: int | None


def build_request(
    kind: int, xid: int, mac: bytes, seconds: int, offered: DhcpOffer | None = None, name: str = ""
) -> bytes:
    """Build a DISCOVER, or a REQUEST for an offer, with the IP and UDP headers of a broadcast."""
    options = [(_TYPE, bytes((kind,))), (_ASKED_FOR, _ASKED)]
    if offered is not None:
        wanted = ipaddress.ip_interface(offered.address).ip.packed
        options += [(_WANTED_ADDRESS, wanted), (_SERVER, ipaddress.ip_address(offered.server).packed)]
    if name:
        options.append((_NAME, name.encode()[:63]))
    none = bytes(4)
    body = _FIXED.pack(1, 1, 6, 0, xid, min(seconds, 0xFFFF), _BROADCAST, none, none, none, none, mac, b"", b"")
    body += _MAGIC + b"".join(bytes((code, len(value))) + value for code, value in options) + bytes((_END,))
    return _wrap_datagram(body.ljust(300, b"\0"))


def _wrap_datagram(body: bytes) -> bytes:
    udp = _UDP.pack(CLIENT_PORT, SERVER_PORT, _UDP.size + len(body), 0)  # without a checksum, which IPv4 allows
    header = [0x45, 0x10, _IP.size + len(udp) + len(body), 0, 0, 64, 17, 0, bytes(4), b"\xff" * 4]
    header[7] = _checksum(_IP.pack(*header))
    return _IP.pack(*header) + udp + body


def _checksum(data: bytes) -> int:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return int(~total & 0xFFFF)


def parse_answer(packet: bytes, xid: int, mac: bytes) -> DhcpOffer | None:
    """Parse an IP packet as an answer to our message; None if it is another packet, or malformed."""
    try:
        return _parse(packet, xid, mac)
    except (struct.error, ValueError, IndexError):
        return None


def _parse(packet: bytes, xid: int, mac: bytes) -> DhcpOffer | None:
    length = (packet[0] & 0x0F) * 4
    if packet[0] >> 4 != 4 or packet[9] != 17:
        return None
    _, to, _, _ = _UDP.unpack_from(packet, length)
    body = packet[length + _UDP.size :]
    op, _, _, _, answered, _, _, _, yours, _, _, hardware, *_ = _FIXED.unpack_from(body)
    if (to, op, answered) != (CLIENT_PORT, 2, xid) or hardware[: len(mac)] != mac:
        return None
    if body[_FIXED.size : _FIXED.size + 4] != _MAGIC:
        return None
    options = _parse_options(body[_FIXED.size + 4 :])
    (kind,) = options[_TYPE]
    server = str(ipaddress.IPv4Address(options[_SERVER])) if _SERVER in options else ""
    if kind == NAK:
        return DhcpOffer(NAK, "", server, 0, (), (), "", None)
    mask = ipaddress.IPv4Address(options.get(_MASK, b"\xff\xff\xff\x00"))
    address = ipaddress.IPv4Interface(f"{ipaddress.IPv4Address(yours)}/{mask}")
    if not server or address.ip.is_unspecified or address.ip.is_multicast or address.ip.is_loopback:
        return None
    return DhcpOffer(
        kind,
        str(address),
        server,
        struct.unpack("!I", options[_LEASE])[0] if _LEASE in options else 3600,
        _parse_routes(options),
        tuple(str(ipaddress.IPv4Address(split_four)) for split_four in _split_fours(options.get(_SERVERS, b""))),
        options.get(_DOMAIN, b"").rstrip(b"\0").decode("ascii", errors="replace"),
        struct.unpack("!H", options[_MTU])[0] if _MTU in options else None,
    )


def _parse_options(data: bytes) -> dict[int, bytes]:
    """Parse the options by number; a split option is concatenated (RFC 3396)."""
    options: dict[int, bytes] = {}
    at = 0
    while at < len(data) and data[at] != _END:
        if data[at] == 0:
            at += 1
            continue
        length = data[at + 1]
        value = data[at + 2 : at + 2 + length]
        if len(value) < length:
            raise ValueError
        options[data[at]] = options.get(data[at], b"") + value
        at += 2 + length
    return options


def _split_fours(data: bytes) -> list[bytes]:
    return [data[at : at + 4] for at in range(0, len(data) - len(data) % 4, 4)]


def _parse_routes(options: dict[int, bytes]) -> tuple[tuple[str, str | None], ...]:
    if _ROUTES in options:
        return tuple(_parse_classless_routes(options[_ROUTES]))
    return tuple(
        ("0.0.0.0/0", str(ipaddress.IPv4Address(split_four)))
        for split_four in _split_fours(options.get(_ROUTERS, b""))[:1]
    )


def _parse_classless_routes(data: bytes) -> list[tuple[str, str | None]]:
    routes: list[tuple[str, str | None]] = []
    at = 0
    while at < len(data):
        prefix = data[at]
        size = (prefix + 7) // 8
        network = data[at + 1 : at + 1 + size].ljust(4, b"\0")
        gateway = ipaddress.IPv4Address(data[at + 1 + size : at + 5 + size])
        to = ipaddress.IPv4Network((network, prefix), strict=False)
        routes.append((str(to), None if gateway.is_unspecified else str(gateway)))
        at += 5 + size
    return routes
