"""Reads the parameters of bonds and bridges, from any spelling to version 2's names.

Times are in netplan's units: milliseconds for a bond's monitoring and delays, seconds for everything else.
"""

from collections.abc import Sequence
from typing import Any

from precast.boot.network.readers.fields import Field

_MODES = ("balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb")
_NUMBERED_MODES = {str(number): name for number, name in enumerate(_MODES)}

# Version 1's and the kernel's name (both with - or _, with or without `bond`) to version 2's.
BOND_NAMES = {
    "mode": "mode",
    "lacp-rate": "lacp-rate",
    "miimon": "mii-monitor-interval",
    "min-links": "min-links",
    "xmit-hash-policy": "transmit-hash-policy",
    "ad-select": "ad-select",
    "all-slaves-active": "all-slaves-active",
    "arp-interval": "arp-interval",
    "arp-ip-target": "arp-ip-targets",
    "arp-validate": "arp-validate",
    "arp-all-targets": "arp-all-targets",
    "updelay": "up-delay",
    "downdelay": "down-delay",
    "fail-over-mac": "fail-over-mac-policy",
    "num-grat-arp": "gratuitous-arp",
    "num-unsol-na": "gratuitous-arp",
    "packets-per-slave": "packets-per-slave",
    "primary-reselect": "primary-reselect-policy",
    "lp-interval": "learn-packet-interval",
    "resend-igmp": "resend-igmp",
    "primary": "primary",
}
BOND_PARAMETERS = frozenset(BOND_NAMES.values())
# Known to the kernel and to version 1, but not written by any renderer.
BOND_UNUSED = frozenset(
    [
        "active-slave",
        "ad-actor-key",
        "ad-actor-sys-prio",
        "ad-actor-system",
        "ad-aggregator",
        "ad-num-ports",
        "ad-partner-key",
        "ad-partner-mac",
        "ad-user-port-key",
        "mii-status",
        "peer-notif-delay",
        "queue-id",
        "slaves",
        "tlb-dynamic-lb",
        "use-carrier",
    ]
)
BRIDGE_NAMES = {
    "ageing": "ageing-time",
    "bridgeprio": "priority",
    "fd": "forward-delay",
    "hello": "hello-time",
    "maxage": "max-age",
    "pathcost": "path-cost",
    "portprio": "port-priority",
    "stp": "stp",
}
BRIDGE_PARAMETERS = frozenset(BRIDGE_NAMES.values())
BRIDGE_UNUSED = frozenset({"hw", "maxwait", "ports", "waitport", "gcint"})
_FLAGS = {"all-slaves-active", "stp"}
_LISTS = {"arp-ip-targets"}
_PER_PORT = {"path-cost", "port-priority"}
_COUNTS = {
    "min-links", "gratuitous-arp", "packets-per-slave", "resend-igmp", "priority",
}  # fmt: skip
_TIMES = {
    "mii-monitor-interval", "arp-interval", "up-delay", "down-delay", "learn-packet-interval",
    "ageing-time", "forward-delay", "hello-time", "max-age",
}  # fmt: skip


def read_bond(field: Field) -> dict[str, Any]:
    """Read a bond's parameters, by version 1's names, the kernel's or version 2's."""
    values: dict[str, Any] = {}
    for name, value in field.entries():
        plain = name.removeprefix("bond-").removeprefix("bond_").replace("_", "-")
        word = plain if plain in BOND_PARAMETERS else BOND_NAMES.get(plain)
        if word is not None:
            values[word] = _read_value(word, value)
    field.check_keys(_list_spellings(field, BOND_PARAMETERS | BOND_UNUSED | set(BOND_NAMES), "bond"))
    return values


def read_bridge(field: Field, ports: Sequence[str] = ()) -> dict[str, Any]:
    """Read a bridge's parameters, by version 1's names or version 2's; a single number applies to every port."""
    values: dict[str, Any] = {}
    for name, value in field.entries():
        plain = name.removeprefix("bridge_").removeprefix("bridge-").replace("_", "-")
        word = plain if plain in BRIDGE_PARAMETERS else BRIDGE_NAMES.get(plain)
        if word is not None:
            is_one = word in _PER_PORT and not isinstance(value.value, dict | list | str)
            values[word] = dict.fromkeys(ports, value.number()) if is_one else _read_value(word, value)
    field.check_keys(_list_spellings(field, BRIDGE_PARAMETERS | BRIDGE_UNUSED | set(BRIDGE_NAMES), "bridge"))
    return values


def _list_spellings(field: Field, known: frozenset[str] | set[str], prefix: str) -> set[str]:
    """Return the known names in the spelling of this field, so that a warning suggests valid ones."""
    names = {name for name, _ in field.entries()}
    spelled = {
        spelling for name in known for spelling in (name, f"{prefix}-{name}", f"{prefix}-{name.replace('-', '_')}")
    }
    spelled |= {f"{prefix}_{name}" for name in known} | {f"{prefix}_{name.replace('-', '_')}" for name in known}
    style = f"{prefix}_" if any(name.startswith(f"{prefix}_") for name in names) else f"{prefix}-"
    is_prefixed = any(name.startswith(style) for name in names)
    return (spelled & names) | {spelling for spelling in spelled if spelling.startswith(style) == is_prefixed}


def _read_value(word: str, field: Field) -> Any:
    if word == "mode":
        return Field.choice(_set_value(field, _NUMBERED_MODES.get(str(field.value), field.value)), *_MODES)
    if word in _FLAGS:
        return field.flag()
    if word in _LISTS:
        return list(field.ips())
    if word in _PER_PORT:
        return _read_per_port(field)
    if word in _COUNTS:
        return field.number()
    if word in _TIMES:
        return field.number() if str(field.value).isdigit() else field.text()
    if word == "arp-validate" and isinstance(field.value, bool):
        return "all" if field.value else "none"
    return field.text()


def _set_value(field: Field, value: Any) -> Field:
    field.value = value
    return field


def _read_per_port(field: Field) -> dict[str, int]:
    """Version 1 writes `- eth0 75`, version 2 `eth0: 75`."""
    if isinstance(field.value, dict):
        return {name: value.number() for name, value in field.entries()}
    numbers = {}
    rows = field.items() if isinstance(field.value, list) else [field]
    for row in rows:
        port, _, number = row.text().partition(" ")
        if not (number.isascii() and number.strip().isdecimal()):
            raise row.make_error("a port and a number", "write `- eth0 75`")
        numbers[port] = int(number)
    return numbers
