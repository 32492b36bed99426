"""A DHCP client for the time before a machine's network is configured: one device, one lease, no renewal.

It is our own because a minimal image has none, and existing clients leave a daemon and a configuration behind. It uses a packet socket,
since a device without an address cannot use UDP, and retries after 1, 2, 4, … seconds.
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
    """Return the lease of the first server that answers. It retries until cancelled, so the caller sets a deadline. Raises OSError.

    `number` returns a random 32-bit transaction id. Cancelling leaves nothing behind; the server's offer expires by itself.
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
    """One DHCP exchange, with one transaction id."""

    def __init__(self, talk: socket.socket, device: str, hardware: bytes, xid: int, began_s: float) -> None:
        self._talk = talk
        self._device = device
        self._hardware = hardware
        self._xid = xid
        self._began_s = began_s

    async def until(self, kind: int, ends: tuple[int, ...], offered: DhcpOffer | None, name: str) -> DhcpOffer:
        """Send, and retry with growing pauses, until an answer of these kinds arrives; for a REQUEST only from the offering server."""
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
            offer = message.parse_answer(packet, self._xid, self._hardware)
            if offer is not None and offer.kind in ends and server in (None, offer.server):
                return offer
