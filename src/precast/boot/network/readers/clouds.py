"""What clouds say of a machine's network, each in its own words, as network config version 2.

Every function takes the part of the answer that its name says, as values. Devices are matched by their MAC address and keep the name that
they have. What an answer has that makes no sense is handed on, and refused with its place when the document is read.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from precast.boot.network.readers.openstack import cidr

_FIRST_METRIC = 100
# Vultr's own, which its answers leave out.
_VULTR_SERVERS = ["108.61.10.10", "2001:19f0:300:1704::6"]


def _document(devices: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"version": 2, "ethernets": {f"nic{number}": device for number, device in enumerate(devices)}}


def _listed(value: Any) -> list[Any]:
    """EC2 has a text where there is one, and a list where there are several."""
    return list(value) if isinstance(value, list | tuple) else [value] if value else []


def ec2(macs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """`network/interfaces/macs` of EC2's metadata: DHCP on each, the first preferred; further addresses are set by hand."""
    found = []
    ordered = sorted(macs.items(), key=lambda item: (_number(item[1].get("device-number")), item[0]))
    for number, (mac, nic) in enumerate(ordered, 1):
        metric = {"route-metric": _FIRST_METRIC * number}
        device: dict[str, Any] = {"match": {"macaddress": str(mac).lower()}}
        ipv4, ipv6 = _listed(nic.get("local-ipv4s")), _listed(nic.get("ipv6s"))
        if ipv4 or not ipv6:
            device |= {"dhcp4": True, "dhcp4-overrides": dict(metric)}
        if ipv6:
            device |= {"dhcp6": True, "dhcp6-overrides": dict(metric)}
        further = _within(ipv4[1:], nic.get("subnet-ipv4-cidr-block"))
        further += [f"{one}/128" for one in ipv6[1:]]
        found.append(device | ({"addresses": further} if further else {}))
    return _document(found)


def _number(value: object) -> int:
    text = str(value)
    return int(text) if text.isascii() and text.isdecimal() else 1 << 16


def _within(addresses: Sequence[Any], network: object) -> list[str]:
    """Addresses with the prefix of the network that they are in."""
    prefix = str(network).partition("/")[2]
    return [f"{address}/{prefix or 32}" for address in addresses]


