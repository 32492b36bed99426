"""The one model of a machine's network: what every form is read into, and what every renderer writes.

It has the words of network config version 2 (netplan's), since every other form says less. Addresses carry their prefix, routes their
family; a default route is 0.0.0.0/0 or ::/0. What only netplan understands is kept as it came and handed through to it.
"""

import enum
from collections.abc import Mapping
from typing import Any

import msgspec

from precast.base.errors import PrecastError


class Kind(enum.Enum):
    """What a device is; the value is its section in version 2."""

    ETHERNET = "ethernets"
    BOND = "bonds"
    BRIDGE = "bridges"
    VLAN = "vlans"


class Start(enum.Enum):
    """When a device comes up: with the machine, when it is there, or when somebody says so."""

    AUTO = "auto"
    HOTPLUG = "hotplug"
    MANUAL = "manual"


class Match(msgspec.Struct, frozen=True):
    """Which physical devices are meant; all that is given must hold. Names and drivers may be patterns."""

    name: str | None = None
    mac: str | None = None
    drivers: tuple[str, ...] = ()


class Route(msgspec.Struct, frozen=True):
    """A way to a network, as CIDR; without a gateway what is on the link."""

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
    """A rule of routing policy: packets like these ask this table."""

    source: str | None = None
    to: str | None = None
    table: int | None = None
    priority: int | None = None
    mark: int | None = None
    tos: int | None = None


class Overrides(msgspec.Struct, frozen=True):
    """What of a DHCP answer is not taken, or taken in another way; None is the renderer's own default."""

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
    """A device, what it is made of, and what it gets."""

    id: str
    kind: Kind = Kind.ETHERNET
    match: Match | None = None
    set_name: str | None = None
    mac: str | None = None  # one that it shall have, unlike the one of `match`
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
    further: Mapping[str, Any] = {}  # netplan's own words, handed through to it

    @property
    def name(self) -> str:
        """What the device is called once it is up, as far as that is known without looking."""
        return self.set_name or (self.match.name if self.match and self.match.name else self.id)

    @property
    def has_ip(self) -> bool:
        return bool(self.dhcp4 or self.dhcp6 or self.accept_ra or self.addresses)


class Network(msgspec.Struct, frozen=True):
    """A whole configuration: devices in the order in which they were given, and what reading them gave reason to say."""

    devices: tuple[Device, ...] = ()
    sections: Mapping[str, Any] = {}  # whole sections of netplan that have no model here, such as wifis
    renderer: str | None = None
    warnings: tuple[PrecastError, ...] = ()

    def device(self, name: str) -> Device | None:
        """The device of this id, or else of this name."""
        found = [device for device in self.devices if device.id == name] or [device for device in self.devices if device.name == name]
        return found[0] if found else None

    def master_of(self, device: Device) -> Device | None:
        """The bond or bridge that a device belongs to."""
        names = {device.id, device.name}
        return next((device for device in self.devices if names & set(device.interfaces)), None)

    def vlans_on(self, device: Device) -> list[Device]:
        return [one for one in self.devices if one.kind is Kind.VLAN and one.vlan_link in (device.id, device.name)]
