"""`networking`: host names, interfaces with their addresses, and the primary interface."""

import ipaddress
import re

from precast.agent.facts.groups.leases import Leases
from precast.agent.facts.machine import Address, Facts, Link, Machine, present

_FLAGS = {
    "temporary": 0x01,
    "noad": 0x02,
    "optimistic": 0x04,
    "dadfailed": 0x08,
    "homeaddress": 0x10,
    "deprecated": 0x20,
    "tentative": 0x40,
    "permanent": 0x80,
}
_MAC = re.compile(r"([0-9a-f]{2}:){5,19}[0-9a-f]{2}", re.ASCII)
_PRIVATE = tuple(map(ipaddress.ip_network, ("169.254.0.0/16", "fe80::/10", "fc00::/7", "127.0.0.0/8", "::1/128")))

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


def collect(machine: Machine) -> Facts:
    links = machine.kernel.links()
    addresses = machine.kernel.addresses()
    links = _links_in_files(machine) if links is None else links
    addresses = _addresses_in_files(machine) if addresses is None else addresses
    interfaces = _interfaces(machine, links, addresses)
    primary = _primary(machine, interfaces)
    facts = {**hostnames(machine), **present(primary=primary)}
    if primary is not None:
        facts |= {name: value for name, value in interfaces[primary].items() if not name.startswith("bindings")}
    if interfaces:
        facts["interfaces"] = interfaces
    return {"networking": facts} if facts else {}


def hostnames(machine: Machine) -> Facts:
    """Read `hostname`, `domain`, `fqdn` from files alone: an unreachable name server must neither delay facts nor change them."""
    name = machine.read_line("/proc/sys/kernel/hostname")
    if name in (None, "(none)"):  # the kernel's text for a name that was never set
        name = machine.read_line("/etc/hostname")
    if name is None:
        return {}
    host, _, domain = name.partition(".")
    domain = domain or _domain_in_hosts(machine, host) or _domain_of_resolver(machine) or ""
    domain = domain.strip(".")
    return present(hostname=host, domain=domain or None, fqdn=f"{host}.{domain}" if domain else host)


def _domain_in_hosts(machine: Machine, host: str) -> str | None:
    lines = (machine.read_text("/etc/hosts") or "").splitlines()
    names = (name for line in lines for name in line.partition("#")[0].split()[1:])
    return next((name[len(host) + 1 :] for name in names if name.startswith(f"{host}.")), None)


def _domain_of_resolver(machine: Machine) -> str | None:
    settings = dict(re.findall(r"(?m)^(domain|search)[ \t]+(\S+)", machine.read_text("/etc/resolv.conf") or ""))
    return settings.get("domain") or settings.get("search")


def _links_in_files(machine: Machine) -> list[Link]:
    links = []
    for name in machine.names_in("/sys/class/net"):
        place = f"/sys/class/net/{name}"
        if machine.exists(f"{place}/ifindex") or machine.exists(f"{place}/address"):
            master = machine.read_number(f"{place}/master/ifindex") or 0
            mac = machine.read_line(f"{place}/address") or ""
            links.append(
                Link(
                    machine.read_number(f"{place}/ifindex") or 0, name, mac, machine.read_number(f"{place}/mtu"), master
                )
            )
    return links


def _addresses_in_files(machine: Machine) -> list[Address]:
    """Read the IPv6 addresses; no file lists the IPv4 addresses."""
    addresses = []
    for line in (machine.read_text("/proc/net/if_inet6") or "").splitlines():
        if match := re.fullmatch(r"([0-9a-f]{32}) \S+ ([0-9a-f]{1,2}) \S+ ([0-9a-f]{1,8}) +(\S+)", line, re.ASCII):
            address = str(ipaddress.IPv6Address(int(match[1], 16)))
            if (prefix := int(match[2], 16)) <= 128:
                addresses.append(Address(match[4], address, prefix, int(match[3], 16)))
    return addresses