def gce(interfaces: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """`network-interfaces` of Google's metadata: DHCP on each, with its routes; the first is preferred and alone asked for names.

    Addresses that the platform forwards to the machine are set by its own agent.
    """
    found = []
    for number, nic in enumerate(interfaces):
        device: dict[str, Any] = {"match": {"macaddress": str(nic.get("mac")).lower()}}
        overrides: dict[str, Any] = {"route-metric": _FIRST_METRIC * (number + 1)}
        overrides |= {"use-dns": False} if number else {}
        families = ("4", "6") if nic.get("ipv6s") or nic.get("ipv6") else ("4",)
        for family in families:
            device |= {f"dhcp{family}": True, f"dhcp{family}-overrides": dict(overrides)}
        found.append(device | ({"mtu": nic["mtu"]} if nic.get("mtu") else {}))
    return _document(found)


def digitalocean(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """`interfaces` and `dns` of a droplet's metadata: fixed addresses; only public interfaces have a gateway."""
    servers = (metadata.get("dns") or {}).get("nameservers") or []
    found = []
    for kind in ("public", "private"):
        for nic in (metadata.get("interfaces") or {}).get(kind) or []:
            device: dict[str, Any] = {"match": {"macaddress": str(nic.get("mac")).lower()}}
            for word in ("ipv4", "ipv6", "anchor_ipv4"):
                if one := nic.get(word):
                    mask = one.get("netmask") or one.get("cidr")
                    device.setdefault("addresses", []).append(cidr(str(one.get("ip_address")).lower(), mask))
                    if kind == "public" and word != "anchor_ipv4" and one.get("gateway"):
                        way = {"to": "default", "via": str(one["gateway"]).lower()}
                        device.setdefault("routes", []).append(way)
            found.append(device | ({"nameservers": {"addresses": list(servers)}} if servers else {}))
    return _document(found)


def hetzner(config: Mapping[str, Any], private: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """`network-config` of a server, which is version 1 already, with its private networks, which have DHCP without a default route."""
    document = copy.deepcopy(dict(config))
    known = {str(one.get("mac_address")).lower() for one in document.get("config") or []}
    for number, one in enumerate(private, len(known)):
        mac = str(one.get("mac_address")).lower()
        if mac not in known:
            row = {"type": "physical", "name": f"eth{number}", "mac_address": mac, "subnets": [{"type": "dhcp"}]}
            document.setdefault("config", []).append(row)
    return document


def vultr(interfaces: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """`interfaces` of Vultr's metadata: the first gets its address by DHCP and router advertisement, others have it fixed."""
    found = []
    for number, nic in enumerate(interfaces):
        if number and nic.get("unconfigured"):
            continue
        device: dict[str, Any] = {"match": {"macaddress": str(nic.get("mac")).lower()}}
        ipv4, ipv6 = nic.get("ipv4") or {}, nic.get("ipv6") or {}
        if number == 0:
            device |= {"dhcp4": True, "accept-ra": True, "nameservers": {"addresses": list(_VULTR_SERVERS)}}
        elif ipv4.get("address"):
            device["addresses"] = [cidr(str(ipv4["address"]), ipv4.get("netmask"))]
        further = [one for one in ipv4.get("additional") or [] if "address" in one]
        fixed = [cidr(str(one["address"]), one.get("netmask")) for one in further]
        further6 = [one for one in ipv6.get("additional") or [] if one.get("network")]
        fixed += [f"{one['network']}/{one['prefix']}" for one in further6]
        if fixed:
            device.setdefault("addresses", []).extend(fixed)
        if routes := [way for one in (nic, *further, *further6) for way in _routes(one)]:
            device["routes"] = routes
        device |= {"mtu": nic["mtu"]} if nic.get("mtu") else {}
        found.append(device | ({"accept-ra": bool(nic["accept-ra"])} if "accept-ra" in nic else {}))
    return _document(found)


def _routes(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Routes in the words of version 1."""
    rows = [one for one in row.get("routes") or [] if isinstance(one, Mapping)]
    return [
        {"to": cidr(str(row.get("network") or row.get("destination")), row.get("netmask")), "via": row.get("gateway")}
        for row in rows
    ]


def azure(network: Mapping[str, Any]) -> dict[str, Any]:
    """`network` of Azure's metadata: DHCP on each, the first preferred and alone asked for names; further addresses by hand."""
    found = []
    for number, nic in enumerate(network.get("interface") or []):
        device: dict[str, Any] = {"match": {"macaddress": _colons(str(nic.get("macAddress")))}}
        overrides: dict[str, Any] = {"route-metric": _FIRST_METRIC * (number + 1)}
        overrides |= {"use-dns": False} if number else {}
        for word, usual in (("ipv4", "24"), ("ipv6", "128")):
            part = nic.get(word) or {}
            addresses = [one.get("privateIpAddress") for one in part.get("ipAddress") or []]
            if not addresses:
                continue
            device |= {f"dhcp{word[-1]}": True, f"dhcp{word[-1]}-overrides": dict(overrides)}
            prefix = next((one.get("prefix") for one in part.get("subnet") or [] if one.get("prefix")), usual)
            device.setdefault("addresses", []).extend(f"{address}/{prefix}" for address in addresses[1:])
        if not device.get("addresses"):
            device.pop("addresses", None)
        if "dhcp4" in device or "dhcp6" in device:
            found.append(device)
    return _document(found)


def _colons(mac: str) -> str:
    mac = mac.lower()
    return mac if ":" in mac else ":".join(mac[at : at + 2] for at in range(0, len(mac), 2))


def oracle(vnics: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """`vnics` of Oracle's metadata: DHCP on the first, fixed addresses on the others, which have no DHCP.

    Of bare metal, which numbers its devices, only the first is a device; others are tags on it, which the platform's own tool sets up.
    """
    found = []
    is_metal = bool(vnics) and "nicIndex" in vnics[0]
    for number, nic in enumerate(vnics[:1] if is_metal else vnics):
        device: dict[str, Any] = {"match": {"macaddress": str(nic.get("macAddr")).lower()}}
        ipv4, ipv6 = nic.get("privateIp"), nic.get("ipv6Addresses") or []
        if number == 0:
            device |= {"dhcp4": True} if ipv4 else {}
            device |= {"dhcp6": True} if ipv6 else {}
        else:
            device["mtu"] = 9000
            addresses = _within([ipv4], nic.get("subnetCidrBlock")) if ipv4 else []
            device["addresses"] = addresses + _within(ipv6, nic.get("ipv6SubnetCidrBlock"))
        found.append(device)
    return _document(found)
