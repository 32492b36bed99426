"""Converts the network metadata of clouds to network config version 2.

Every function takes the parsed part of the metadata that its docstring names. Devices are matched by their MAC address and keep their
names. Invalid values are passed on, and the reader of version 2 refuses them.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from precast.boot.network.readers.openstack import make_cidr

_FIRST_METRIC = 100
# Vultr's own name servers, which its metadata does not contain.
_VULTR_SERVERS = ["108.61.10.10", "2001:19f0:300:1704::6"]


def _make_document(devices: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"version": 2, "ethernets": {f"nic{number}": device for number, device in enumerate(devices)}}


def _to_list(value: Any) -> list[Any]:
    """Return a list: EC2 has a text for a single value and a list for several."""
    return list(value) if isinstance(value, list | tuple) else [value] if value else []


def convert_ec2(macs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Convert `network/interfaces/macs` of EC2: DHCP on each interface, the first preferred; further addresses are static."""
    devices = []
    ordered = sorted(macs.items(), key=lambda item: (_parse_number(item[1].get("device-number")), item[0]))
    for number, (mac, nic) in enumerate(ordered, 1):
        metric = {"route-metric": _FIRST_METRIC * number}
        device: dict[str, Any] = {"match": {"macaddress": str(mac).lower()}}
        ipv4, ipv6 = _to_list(nic.get("local-ipv4s")), _to_list(nic.get("ipv6s"))
        if ipv4 or not ipv6:
            device |= {"dhcp4": True, "dhcp4-overrides": dict(metric)}
        if ipv6:
            device |= {"dhcp6": True, "dhcp6-overrides": dict(metric)}
        further = _add_prefix(ipv4[1:], nic.get("subnet-ipv4-cidr-block"))
        further += [f"{address}/128" for address in ipv6[1:]]
        devices.append(device | ({"addresses": further} if further else {}))
    return _make_document(devices)


def _parse_number(value: object) -> int:
    text = str(value)
    return int(text) if text.isascii() and text.isdecimal() else 1 << 16


def _add_prefix(addresses: Sequence[Any], network: object) -> list[str]:
    """Return the addresses with the prefix of their network."""
    prefix = str(network).partition("/")[2]
    return [f"{address}/{prefix or 32}" for address in addresses]


