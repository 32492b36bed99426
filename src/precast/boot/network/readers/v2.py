"""Reads network config version 2: netplan's own format, as cloud-init accepts it."""

import ipaddress
import re
from typing import Any

from precast.boot.network import issues
from precast.boot.network.model import Device, Kind, Match, Network, Overrides, Route, Rule, Start
from precast.boot.network.readers import parameters
from precast.boot.network.readers.fields import Field

_EVERY = frozenset(
    [
        "renderer",
        "dhcp4",
        "dhcp6",
        "dhcp4-overrides",
        "dhcp6-overrides",
        "addresses",
        "gateway4",
        "gateway6",
        "optional",
        "mtu",
        "ipv6-mtu",
        "nameservers",
        "routes",
        "routing-policy",
        "accept-ra",
        "link-local",
        "critical",
        "macaddress",
        "activation-mode",
    ]
)
# Settings that only netplan supports; they are passed through to it.
_FURTHER = frozenset(
    [
        "dhcp-identifier",
        "ipv6-privacy",
        "ipv6-address-generation",
        "ipv6-address-token",
        "ignore-carrier",
        "optional-addresses",
        "auth",
        "openvswitch",
        "neigh-suppress",
        "emit-lldp",
        "receive-checksum-offload",
        "transmit-checksum-offload",
        "tcp-segmentation-offload",
        "tcp6-segmentation-offload",
        "generic-segmentation-offload",
        "generic-receive-offload",
        "large-receive-offload",
        "virtual-function-count",
        "embedded-switch-mode",
        "delay-virtual-functions-rebind",
        "infiniband-mode",
        "networkmanager",
    ]
)
_OWN = {
    Kind.ETHERNET: frozenset({"match", "set-name", "wakeonlan"}),
    Kind.BOND: frozenset({"interfaces", "parameters"}),
    Kind.BRIDGE: frozenset({"interfaces", "parameters"}),
    Kind.VLAN: frozenset({"id", "link"}),
}
_NAME = re.compile(r"[^\s/:\x00-\x1f]{1,15}")
_LABEL = re.compile(r"[^\s/\x00-\x1f]{1,64}")
_SECTIONS = {kind.value: kind for kind in Kind}
_ONLY_NETPLAN = frozenset({"wifis", "modems", "tunnels", "vrfs", "dummy-devices", "nm-devices", "openvswitch"})
_OVERRIDES = frozenset(
    [
        "hostname",
        "route-metric",
        "send-hostname",
        "use-dns",
        "use-domains",
        "use-hostname",
        "use-mtu",
        "use-ntp",
        "use-routes",
    ]
)
_ROUTE = frozenset(["to", "via", "metric", "on-link", "table", "from", "type", "scope", "mtu"])
_RULE = frozenset(["from", "to", "table", "priority", "mark", "type-of-service"])


def read(top: Field) -> Network:
    """Read the network that a map with `version: 2` describes. Raises InputError BOOTNET-*."""
    devices: list[Device] = []
    sections: dict[str, Any] = {}
    for name, section in top.entries():
        if name in _SECTIONS:
            devices += [_read_device(device_id, field, _SECTIONS[name]) for device_id, field in section.entries()]
        elif name in _ONLY_NETPLAN and section.value:
            sections[name] = section.value
    top.check_keys({"version", "renderer", *_SECTIONS, *_ONLY_NETPLAN})
    network = Network(tuple(devices), sections, top.maybe("renderer", Field.text), tuple(top.warnings))
    _check_names(network, top)
    return network


def _check_names(network: Network, top: Field) -> None:
    """Check that bonds, bridges and VLANs refer to configured devices, or to devices of netplan's own sections."""
    elsewhere = {name for section in network.sections.values() if isinstance(section, dict) for name in section}
    known = {device.id for device in network.devices} | elsewhere
    for section, kind in _SECTIONS.items():
        given = top.get(section)
        for name, field in given.entries() if given else ():
            for item in [field.need("link")] if kind is Kind.VLAN else field.list_items("interfaces"):
                if item.text() not in known:
                    names = ", ".join(sorted(known - {name}))
                    raise item.error(issues.UNKNOWN_DEVICE, path=item.label, device=item.value, names=names)


