"""Renders the model for ifupdown: stanzas of interfaces(5), one per address and per address method.

ifupdown identifies devices by name only, so the names are resolved first (`device_names.py`); a udev rule renames a device. Routes and
rules that interfaces(5) cannot express become commands that run when the device goes up or down.
"""

from typing import Any

from precast.boot.network.model import Device, Kind, Network, Route, Rule, Start
from precast.boot.network.renderers.networkd import list_unsupported
from precast.boot.network.renderers.rendering import HEADER, RenderedFile, Rendering

PATH = "etc/network/interfaces.d/50-precast"
RULES_PATH = "etc/udev/rules.d/70-precast-net.rules"
_BOND = {
    "mode": "mode",
    "lacp-rate": "lacp-rate",
    "mii-monitor-interval": "miimon",
    "min-links": "min-links",
    "transmit-hash-policy": "xmit-hash-policy",
    "ad-select": "ad-select",
    "all-slaves-active": "all-slaves-active",
    "arp-interval": "arp-interval",
    "arp-ip-targets": "arp-ip-target",
    "arp-validate": "arp-validate",
    "arp-all-targets": "arp-all-targets",
    "up-delay": "updelay",
    "down-delay": "downdelay",
    "fail-over-mac-policy": "fail-over-mac",
    "gratuitous-arp": "num-grat-arp",
    "packets-per-slave": "packets-per-slave",
    "primary-reselect-policy": "primary-reselect",
    "learn-packet-interval": "lp-interval",
    "resend-igmp": "resend-igmp",
    "primary": "primary",
}
_BRIDGE = {
    "ageing-time": "ageing",
    "priority": "bridgeprio",
    "forward-delay": "fd",
    "hello-time": "hello",
    "max-age": "maxage",
}
Stanza = tuple[str, list[str]]  # `inet dhcp`, and the lines below


def render(network: Network) -> Rendering:
    blocks = [_render_block(network, device) for device in network.devices]
    files = [RenderedFile(PATH, HEADER + "\n" + "\n".join(blocks))]
    rules = [
        _make_udev_rule(device) for device in network.devices if device.set_name and device.match and device.match.mac
    ]
    if rules:
        files.append(RenderedFile(RULES_PATH, HEADER + "".join(rules)))
    return Rendering(files, list_unsupported(network, "eni"))


def _make_udev_rule(device: Device) -> str:
    mac = device.match.mac if device.match else None
    return f'SUBSYSTEM=="net", ACTION=="add", DRIVERS=="?*", ATTR{{address}}=="{mac}", NAME="{device.set_name}"\n'


def _render_block(network: Network, device: Device) -> str:
    stanzas = _make_stanzas(device)
    stanzas[0][1][:0] = _make_device_lines(network, device)
    stanzas[-1][1].extend(_make_commands(device, stanzas))
    words = {Start.AUTO: f"auto {device.name}\n", Start.HOTPLUG: f"allow-hotplug {device.name}\n", Start.MANUAL: ""}
    parts = []
    for title, lines in stanzas:
        parts.append(f"iface {device.name} {title}\n" + "".join(f"    {line}\n" for line in lines))
    return words[device.start] + "\n".join(parts)


def _make_stanzas(device: Device) -> list[Stanza]:
    stanzas: list[Stanza] = []
    if device.dhcp4:
        metric = device.overrides4.route_metric
        lines = [f"metric {metric}"] if metric is not None else []
        stanzas.append(("inet dhcp", lines + ([f"hostname {name}"] if (name := device.overrides4.hostname) else [])))
    stanzas += [_make_static_stanza(device, address) for address in device.addresses if ":" not in address]
    if device.dhcp6:
        stanzas.append(("inet6 dhcp", _make_accept_ra_line(device, True)))
    elif device.accept_ra and not any(":" in address for address in device.addresses):
        stanzas.append(("inet6 auto", []))
    stanzas += [_make_static_stanza(device, address) for address in device.addresses if ":" in address]
    if not stanzas:
        stanzas.append(("inet manual", []))
    dns = [f"dns-nameservers {' '.join(device.nameservers)}"] if device.nameservers else []
    dns += [f"dns-search {' '.join(device.search)}"] if device.search else []
    stanzas[0][1].extend(dns)
    return stanzas


def _make_static_stanza(device: Device, address: str) -> Stanza:
    """Return the stanza of an address; the first of its family also has the gateway and accept_ra."""
    is_ipv6 = ":" in address
    lines = [f"address {address}"]
    if address == next(address for address in device.addresses if (":" in address) == is_ipv6):
        if (gateway_route := _find_gateway(device, is_ipv6)) is not None:
            lines.append(f"gateway {gateway_route.via}")
            lines += [f"metric {gateway_route.metric}"] if gateway_route.metric is not None else []
        lines += _make_accept_ra_line(device, None) if is_ipv6 else []
    return ("inet6 static" if is_ipv6 else "inet static"), lines


