"""Gives devices the names they have on this machine, for a renderer that knows devices by their names alone."""

import msgspec

from precast.base.errors import PrecastError
from precast.boot.network import issues
from precast.boot.network.devices.links import Link
from precast.boot.network.model import Device, Network


def resolve_names(network: Network, links: list[Link], renderer: str) -> Network:
    """The network with a device for each that a match means. One that means none keeps its id, with a warning."""
    devices: list[Device] = []
    warnings: list[PrecastError] = list(network.warnings)
    names: dict[str, list[str]] = {}
    for device in network.devices:
        found = _resolve_device(device, links)
        if not found:
            known = ", ".join(f"{link.name} ({link.mac})" for link in links) or "none"
            what = _describe_match(device)
            warnings.append(issues.NOT_FOUND.error(renderer=renderer, device=device.id, what=what, names=known))
            found = [device]
        names[device.id] = [one.id for one in found]
        devices += found
    devices = [_rename_parts(device, names) for device in devices]
    return msgspec.structs.replace(network, devices=tuple(devices), warnings=tuple(warnings))


def _resolve_device(device: Device, links: list[Link]) -> list[Device]:
    """A device to be named has that name; a match stands for every link it means, each under its own name."""
    if device.match is None or device.set_name is not None:
        return [device]
    meant = [link.name for link in links if link.is_meant_by(device.match)]
    return [msgspec.structs.replace(device, id=name, match=None) for name in meant]


def _describe_match(device: Device) -> str:
    match = device.match
    words = (match.mac, match.name, *match.drivers) if match is not None else ()
    return " and ".join(word for word in words if word)


def _rename_parts(device: Device, names: dict[str, list[str]]) -> Device:
    """The device with what it stands on under the names that were found."""
    parts = tuple(name for interface in device.interfaces for name in names.get(interface, [interface]))
    link = device.vlan_link
    below = names.get(link, [link])[0] if link is not None else None
    return msgspec.structs.replace(device, interfaces=parts, vlan_link=below)
