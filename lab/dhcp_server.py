"""A DHCP server for tests, on one device of a network namespace: `python -m lab.dhcp_server DEVICE OFFERED SERVER [--silent N] [--nak]`.

It prints a line for every message it receives. With --silent it ignores the first N messages; with --nak it refuses the first request.
"""

import argparse
import ipaddress
import socket
import struct
from collections.abc import Sequence

_FIXED = struct.Struct("!BBBBIHH4s4s4s4s16s64s128s")
_MAGIC = b"\x63\x82\x53\x63"
_NAMES = {1: "discover", 3: "request"}
DISCOVER, OFFER, REQUEST, ACK, NAK = 1, 2, 3, 5, 6


def reply(
    request: bytes,
    kind: int,
    address: str,
    server: str,
    *,
    prefix: int = 24,
    router: str | None = None,
    routes: Sequence[tuple[str, str]] = (),
    servers: Sequence[str] = (),
    mtu: int | None = None,
    lease_s: int = 600,
) -> bytes:
    """The server's reply to a client's message."""
    _, _, _, _, xid, _, flags, _, _, _, _, hardware, _, _ = _FIXED.unpack_from(request)
    yours = ipaddress.IPv4Address(address if kind != NAK else 0).packed
    none = bytes(4)
    body = _FIXED.pack(2, 1, 6, 0, xid, 0, flags, none, yours, none, none, hardware, b"", b"") + _MAGIC
    options = [(53, bytes((kind,))), (54, ipaddress.IPv4Address(server).packed)]
    if kind != NAK:
        mask = ipaddress.IPv4Network((0, prefix)).netmask.packed
        options += [(51, struct.pack("!I", lease_s)), (1, mask)]
        options += [(3, ipaddress.IPv4Address(router).packed)] if router else []
        options += [(6, b"".join(ipaddress.IPv4Address(server).packed for server in servers))] if servers else []
        options += [(26, struct.pack("!H", mtu))] if mtu else []
        options += [(121, b"".join(_route(to, via) for to, via in routes))] if routes else []
    return body + b"".join(bytes((code, len(value))) + value for code, value in options) + b"\xff"


def _route(to: str, via: str) -> bytes:
    network = ipaddress.IPv4Network(to)
    significant = network.network_address.packed[: (network.prefixlen + 7) // 8]
    return bytes((network.prefixlen,)) + significant + ipaddress.IPv4Address(via).packed


def _kind(request: bytes) -> int:
    at = _FIXED.size + 4
    while at + 2 < len(request) and request[at] != 255:
        if request[at] == 53:
            return request[at + 2]
        at += 2 + request[at + 1]
    return 0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("device")
    parser.add_argument("offered")
    parser.add_argument("server")
    parser.add_argument("--router")
    parser.add_argument("--silent", type=int, default=0)
    parser.add_argument("--nak", action="store_true")
    args = parser.parse_args()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, args.device.encode())
        listener.bind(("", 67))
        print("ready", flush=True)
        silent, refuses = args.silent, args.nak
        while True:
            request = listener.recv(2048)
            kind = _kind(request)
            print(_NAMES.get(kind, str(kind)), flush=True)
            if silent:
                silent -= 1
                continue
            answer = {DISCOVER: OFFER, REQUEST: ACK}.get(kind)
            if kind == REQUEST and refuses:
                answer, refuses = NAK, False
            if answer is not None:
                data = reply(request, answer, args.offered, args.server, router=args.router)
                listener.sendto(data, ("255.255.255.255", 68))


if __name__ == "__main__":
    main()