def convert_gce(interfaces: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Convert Google's `network-interfaces`: DHCP with its routes on each; the first is preferred and the only one that provides DNS.

    Google's own agent sets the addresses that the platform forwards to the machine.
    """
    devices = []
    for number, nic in enumerate(interfaces):
        device: dict[str, Any] = {"match": {"macaddress": str(nic.get("mac")).lower()}}
        overrides: dict[str, Any] = {"route-metric": _FIRST_METRIC * (number + 1)}
        overrides |= {"use-dns": False} if number else {}
        families = ("4", "6") if nic.get("ipv6s") or nic.get("ipv6") else ("4",)
        for family in families:
            device |= {f"dhcp{family}": True, f"dhcp{family}-overrides": dict(overrides)}
        devices.append(device | ({"mtu": nic["mtu"]} if nic.get("mtu") else {}))
    return _make_document(devices)


def convert_digitalocean(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Convert `interfaces` and `dns` of a droplet: static addresses; only public interfaces have a gateway."""
    servers = (metadata.get("dns") or {}).get("nameservers") or []
    devices = []
    for kind in ("public", "private"):
        for nic in (metadata.get("interfaces") or {}).get(kind) or []:
            device: dict[str, Any] = {"match": {"macaddress": str(nic.get("mac")).lower()}}
            for word in ("ipv4", "ipv6", "anchor_ipv4"):
                if address := nic.get(word):
                    mask = address.get("netmask") or address.get("cidr")
                    device.setdefault("addresses", []).append(make_cidr(str(address.get("ip_address")).lower(), mask))
                    if kind == "public" and word != "anchor_ipv4" and address.get("gateway"):
                        way = {"to": "default", "via": str(address["gateway"]).lower()}
                        device.setdefault("routes", []).append(way)
            devices.append(device | ({"nameservers": {"addresses": list(servers)}} if servers else {}))
    return _make_document(devices)


def convert_hetzner(config: Mapping[str, Any], private: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Return Hetzner's `network-config`, which is version 1, with the private networks added, which use DHCP without a default route."""
    document = copy.deepcopy(dict(config))
    known = {str(row.get("mac_address")).lower() for row in document.get("config") or []}
    for number, network in enumerate(private, len(known)):
        mac = str(network.get("mac_address")).lower()
        if mac not in known:
            row = {"type": "physical", "name": f"eth{number}", "mac_address": mac, "subnets": [{"type": "dhcp"}]}
            document.setdefault("config", []).append(row)
    return document


def convert_vultr(interfaces: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Convert Vultr's `interfaces`: the first uses DHCP and router advertisements, the others have static addresses."""
    devices = []
    for number, nic in enumerate(interfaces):
        if number and nic.get("unconfigured"):
            continue
        device: dict[str, Any] = {"match": {"macaddress": str(nic.get("mac")).lower()}}
        ipv4, ipv6 = nic.get("ipv4") or {}, nic.get("ipv6") or {}
        if number == 0:
            device |= {"dhcp4": True, "accept-ra": True, "nameservers": {"addresses": list(_VULTR_SERVERS)}}
        elif ipv4.get("address"):
            device["addresses"] = [make_cidr(str(ipv4["address"]), ipv4.get("netmask"))]
        further = [address for address in ipv4.get("additional") or [] if "address" in address]
        fixed = [make_cidr(str(address["address"]), address.get("netmask")) for address in further]
        further6 = [address for address in ipv6.get("additional") or [] if address.get("network")]
        fixed += [f"{address['network']}/{address['prefix']}" for address in further6]
        if fixed:
            device.setdefault("addresses", []).extend(fixed)
        if routes := [way for row in (nic, *further, *further6) for way in _convert_routes(row)]:
            device["routes"] = routes
        device |= {"mtu": nic["mtu"]} if nic.get("mtu") else {}
        devices.append(device | ({"accept-ra": bool(nic["accept-ra"])} if "accept-ra" in nic else {}))
    return _make_document(devices)


def _convert_routes(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Convert routes that use the keys of version 1."""
    rows = [route for route in row.get("routes") or [] if isinstance(route, Mapping)]
    return [
        {
            "to": make_cidr(str(row.get("network") or row.get("destination")), row.get("netmask")),
            "via": row.get("gateway"),
        }
        for row in rows
    ]


def convert_azure(network: Mapping[str, Any]) -> dict[str, Any]:
    """Convert Azure's `network`: DHCP on each, the first preferred and the only one that provides DNS; further addresses are static."""
    devices = []
    for number, nic in enumerate(network.get("interface") or []):
        device: dict[str, Any] = {"match": {"macaddress": _add_colons(str(nic.get("macAddress")))}}
        overrides: dict[str, Any] = {"route-metric": _FIRST_METRIC * (number + 1)}
        overrides |= {"use-dns": False} if number else {}
        for word, usual in (("ipv4", "24"), ("ipv6", "128")):
            part = nic.get(word) or {}
            addresses = [row.get("privateIpAddress") for row in part.get("ipAddress") or []]
            if not addresses:
                continue
            device |= {f"dhcp{word[-1]}": True, f"dhcp{word[-1]}-overrides": dict(overrides)}
            prefix = next((subnet.get("prefix") for subnet in part.get("subnet") or [] if subnet.get("prefix")), usual)
            device.setdefault("addresses", []).extend(f"{address}/{prefix}" for address in addresses[1:])
        if not device.get("addresses"):
            device.pop("addresses", None)
        if "dhcp4" in device or "dhcp6" in device:
            devices.append(device)
    return _make_document(devices)


def _add_colons(mac: str) -> str:
    mac = mac.lower()
    return mac if ":" in mac else ":".join(mac[at : at + 2] for at in range(0, len(mac), 2))


def convert_oracle(vnics: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Convert Oracle's `vnics`: DHCP on the first, static addresses on the others, which have no DHCP.

    On bare metal, which has `nicIndex`, only the first is a device; the others are VLANs on it, which the platform's own tool sets up.
    """
    devices = []
    is_metal = bool(vnics) and "nicIndex" in vnics[0]
    for number, nic in enumerate(vnics[:1] if is_metal else vnics):
        device: dict[str, Any] = {"match": {"macaddress": str(nic.get("macAddr")).lower()}}
        ipv4, ipv6 = nic.get("privateIp"), nic.get("ipv6Addresses") or []
        if number == 0:
            device |= {"dhcp4": True} if ipv4 else {}
            device |= {"dhcp6": True} if ipv6 else {}
        else:
            device["mtu"] = 9000
            addresses = _add_prefix([ipv4], nic.get("subnetCidrBlock")) if ipv4 else []
            device["addresses"] = addresses + _add_prefix(ipv6, nic.get("ipv6SubnetCidrBlock"))
        devices.append(device)
    return _make_document(devices)
