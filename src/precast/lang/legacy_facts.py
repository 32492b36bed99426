"""Facter's flat names, derived from the structured facts: `ipaddress_eth0` is `networking.interfaces.eth0.ip`.

They are shown only on demand. Manifests use them by name, so they are derived from the final facts, including overridden ones.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Facts = Mapping[str, Any]

_NAMES = {
    "architecture": "os.architecture",
    "bios_release_date": "dmi.bios.release_date",
    "bios_vendor": "dmi.bios.vendor",
    "bios_version": "dmi.bios.version",
    "boardassettag": "dmi.board.asset_tag",
    "boardmanufacturer": "dmi.board.manufacturer",
    "boardproductname": "dmi.board.product",
    "boardserialnumber": "dmi.board.serial_number",
    "chassisassettag": "dmi.chassis.asset_tag",
    "chassistype": "dmi.chassis.type",
    "domain": "networking.domain",
    "fqdn": "networking.fqdn",
    "gid": "identity.group",
    "hardwareisa": "processors.isa",
    "hardwaremodel": "os.hardware",
    "hostname": "networking.hostname",
    "id": "identity.user",
    "ipaddress": "networking.ip",
    "ipaddress6": "networking.ip6",
    "lsbdistcodename": "os.distro.codename",
    "lsbdistdescription": "os.distro.description",
    "lsbdistid": "os.distro.id",
    "lsbdistrelease": "os.distro.release.full",
    "lsbmajdistrelease": "os.distro.release.major",
    "lsbminordistrelease": "os.distro.release.minor",
    "macaddress": "networking.mac",
    "manufacturer": "dmi.manufacturer",
    "memoryfree": "memory.system.available",
    "memorysize": "memory.system.total",
    "netmask": "networking.netmask",
    "netmask6": "networking.netmask6",
    "network": "networking.network",
    "network6": "networking.network6",
    "operatingsystem": "os.name",
    "operatingsystemmajrelease": "os.release.major",
    "operatingsystemrelease": "os.release.full",
    "osfamily": "os.family",
    "physicalprocessorcount": "processors.physicalcount",
    "processorcount": "processors.count",
    "productname": "dmi.product.name",
    "scope6": "networking.scope6",
    "selinux": "os.selinux.enabled",
    "selinux_config_mode": "os.selinux.config_mode",
    "selinux_config_policy": "os.selinux.config_policy",
    "selinux_current_mode": "os.selinux.current_mode",
    "selinux_enforced": "os.selinux.enforced",
    "selinux_policyversion": "os.selinux.policy_version",
    "serialnumber": "dmi.product.serial_number",
    "swapfree": "memory.swap.available",
    "swapsize": "memory.swap.total",
    "uptime": "system_uptime.uptime",
    "uptime_days": "system_uptime.days",
    "uptime_hours": "system_uptime.hours",
    "uptime_seconds": "system_uptime.seconds",
    "uuid": "dmi.product.uuid",
}
_MEBIBYTES = {
    "memoryfree_mb": "memory.system.available_bytes",
    "memorysize_mb": "memory.system.total_bytes",
    "swapfree_mb": "memory.swap.available_bytes",
    "swapsize_mb": "memory.swap.total_bytes",
}
_INTERFACE_NAMES = {
    "ipaddress": "ip",
    "ipaddress6": "ip6",
    "macaddress": "mac",
    "mtu": "mtu",
    "netmask": "netmask",
    "netmask6": "netmask6",
    "network": "network",
    "network6": "network6",
    "scope6": "scope6",
}
# The facts that all other flat names are derived from, by how the names begin.
_PREFIXES = {
    **{f"{name}_": ("networking",) for name in _INTERFACE_NAMES},
    "interfaces": ("networking",),
    "dhcp_servers": ("networking",),
    "blockdevice": ("disks",),
    "ssh": ("ssh",),
    "processor": ("processors",),
}
SOURCES = frozenset(path.split(".")[0] for path in (*_NAMES.values(), *_MEBIBYTES.values())) | {
    "networking",
    "disks",
    "ssh",
}


def find_legacy_fact(facts: Facts, name: str) -> Any:
    """The value of one flat fact; None if the facts do not allow it. Most names need no derivation of all the others."""
    if (path := _NAMES.get(name)) is not None:
        return _value(facts, path)
    return legacy_facts(facts).get(name) if find_source(name) else None


def find_source(name: str) -> tuple[str, ...] | None:
    """The path that a flat name is derived from; None for a name that is no flat one."""
    path = _NAMES.get(name) or _MEBIBYTES.get(name)
    if path is not None:
        return tuple(path.split("."))
    return next((source for prefix, source in _PREFIXES.items() if name.startswith(prefix)), None)


def legacy_facts(facts: Facts) -> dict[str, Any]:
    """Derive every flat fact that the facts allow, sorted by name."""
    flat = dict(_plain(facts))
    flat |= dict(_interfaces(_mapping(facts, "networking.interfaces")))
    flat |= dict(_disks(_mapping(facts, "disks")))
    flat |= dict(_keys(_mapping(facts, "ssh")))
    models = _value(facts, "processors.models")
    flat |= {f"processor{number}": model for number, model in enumerate(models if isinstance(models, list) else [])}
    servers = _dhcp_servers(facts)
    if servers:
        flat["dhcp_servers"] = servers
    return dict(sorted(flat.items()))


def _plain(facts: Facts) -> Iterator[tuple[str, Any]]:
    for name, path in _NAMES.items():
        if (value := _value(facts, path)) is not None:
            yield name, value
    for name, path in _MEBIBYTES.items():
        if isinstance(count := _value(facts, path), int):
            yield name, count / 1024 / 1024


def _interfaces(interfaces: Facts) -> Iterator[tuple[str, Any]]:
    if interfaces:
        yield "interfaces", ",".join(sorted(map(_flat, interfaces)))
    for name, values in interfaces.items():
        for old, new in _INTERFACE_NAMES.items():
            if isinstance(values, dict) and new in values:
                yield f"{old}_{_flat(name)}", values[new]


def _flat(name: str) -> str:
    """An interface's name as part of the name of a fact: eth0.100 becomes eth0_100."""
    return "".join(char if char.isalnum() else "_" for char in name)


