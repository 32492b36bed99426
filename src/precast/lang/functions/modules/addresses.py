"""IP addresses: in ranges, in URIs, in brackets."""

import re
from typing import Any

from precast.lang.functions.collections import flatten
from precast.lang.functions.modules.arrays import firsts
from precast.lang.functions.modules.declaration import declare, declare_older, wrong
from precast.lang.ruby.addresses import Address, address
from precast.lang.ruby.text import ruby_text
from precast.lang.ruby.values import ruby_class
from precast.lang.values.core import Hash


def _known(name: str, value: Any) -> Address:
    found = address(value)
    if found is None:
        raise wrong(name, f"{ruby_text(value)} is not an ip address.")
    return found


@declare(
    "stdlib::ip_in_range",
    "String address, Variant[String, Array] ranges >> Boolean",
    "Whether an IP address is in a network, or in one of several.",
)
def _ip_in_range(text: str, ranges: Any) -> bool:
    wanted = _known("stdlib::ip_in_range", text)
    networks = [_known("stdlib::ip_in_range", each) for each in (ranges if isinstance(ranges, tuple) else (ranges,))]
    return any(network.includes(wanted) for network in networks)


@declare_older(
    "enclose_ipv6",
    "Variant[Array, String] addresses",
    "An array of addresses, each once, those of IPv6 in brackets; * stays as it is.",
)
def _enclose_ipv6(addresses: Any) -> tuple[Any, ...]:
    return firsts(_enclosed(each) for each in flatten(addresses) if each is not None)


def _enclosed(value: Any) -> Any:
    if value == "*":
        return value
    found = _known("enclose_ipv6", value)
    return f"[{found}]" if found.is_ipv6 else value


def _each(values: tuple[Any, ...], change: Any) -> Any:
    """What a function of one address makes of many: one for one, an array for an array of several."""
    given = values[0] if values and isinstance(values[0], tuple) else values
    changed = tuple(map(change, given))
    return changed[0] if len(given) == 1 else changed


def for_uri(value: Any) -> Any:
    """An address as a URI has it: of IPv6 in brackets; whatever else it is stays."""
    found = address(value)
    is_bare = found is not None and found.is_ipv6 and not re.search(r"\[.+\]", value)
    return f"[{value}]" if is_bare else value


@declare("normalize_ip_for_uri", "Any *values", "Addresses with those of IPv6 in brackets.", module="openstacklib")
def _normalize_ip_for_uri(*values: Any) -> Any:
    return _each(values, for_uri)


@declare(
    "inet6_prefix",
    "Any *values",
    "Addresses as memcached clients want them: those of IPv6 as inet6:[…].",
    module="openstacklib",
)
def _inet6_prefix(*values: Any) -> Any:
    return _each(values, _with_inet6)


def _with_inet6(value: Any) -> Any:
    if not isinstance(value, str) or re.search(r"^inet6:.+", value, re.MULTILINE):
        return value
    parts = [part for part in re.split(r"\s|\[|\]", value) if part]
    found = address(parts[0]) if parts else None
    return f"inet6:[{parts[0]}]{''.join(parts[1:])}" if found is not None and found.is_ipv6 else value


@declare(
    "ipv6_normalize_dnsmasq_ip_subnets",
    "Any subnets",
    "Subnets as dnsmasq wants them: of IPv6 the netmask as its length, and no gateway.",
    module="ironic",
)
def _ipv6_subnets(subnets: Any) -> tuple[Any, ...]:
    if not isinstance(subnets, tuple):
        raise wrong("ipv6_normalize_dnsmasq_ip_subnets", f"takes an array, got {ruby_class(subnets)}")
    return tuple(_subnet(each) if isinstance(each, Hash) else each for each in subnets)


def _subnet(subnet: Hash) -> Hash:
    mask, gateway = (address(subnet.get(name)) for name in ("netmask", "gateway"))
    if mask is not None and mask.is_ipv6:
        subnet = subnet.merged({"netmask": mask.number.bit_count()})
    if gateway is not None and gateway.is_ipv6:
        subnet = Hash.of(entry for entry in subnet.items() if entry[0] != "gateway")
    return subnet


@declare_older(
    "get_in_addr_arpa", "String network, Any *rest", "The zone of a network's addresses in reverse.", module="dns"
)
def _get_in_addr_arpa(network: str, *rest: Any) -> str:
    parts = network.split(".")
    while parts and not parts[-1]:
        parts.pop()
    return f"{'.'.join(reversed(parts))}.in-addr.arpa"
