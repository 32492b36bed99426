"""Brings one device up while data sources are asked over it, and restores it afterwards.

A device with a carrier requests a DHCP lease; if no server answers in time it gets a link-local address (169.254.0.0/16), which is enough
to reach the metadata service of many clouds. All changes are undone at the end, also after a failure; if the process is killed, the
kernel removes the address when the lease expires.
"""

import asyncio
import contextlib
import hashlib
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import NamedTuple

from precast.boot.network.devices import dhcp, links, netlink

LEASE_DEADLINE_S = 20.0
MAX_LEASE_S = 3600
# The indexes of the devices that this process has brought up.
_ours: set[int] = set()
_METRIC = 1  # preferred over routes that the machine's own network may add meanwhile


class TemporaryAddress(NamedTuple):
    """The device that was brought up, its address, and the name servers of the lease."""

    device: str
    address: str
    how: str
    nameservers: tuple[str, ...] = ()


@contextlib.asynccontextmanager
async def brought_up(
    root: Path = Path("/"), deadline_s: float = LEASE_DEADLINE_S, note: Callable[[str], None] = lambda _: None
) -> AsyncIterator[TemporaryAddress | None]:
    """Bring the best device up for the duration of the context; None if there is no device, or if the machine is already online."""
    link = None if is_online() else links.choose_best(links.list_links(root))
    if link is None:
        note("the machine is online already" if is_online() else "there is no network device to bring up")
        yield None
        return
    async with contextlib.AsyncExitStack() as undo:
        yield await _bring_up(link, deadline_s, note, undo)


async def _bring_up(
    link: links.Link, deadline_s: float, note: Callable[[str], None], undo: contextlib.AsyncExitStack
) -> TemporaryAddress:
    device = socket.if_nametoindex(link.name)  # by index, so that a device that is renamed meanwhile is restored too
    if not is_up(link.name):
        netlink.set_up(device)
        undo.callback(_undo, netlink.set_up, device, False)
    _ours.add(device)
    undo.callback(_ours.discard, device)
    try:
        async with asyncio.timeout(deadline_s):
            granted = await dhcp.request_lease(link.name, link.mac, lambda: secrets.randbits(32), socket.gethostname())
    except (TimeoutError, OSError) as error:
        note(f"{link.name}: no lease ({str(error) or f'no server answered within {deadline_s:g} s'})")
        address = _derive_link_local(link.mac)
        _add_address(device, address, MAX_LEASE_S, undo)
        return TemporaryAddress(link.name, address, "link-local")
    _add_address(device, granted.address, min(granted.lease_s, MAX_LEASE_S), undo)
    for to, via in granted.routes:
        with contextlib.suppress(OSError):  # an invalid route does not prevent the others
            netlink.add_route(device, to, via, _METRIC, is_on_link=True)
            undo.callback(_undo, netlink.remove_route, device, to, via, _METRIC)
    note(f"{link.name}: {granted.address} from {granted.server}")
    return TemporaryAddress(link.name, granted.address, f"DHCP from {granted.server}", granted.nameservers)


def _add_address(device: int, address: str, valid_s: int, undo: contextlib.AsyncExitStack) -> None:
    netlink.add_address(device, address, valid_s)
    undo.callback(_undo, netlink.remove_address, device, address)


def _undo(change: Callable[..., None], *given: object) -> None:
    """Undo one change; it is not an error if it is already undone."""
    with contextlib.suppress(OSError):
        change(*given)


def is_in_use(device: str) -> bool:
    """Whether another process has brought the device up: the root file system may be mounted over it."""
    return is_up(device) and socket.if_nametoindex(device) not in _ours


def is_up(device: str) -> bool:
    """Whether the device is up. Raises OSError if it does not exist."""
    import fcntl
    import struct

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        answer = fcntl.ioctl(asked, 0x8913, struct.pack("16sH14x", device.encode(), 0))  # SIOCGIFFLAGS
    return bool(struct.unpack_from("16xH", answer)[0] & 1)


def is_online() -> bool:
    """Whether the kernel already has a default route: then this module must not interfere."""
    try:
        rows = [line.split() for line in Path("/proc/net/route").read_text().splitlines()[1:]]
    except OSError:
        return False
    return any(row[1] == "00000000" and row[7] == "00000000" for row in rows if len(row) > 7)


def _derive_link_local(mac: str) -> str:
    """Derive a link-local address from the MAC address, as RFC 3927 recommends, so that it is stable."""
    number = int.from_bytes(hashlib.sha256(mac.encode()).digest()[:4])
    return f"169.254.{1 + number % 254}.{(number >> 8) % 256}/16"