def _disks(disks: Facts) -> Iterator[tuple[str, Any]]:
    if disks:
        yield "blockdevices", ",".join(sorted(disks))
    for name, values in disks.items():
        for old, new in (("size", "size_bytes"), ("vendor", "vendor"), ("model", "model")):
            if isinstance(values, dict) and new in values:
                yield f"blockdevice_{name}_{old}", values[new]


def _keys(keys: Facts) -> Iterator[tuple[str, Any]]:
    for name, values in keys.items():
        prints = _mapping(values, "fingerprints") if isinstance(values, dict) else {}
        if prints.keys() >= {"sha1", "sha256"}:
            yield f"ssh{name}key", values.get("key")
            yield f"sshfp_{name}", f"{prints['sha1']}\n{prints['sha256']}"


def _dhcp_servers(facts: Facts) -> Facts:
    interfaces = _mapping(facts, "networking.interfaces")
    servers = {
        name: interface["dhcp"]
        for name, interface in interfaces.items()
        if isinstance(interface, dict) and "dhcp" in interface
    }
    system = _value(facts, "networking.dhcp")
    return {"system": system, **servers} if system else servers


def _value(facts: Facts, path: str) -> Any:
    value: Any = facts
    for name in path.split("."):
        if not isinstance(value, Mapping) or name not in value:
            return None
        value = value[name]
    return value


def _mapping(facts: Facts, path: str) -> Facts:
    value = _value(facts, path)
    return value if isinstance(value, Mapping) else {}