def _interfaces(machine: Machine, links: list[Link], addresses: list[Address]) -> dict[str, Facts]:
    by_number = {link.number: link.name for link in links}
    leases = Leases(machine)
    interfaces: dict[str, Facts] = {}
    for link in links:
        mac = _permanent_mac(machine, link.name, by_number.get(link.master)) or link.mac.lower()
        is_mac = _MAC.fullmatch(mac) is not None and set(mac) != {"0", ":"}
        dhcp = leases.server_of(link.name, link.number)
        interfaces[link.name] = present(mac=mac if is_mac else None, mtu=link.mtu, dhcp=dhcp)
    for address in addresses:
        key, binding = _binding(address)
        interfaces.setdefault(address.label, {}).setdefault(key, []).append(binding)
    return {name: {**values, **_main_address(values)} for name, values in sorted(interfaces.items())}


def _permanent_mac(machine: Machine, name: str, master: str | None) -> str | None:
    """The hardware address of an interface itself: in a bond every interface shows the address of the bond."""
    text = machine.read_text(f"/proc/net/bonding/{master}") if master else None
    pattern = rf"Slave Interface: {re.escape(name)}\n(?:.+\n)*?Permanent HW addr: (\S+)"
    match = re.search(pattern, text or "")
    return match[1].lower() if match else None


def _binding(address: Address) -> tuple[str, Facts]:
    network = ipaddress.ip_network(f"{address.address}/{address.prefix}", strict=False)
    binding = {
        "address": address.address,
        "netmask": str(network.netmask),
        "network": str(network.network_address),
    }
    if network.version == 4:
        return "bindings", binding
    flags = [name for name, bit in _FLAGS.items() if address.flags & bit]
    return "bindings6", {**binding, "scope6": _scope(address.address), "flags": flags}


def _scope(address: str) -> str:
    parsed = ipaddress.IPv6Address(address)
    if parsed.is_loopback:
        return "host"
    if parsed.is_link_local:
        return "link"
    return "site" if parsed.is_site_local else "global"


def _main_address(values: Facts) -> Facts:
    """The main address of an interface: the first that other machines can reach, or else the first."""
    facts: Facts = {}
    for key, suffix in (("bindings", ""), ("bindings6", "6")):
        if bindings := values.get(key):
            best = next((binding for binding in bindings if not _is_local(binding["address"])), bindings[0])
            facts |= {f"ip{suffix}": best["address"], f"netmask{suffix}": best["netmask"]}
            facts |= {f"network{suffix}": best["network"]} | ({"scope6": best["scope6"]} if suffix else {})
    return facts


def _is_local(address: str) -> bool:
    parsed = ipaddress.ip_address(address)
    return any(parsed in network for network in _PRIVATE)


def _primary(machine: Machine, interfaces: dict[str, Facts]) -> str | None:
    """The interface of the default route, or else the first with an address that other machines can reach."""
    for name in (_default_route(machine), _default_route6(machine)):
        if name in interfaces:
            return name
    for name, values in interfaces.items():
        bindings = [*values.get("bindings", []), *values.get("bindings6", [])]
        if any(not _is_local(binding["address"]) for binding in bindings):
            return name
    return None


def _default_route(machine: Machine) -> str | None:
    """The interface of the first default route, which is the best: the kernel sorts routes by their metric."""
    for line in (machine.read_text("/proc/net/route") or "").splitlines()[1:]:
        words = line.split()
        if len(words) > 7 and words[1] == words[7] == "00000000" and words[0] != "*":
            return words[0]
    return None


def _default_route6(machine: Machine) -> str | None:
    best: tuple[str, str] | None = None
    for line in (machine.read_text("/proc/net/ipv6_route") or "").splitlines():
        words = line.split()
        is_default = len(words) == 10 and words[:2] == ["0" * 32, "00"] and words[9] != "lo"
        if is_default and (best is None or words[5] < best[0]):
            best = (words[5], words[9])
    return best[1] if best else None
