"""Renders the model for NetworkManager: one connection per device, readable by root only, as NetworkManager requires.

A connection's uuid is derived from the device's id, so it is the same in every boot. Without IPv6 settings, IPv6 is left to the kernel,
as networkd does.
"""

import uuid
from typing import Any

from precast.base.errors import PrecastError
from precast.boot.network import issues
from precast.boot.network.model import Device, Kind, Network, Overrides, Route, Rule, Start
from precast.boot.network.renderers.networkd import list_unsupported, make_link_file
from precast.boot.network.renderers.rendering import PRIVATE, RenderedFile, Rendering, format_sections, make_file_name

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
        RenderedFile(f"{_PLACE}{make_file_name(device)}.nmconnection", _render_connection(network, device), PRIVATE)
        for device in network.devices
    ]
    files += [link for device in network.devices if (link := make_link_file(device)) is not None]
    left = [
        error
        for device in network.devices
        if network.find_master(device) is None
        for error in _list_unsupported(device)
    ]
    return Rendering(files, list_unsupported(network, "network-manager") + left)


def _make_uuid(device: Device) -> str:
    return str(uuid.uuid5(_SPACE, f"{device.kind.value}/{device.id}"))


def _render_connection(network: Network, device: Device) -> str:
    master = network.find_master(device)
    parts = [
        ("connection", _make_connection_rows(device, master)),
        *_make_match_section(device),
        *_make_kind_sections(network, device),
    ]
    if master is not None and master.kind is Kind.BRIDGE:
        cost, priority = (master.parameters.get(word, {}) for word in ("path-cost", "port-priority"))
        parts.append(
            (
                "bridge-port",
                [("path-cost", _get_port_value(cost, device)), ("priority", _get_port_value(priority, device))],
            )
        )
    if master is None:
        parts += [("ipv4", _make_ipv4_rows(device)), ("ipv6", _make_ipv6_rows(device))]
    return format_sections(parts)


def _get_port_value(given: Any, device: Device) -> object:
    return given.get(device.id, given.get(device.name))


def _make_connection_rows(device: Device, master: Device | None) -> Rows:
    is_by_match = device.match is not None and device.set_name is None
    rows: Rows = [("id", f"precast {device.id}"), ("uuid", _make_uuid(device)), ("type", _TYPES[device.kind])]
    rows.append(("interface-name", None if is_by_match else device.name))
    rows.append(("autoconnect", False if device.start is Start.MANUAL else None))
    if master is not None:
        rows += [("master", _make_uuid(master)), ("slave-type", _TYPES[master.kind])]
    return rows


def _make_match_section(device: Device) -> list[tuple[str, Rows]]:
    match = device.match
    if match is None or device.set_name is not None:
        return []
    rows: Rows = [("interface-name", f"{match.name};" if match.name else None)]
    rows.append(("driver", "".join(f"{driver};" for driver in match.drivers) or None))
    return [("match", rows)]


def _make_kind_sections(network: Network, device: Device) -> list[tuple[str, Rows]]:
    wired: Rows = [("mac-address", device.match.mac if device.match else None), ("cloned-mac-address", device.mac)]
    wired += [("mtu", device.mtu), ("wake-on-lan", _MAGIC if device.has_wakeonlan else None)]
    sections: list[tuple[str, Rows]] = [("ethernet", wired)]
    if device.kind is Kind.BOND:
        given = dict(device.parameters)
        if "arp-interval" not in given:  # NetworkManager refuses a connection with targets and no interval
            given.pop("arp-ip-targets", None)
        sections.append(
            ("bond", [(_BOND[name], _format_parameter(value)) for name, value in given.items() if name in _BOND])
        )
    elif device.kind is Kind.BRIDGE:
        per_port = ("path-cost", "port-priority")
        sections.append(
            ("bridge", [(name, value) for name, value in device.parameters.items() if name not in per_port])
        )
    elif device.kind is Kind.VLAN:
        link = network.find_device(device.vlan_link or "")
        parent = (
            _make_uuid(link) if link and link.match and not link.set_name else link.name if link else device.vlan_link
        )
        sections.append(("vlan", [("flags", 1), ("id", device.vlan_id), ("parent", parent)]))
    return sections