def _make_accept_ra_line(device: Device, usual: bool | None) -> list[str]:
    wanted = usual if device.accept_ra is None else device.accept_ra
    return [] if wanted is None else [f"accept_ra {1 if wanted else 0}"]


def _find_gateway(device: Device, is_ipv6: bool) -> Route | None:
    """Return the plain default route of a family, which a stanza can express itself."""
    plain = (route for route in device.routes if route.is_default and route.is_ipv6 == is_ipv6 and _is_plain(route))
    return next(plain, None)


def _is_plain(route: Route) -> bool:
    return route.via is not None and not (route.on_link or route.source or route.kind or route.table or route.mtu)


def _make_device_lines(network: Network, device: Device) -> list[str]:
    """Return the lines about the device itself: MAC address, MTU, and its parts or its master."""
    lines = [f"hwaddress {device.mac}"] if device.mac else []
    lines += [f"mtu {device.mtu}"] if device.mtu else []
    lines += ["ethernet-wol g"] if device.has_wakeonlan else []
    master = network.find_master(device)
    if master is not None and master.kind is Kind.BOND:
        lines.append(f"bond-master {master.name}")
    if device.kind is Kind.BOND:
        lines.append("bond-slaves none")  # each slave names its master, so that they can come up in any order
        lines += [
            f"bond-{_BOND[name]} {_format_value(value)}" for name, value in device.parameters.items() if name in _BOND
        ]
    if device.kind is Kind.BRIDGE:
        lines += _make_bridge_lines(network, device)
    if device.kind is Kind.VLAN:
        link = network.find_device(device.vlan_link or "")
        lines += [f"vlan-raw-device {link.name if link else device.vlan_link}", f"vlan_id {device.vlan_id}"]
    return lines


def _make_bridge_lines(network: Network, device: Device) -> list[str]:
    ports = [
        member.name if (member := network.find_device(interface)) else interface for interface in device.interfaces
    ]
    lines = [f"bridge_ports {' '.join(ports) or 'none'}"]
    for name, value in device.parameters.items():
        if name == "stp":
            lines.append(f"bridge_stp {'on' if value else 'off'}")
        elif name in ("path-cost", "port-priority"):
            word = "bridge_pathcost" if name == "path-cost" else "bridge_portprio"
            lines += [f"{word} {port} {number}" for port, number in value.items()]
        elif name in _BRIDGE:
            lines.append(f"bridge_{_BRIDGE[name]} {_format_value(value)}")
    return lines


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _make_commands(device: Device, stanzas: list[Stanza]) -> list[str]:
    """Return the routes and rules that no stanza expresses, as commands that run when the device goes up or down."""
    said = [
        _find_gateway(device, is_ipv6)
        for is_ipv6 in (False, True)
        if any(title == ("inet6 static" if is_ipv6 else "inet static") for title, _ in stanzas)
    ]
    words = [_format_route(route, device.name) for route in device.routes if route not in said]
    words += [_format_rule(rule) for rule in device.rules]
    lines = [
        line
        for family, thing, text in words
        for line in (
            f"up ip {family} {thing} add {text} || true",
            f"down ip {family} {thing} del {text} || true",
        )
    ]
    if device.accept_ra is False and not any(title.startswith("inet6") for title, _ in stanzas):
        lines.append(f"up echo 0 > /proc/sys/net/ipv6/conf/{device.name}/accept_ra || true")
    return lines


def _format_route(route: Route, name: str) -> tuple[str, str, str]:
    words = [route.kind or "", route.to, f"via {route.via}" if route.via else "", f"dev {name}"]
    words += ["onlink" if route.on_link else "", f"src {route.source}" if route.source else ""]
    pairs = (("metric", route.metric), ("table", route.table), ("scope", route.scope), ("mtu", route.mtu))
    words += [f"{word} {value}" for word, value in pairs if value is not None]
    return ("-6" if route.is_ipv6 else "-4"), "route", " ".join(filter(None, words))


def _format_rule(rule: Rule) -> tuple[str, str, str]:
    is_ipv6 = ":" in (rule.source or rule.to or "")
    pairs = (
        ("from", rule.source),
        ("to", rule.to),
        ("fwmark", rule.mark),
        ("tos", rule.tos),
        ("table", rule.table),
        ("priority", rule.priority),
    )
    return (
        ("-6" if is_ipv6 else "-4"),
        "rule",
        " ".join(f"{word} {value}" for word, value in pairs if value is not None),
    )
