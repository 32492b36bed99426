"""Renders the model for netplan: one YAML file, readable by root only, since wifi and tunnel settings contain secrets."""

from typing import Any

import msgspec
import yaml  # type: ignore[import-untyped]

from precast.base.errors import PrecastError
from precast.boot.network import issues
from precast.boot.network.model import Device, Kind, Network, Overrides, Route, Rule, Start
from precast.boot.network.renderers.rendering import HEADER, PRIVATE, RenderedFile, Rendering

PATH = "etc/netplan/50-precast.yaml"


def render(network: Network) -> Rendering:
    document: dict[str, Any] = {"version": 2}
    warnings: list[PrecastError] = []
    if network.renderer is not None:
        document["renderer"] = network.renderer
    for device in network.devices:
        document.setdefault(device.kind.value, {})[device.id] = _make_device(_unify_overrides(device, warnings))
    document |= network.sections
    text = yaml.safe_dump({"network": document}, default_flow_style=False, sort_keys=False, allow_unicode=True)
    return Rendering([RenderedFile(PATH, HEADER + text, PRIVATE)], warnings)


def _unify_overrides(device: Device, warnings: list[PrecastError]) -> Device:
    """Return the device with equal overrides for both families: netplan refuses a file in which they differ."""
    if not (device.dhcp4 and device.dhcp6):
        return device
    agreed: dict[str, Any] = {}
    for name in device.overrides4.__struct_fields__:
        first, second = (getattr(overrides, name) for overrides in (device.overrides4, device.overrides6))
        agreed[name] = second if first is None else first
        if first is not None and second is not None and first != second:
            word = name.replace("_", "-")
            warnings.append(issues.ONE_FOR_BOTH.error(device=device.id, name=word, value=first))
    both = Overrides(**agreed)
    return msgspec.structs.replace(device, overrides4=both, overrides6=both)


def _drop_empty(**values: Any) -> dict[str, Any]:
    """Return the entries that have a value, with dashes in their names as in netplan."""
    kept = {name: value for name, value in values.items() if value not in (None, (), [], {}, False)}
    return {name.replace("_", "-"): value for name, value in kept.items()}


def _make_device(device: Device) -> dict[str, Any]:
    entry = _drop_empty(match=_make_match(device), set_name=device.set_name, macaddress=device.mac, mtu=device.mtu)
    entry |= _drop_empty(ipv6_mtu=device.ipv6_mtu, wakeonlan=device.has_wakeonlan, critical=device.is_critical)
    entry |= _drop_empty(optional=device.is_optional or device.start is Start.HOTPLUG)
    if device.start is Start.MANUAL:
        entry["activation-mode"] = "manual"
    if device.kind is Kind.VLAN:
        entry |= {"id": device.vlan_id, "link": device.vlan_link}
    if device.kind in (Kind.BOND, Kind.BRIDGE):
        entry["interfaces"] = list(device.interfaces)
        entry |= _drop_empty(parameters=dict(device.parameters))
    entry |= _drop_empty(dhcp4=device.dhcp4, dhcp4_overrides=_make_overrides(device.overrides4))
    entry |= _drop_empty(dhcp6=device.dhcp6, dhcp6_overrides=_make_overrides(device.overrides6))
    if device.accept_ra is not None:
        entry["accept-ra"] = device.accept_ra
    if device.link_local is not None:
        entry["link-local"] = list(device.link_local)
    entry |= _drop_empty(addresses=list(device.addresses), routes=[_make_route(route) for route in device.routes])
    entry |= _drop_empty(routing_policy=[_make_rule(rule) for rule in device.rules])
    entry |= _drop_empty(nameservers=_drop_empty(search=list(device.search), addresses=list(device.nameservers)))
    return entry | dict(device.further)


def _make_match(device: Device) -> dict[str, Any]:
    if device.match is None:
        return {}
    drivers: Any = list(device.match.drivers)
    drivers = drivers[0] if len(drivers) == 1 else drivers
    return _drop_empty(name=device.match.name, macaddress=device.match.mac, driver=drivers)


def _make_overrides(given: Overrides) -> dict[str, Any]:
    words = {name.replace("_", "-"): getattr(given, name) for name in given.__struct_fields__}
    return {name: value for name, value in words.items() if value is not None}


def _make_route(route: Route) -> dict[str, Any]:
    entry: dict[str, Any] = {"to": route.to}
    entry |= {name: value for name, value in (("metric", route.metric), ("table", route.table)) if value is not None}
    entry |= _drop_empty(via=route.via, on_link=route.on_link, type=route.kind, scope=route.scope, mtu=route.mtu)
    return entry | ({"from": route.source} if route.source else {})


def _make_rule(rule: Rule) -> dict[str, Any]:
    words = {
        "from": rule.source,
        "to": rule.to,
        "table": rule.table,
        "priority": rule.priority,
        "mark": rule.mark,
        "type-of-service": rule.tos,
    }
    return {name: value for name, value in words.items() if value is not None}