def _read_device(name: str, field: Field, kind: Kind) -> Device:
    is_label = kind is Kind.ETHERNET and field.get("match") is not None  # the key is a label, not a device name
    if not (_LABEL if is_label else _NAME).fullmatch(name):
        field.value = name
        raise field.make_error("the name of a device", "use at most 15 characters, without blanks, slashes and colons")
    field.check_keys(_EVERY | _FURTHER | _OWN[kind])
    further = {key: value.value for key, value in field.entries() if key in _FURTHER}
    dns = field.get("nameservers")
    if dns is not None:
        dns.check_keys({"addresses", "search"})
    mode = field.maybe("activation-mode", lambda field: field.choice("manual", "off"))
    return Device(
        id=name,
        kind=kind,
        match=field.maybe("match", _read_match) if kind is Kind.ETHERNET else None,
        set_name=field.maybe("set-name", Field.device_name),
        mac=field.maybe("macaddress", Field.mac),
        mtu=field.maybe("mtu", Field.mtu),
        ipv6_mtu=field.maybe("ipv6-mtu", Field.mtu),
        dhcp4=field.read("dhcp4", Field.flag, False),
        dhcp6=field.read("dhcp6", Field.flag, False),
        overrides4=field.read("dhcp4-overrides", _read_overrides, Overrides()),
        overrides6=field.read("dhcp6-overrides", _read_overrides, Overrides()),
        accept_ra=field.maybe("accept-ra", Field.flag),
        addresses=tuple(_read_address(address) for address in field.list_items("addresses")),
        routes=_read_routes(field),
        rules=tuple(_read_rule(rule) for rule in field.list_items("routing-policy")),
        nameservers=dns.servers("addresses") if dns else (),
        search=dns.words("search") if dns else (),
        link_local=field.maybe(
            "link-local", lambda field: tuple(item.choice("ipv4", "ipv6") for item in field.items())
        ),
        is_optional=field.read("optional", Field.flag, False),
        is_critical=field.read("critical", Field.flag, False),
        has_wakeonlan=field.read("wakeonlan", Field.flag, False),
        start=Start.MANUAL if mode else Start.AUTO,
        interfaces=field.words("interfaces"),
        parameters=_read_parameters(field, kind),
        vlan_id=field.need("id").vlan() if kind is Kind.VLAN else None,
        vlan_link=field.need("link").text() if kind is Kind.VLAN else None,
        further=further,
    )


def _read_parameters(field: Field, kind: Kind) -> dict[str, Any]:
    given = field.get("parameters")
    if given is None or kind not in (Kind.BOND, Kind.BRIDGE):
        return {}
    return (
        parameters.read_bond(given) if kind is Kind.BOND else parameters.read_bridge(given, field.words("interfaces"))
    )


def _read_match(field: Field) -> Match:
    field.check_keys({"name", "macaddress", "driver"})
    return Match(field.maybe("name", Field.text), field.maybe("macaddress", Field.mac), field.words("driver"))


def _read_address(field: Field) -> str:
    """Read an address; netplan also allows a map from the address to a label and a lifetime."""
    if isinstance(field.value, dict):
        for text, _ in field.entries():
            field.value = text
            break
    return field.interface_address()


def _read_overrides(field: Field) -> Overrides:
    field.check_keys(_OVERRIDES)
    domains = field.get("use-domains")
    return Overrides(
        hostname=field.maybe("hostname", Field.text),
        route_metric=field.maybe("route-metric", Field.number),
        send_hostname=field.maybe("send-hostname", Field.flag),
        use_dns=field.maybe("use-dns", Field.flag),
        use_domains=None if domains is None else "route" if domains.value == "route" else domains.flag(),
        use_hostname=field.maybe("use-hostname", Field.flag),
        use_mtu=field.maybe("use-mtu", Field.flag),
        use_ntp=field.maybe("use-ntp", Field.flag),
        use_routes=field.maybe("use-routes", Field.flag),
    )


def _read_routes(field: Field) -> tuple[Route, ...]:
    gateways = [entry for name in ("gateway4", "gateway6") if (entry := field.get(name)) is not None]
    ways = [Route(default_route_for(gateway.ip()), gateway.ip()) for gateway in gateways]
    return (*ways, *(_read_route(route) for route in field.list_items("routes")))


def _read_route(field: Field) -> Route:
    field.check_keys(_ROUTE)
    via = field.maybe("via", Field.ip)
    to = field.need("to")
    return Route(
        default_route_for(via) if to.value == "default" else to.network(),
        via,
        field.maybe("metric", Field.number),
        field.read("on-link", Field.flag, False),
        field.maybe("table", Field.number),
        field.maybe("from", Field.ip),
        field.maybe("type", Field.text),
        field.maybe("scope", Field.text),
        field.maybe("mtu", Field.mtu),
    )


def _read_rule(field: Field) -> Rule:
    field.check_keys(_RULE)
    return Rule(
        field.maybe("from", Field.network),
        field.maybe("to", Field.network),
        field.maybe("table", Field.number),
        field.maybe("priority", Field.number),
        field.maybe("mark", Field.number),
        field.maybe("type-of-service", Field.number),
    )


def default_route_for(gateway: str | None) -> str:
    """Return the default route of the gateway's family; without a gateway that of IPv4."""
    return "::/0" if gateway is not None and ipaddress.ip_address(gateway).version == 6 else "0.0.0.0/0"
