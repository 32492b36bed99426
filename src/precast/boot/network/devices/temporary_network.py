"""Brings one device up for as long as data sources need to be asked over it, and leaves it as it was found.

A device with a carrier asks for a lease; where no DHCP server answers in time it takes an address of the link's own (169.254.0.0/16), which
is enough to reach the metadata service of many clouds. Whatever was set is taken away again at the end, also after a failure; should the
process be killed, the address goes by itself when the lease has run out.
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
# Devices that this process has brought up at this moment, by number.
_ours: set[int] = set()
_METRIC = 1  # before whatever the machine's own network may bring up meanwhile


class TemporaryAddress(NamedTuple):
    """What was brought up, for people and for who asks which servers to use."""

    device: str
    address: str
    how: str
    nameservers: tuple[str, ...] = ()


@contextlib.asynccontextmanager
async def brought_up(
    root: Path = Path("/"), deadline_s: float = LEASE_DEADLINE_S, note: Callable[[str], None] = lambda _: None
) -> AsyncIterator[TemporaryAddress | None]:
    """The best device with an address, within the context; None if there is none, or if the machine is online already."""
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
    device = socket.if_nametoindex(link.name)  # a device that gets another name meanwhile is left as it was too
    if not is_up(link.name):
        netlink.set_up(device)
        undo.callback(_undo, netlink.set_up, device, False)
    _ours.add(device)
    undo.callback(_ours.discard, device)
    try:
        async with asyncio.timeout(deadline_s):
            granted = await dhcp.request_lease(link.name, link.mac, lambda: secrets.randbits(32), socket.gethostname())
    except (TimeoutError, OSError) as error:
        note(f"{link.name}: no lease ({str(error) or f'nobody answered within {deadline_s:g} s'})")
        address = _derive_link_local(link.mac)
        _add_address(device, address, MAX_LEASE_S, undo)
        return TemporaryAddress(link.name, address, "link-local")
    _add_address(device, granted.address, min(granted.lease_s, MAX_LEASE_S), undo)
    for to, via in granted.routes:
        with contextlib.suppress(OSError):  # one that makes no sense does not cost the others
            netlink.add_route(device, to, via, _METRIC, is_on_link=True)
            undo.callback(_undo, netlink.remove_route, device, to, via, _METRIC)
    note(f"{link.name}: {granted.address} from {granted.server}")
    return TemporaryAddress(link.name, granted.address, f"DHCP from {granted.server}", granted.nameservers)


def _add_address(device: int, address: str, valid_s: int, undo: contextlib.AsyncExitStack) -> None:
    netlink.add_address(device, address, valid_s)
    undo.callback(_undo, netlink.remove_address, device, address)


def _undo(change: Callable[..., None], *given: object) -> None:
    """Undo one thing; that it is gone already is what was wanted."""
    with contextlib.suppress(OSError):
        change(*given)


def is_in_use(device: str) -> bool:
    """Whether somebody else has brought the device up: the root file system may come over it."""
    return is_up(device) and socket.if_nametoindex(device) not in _ours


def is_up(device: str) -> bool:
    """Raises OSError if there is no such device."""
    import fcntl
    import struct

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        answer = fcntl.ioctl(asked, 0x8913, struct.pack("16sH14x", device.encode(), 0))  # SIOCGIFFLAGS
    return bool(struct.unpack_from("16xH", answer)[0] & 1)


def is_online() -> bool:
    """Whether the kernel has a way to other networks already: then nothing of ours must come in between."""
    try:
        rows = [line.split() for line in Path("/proc/net/route").read_text().splitlines()[1:]]
    except OSError:
        return False
    return any(row[1] == "00000000" and row[7] == "00000000" for row in rows if len(row) > 7)


def _derive_link_local(mac: str) -> str:
    """An address of the link's own, the same for the same device: RFC 3927 wants one derived from it."""
    number = int.from_bytes(hashlib.sha256(mac.encode()).digest()[:4])
    return f"169.254.{1 + number % 254}.{(number >> 8) % 256}/16"
