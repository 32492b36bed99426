"""The one model of a machine's network: every reader produces it, and every renderer consumes it.

It uses the terms of network config version 2 (netplan's), since every other format expresses less. Addresses carry their prefix, routes
their family; a default route is 0.0.0.0/0 or ::/0. Settings that only netplan knows are passed through to it unchanged.
"""

import enum
from collections.abc import Mapping
from typing import Any

import msgspec

from precast.base.errors import PrecastError


class Kind(enum.Enum):
    """The kind of a device; the value is its section in version 2."""

    ETHERNET = "ethernets"
    BOND = "bonds"
    BRIDGE = "bridges"
    VLAN = "vlans"


class Start(enum.Enum):
    """When a device is brought up: at boot, when it appears, or only on command."""

    AUTO = "auto"
    HOTPLUG = "hotplug"
    MANUAL = "manual"


class Match(msgspec.Struct, frozen=True):
    """Selects physical devices; all given conditions must hold. Names and drivers may be patterns."""

    name: str | None = None
    mac: str | None = None
    drivers: tuple[str, ...] = ()


class Route(msgspec.Struct, frozen=True):
    """A route to a network, as CIDR; without a gateway the network is on the link."""

    to: str
    via: str | None = None
    metric: int | None = None
    on_link: bool = False
    table: int | None = None
    source: str | None = None
    kind: str | None = None
    scope: str | None = None
    mtu: int | None = None

    @property
    def is_ipv6(self) -> bool:
        return ":" in self.to

    @property
    def is_default(self) -> bool:
        return self.to in ("0.0.0.0/0", "::/0")


class Rule(msgspec.Struct, frozen=True):
    """A routing policy rule: matching packets use this table."""

    source: str | None = None
    to: str | None = None
    table: int | None = None
    priority: int | None = None
    mark: int | None = None
    tos: int | None = None


class Overrides(msgspec.Struct, frozen=True):
    """Overrides of how a DHCP lease is used; None is the renderer's own default."""

    hostname: str | None = None
    route_metric: int | None = None
    send_hostname: bool | None = None
    use_dns: bool | None = None
    use_domains: str | bool | None = None
    use_hostname: bool | None = None
    use_mtu: bool | None = None
    use_ntp: bool | None = None
    use_routes: bool | None = None


class Device(msgspec.Struct, frozen=True):
    """A device: its kind, its parts, and its addresses, routes and name servers."""

    id: str
    kind: Kind = Kind.ETHERNET
    match: Match | None = None
    set_name: str | None = None
    mac: str | None = None  # the address to set, unlike the one of `match`
    mtu: int | None = None
    ipv6_mtu: int | None = None
    dhcp4: bool = False
    dhcp6: bool = False
    overrides4: Overrides = Overrides()
    overrides6: Overrides = Overrides()
    accept_ra: bool | None = None
    addresses: tuple[str, ...] = ()
    routes: tuple[Route, ...] = ()
    rules: tuple[Rule, ...] = ()
    nameservers: tuple[str, ...] = ()
    search: tuple[str, ...] = ()
    link_local: tuple[str, ...] | None = None
    is_optional: bool = False
    is_critical: bool = False
    has_wakeonlan: bool = False
    start: Start = Start.AUTO
    interfaces: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = {}
    vlan_id: int | None = None
    vlan_link: str | None = None
    further: Mapping[str, Any] = {}  # settings that only netplan knows, passed through to it

    @property
    def name(self) -> str:
        """The device's name once it is up, as far as the configuration determines it."""
        return self.set_name or (self.match.name if self.match and self.match.name else self.id)

    @property
    def has_ip(self) -> bool:
        return bool(self.dhcp4 or self.dhcp6 or self.accept_ra or self.addresses)


class Network(msgspec.Struct, frozen=True):
    """A whole configuration: the devices in their given order, and the warnings of the reader."""

    devices: tuple[Device, ...] = ()
    sections: Mapping[str, Any] = {}  # netplan sections that this model does not cover, such as wifis
    renderer: str | None = None
    warnings: tuple[PrecastError, ...] = ()

    def find_device(self, name: str) -> Device | None:
        """Find a device by id, or else by name."""
        matches = [device for device in self.devices if device.id == name] or [
            device for device in self.devices if device.name == name
        ]
        return matches[0] if matches else None

    def find_master(self, device: Device) -> Device | None:
        """Find the bond or bridge that a device belongs to."""
        names = {device.id, device.name}
        return next((device for device in self.devices if names & set(device.interfaces)), None)

    def list_vlans_on(self, device: Device) -> list[Device]:
        return [
            candidate
            for candidate in self.devices
            if candidate.kind is Kind.VLAN and candidate.vlan_link in (device.id, device.name)
        ]
