"""Renders the model for systemd-networkd: a .network per device, a .netdev for one to be created, a .link for one to be renamed.

Our files sort before those of the distribution (10-), so they win. None contains a secret: networkd reads them as its own user.
"""

from typing import Any

from precast.base.errors import PrecastError
from precast.boot.network import issues
from precast.boot.network.model import Device, Kind, Network, Overrides, Route, Rule, Start
from precast.boot.network.renderers.rendering import RenderedFile, Rendering, format_sections, make_file_name

Rows = list[tuple[str, object]]
_PLACE = "etc/systemd/network/10-precast-"
_KINDS = {Kind.BOND: "bond", Kind.BRIDGE: "bridge", Kind.VLAN: "vlan"}
_BOND = {
    "mode": "Mode",
    "lacp-rate": "LACPTransmitRate",
    "mii-monitor-interval": "MIIMonitorSec",
    "min-links": "MinLinks",
    "transmit-hash-policy": "TransmitHashPolicy",
    "ad-select": "AdSelect",
    "all-slaves-active": "AllSlavesActive",
    "arp-interval": "ARPIntervalSec",
    "arp-ip-targets": "ARPIPTargets",
    "arp-validate": "ARPValidate",
    "arp-all-targets": "ARPAllTargets",
    "up-delay": "UpDelaySec",
    "down-delay": "DownDelaySec",
    "fail-over-mac-policy": "FailOverMACPolicy",
    "gratuitous-arp": "GratuitousARP",
    "packets-per-slave": "PacketsPerSlave",
    "primary-reselect-policy": "PrimaryReselectPolicy",
    "resend-igmp": "ResendIGMP",
    "learn-packet-interval": "LearnPacketIntervalSec",
}
_IN_MS = {"mii-monitor-interval", "arp-interval", "up-delay", "down-delay"}
_BRIDGE = {
    "ageing-time": "AgeingTimeSec",
    "priority": "Priority",
    "forward-delay": "ForwardDelaySec",
    "hello-time": "HelloTimeSec",
    "max-age": "MaxAgeSec",
    "stp": "STP",
}
_OVERRIDES = {
    "route_metric": "RouteMetric",
    "hostname": "Hostname",
    "send_hostname": "SendHostname",
    "use_dns": "UseDNS",
    "use_domains": "UseDomains",
    "use_hostname": "UseHostname",
    "use_mtu": "UseMTU",
    "use_ntp": "UseNTP",
    "use_routes": "UseRoutes",
}
# DHCPv6 provides neither routes nor an MTU, so networkd has no such settings for it.
_ONLY_4 = {"route_metric", "hostname", "use_mtu", "use_routes"}


def render(network: Network) -> Rendering:
    files: list[RenderedFile] = []
    for device in network.devices:
        place = _PLACE + make_file_name(device)
        if device.kind is not Kind.ETHERNET:
            files.append(RenderedFile(f"{place}.netdev", _render_netdev(device)))
        if (link := make_link_file(device)) is not None:
            files.append(link)
        files.append(RenderedFile(f"{place}.network", _render_network(network, device)))
    return Rendering(files, list_unsupported(network, "networkd"))


def list_unsupported(network: Network, renderer: str) -> list[PrecastError]:
    """Return warnings about the settings that only netplan supports."""
    left = [*network.sections, *(f"{device.id}.{name}" for device in network.devices for name in device.further)]
    return [issues.ONLY_NETPLAN.error(what=what, renderer=renderer) for what in left]


def make_link_file(device: Device) -> RenderedFile | None:
    """Return the .link file for udev: the device's name, MAC address and wake-on-LAN. NetworkManager and ENI leave these to udev too."""
    if device.kind is not Kind.ETHERNET or not (device.set_name or device.has_wakeonlan):
        return None
    rows: Rows = [("Name", device.set_name), ("MACAddressPolicy", "none" if device.mac else None)]
    rows += [("MACAddress", device.mac), ("WakeOnLan", "magic" if device.has_wakeonlan else None)]
    rows.append(("MTUBytes", device.mtu))
    # A match by name refers to the kernel's name, before any rename.
    text = format_sections([("Match", _make_match_rows(device, "OriginalName")), ("Link", rows)])
    return RenderedFile(f"{_PLACE}{make_file_name(device)}.link", text)


def _make_match_rows(device: Device, by_name: str = "Name") -> Rows:
    match = device.match
    if match is None:
        return [(by_name, device.id)]
    name = match.name
    if by_name == "Name" and device.set_name is not None:
        name = device.set_name if match.mac is None else None
    rows: Rows = [("PermanentMACAddress", match.mac), (by_name, name), ("Driver", " ".join(match.drivers) or None)]
    return rows if any(value for _, value in rows) else [(by_name, device.id)]


