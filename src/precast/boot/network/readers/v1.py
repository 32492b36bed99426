"""Reads network config version 1: a list of devices with their subnets, and of name servers and routes for all devices.

Where version 1 is ambiguous, this follows cloud-init: an address without a prefix is in a /24, or a /64; a subnet with an address and
without a type is static. A name server without an interface is added to every device that has an address and no name servers. A
top-level route belongs to the device that reaches its gateway.
"""

import ipaddress
from typing import Any

import msgspec

from precast.boot.network import issues
from precast.boot.network.model import Device, Kind, Match, Network, Overrides, Route, Start
from precast.boot.network.readers import parameters
from precast.boot.network.readers.fields import Field
from precast.boot.network.readers.v2 import default_route_for

_KINDS = {
    "physical": Kind.ETHERNET,
    "infiniband": Kind.ETHERNET,
    "bond": Kind.BOND,
    "bridge": Kind.BRIDGE,
    "vlan": Kind.VLAN,
}
_COMMON = frozenset({"type", "name", "mac_address", "mtu", "subnets", "accept-ra"})
_OWN = {
    "physical": frozenset({"keep_configuration", "wakeonlan"}),
    "infiniband": frozenset({"keep_configuration"}),
    "bond": frozenset({"bond_interfaces", "params"}),
    "bridge": frozenset({"bridge_interfaces", "params"}),
    "vlan": frozenset({"vlan_link", "vlan_id"}),
}
_SUBNET = frozenset(
    [
        "type",
        "control",
        "address",
        "netmask",
        "broadcast",
        "gateway",
        "dns_nameservers",
        "dns_search",
        "routes",
        "ipv4",
        "ipv6",
        "metric",
        "scope",
        "pointopoint",
    ]
)
_ROUTE = frozenset({"type", "network", "destination", "netmask", "gateway", "metric", "id"})
_DHCP4 = ("dhcp", "dhcp4")
_DHCP6 = ("dhcp6", "ipv6_dhcpv6-stateful")
_RA = ("ipv6_slaac", "ipv6_dhcpv6-stateless")
_TYPES = (*_DHCP4, *_DHCP6, *_RA, "static", "static6", "manual")
_PREFIX4, _PREFIX6 = 24, 64


def read(top: Field) -> Network:
    """Read the network that a map with `version: 1` describes. Raises InputError BOOTNET-*."""
    top.check_keys({"version", "config"})
    rows = top.need("config").items()
    devices: dict[str, Device] = {}
    servers: list[Field] = []
    routes: list[Field] = []
    for row in rows:
        word = row.need("type").choice(*_KINDS, "nameserver", "route", "loopback")
        if word == "nameserver":
            servers.append(row)
        elif word == "route":
            routes.append(row)
        elif word != "loopback":  # every machine has one without configuration
            device = _read_device(row, word)
            devices[device.id] = device
    for row in rows:
        _check_names(row, devices)
    _distribute_servers(servers, devices)
    for row in routes:
        _assign_route(row, devices)
    return Network(tuple(devices.values()), warnings=tuple(top.warnings))


def _read_device(row: Field, word: str) -> Device:
    row.check_keys(_COMMON | _OWN[word])
    kind = _KINDS[word]
    name = row.need("name").device_name()
    mac = row.maybe("mac_address", Field.mac)
    is_real = kind is Kind.ETHERNET
    given = row.get("params")
    device = Device(
        id=name,
        kind=kind,
        match=Match(mac=mac) if is_real and mac else None,
        set_name=name if is_real and mac else None,
        mac=None if is_real else mac,
        mtu=row.maybe("mtu", Field.mtu),
        accept_ra=row.maybe("accept-ra", Field.flag),
        is_critical=row.read("keep_configuration", Field.flag, False),
        has_wakeonlan=row.read("wakeonlan", Field.flag, False),
        interfaces=row.words(f"{word}_interfaces"),
        parameters=_read_parameters(given, kind),
        vlan_id=row.need("vlan_id").vlan() if kind is Kind.VLAN else None,
        vlan_link=row.need("vlan_link").text() if kind is Kind.VLAN else None,
    )
    for subnet in row.list_items("subnets"):
        device = _add_subnet(device, subnet)
    return device


def _read_parameters(given: Field | None, kind: Kind) -> dict[str, Any]:
    if given is None:
        return {}
    return parameters.read_bond(given) if kind is Kind.BOND else parameters.read_bridge(given)