def _format_parameter(value: Any) -> object:
    if isinstance(value, bool):
        return 1 if value else 0
    return ",".join(map(str, value)) if isinstance(value, list) else value


def _list_unsupported(device: Device) -> list[PrecastError]:
    """Return warnings about servers and routes of an address family that the device does not use."""
    errors = []
    for is_ipv6 in (False, True):
        if not _has_family(device, is_ipv6):
            left = [nameserver for nameserver in device.nameservers if (":" in nameserver) == is_ipv6]
            left += [route.to for route in device.routes if route.is_ipv6 == is_ipv6]
            errors += [issues.LEFT_OUT.error(what=text, device=device.id, renderer="network-manager") for text in left]
    return errors


def _has_family(device: Device, is_ipv6: bool) -> bool:
    has_address = any((":" in address) == is_ipv6 for address in device.addresses)
    return has_address or (device.dhcp6 or bool(device.accept_ra) if is_ipv6 else device.dhcp4)


def _make_ipv4_rows(device: Device) -> Rows:
    has_address = any(":" not in address for address in device.addresses)
    is_local = device.link_local is not None and "ipv4" in device.link_local
    method = "auto" if device.dhcp4 else "manual" if has_address else "link-local" if is_local else "disabled"
    return [
        ("method", method),
        *_make_address_rows(device, False),
        *(_make_dhcp_rows(device.overrides4) if device.dhcp4 else []),
    ]


def _make_ipv6_rows(device: Device) -> Rows:
    has_address = any(":" in address for address in device.addresses)
    is_off = device.link_local is not None and "ipv6" not in device.link_local
    silent = "disabled" if is_off else "link-local" if device.accept_ra is False else "ignore"
    method = "auto" if device.dhcp6 or device.accept_ra else "manual" if has_address else silent
    rows: Rows = [("method", method), ("mtu", device.ipv6_mtu), *_make_address_rows(device, True)]
    return rows + (_make_dhcp_rows(device.overrides6) if device.dhcp6 else [])


def _make_address_rows(device: Device, is_ipv6: bool) -> Rows:
    if not _has_family(device, is_ipv6):
        return []
    addresses = [address for address in device.addresses if (":" in address) == is_ipv6]
    rows: Rows = [(f"address{number}", address) for number, address in enumerate(addresses, 1)]
    routes = [route for route in device.routes if route.is_ipv6 == is_ipv6]
    for number, route in enumerate(routes, 1):
        rows += _make_route_rows(number, route)
    rules = [rule for rule in device.rules if (":" in (rule.source or rule.to or "")) == is_ipv6]
    rows += [(f"routing-rule{number}", _format_rule(rule, is_ipv6)) for number, rule in enumerate(rules, 1)]
    servers = [nameserver for nameserver in device.nameservers if (":" in nameserver) == is_ipv6]
    rows.append(("dns", "".join(f"{server};" for server in servers) or None))
    rows.append(("dns-search", "".join(f"{domain};" for domain in device.search) or None))
    return rows


def _make_route_rows(number: int, route: Route) -> Rows:
    parts = [route.to, route.via or ("::" if route.is_ipv6 else "0.0.0.0")]  # noqa: S104 - no gateway
    parts += [str(route.metric)] if route.metric is not None else []
    pairs = (("onlink", route.on_link or None), ("table", route.table), ("src", route.source), ("mtu", route.mtu))
    options = [f"{name}={str(value).lower()}" for name, value in (*pairs, ("type", route.kind)) if value is not None]
    return [(f"route{number}", ",".join(parts)), (f"route{number}_options", ",".join(options) or None)]


def _format_rule(rule: Rule, is_ipv6: bool) -> str:
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


def _make_dhcp_rows(given: Overrides) -> Rows:
    rows: Rows = [("route-metric", given.route_metric), ("dhcp-hostname", given.hostname)]
    rows.append(("dhcp-send-hostname", given.send_hostname))
    rows.append(("ignore-auto-dns", None if given.use_dns is None else not given.use_dns))
    rows.append(("ignore-auto-routes", None if given.use_routes is None else not given.use_routes))
    return rows