def _render_netdev(device: Device) -> str:
    rows: Rows = [
        ("Name", device.id),
        ("Kind", _KINDS[device.kind]),
        ("MACAddress", device.mac),
        ("MTUBytes", device.mtu),
    ]
    known = {Kind.BOND: ("Bond", _BOND), Kind.BRIDGE: ("Bridge", _BRIDGE)}
    parts: list[tuple[str, Rows]] = [("NetDev", rows)]
    if device.kind is Kind.VLAN:
        parts.append(("VLAN", [("Id", device.vlan_id)]))
    else:
        title, words = known[device.kind]
        given = [
            (words[name], _format_parameter(name, value)) for name, value in device.parameters.items() if name in words
        ]
        parts.append((title, sorted(given)))
    return format_sections(parts)


def _format_parameter(name: str, value: Any) -> object:
    if name in _IN_MS and isinstance(value, int):
        return f"{value}ms"
    return " ".join(map(str, value)) if isinstance(value, list) else value


def _render_network(network: Network, device: Device) -> str:
    master = network.find_master(device)
    match: Rows = _make_match_rows(device) if device.kind is Kind.ETHERNET else [("Name", device.id)]
    parts = [
        ("Match", match),
        ("Link", _make_link_rows(device)),
        ("Network", _make_network_rows(network, device, master)),
    ]
    if master is not None and master.kind is Kind.BRIDGE:
        cost, priority = (master.parameters.get(word, {}) for word in ("path-cost", "port-priority"))
        port: Rows = [("Cost", _get_port_value(cost, device)), ("Priority", _get_port_value(priority, device))]
        parts.append(("Bridge", port))
    parts += _make_dhcp_sections(device)
    parts += [("Route", _make_route_rows(route)) for route in device.routes]
    parts += [("RoutingPolicyRule", _make_rule_rows(rule)) for rule in device.rules]
    return format_sections(parts)


def _get_port_value(given: Any, device: Device) -> object:
    return given.get(device.id, given.get(device.name))


def _make_link_rows(device: Device) -> Rows:
    rows: Rows = [("MTUBytes", device.mtu)]
    if device.kind is Kind.ETHERNET and device.set_name is None:
        rows.append(("MACAddress", device.mac))
    if device.is_optional or device.start is Start.HOTPLUG:
        rows.append(("RequiredForOnline", "no"))
    if device.start is Start.MANUAL:
        rows += [("RequiredForOnline", "no"), ("ActivationPolicy", "manual")]
    return rows


def _make_network_rows(network: Network, device: Device, master: Device | None) -> Rows:
    modes = {(True, True): "yes", (True, False): "ipv4", (False, True): "ipv6", (False, False): "no"}
    rows: Rows = [("DHCP", modes[device.dhcp4, device.dhcp6])] if master is None else []
    if master is not None:
        rows.append(("Bond" if master.kind is Kind.BOND else "Bridge", master.id))
        if master.parameters.get("primary") in (device.id, device.name):
            rows.append(("PrimarySlave", True))
    rows += [("VLAN", vlan.id) for vlan in network.list_vlans_on(device)]
    if device.link_local is not None:
        both = {0: "no", 2: "yes"}
        rows.append(("LinkLocalAddressing", both.get(len(set(device.link_local)), "".join(device.link_local[:1]))))
    elif master is not None and not device.has_ip:
        rows.append(("LinkLocalAddressing", "no"))
    rows += [("IPv6AcceptRA", device.accept_ra), ("IPv6MTUBytes", device.ipv6_mtu)]
    rows.append(("KeepConfiguration", True if device.is_critical else None))
    if device.kind is not Kind.ETHERNET:  # it has no carrier before its parts have one, but it must get its addresses
        rows.append(("ConfigureWithoutCarrier", True))
    rows += [("Address", address) for address in device.addresses]
    rows += [("DNS", nameserver) for nameserver in device.nameservers]
    rows.append(("Domains", " ".join(device.search) or None))
    return rows


def _make_dhcp_sections(device: Device) -> list[tuple[str, Rows]]:
    sections: list[tuple[str, Rows]] = []
    if device.dhcp4:
        sections.append(("DHCPv4", _make_override_rows(device.overrides4)))
    if device.dhcp6:
        rows = [(key, value) for key, value in _make_override_rows(device.overrides6, _ONLY_4)]
        sections.append(("DHCPv6", rows))
        metric = device.overrides6.route_metric
        if metric is not None:  # IPv6 routes come from router advertisements
            sections.append(("IPv6AcceptRA", [("RouteMetric", metric)]))
    return sections


def _make_override_rows(given: Overrides, without: set[str] | None = None) -> Rows:
    return [(word, getattr(given, name)) for name, word in _OVERRIDES.items() if name not in (without or ())]


def _make_route_rows(route: Route) -> Rows:
    rows: Rows = [("Destination", route.to), ("Gateway", route.via), ("GatewayOnLink", route.on_link or None)]
    rows += [("Metric", route.metric), ("Table", route.table), ("PreferredSource", route.source)]
    return [*rows, ("Type", route.kind), ("Scope", route.scope), ("MTUBytes", route.mtu)]


def _make_rule_rows(rule: Rule) -> Rows:
    rows: Rows = [("From", rule.source), ("To", rule.to), ("Table", rule.table), ("Priority", rule.priority)]
    return [*rows, ("FirewallMark", rule.mark), ("TypeOfService", rule.tos)]
