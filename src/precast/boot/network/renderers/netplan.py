"""Writes the model for netplan: one YAML file, readable by root alone, since wifi and tunnels have secrets in them."""

from typing import Any

import msgspec
import yaml  # type: ignore[import-untyped]

from precast.base.errors import PrecastError
from precast.boot.network import issues
from precast.boot.network.model import Device, Kind, Network, Overrides, Route, Rule, Start
from precast.boot.network.renderers.rendering import HEADER, PRIVATE, RenderedFile, Rendering

PATH = "etc/netplan/50-precast.yaml"


def render(network: Network) -> Rendering:
    found: dict[str, Any] = {"version": 2}
    warnings: list[PrecastError] = []
    if network.renderer is not None:
        found["renderer"] = network.renderer
    for device in network.devices:
        found.setdefault(device.kind.value, {})[device.id] = _device(_agreeing(device, warnings))
    found |= network.sections
    text = yaml.safe_dump({"network": found}, default_flow_style=False, sort_keys=False, allow_unicode=True)
    return Rendering([RenderedFile(PATH, HEADER + text, PRIVATE)], warnings)


def _agreeing(device: Device, warnings: list[PrecastError]) -> Device:
    """The device with the same overrides for both families: netplan refuses others, and the machine would have no network at all."""
    if not (device.dhcp4 and device.dhcp6):
        return device
    agreed: dict[str, Any] = {}
    for name in device.overrides4.__struct_fields__:
        first, second = (getattr(one, name) for one in (device.overrides4, device.overrides6))
        agreed[name] = second if first is None else first
        if first is not None and second is not None and first != second:
            word = name.replace("_", "-")
            warnings.append(issues.ONE_FOR_BOTH.error(device=device.id, name=word, value=first))
    both = Overrides(**agreed)
    return msgspec.structs.replace(device, overrides4=both, overrides6=both)


def _given(**values: Any) -> dict[str, Any]:
    """The entries that say something, with netplan's dashes."""
    kept = {name: value for name, value in values.items() if value not in (None, (), [], {}, False)}
    return {name.replace("_", "-"): value for name, value in kept.items()}


def _device(device: Device) -> dict[str, Any]:
    found = _given(match=_match(device), set_name=device.set_name, macaddress=device.mac, mtu=device.mtu)
    found |= _given(ipv6_mtu=device.ipv6_mtu, wakeonlan=device.has_wakeonlan, critical=device.is_critical)
    found |= _given(optional=device.is_optional or device.start is Start.HOTPLUG)
    if device.start is Start.MANUAL:
        found["activation-mode"] = "manual"
    if device.kind is Kind.VLAN:
        found |= {"id": device.vlan_id, "link": device.vlan_link}
    if device.kind in (Kind.BOND, Kind.BRIDGE):
        found["interfaces"] = list(device.interfaces)
        found |= _given(parameters=dict(device.parameters))
    found |= _given(dhcp4=device.dhcp4, dhcp4_overrides=_overrides(device.overrides4))
    found |= _given(dhcp6=device.dhcp6, dhcp6_overrides=_overrides(device.overrides6))
    if device.accept_ra is not None:
        found["accept-ra"] = device.accept_ra
    if device.link_local is not None:
        found["link-local"] = list(device.link_local)
    found |= _given(addresses=list(device.addresses), routes=[_route(route) for route in device.routes])
    found |= _given(routing_policy=[_rule(rule) for rule in device.rules])
    found |= _given(nameservers=_given(search=list(device.search), addresses=list(device.nameservers)))
    return found | dict(device.further)


def _match(device: Device) -> dict[str, Any]:
    if device.match is None:
        return {}
    drivers: Any = list(device.match.drivers)
    drivers = drivers[0] if len(drivers) == 1 else drivers
    return _given(name=device.match.name, macaddress=device.match.mac, driver=drivers)


def _overrides(given: Overrides) -> dict[str, Any]:
    words = {name.replace("_", "-"): getattr(given, name) for name in given.__struct_fields__}
    return {name: value for name, value in words.items() if value is not None}


def _route(route: Route) -> dict[str, Any]:
    found: dict[str, Any] = {"to": route.to}
    found |= {name: value for name, value in (("metric", route.metric), ("table", route.table)) if value is not None}
    found |= _given(via=route.via, on_link=route.on_link, type=route.kind, scope=route.scope, mtu=route.mtu)
    return found | ({"from": route.source} if route.source else {})


def _rule(rule: Rule) -> dict[str, Any]:
    words = {
        "from": rule.source,
        "to": rule.to,
        "table": rule.table,
        "priority": rule.priority,
        "mark": rule.mark,
        "type-of-service": rule.tos,
    }
    return {name: value for name, value in words.items() if value is not None}
