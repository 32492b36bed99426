"""Errors of network configurations and of their rendering."""

from precast.base.errors import Issue, Kind

BAD_VALUE = Issue("BOOTNET-001", Kind.INPUT, "{path}: {value} is not {wanted}", "{advice}")
UNKNOWN_KEY = Issue(
    "BOOTNET-002", Kind.INPUT, "{path} has no key {name}{guess}; it is left out", "the keys there are: {names}"
)
MISSING_KEY = Issue("BOOTNET-003", Kind.INPUT, "{path} needs the key {name}", "add a line `{name}: …`")
UNKNOWN_VERSION = Issue(
    "BOOTNET-004",
    Kind.INPUT,
    "{name} is not a network configuration of version 1 or 2",
    "begin with `version: 2` (or 1), at the top or below `network:`",
)
UNKNOWN_DEVICE = Issue(
    "BOOTNET-005",
    Kind.INPUT,
    "{path} names the device {device}, which is not configured",
    "configure it, or name one of: {names}",
)
NOT_REACHED = Issue(
    "BOOTNET-006",
    Kind.INPUT,
    "{path}: no device has an address in the network of the gateway {gateway}; the route is assigned to {device}",
    "move the route to the subnet that it belongs to",
)
ONLY_NETPLAN = Issue(
    "BOOTNET-007",
    Kind.INPUT,
    "only netplan supports {what}, and this machine uses {renderer}; it is left out",
    "install netplan.io, or leave it out of the network configuration",
)
NOT_FOUND = Issue(
    "BOOTNET-008",
    Kind.INPUT,
    "{renderer} needs the name of {device}, but no interface with {what} exists",
    "check the address; the known interfaces are: {names}",
)
UNKNOWN_FORM = Issue(
    "BOOTNET-009",
    Kind.INPUT,
    "there is no format of network data called {form}",
    "the formats are: {names}",
)
ONE_FOR_BOTH = Issue(
    "BOOTNET-010",
    Kind.INPUT,
    "{device}: netplan accepts one {name} for DHCP of both families, but two are given; {value} is used",
    "give dhcp4-overrides and dhcp6-overrides the same {name}",
)
LEFT_OUT = Issue(
    "BOOTNET-011",
    Kind.INPUT,
    "{renderer} cannot express {what} of {device}; it is left out",
    "give the device an address of the same family, or use another renderer",
)
REFUSED = Issue(
    "BOOTNET-012",
    Kind.INPUT,
    "the network configuration of {origin} is invalid: {reason}; {instead} is used instead",
    "correct it where it was written, then `precast boot run --retry`",
)
NO_RENDERER = Issue(
    "BOOTNET-020",
    Kind.NOT_FOUND,
    "no tool that configures networks is installed below {root}; looked for {names}",
    "install netplan.io, ifupdown, network-manager or systemd, or name one under system_info: network: renderers",
)
UNKNOWN_RENDERER = Issue("BOOTNET-021", Kind.INPUT, "there is no network renderer {name}", "the renderers are: {names}")
NOT_WRITTEN = Issue(
    "BOOTNET-022",
    Kind.UNAVAILABLE,
    "cannot write {path}: {reason}",
    "check that the file system is mounted and writable",
)
NOT_SOURCED = Issue(
    "BOOTNET-023",
    Kind.CONFLICT,
    "/etc/network/interfaces does not read {path}",
    "add the line `source /etc/network/interfaces.d/*` to it",
)
