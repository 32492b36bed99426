"""Resolves matches to the device names of this machine, for renderers that identify devices by name only."""

import msgspec

from precast.base.errors import PrecastError
from precast.boot.network import issues
from precast.boot.network.devices.links import Link
from precast.boot.network.model import Device, Network


def resolve_names(network: Network, links: list[Link], renderer: str) -> Network:
    """Return the network with one device per matching link. A match without a link keeps its id, with a warning."""
    devices: list[Device] = []
    warnings: list[PrecastError] = list(network.warnings)
    names: dict[str, list[str]] = {}
    for device in network.devices:
        resolved = _resolve_device(device, links)
        if not resolved:
            known = ", ".join(f"{link.name} ({link.mac})" for link in links) or "none"
            what = _describe_match(device)
            warnings.append(issues.NOT_FOUND.error(renderer=renderer, device=device.id, what=what, names=known))
            resolved = [device]
        names[device.id] = [part.id for part in resolved]
        devices += resolved
    devices = [_rename_parts(device, names) for device in devices]
    return msgspec.structs.replace(network, devices=tuple(devices), warnings=tuple(warnings))


def _resolve_device(device: Device, links: list[Link]) -> list[Device]:
    """Return one device per matching link, under the link's name. A device with `set_name` or without a match is kept."""
    if device.match is None or device.set_name is not None:
        return [device]
    meant = [link.name for link in links if link.is_matched_by(device.match)]
    return [msgspec.structs.replace(device, id=name, match=None) for name in meant]


def _describe_match(device: Device) -> str:
    match = device.match
    words = (match.mac, match.name, *match.drivers) if match is not None else ()
    return " and ".join(word for word in words if word)


def _rename_parts(device: Device, names: dict[str, list[str]]) -> Device:
    """Return the device with its parts and its VLAN link under their resolved names."""
    parts = tuple(name for interface in device.interfaces for name in names.get(interface, [interface]))
    link = device.vlan_link
    below = names.get(link, [link])[0] if link is not None else None
    return msgspec.structs.replace(device, interfaces=parts, vlan_link=below)
