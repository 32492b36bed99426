"""OpenStack's network_data.json (its metadata service and ConfigDrive have the same) as network config version 2.

Links that exist are matched by their MAC address and keep the name they have, unless the link has one of its own; bonds and VLANs are
made. Name servers that belong to no network go to every device with an address, as version 1 has it.
"""

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

MAX_NAME = 15
_MADE = {"bond": "bonds", "vlan": "vlans"}
_BOND_WORDS = {
    "bond_mode": "mode",
    "bond_miimon": "mii-monitor-interval",
    "bond_xmit_hash_policy": "transmit-hash-policy",
}
_DHCP = {"ipv4_dhcp": "dhcp4", "ipv6_dhcp": "dhcp6", "ipv6_dhcpv6-stateful": "dhcp6"}
_FIXED6 = ("ipv6", "static6")
_RA = ("ipv6_slaac", "ipv6_dhcpv6-stateless")


def to_v2(data: Mapping[str, Any]) -> dict[str, Any]:
    """The same network as a document of version 2. What is not understood is handed on, and refused with its place when that is read."""
    devices: dict[str, dict[str, Any]] = {}
    sections: dict[str, dict[str, Any]] = {}
    names: dict[str, str] = {}
    for link in _rows(data, "links"):
        name, section, device = _link(link, names)
        names[str(link.get("id"))] = name
        devices[name] = device
        sections.setdefault(section, {})[name] = device
    for network in _rows(data, "networks"):
        device = devices.get(names.get(str(network.get("link")), ""), {})
        _add_network(device, network)
    servers = _servers(data)
    for device in devices.values():
        has_address = {"addresses", "dhcp4", "dhcp6", "accept-ra"} & device.keys()
        if servers and has_address and "nameservers" not in device:
            device["nameservers"] = {"addresses": servers}
    return {"version": 2, **sections}


def _rows(data: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    found = data.get(name)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, Sequence) else []


def _link(link: Mapping[str, Any], names: Mapping[str, str]) -> tuple[str, str, dict[str, Any]]:
    """A link's name, its section, and what version 2 says of it."""
    kind = str(link.get("type"))
    own = str(link.get("name") or link.get("id"))
    device: dict[str, Any] = {"mtu": link["mtu"]} if link.get("mtu") else {}
    mac = link.get("ethernet_mac_address")
    if kind == "bond":
        parts = [names.get(str(one), str(one)) for one in link.get("bond_links") or []]
        words = {word: link[name] for name, word in _BOND_WORDS.items() if link.get(name) is not None}
        device |= {"interfaces": parts, "parameters": words}
        device |= {"macaddress": mac} if mac else {}
        return _short(own), "bonds", device
    if kind == "vlan":
        below = names.get(str(link.get("vlan_link")), str(link.get("vlan_link")))
        device |= {"id": link.get("vlan_id"), "link": below}
        mac = link.get("vlan_mac_address") or mac
        device |= {"macaddress": mac} if mac else {}
        name = f"{below}.{link.get('vlan_id')}"
        return (name if len(name) <= MAX_NAME else _short(own)), "vlans", device
    if mac:
        device["match"] = {"macaddress": mac}
        device |= {"set-name": _short(str(link["name"]))} if link.get("name") else {}
    return _short(own), "ethernets", device


def _short(name: str) -> str:
    return name[:MAX_NAME]


def _add_network(device: dict[str, Any], network: Mapping[str, Any]) -> None:
    kind = str(network.get("type"))
    if kind in _DHCP:
        device[_DHCP[kind]] = True
        if kind.startswith("ipv6"):
            device["accept-ra"] = True  # DHCP gives an address, and only a router says that it is one
    elif kind in _RA:
        device["accept-ra"] = True
    elif network.get("ip_address"):
        device.setdefault("addresses", []).append(cidr(str(network["ip_address"]), network.get("netmask")))
        if kind in _FIXED6:
            device.setdefault("accept-ra", False)  # what routers say must not add to what was decided
        if network.get("gateway"):
            device.setdefault("routes", []).append({"to": "default", "via": network["gateway"]})
    for route in _rows(network, "routes"):
        found = {"to": cidr(str(route.get("network")), route.get("netmask")), "via": route.get("gateway")}
        if found not in device.setdefault("routes", []):
            device["routes"].append(found)
    own = [*_servers(network), *(network.get("dns_nameservers") or [])]
    if own:
        device.setdefault("nameservers", {}).setdefault("addresses", []).extend(own)


def _servers(data: Mapping[str, Any]) -> list[str]:
    return [str(row["address"]) for row in _rows(data, "services") if row.get("type") == "dns" and row.get("address")]


def cidr(address: str, netmask: object) -> str:
    """An address with its prefix, out of an address and a mask. One that makes no sense stays as it is, to be refused by who reads it."""
    if "/" in address or netmask in (None, ""):
        return address
    try:
        mask = ipaddress.ip_address(str(netmask))
        return f"{address}/{int(mask).bit_count()}"
    except ValueError:
        return f"{address}/{netmask}"
