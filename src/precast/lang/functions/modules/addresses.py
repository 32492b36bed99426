"""Functions on IP addresses: membership in networks, and their form in URIs and configuration files."""

import re
from typing import Any

from precast.lang.functions.collections import flatten
from precast.lang.functions.modules.arrays import distinct
from precast.lang.functions.modules.declaration import argument_error, declare, declare_legacy
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.ruby.puppet_values import ruby_class
from precast.lang.ruby.stdlib.addresses import Address, parse_address
from precast.lang.values.base import Hash


def _require_address(name: str, value: Any) -> Address:
    parsed = parse_address(value)
    if parsed is None:
        raise argument_error(name, f"{ruby_text(value)} is not an ip address.")
    return parsed


@declare(
    "stdlib::ip_in_range",
    "String address, Variant[String, Array] ranges >> Boolean",
    "Returns whether an IP address is in a network, or in one of several.",
)
def _ip_in_range(text: str, ranges: Any) -> bool:
    searched = _require_address("stdlib::ip_in_range", text)
    networks = [
        _require_address("stdlib::ip_in_range", network)
        for network in (ranges if isinstance(ranges, tuple) else (ranges,))
    ]
    return any(network.includes(searched) for network in networks)


@declare_legacy(
    "enclose_ipv6",
    "Variant[Array, String] addresses",
    "Returns the distinct addresses of an array, with IPv6 addresses in brackets; * stays as it is.",
)
def _enclose_ipv6(addresses: Any) -> tuple[Any, ...]:
    return distinct(_enclose(value) for value in flatten(addresses) if value is not None)


def _enclose(value: Any) -> Any:
    if value == "*":
        return value
    parsed = _require_address("enclose_ipv6", value)
    return f"[{parsed}]" if parsed.is_ipv6 else value


def _each(values: tuple[Any, ...], change: Any) -> Any:
    """Change each value; return a single value if there is only one."""
    given = values[0] if values and isinstance(values[0], tuple) else values
    changed = tuple(map(change, given))
    return changed[0] if len(given) == 1 else changed


def for_uri(value: Any) -> Any:
    """Return an address in its form in a URI: IPv6 addresses in brackets, other values as they are."""
    parsed = parse_address(value)
    is_bare = parsed is not None and parsed.is_ipv6 and not re.search(r"\[.+\]", value)
    return f"[{value}]" if is_bare else value


@declare(
    "normalize_ip_for_uri", "Any *values", "Returns addresses with IPv6 addresses in brackets.", module="openstacklib"
)
def _normalize_ip_for_uri(*values: Any) -> Any:
    return _each(values, for_uri)


@declare(
    "inet6_prefix",
    "Any *values",
    "Returns addresses in the form for memcached clients: IPv6 addresses as inet6:[…].",
    module="openstacklib",
)
def _inet6_prefix(*values: Any) -> Any:
    return _each(values, _with_inet6)


def _with_inet6(value: Any) -> Any:
    if not isinstance(value, str) or re.search(r"^inet6:.+", value, re.MULTILINE):
        return value
    parts = [part for part in re.split(r"\s|\[|\]", value) if part]
    parsed = parse_address(parts[0]) if parts else None
    return f"inet6:[{parts[0]}]{''.join(parts[1:])}" if parsed is not None and parsed.is_ipv6 else value


@declare(
    "ipv6_normalize_dnsmasq_ip_subnets",
    "Any subnets",
    "Returns subnets in the form for dnsmasq: IPv6 subnets with the length of the netmask and without gateway.",
    module="ironic",
)
def _ipv6_subnets(subnets: Any) -> tuple[Any, ...]:
    if not isinstance(subnets, tuple):
        raise argument_error("ipv6_normalize_dnsmasq_ip_subnets", f"takes an array, got {ruby_class(subnets)}")
    return tuple(_subnet(subnet) if isinstance(subnet, Hash) else subnet for subnet in subnets)


def _subnet(subnet: Hash) -> Hash:
    mask, gateway = (parse_address(subnet.get(name)) for name in ("netmask", "gateway"))
    if mask is not None and mask.is_ipv6:
        subnet = subnet.merged({"netmask": mask.number.bit_count()})
    if gateway is not None and gateway.is_ipv6:
        subnet = Hash.of(entry for entry in subnet.items() if entry[0] != "gateway")
    return subnet


@declare_legacy(
    "get_in_addr_arpa", "String network, Any *rest", "Returns the reverse DNS zone of a network.", module="dns"
)
def _get_in_addr_arpa(network: str, *rest: Any) -> str:
    parts = network.split(".")
    while parts and not parts[-1]:
        parts.pop()
    return f"{'.'.join(reversed(parts))}.in-addr.arpa"
