"""Converts OpenStack's network_data.json (from its metadata service or ConfigDrive) to network config version 2.

Physical links are matched by their MAC address and keep their name, unless the document names them; bonds and VLANs are created. Name
servers that belong to no network are added to every device with an address, as in version 1.
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


def convert_to_v2(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the network as a document of version 2. Invalid values are passed on, and the reader of version 2 refuses them."""
    devices: dict[str, dict[str, Any]] = {}
    sections: dict[str, dict[str, Any]] = {}
    names: dict[str, str] = {}
    for link in _list_rows(data, "links"):
        name, section, device = _convert_link(link, names)
        names[str(link.get("id"))] = name
        devices[name] = device
        sections.setdefault(section, {})[name] = device
    for network in _list_rows(data, "networks"):
        device = devices.get(names.get(str(network.get("link")), ""), {})
        _add_network(device, network)
    servers = _list_servers(data)
    for device in devices.values():
        has_address = {"addresses", "dhcp4", "dhcp6", "accept-ra"} & device.keys()
        if servers and has_address and "nameservers" not in device:
            device["nameservers"] = {"addresses": servers}
    return {"version": 2, **sections}


def _list_rows(data: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    rows = data.get(name)
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, Sequence) else []


def _convert_link(link: Mapping[str, Any], names: Mapping[str, str]) -> tuple[str, str, dict[str, Any]]:
    """Return a link's name, its section, and its entry in version 2."""
    kind = str(link.get("type"))
    own = str(link.get("name") or link.get("id"))
    device: dict[str, Any] = {"mtu": link["mtu"]} if link.get("mtu") else {}
    mac = link.get("ethernet_mac_address")
    if kind == "bond":
        parts = [names.get(str(link_id), str(link_id)) for link_id in link.get("bond_links") or []]
        words = {word: link[name] for name, word in _BOND_WORDS.items() if link.get(name) is not None}
        device |= {"interfaces": parts, "parameters": words}
        device |= {"macaddress": mac} if mac else {}
        return _shorten(own), "bonds", device
    if kind == "vlan":
        below = names.get(str(link.get("vlan_link")), str(link.get("vlan_link")))
        device |= {"id": link.get("vlan_id"), "link": below}
        mac = link.get("vlan_mac_address") or mac
        device |= {"macaddress": mac} if mac else {}
        name = f"{below}.{link.get('vlan_id')}"
        return (name if len(name) <= MAX_NAME else _shorten(own)), "vlans", device
    if mac:
        device["match"] = {"macaddress": mac}
        device |= {"set-name": _shorten(str(link["name"]))} if link.get("name") else {}
    return _shorten(own), "ethernets", device


def _shorten(name: str) -> str:
    return name[:MAX_NAME]


def _add_network(device: dict[str, Any], network: Mapping[str, Any]) -> None:
    kind = str(network.get("type"))
    if kind in _DHCP:
        device[_DHCP[kind]] = True
        if kind.startswith("ipv6"):
            device["accept-ra"] = True  # DHCPv6 gives an address, but only router advertisements give a route
    elif kind in _RA:
        device["accept-ra"] = True
    elif network.get("ip_address"):
        device.setdefault("addresses", []).append(make_cidr(str(network["ip_address"]), network.get("netmask")))
        if kind in _FIXED6:
            device.setdefault("accept-ra", False)  # router advertisements must not add to the fixed addresses
        if network.get("gateway"):
            device.setdefault("routes", []).append({"to": "default", "via": network["gateway"]})
    for route in _list_rows(network, "routes"):
        entry = {"to": make_cidr(str(route.get("network")), route.get("netmask")), "via": route.get("gateway")}
        if entry not in device.setdefault("routes", []):
            device["routes"].append(entry)
    own = [*_list_servers(network), *(network.get("dns_nameservers") or [])]
    if own:
        device.setdefault("nameservers", {}).setdefault("addresses", []).extend(own)


def _list_servers(data: Mapping[str, Any]) -> list[str]:
    return [
        str(row["address"]) for row in _list_rows(data, "services") if row.get("type") == "dns" and row.get("address")
    ]


def make_cidr(address: str, netmask: object) -> str:
    """Return an address with its prefix, from an address and a mask. Invalid input is passed on, and the reader of version 2 refuses it."""
    if "/" in address or netmask in (None, ""):
        return address
    try:
        mask = ipaddress.ip_address(str(netmask))
        return f"{address}/{int(mask).bit_count()}"
    except ValueError:
        return f"{address}/{netmask}"