def _add_subnet(device: Device, subnet: Field) -> Device:
    """Return the device with the settings of one of its subnets added."""
    subnet.check_keys(_SUBNET)
    word = subnet.read("type", lambda field: field.choice(*_TYPES), "static" if subnet.get("address") else "manual")
    metric = subnet.maybe("metric", Field.number)
    changed: dict[str, Any] = {
        "nameservers": _join(device.nameservers, subnet.servers("dns_nameservers")),
        "search": _join(device.search, subnet.words("dns_search")),
    }
    ways = [_read_route(route) for route in subnet.list_items("routes")]
    if word in _DHCP4:
        changed |= {"dhcp4": True, "overrides4": Overrides(route_metric=metric)}
    elif word in _DHCP6:
        changed |= {"dhcp6": True, "overrides6": Overrides(route_metric=metric)}
    elif word in _RA:
        changed["accept_ra"] = True
    elif word != "manual":
        changed["addresses"] = _join(device.addresses, (_read_cidr(subnet.need("address"), subnet),))
        if gateway := subnet.maybe("gateway", Field.ip):
            ways.insert(0, Route(default_route_for(gateway), gateway, metric))
    changed["routes"] = (*device.routes, *(way for way in ways if way not in device.routes))
    if control := subnet.maybe("control", lambda field: field.choice("auto", "manual", "hotplug")):
        changed["start"] = Start(control)
    return msgspec.structs.replace(device, **changed)


def _join(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*old, *new)))


def _read_cidr(address: Field, beside: Field, is_network: bool = False) -> str:
    """Return an address with its own prefix, or that of `netmask` (a mask or a length), or the default."""
    text = address.text()
    netmask = beside.get("netmask")
    if "/" not in text:
        bits = _read_prefix(netmask) if netmask is not None else _PREFIX6 if ":" in text else _PREFIX4
        address.value = f"{address.ip()}/{bits}"
    return address.network() if is_network else address.interface_address()


def _read_prefix(field: Field) -> int:
    text = field.text().removeprefix("/")
    if text.isascii() and text.isdigit():
        return field.number(0, 128)
    try:
        value = ipaddress.ip_address(text)
        bits = int(value).bit_count()
        width = value.max_prefixlen
        if int(value) != ((1 << bits) - 1) << (width - bits):
            raise ValueError
    except ValueError:
        raise field.make_error(
            "a netmask", "write 255.255.255.0, ffff:ffff:ffff:ffff::, or the number of bits"
        ) from None
    return bits


def _read_route(row: Field) -> Route:
    row.check_keys(_ROUTE)
    gateway = row.maybe("gateway", Field.ip)
    where = row.get("network") or row.need("destination")
    to = default_route_for(gateway) if _is_everything(where, row) else _read_cidr(where, row, is_network=True)
    return Route(to, gateway, row.maybe("metric", Field.number))


def _is_everything(field: Field, beside: Field) -> bool:
    """Whether a destination means every address, as 0.0.0.0 and :: without a prefix do."""
    text = field.text()
    if text == "default" or "/" in text or beside.get("netmask") is not None:
        return text == "default"
    return int(ipaddress.ip_address(field.ip())) == 0


def _check_names(row: Field, devices: dict[str, Device]) -> None:
    """Check that bonds, bridges and VLANs refer to configured devices."""
    asked = [item for name in ("bond_interfaces", "bridge_interfaces") for item in row.list_items(name)]
    asked += [entry for name in ("vlan_link", "interface") if (entry := row.get(name)) is not None]
    for field in asked:
        if field.text() not in devices:
            raise field.error(
                issues.UNKNOWN_DEVICE, path=field.label, device=field.value, names=", ".join(sorted(devices)) or "none"
            )


def _distribute_servers(rows: list[Field], devices: dict[str, Device]) -> None:
    """Add servers and search domains to the device they name, or else to every device with an address and without own ones."""
    for row in rows:
        row.check_keys({"type", "address", "search", "interface"})
    named = [row for row in rows if row.get("interface") is not None]
    for row in named:
        _add_servers(row, devices, row.need("interface").text(), is_server=True, is_search=True)
    unserved = [device.id for device in devices.values() if device.has_ip and not device.nameservers]
    unsearched = [device.id for device in devices.values() if device.has_ip and not device.search]
    for row in (row for row in rows if row not in named):
        for name in devices:
            _add_servers(row, devices, name, is_server=name in unserved, is_search=name in unsearched)


def _add_servers(row: Field, devices: dict[str, Device], name: str, is_server: bool, is_search: bool) -> None:
    device = devices[name]
    servers, search = row.need("address").ips(), row.words("search")
    devices[name] = msgspec.structs.replace(
        device,
        nameservers=_join(device.nameservers, servers if is_server else ()),
        search=_join(device.search, search if is_search else ()),
    )


def _assign_route(row: Field, devices: dict[str, Device]) -> None:
    route = _read_route(row)
    gateway = row.need("gateway").ip()
    reaching = [device for device in devices.values() if any(_is_in(gateway, address) for address in device.addresses)]
    if not reaching:
        reaching = [device for device in devices.values() if device.addresses] or list(devices.values())
        if not reaching:
            raise row.error(issues.UNKNOWN_DEVICE, path=row.label, device=f"of {gateway}", names="none")
        device_id = reaching[0].id
        row.warnings.append(row.error(issues.NOT_REACHED, path=row.label, gateway=gateway, device=device_id))
        route = msgspec.structs.replace(route, on_link=True)
    device = reaching[0]
    devices[device.id] = msgspec.structs.replace(device, routes=(*device.routes, route))


def _is_in(gateway: str, address: str) -> bool:
    return ipaddress.ip_address(gateway) in ipaddress.ip_interface(address).network
