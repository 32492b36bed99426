"""Writes the model for NetworkManager: a connection for every device, readable by root alone, as NetworkManager insists.

A connection's uuid comes from the device's id, so that the same device has the same one in every boot. Where IPv6 is not spoken of it is
left to the kernel, as networkd does.
"""

import uuid
from typing import Any

from precast.base.errors import PrecastError
from precast.boot.network import issues
from precast.boot.network.model import Device, Kind, Network, Overrides, Route, Rule, Start
from precast.boot.network.renderers.networkd import link_file, only_netplan
from precast.boot.network.renderers.rendering import PRIVATE, RenderedFile, Rendering, file_name, format_sections

Rows = list[tuple[str, object]]
_PLACE = "etc/NetworkManager/system-connections/precast-"
_SPACE = uuid.UUID("6b2d2a52-6a0b-5c0e-9a54-0f6f1c1d7c11")
_TYPES = {Kind.ETHERNET: "ethernet", Kind.BOND: "bond", Kind.BRIDGE: "bridge", Kind.VLAN: "vlan"}
_BOND = {
    "mode": "mode",
    "lacp-rate": "lacp_rate",
    "mii-monitor-interval": "miimon",
    "min-links": "min_links",
    "transmit-hash-policy": "xmit_hash_policy",
    "ad-select": "ad_select",
    "all-slaves-active": "all_slaves_active",
    "arp-interval": "arp_interval",
    "arp-ip-targets": "arp_ip_target",
    "arp-validate": "arp_validate",
    "arp-all-targets": "arp_all_targets",
    "up-delay": "updelay",
    "down-delay": "downdelay",
    "fail-over-mac-policy": "fail_over_mac",
    "gratuitous-arp": "num_grat_arp",
    "packets-per-slave": "packets_per_slave",
    "primary-reselect-policy": "primary_reselect",
    "learn-packet-interval": "lp_interval",
    "resend-igmp": "resend_igmp",
    "primary": "primary",
}
_MAGIC = 64  # wake-on-lan by magic packet, in NetworkManager's numbers


def render(network: Network) -> Rendering:
    files = [
        RenderedFile(f"{_PLACE}{file_name(device)}.nmconnection", _text(network, device), PRIVATE) for device in network.devices
    ]
    files += [link for device in network.devices if (link := link_file(device)) is not None]
    left = [error for device in network.devices if network.master_of(device) is None for error in _unsaid(device)]
    return Rendering(files, only_netplan(network, "network-manager") + left)


def _uuid(device: Device) -> str:
    return str(uuid.uuid5(_SPACE, f"{device.kind.value}/{device.id}"))


def _text(network: Network, device: Device) -> str:
    master = network.master_of(device)
    parts = [("connection", _connection(device, master)), *_match(device), *_kind(network, device)]
    if master is not None and master.kind is Kind.BRIDGE:
        cost, priority = (master.parameters.get(word, {}) for word in ("path-cost", "port-priority"))
        parts.append(("bridge-port", [("path-cost", _of_port(cost, device)), ("priority", _of_port(priority, device))]))
    if master is None:
        parts += [("ipv4", _ipv4(device)), ("ipv6", _ipv6(device))]
    return format_sections(parts)


def _of_port(given: Any, device: Device) -> object:
    return given.get(device.id, given.get(device.name))


def _connection(device: Device, master: Device | None) -> Rows:
    is_by_match = device.match is not None and device.set_name is None
    rows: Rows = [("id", f"precast {device.id}"), ("uuid", _uuid(device)), ("type", _TYPES[device.kind])]
    rows.append(("interface-name", None if is_by_match else device.name))
    rows.append(("autoconnect", False if device.start is Start.MANUAL else None))
    if master is not None:
        rows += [("master", _uuid(master)), ("slave-type", _TYPES[master.kind])]
    return rows


def _match(device: Device) -> list[tuple[str, Rows]]:
    match = device.match
    if match is None or device.set_name is not None:
        return []
    rows: Rows = [("interface-name", f"{match.name};" if match.name else None)]
    rows.append(("driver", "".join(f"{driver};" for driver in match.drivers) or None))
    return [("match", rows)]


def _kind(network: Network, device: Device) -> list[tuple[str, Rows]]:
    wired: Rows = [("mac-address", device.match.mac if device.match else None), ("cloned-mac-address", device.mac)]
    wired += [("mtu", device.mtu), ("wake-on-lan", _MAGIC if device.has_wakeonlan else None)]
    found: list[tuple[str, Rows]] = [("ethernet", wired)]
    if device.kind is Kind.BOND:
        given = dict(device.parameters)
        if "arp-interval" not in given:  # a connection with targets and no interval is refused whole
            given.pop("arp-ip-targets", None)
        found.append(("bond", [(_BOND[name], _value(one)) for name, one in given.items() if name in _BOND]))
    elif device.kind is Kind.BRIDGE:
        per_port = ("path-cost", "port-priority")
        found.append(("bridge", [(name, one) for name, one in device.parameters.items() if name not in per_port]))
    elif device.kind is Kind.VLAN:
        link = network.device(device.vlan_link or "")
        parent = _uuid(link) if link and link.match and not link.set_name else link.name if link else device.vlan_link
        found.append(("vlan", [("flags", 1), ("id", device.vlan_id), ("parent", parent)]))
    return found


