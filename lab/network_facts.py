"""Reads network files of netplan, networkd, ifupdown and NetworkManager into one form, a set of facts, so that they can be compared.

A fact is (device, property, value…). Only properties that all four can express are facts: the kind of a device, its addresses, routes, DNS
servers and MTU.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml  # type: ignore[import-untyped]

Facts = set[tuple[Any, ...]]
Ini = list[tuple[str, list[tuple[str, str]]]]


def of_files(renderer: str, files: Mapping[str, str], macs: Mapping[str, str] | None = None) -> Facts:
    """The facts of a rendering. `macs` maps MAC addresses to names, for devices that NetworkManager identifies only by address."""
    if renderer == "network-manager":
        return network_manager(files, macs or {})
    readers = {"netplan": netplan, "networkd": networkd, "eni": eni}
    return readers[renderer](files)


def _default(to: str, via: str) -> str:
    return ("::/0" if ":" in via else "0.0.0.0/0") if to in ("default", "") else to


def _route(device: str, to: str, via: str | None, metric: Any) -> tuple[Any, ...]:
    return (device, "route", _default(to, via or ""), via, None if metric is None else int(metric))


def netplan(files: Mapping[str, str]) -> Facts:
    facts: Facts = set()
    for text in (text for path, text in files.items() if path.endswith(".yaml")):
        network = yaml.safe_load(text)["network"]
        for section in ("ethernets", "bonds", "bridges", "vlans"):
            for name, device in network.get(section, {}).items():
                shown = device.get("set-name") or device.get("match", {}).get("name") or name
                facts |= set(_netplan_device(shown, device))
    return facts


def _netplan_device(name: str, device: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    yield from ((name, word) for word in ("dhcp4", "dhcp6") if device.get(word) in (True, "yes"))
    if device.get("accept-ra") is True:
        yield (name, "accept-ra")
    yield from ((name, "address", str(address)) for address in device.get("addresses", []))
    for word in ("gateway4", "gateway6"):
        if word in device:
            yield _route(name, "default", device[word], None)
    for route in device.get("routes", []):
        yield _route(name, route["to"], route.get("via"), route.get("metric"))
    dns = device.get("nameservers", {})
    yield from ((name, "dns", address) for address in dns.get("addresses", []))
    yield from ((name, "search", domain) for domain in dns.get("search", []))
    if "mtu" in device:
        yield (name, "mtu", int(device["mtu"]))
    yield from ((member, "part of", name) for member in device.get("interfaces", []))
    if "link" in device:
        yield (name, "vlan", int(device["id"]), device["link"])
    if "mode" in device.get("parameters", {}):
        yield (name, "mode", device["parameters"]["mode"])


def _ini(text: str) -> Ini:
    sections: Ini = []
    for line in text.splitlines():
        if line.startswith("["):
            sections.append((line.strip("[]"), []))
        elif "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            sections[-1][1].append((key.strip(), value.strip()))
    return sections


def networkd(files: Mapping[str, str]) -> Facts:
    facts: Facts = set()
    read = {path: _ini(text) for path, text in files.items() if "/network/" in path}
    names = {_value(ini, "Match", "PermanentMACAddress") or _value(ini, "Match", "MACAddress"): name
             for path, ini in read.items() if path.endswith(".link") and (name := _value(ini, "Link", "Name"))}  # fmt: skip
    for path, ini in read.items():
        if path.endswith(".netdev"):
            facts |= set(_netdev(_value(ini, "NetDev", "Name") or "", ini))
        elif path.endswith(".network"):
            mac = _value(ini, "Match", "PermanentMACAddress") or _value(ini, "Match", "MACAddress")
            facts |= set(_network_file(names.get(mac) or _value(ini, "Match", "Name") or "", ini))
    links = {fact[2]: fact[0] for fact in facts if fact[1] == "carries"}
    vlans = {(fact[0], "vlan", fact[2], links.get(fact[0])) for fact in facts if fact[1] == "vlan id"}
    return {fact for fact in facts if fact[1] not in ("carries", "vlan id")} | vlans


def _value(ini: Ini, section: str, key: str) -> str | None:
    return next((value for title, rows in ini if title == section for name, value in rows if name == key), None)


def _values(ini: Ini, section: str, key: str) -> list[str]:
    return [value for title, rows in ini if title == section for name, value in rows if name == key]


def _netdev(name: str, ini: Ini) -> Iterator[tuple[Any, ...]]:
    if number := _value(ini, "VLAN", "Id"):
        yield (name, "vlan id", int(number))
    if mode := _value(ini, "Bond", "Mode"):
        yield (name, "mode", mode)
    if mtu := _value(ini, "NetDev", "MTUBytes"):
        yield (name, "mtu", int(mtu))


def _network_file(name: str, ini: Ini) -> Iterator[tuple[Any, ...]]:
    dhcp = (_value(ini, "Network", "DHCP") or "no").lower()
    if dhcp in ("yes", "true", "ipv4"):
        yield (name, "dhcp4")
    if dhcp in ("yes", "true", "ipv6"):
        yield (name, "dhcp6")
    if (_value(ini, "Network", "IPv6AcceptRA") or "").lower() in ("yes", "true", "1"):
        yield (name, "accept-ra")
    if mtu := _value(ini, "Link", "MTUBytes"):
        yield (name, "mtu", int(mtu))
    addresses = _values(ini, "Network", "Address") + _values(ini, "Address", "Address")
    yield from ((name, "address", address) for address in addresses)
    for title, rows in ini:
        if title == "Route":
            route = dict(rows)
            yield _route(name, route.get("Destination", ""), route.get("Gateway"), route.get("Metric"))
    yield from ((name, "dns", address) for row in _values(ini, "Network", "DNS") for address in row.split())
    yield from ((name, "search", domain) for row in _values(ini, "Network", "Domains") for domain in row.split())
    yield from ((name, "part of", parent) for word in ("Bond", "Bridge") for parent in _values(ini, "Network", word))
    yield from ((name, "carries", vlan) for vlan in _values(ini, "Network", "VLAN"))


def eni(files: Mapping[str, str]) -> Facts:
    facts: Facts = set()
    text = "".join(text for path, text in files.items() if "/interfaces" in f"/{path}")
    stanza: list[tuple[str, str]] = []
    for line in [*text.splitlines(), "iface"]:
        word, _, rest = line.strip().partition(" ")
        if word == "iface":
            facts |= set(_stanza(stanza))
            stanza = [("iface", rest)]
        elif word not in ("auto", "allow-hotplug", "", "#", "source") and stanza:
            stanza.append((word, rest))
    return facts


def _stanza(rows: list[tuple[str, str]]) -> Iterator[tuple[Any, ...]]:  # noqa: C901 - one branch a word
    if not rows or rows[0][1].startswith("lo ") or len(rows[0][1].split()) != 3:
        return
    name, family, method = rows[0][1].split()
    given = dict(rows)
    if method == "dhcp":
        yield (name, "dhcp6" if family == "inet6" else "dhcp4")
    if method == "auto" or (method == "static" and given.get("accept_ra") == "1"):
        yield (name, "accept-ra")
    for word, rest in rows[1:]:
        if word == "address":
            yield (name, "address", rest if "/" in rest else f"{rest}/{given.get('netmask', '')}")
        elif word == "gateway":
            yield _route(name, "default", rest, given.get("metric"))
        elif word == "dns-nameservers":
            yield from ((name, "dns", address) for address in rest.split())
        elif word == "dns-search":
            yield from ((name, "search", domain) for domain in rest.split())
        elif word == "mtu":
            yield (name, "mtu", int(rest))
        elif word == "bond-master":
            yield (name, "part of", rest)
        elif word == "bond-mode":
            yield (name, "mode", rest)
        elif word == "bridge_ports":
            yield from ((port, "part of", name) for port in rest.split() if port != "none")
        elif word == "vlan-raw-device":
            yield (name, "vlan", int(given.get("vlan_id", name.rpartition(".")[2])), rest)
        elif word in ("up", "post-up"):
            yield from _command(name, rest)


def _command(name: str, text: str) -> Iterator[tuple[Any, ...]]:
    """The route that a command adds: ip(8) or route(8)."""
    metric = re.search(r"metric (\d+)", text)
    if match := re.match(r"ip -[46] route add (\S+) via (\S+)", text):
        yield _route(name, match[1], match[2], metric[1] if metric else None)
    elif match := re.match(r"route add (?:-A inet6 )?(?:-net |-host )?(\S+)(?: netmask (\S+))? gw (\S+)", text):
        to = match[1] if match[2] is None or match[1] == "default" else f"{match[1]}/{_bits(match[2])}"
        yield _route(name, to, match[3], metric[1] if metric else None)


def _bits(mask: str) -> int:
    return sum(int(part).bit_count() for part in mask.split("."))


def network_manager(files: Mapping[str, str], macs: Mapping[str, str]) -> Facts:
    facts: Facts = set()
    read = [_ini(text) for path, text in files.items() if path.endswith(".nmconnection")]
    named = [(ini, _value(ini, "connection", "interface-name")) for ini in read]
    named = [(ini, name or macs.get((_value(ini, "ethernet", "mac-address") or "").lower(), "")) for ini, name in named]
    names = {uuid: name or "" for ini, name in named if (uuid := _value(ini, "connection", "uuid"))}
    for ini, name in named:
        facts |= set(_connection(name or "", ini, names))
    return facts


def _connection(name: str, ini: Ini, names: Mapping[str, str]) -> Iterator[tuple[Any, ...]]:
    for family, number in (("ipv4", 4), ("ipv6", 6)):
        if _value(ini, family, "method") in ("auto", "dhcp"):
            yield (name, f"auto{number}")
        for key, value in [pair for title, pairs in ini if title == family for pair in pairs]:
            yield from _addressing(name, key, value)
    if mtu := _value(ini, "ethernet", "mtu"):
        yield (name, "mtu", int(mtu))
    if master := _value(ini, "connection", "master"):
        yield (name, "part of", names.get(master, master))
    if number_text := _value(ini, "vlan", "id"):
        parent = _value(ini, "vlan", "parent") or ""
        yield (name, "vlan", int(number_text), names.get(parent, parent))
    if mode := _value(ini, "bond", "mode"):
        yield (name, "mode", mode)


def _addressing(name: str, key: str, value: str) -> Iterator[tuple[Any, ...]]:
    if re.fullmatch(r"address\d+", key):
        address, _, gateway = value.partition(",")
        yield (name, "address", address)
        if gateway:
            yield _route(name, "default", gateway, None)
    elif key == "gateway":
        yield _route(name, "default", value, None)
    elif re.fullmatch(r"route\d+", key):
        to, via, metric = (*value.split(","), None, None)[:3]
        yield _route(name, str(to), via, metric)
    elif key in ("dns", "dns-search"):
        yield from ((name, "search" if "-" in key else key, entry) for entry in value.split(";") if entry)
