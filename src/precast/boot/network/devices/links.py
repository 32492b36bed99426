"""Lists the network devices in /sys/class/net below the root, and chooses the fallback device for a machine without a configuration.

It is chosen as cloud-init does: of the physical devices (no loopback, bridge, bond, VLAN, veth, nor a member of another device) the first
with a carrier, else the first that may have one; eth0 comes first, then the others by name, with numbers in numeric order.
"""

import fnmatch
import re
from pathlib import Path
from typing import Any, NamedTuple

from precast.boot.network.model import Match

_ETHERNET = "1"  # ARPHRD_ETHER
_NO_MAC = "00:00:00:00:00:00"


class Link(NamedTuple):
    """A device as the kernel shows it. Its carrier is unknown (None) while it is down."""

    name: str
    mac: str
    driver: str
    has_carrier: bool | None
    is_real: bool

    def is_matched_by(self, match: Match) -> bool:
        is_driver = not match.drivers or any(fnmatch.fnmatchcase(self.driver, driver) for driver in match.drivers)
        is_name = match.name is None or fnmatch.fnmatchcase(self.name, match.name)
        return is_driver and is_name and match.mac in (None, self.mac)


def list_links(root: Path) -> list[Link]:
    """Return all devices, by name. A device that disappears meanwhile is left out."""
    try:
        places = list((root / "sys/class/net").iterdir())
    except OSError:
        return []
    links = [_read_link(place) for place in places if (place / "address").exists()]
    return sorted(links, key=lambda link: _sort_key(link.name))


def _read_link(place: Path) -> Link:
    carrier = _read_line(place / "carrier")
    is_real = (
        _read_line(place / "type") == _ETHERNET
        and _read_line(place / "address") not in ("", _NO_MAC)
        and not any((place / name).exists() for name in ("bridge", "bonding", "master", "brport"))
        and "DEVTYPE=vlan" not in _read_text(place / "uevent").split()
        and not place.name.startswith("veth")
    )
    try:
        driver = (place / "device" / "driver").readlink().name
    except OSError:
        driver = ""
    known = None if carrier not in ("0", "1") else carrier == "1"
    return Link(place.name, _read_line(place / "address").lower(), driver, known, is_real)


def _read_text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # reading the carrier of a device that is down fails
        return ""


def _read_line(path: Path) -> str:
    return _read_text(path).strip()


def _sort_key(name: str) -> tuple[Any, ...]:
    parts = re.split(r"(\d+)", name)
    return (name != "eth0", [(int(part), "") if part.isdigit() else (-1, part) for part in parts])


def choose_best(links: list[Link]) -> Link | None:
    """Return the device to try first; None if there is no physical one."""
    real = [link for link in links if link.is_real]
    return next(
        iter([link for link in real if link.has_carrier] or [link for link in real if link.has_carrier is None]), None
    )


def make_fallback(links: list[Link]) -> dict[str, Any] | None:
    """Return a network config of version 2 for a machine without a configuration: DHCP on the best device."""
    link = choose_best(links)
    if link is None:
        return None
    device = {"match": {"macaddress": link.mac}, "set-name": link.name, "dhcp4": True}
    return {"version": 2, "ethernets": {link.name: device}}
