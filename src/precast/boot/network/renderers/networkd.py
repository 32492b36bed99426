"""Writes the model for systemd-networkd: a .network for every device, a .netdev for one to be made, a .link for one to be renamed.

Files come before those of a distribution (10-), so that ours win. None has a secret in it: networkd reads them as a user of its own.
"""

from typing import Any

from precast.base.errors import PrecastError
from precast.boot.network import issues
from precast.boot.network.model import Device, Kind, Network, Overrides, Route, Rule, Start
from precast.boot.network.renderers.rendering import RenderedFile, Rendering, file_name, format_sections

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
# DHCPv6 brings neither routes nor an MTU, so it has no word for them.
_ONLY_4 = {"route_metric", "hostname", "use_mtu", "use_routes"}


def render(network: Network) -> Rendering:
    files: list[RenderedFile] = []
    for device in network.devices:
        place = _PLACE + file_name(device)
        if device.kind is not Kind.ETHERNET:
            files.append(RenderedFile(f"{place}.netdev", _netdev(device)))
        if (link := link_file(device)) is not None:
            files.append(link)
        files.append(RenderedFile(f"{place}.network", _network(network, device)))
    return Rendering(files, only_netplan(network, "networkd"))


def only_netplan(network: Network, renderer: str) -> list[PrecastError]:
    """What a network has that no renderer but netplan's can say."""
    left = [*network.sections, *(f"{device.id}.{name}" for device in network.devices for name in device.further)]
    return [issues.ONLY_NETPLAN.error(what=what, renderer=renderer) for what in left]


def link_file(device: Device) -> RenderedFile | None:
    """What udev does when the device appears: its name, its address, waking. NetworkManager and ENI leave this to udev too."""
    if device.kind is not Kind.ETHERNET or not (device.set_name or device.has_wakeonlan):
        return None
    rows: Rows = [("Name", device.set_name), ("MACAddressPolicy", "none" if device.mac else None)]
    rows += [("MACAddress", device.mac), ("WakeOnLan", "magic" if device.has_wakeonlan else None)]
    rows.append(("MTUBytes", device.mtu))
    # A match by name means the one that the kernel gave, before any renaming.
    text = format_sections([("Match", _match(device, "OriginalName")), ("Link", rows)])
    return RenderedFile(f"{_PLACE}{file_name(device)}.link", text)


def _match(device: Device, by_name: str = "Name") -> Rows:
    match = device.match
    if match is None:
        return [(by_name, device.id)]
    name = match.name
    if by_name == "Name" and device.set_name is not None:
        name = device.set_name if match.mac is None else None
    rows: Rows = [("PermanentMACAddress", match.mac), (by_name, name), ("Driver", " ".join(match.drivers) or None)]
    return rows if any(value for _, value in rows) else [(by_name, device.id)]


def _netdev(device: Device) -> str:
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
        given = [(words[name], _parameter(name, value)) for name, value in device.parameters.items() if name in words]
        parts.append((title, sorted(given)))
    return format_sections(parts)


def _parameter(name: str, value: Any) -> object:
    if name in _IN_MS and isinstance(value, int):
        return f"{value}ms"
    return " ".join(map(str, value)) if isinstance(value, list) else value


def _network(network: Network, device: Device) -> str:
    master = network.master_of(device)
    match: Rows = _match(device) if device.kind is Kind.ETHERNET else [("Name", device.id)]
    parts = [("Match", match), ("Link", _link(device)), ("Network", _plain(network, device, master))]
    if master is not None and master.kind is Kind.BRIDGE:
        cost, priority = (master.parameters.get(word, {}) for word in ("path-cost", "port-priority"))
        port: Rows = [("Cost", _of_port(cost, device)), ("Priority", _of_port(priority, device))]
        parts.append(("Bridge", port))
    parts += _dhcp(device)
    parts += [("Route", _route(route)) for route in device.routes]
    parts += [("RoutingPolicyRule", _rule(rule)) for rule in device.rules]
    return format_sections(parts)


def _of_port(given: Any, device: Device) -> object:
    return given.get(device.id, given.get(device.name))


def _link(device: Device) -> Rows:
    rows: Rows = [("MTUBytes", device.mtu)]
    if device.kind is Kind.ETHERNET and device.set_name is None:
        rows.append(("MACAddress", device.mac))
    if device.is_optional or device.start is Start.HOTPLUG:
        rows.append(("RequiredForOnline", "no"))
    if device.start is Start.MANUAL:
        rows += [("RequiredForOnline", "no"), ("ActivationPolicy", "manual")]
    return rows


def _plain(network: Network, device: Device, master: Device | None) -> Rows:
    modes = {(True, True): "yes", (True, False): "ipv4", (False, True): "ipv6", (False, False): "no"}
    rows: Rows = [("DHCP", modes[device.dhcp4, device.dhcp6])] if master is None else []
    if master is not None:
        rows.append(("Bond" if master.kind is Kind.BOND else "Bridge", master.id))
        if master.parameters.get("primary") in (device.id, device.name):
            rows.append(("PrimarySlave", True))
    rows += [("VLAN", one.id) for one in network.vlans_on(device)]
    if device.link_local is not None:
        both = {0: "no", 2: "yes"}
        rows.append(("LinkLocalAddressing", both.get(len(set(device.link_local)), "".join(device.link_local[:1]))))
    elif master is not None and not device.has_ip:
        rows.append(("LinkLocalAddressing", "no"))
    rows += [("IPv6AcceptRA", device.accept_ra), ("IPv6MTUBytes", device.ipv6_mtu)]
    rows.append(("KeepConfiguration", True if device.is_critical else None))
    if device.kind is not Kind.ETHERNET:  # it has none before its parts have, and is addressed all the same
        rows.append(("ConfigureWithoutCarrier", True))
    rows += [("Address", address) for address in device.addresses]
    rows += [("DNS", nameserver) for nameserver in device.nameservers]
    rows.append(("Domains", " ".join(device.search) or None))
    return rows


def _dhcp(device: Device) -> list[tuple[str, Rows]]:
    found: list[tuple[str, Rows]] = []
    if device.dhcp4:
        found.append(("DHCPv4", _overridden(device.overrides4)))
    if device.dhcp6:
        rows = [(key, value) for key, value in _overridden(device.overrides6, _ONLY_4)]
        found.append(("DHCPv6", rows))
        metric = device.overrides6.route_metric
        if metric is not None:  # the routes of IPv6 come from router advertisements
            found.append(("IPv6AcceptRA", [("RouteMetric", metric)]))
    return found


def _overridden(given: Overrides, without: set[str] | None = None) -> Rows:
    return [(word, getattr(given, name)) for name, word in _OVERRIDES.items() if name not in (without or ())]


def _route(route: Route) -> Rows:
    rows: Rows = [("Destination", route.to), ("Gateway", route.via), ("GatewayOnLink", route.on_link or None)]
    rows += [("Metric", route.metric), ("Table", route.table), ("PreferredSource", route.source)]
    return [*rows, ("Type", route.kind), ("Scope", route.scope), ("MTUBytes", route.mtu)]


def _rule(rule: Rule) -> Rows:
    rows: Rows = [("From", rule.source), ("To", rule.to), ("Table", rule.table), ("Priority", rule.priority)]
    return [*rows, ("FirewallMark", rule.mark), ("TypeOfService", rule.tos)]