def _value(value: Any) -> object:
    if isinstance(value, bool):
        return 1 if value else 0
    return ",".join(map(str, value)) if isinstance(value, list) else value


def _unsaid(device: Device) -> list[PrecastError]:
    """Servers and routes of a family that the device does not speak have no place in a connection."""
    found = []
    for is_ipv6 in (False, True):
        if not _speaks(device, is_ipv6):
            left = [nameserver for nameserver in device.nameservers if (":" in nameserver) == is_ipv6]
            left += [route.to for route in device.routes if route.is_ipv6 == is_ipv6]
            found += [issues.LEFT_OUT.error(what=one, device=device.id, renderer="network-manager") for one in left]
    return found


def _speaks(device: Device, is_ipv6: bool) -> bool:
    has_address = any((":" in address) == is_ipv6 for address in device.addresses)
    return has_address or (device.dhcp6 or bool(device.accept_ra) if is_ipv6 else device.dhcp4)


def _ipv4(device: Device) -> Rows:
    has_address = any(":" not in address for address in device.addresses)
    is_local = device.link_local is not None and "ipv4" in device.link_local
    method = "auto" if device.dhcp4 else "manual" if has_address else "link-local" if is_local else "disabled"
    return [("method", method), *_addressing(device, False), *(_dhcp(device.overrides4) if device.dhcp4 else [])]


def _ipv6(device: Device) -> Rows:
    has_address = any(":" in address for address in device.addresses)
    is_off = device.link_local is not None and "ipv6" not in device.link_local
    silent = "disabled" if is_off else "link-local" if device.accept_ra is False else "ignore"
    method = "auto" if device.dhcp6 or device.accept_ra else "manual" if has_address else silent
    rows: Rows = [("method", method), ("mtu", device.ipv6_mtu), *_addressing(device, True)]
    return rows + (_dhcp(device.overrides6) if device.dhcp6 else [])


def _addressing(device: Device, is_ipv6: bool) -> Rows:
    if not _speaks(device, is_ipv6):
        return []
    addresses = [address for address in device.addresses if (":" in address) == is_ipv6]
    rows: Rows = [(f"address{number}", one) for number, one in enumerate(addresses, 1)]
    ways = [route for route in device.routes if route.is_ipv6 == is_ipv6]
    for number, one in enumerate(ways, 1):
        rows += _route(number, one)
    rules = [rule for rule in device.rules if (":" in (rule.source or rule.to or "")) == is_ipv6]
    rows += [(f"routing-rule{number}", _rule(one, is_ipv6)) for number, one in enumerate(rules, 1)]
    servers = [nameserver for nameserver in device.nameservers if (":" in nameserver) == is_ipv6]
    rows.append(("dns", "".join(f"{server};" for server in servers) or None))
    rows.append(("dns-search", "".join(f"{domain};" for domain in device.search) or None))
    return rows


def _route(number: int, route: Route) -> Rows:
    parts = [route.to, route.via or ("::" if route.is_ipv6 else "0.0.0.0")]  # noqa: S104 - no gateway
    parts += [str(route.metric)] if route.metric is not None else []
    pairs = (("onlink", route.on_link or None), ("table", route.table), ("src", route.source), ("mtu", route.mtu))
    options = [f"{name}={str(value).lower()}" for name, value in (*pairs, ("type", route.kind)) if value is not None]
    return [(f"route{number}", ",".join(parts)), (f"route{number}_options", ",".join(options) or None)]


def _rule(rule: Rule, is_ipv6: bool) -> str:
    everything = "::/0" if is_ipv6 else "0.0.0.0/0"
    pairs = (
        ("priority", rule.priority if rule.priority is not None else 32765),
        ("from", rule.source or everything),
        ("to", rule.to),
        ("fwmark", rule.mark),
        ("tos", rule.tos),
        ("table", rule.table),
    )
    return " ".join(f"{word} {value}" for word, value in pairs if value is not None)


def _dhcp(given: Overrides) -> Rows:
    rows: Rows = [("route-metric", given.route_metric), ("dhcp-hostname", given.hostname)]
    rows.append(("dhcp-send-hostname", given.send_hostname))
    rows.append(("ignore-auto-dns", None if given.use_dns is None else not given.use_dns))
    rows.append(("ignore-auto-routes", None if given.use_routes is None else not given.use_routes))
    return rows
