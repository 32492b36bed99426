"""A DHCP client for the moments before a machine's network is configured: one device, one lease, no renewing.

It is our own because a minimal image has none, and those that exist leave a daemon and a configuration behind. It speaks over a packet
socket, since a device without an address has no other way, and asks again after 1, 2, 4, … seconds.
"""

import asyncio
import socket
from collections.abc import Callable

from precast.boot.network.devices import dhcp_message as message
from precast.boot.network.devices.dhcp_message import DhcpOffer

_IPV4 = 0x0800
_EVERYBODY = b"\xff" * 6
_MAX_BYTES = 4096
MAX_PAUSE_S = 8.0


async def request_lease(device: str, mac: str, number: Callable[[], int], name: str = "") -> DhcpOffer:
    """What the first server to answer grants. It asks until it is cancelled, so the caller sets a deadline. Raises OSError.

    `number` gives a random number of 32 bits: a message's own. Cancelling leaves nothing behind; the server keeps its promise for a while.
    """
    hardware = bytes.fromhex(mac.replace(":", ""))
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK, 0) as talk:
        talk.bind((device, _IPV4))
        began_s = loop.time()
        while True:
            xid = number() & 0xFFFFFFFF
            asking = _Conversation(talk, device, hardware, xid, began_s)
            offered = await asking.until(message.DISCOVER, (message.OFFER,), None, name)
            granted = await asking.until(message.REQUEST, (message.ACK, message.NAK), offered, name)
            if granted.kind == message.ACK:
                return granted


class _Conversation:
    """One conversation, under one number."""

    def __init__(self, talk: socket.socket, device: str, hardware: bytes, xid: int, began_s: float) -> None:
        self._talk = talk
        self._device = device
        self._hardware = hardware
        self._xid = xid
        self._began_s = began_s

    async def until(self, kind: int, ends: tuple[int, ...], offered: DhcpOffer | None, name: str) -> DhcpOffer:
        """Ask, and ask again after ever longer pauses, until one of these answers comes; for a REQUEST only the server's that offered."""
        pause_s = 1.0
        while True:
            seconds = int(asyncio.get_running_loop().time() - self._began_s)
            packet = message.build_request(kind, self._xid, self._hardware, seconds, offered, name)
            self._talk.sendto(packet, (self._device, _IPV4, 0, 0, _EVERYBODY))
            try:
                async with asyncio.timeout(pause_s):
                    return await self._answer(ends, offered.server if offered else None)
            except TimeoutError:
                pause_s = min(pause_s * 2, MAX_PAUSE_S)

    async def _answer(self, ends: tuple[int, ...], server: str | None) -> DhcpOffer:
        loop = asyncio.get_running_loop()
        while True:
            packet = await loop.sock_recv(self._talk, _MAX_BYTES)
            found = message.parse_answer(packet, self._xid, self._hardware)
            if found is not None and found.kind in ends and server in (None, found.server):
                return found
