"""`networking`: names, interfaces with their addresses, and which interface leads out."""

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
    found = {**hostnames(machine), **present(primary=primary)}
    if primary is not None:
        found |= {name: value for name, value in interfaces[primary].items() if not name.startswith("bindings")}
    if interfaces:
        found["interfaces"] = interfaces
    return {"networking": found} if found else {}


def hostnames(machine: Machine) -> Facts:
    """`hostname`, `domain`, `fqdn`, from files alone: a name server that is away must not hold facts up, nor change them."""
    name = machine.read_line("/proc/sys/kernel/hostname")
    if name in (None, "(none)"):  # the kernel's word for a name that nobody has set
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
    found = dict(re.findall(r"(?m)^(domain|search)[ \t]+(\S+)", machine.read_text("/etc/resolv.conf") or ""))
    return found.get("domain") or found.get("search")


def _links_in_files(machine: Machine) -> list[Link]:
    found = []
    for name in machine.names_in("/sys/class/net"):
        place = f"/sys/class/net/{name}"
        if machine.exists(f"{place}/ifindex") or machine.exists(f"{place}/address"):
            master = machine.read_number(f"{place}/master/ifindex") or 0
            mac = machine.read_line(f"{place}/address") or ""
            found.append(
                Link(
                    machine.read_number(f"{place}/ifindex") or 0, name, mac, machine.read_number(f"{place}/mtu"), master
                )
            )
    return found


def _addresses_in_files(machine: Machine) -> list[Address]:
    """Those of IPv6; no file lists the others."""
    found = []
    for line in (machine.read_text("/proc/net/if_inet6") or "").splitlines():
        if match := re.fullmatch(r"([0-9a-f]{32}) \S+ ([0-9a-f]{1,2}) \S+ ([0-9a-f]{1,8}) +(\S+)", line, re.ASCII):
            address = str(ipaddress.IPv6Address(int(match[1], 16)))
            if (prefix := int(match[2], 16)) <= 128:
                found.append(Address(match[4], address, prefix, int(match[3], 16)))
    return found


def _interfaces(machine: Machine, links: list[Link], addresses: list[Address]) -> dict[str, Facts]:
    by_number = {link.number: link.name for link in links}
    leases = Leases(machine)
    found: dict[str, Facts] = {}
    for link in links:
        mac = _permanent_mac(machine, link.name, by_number.get(link.master)) or link.mac.lower()
        is_mac = _MAC.fullmatch(mac) is not None and set(mac) != {"0", ":"}
        dhcp = leases.server_of(link.name, link.number)
        found[link.name] = present(mac=mac if is_mac else None, mtu=link.mtu, dhcp=dhcp)
    for one in addresses:
        key, bound = _binding(one)
        found.setdefault(one.label, {}).setdefault(key, []).append(bound)
    return {name: {**values, **_main(values)} for name, values in sorted(found.items())}


def _permanent_mac(machine: Machine, name: str, master: str | None) -> str | None:
    """The address that an interface has by itself: in a bond all show the bond's."""
    text = machine.read_text(f"/proc/net/bonding/{master}") if master else None
    pattern = rf"Slave Interface: {re.escape(name)}\n(?:.+\n)*?Permanent HW addr: (\S+)"
    match = re.search(pattern, text or "")
    return match[1].lower() if match else None


def _binding(one: Address) -> tuple[str, Facts]:
    network = ipaddress.ip_network(f"{one.address}/{one.prefix}", strict=False)
    found = {"address": one.address, "netmask": str(network.netmask), "network": str(network.network_address)}
    if network.version == 4:
        return "bindings", found
    flags = [name for name, bit in _FLAGS.items() if one.flags & bit]
    return "bindings6", {**found, "scope6": _scope(one.address), "flags": flags}


def _scope(address: str) -> str:
    parsed = ipaddress.IPv6Address(address)
    if parsed.is_loopback:
        return "host"
    if parsed.is_link_local:
        return "link"
    return "site" if parsed.is_site_local else "global"


def _main(values: Facts) -> Facts:
    """The address that stands for an interface: the first that others can reach it by, or the first."""
    found: Facts = {}
    for key, suffix in (("bindings", ""), ("bindings6", "6")):
        if bound := values.get(key):
            best = next((one for one in bound if not _is_local(one["address"])), bound[0])
            found |= {f"ip{suffix}": best["address"], f"netmask{suffix}": best["netmask"]}
            found |= {f"network{suffix}": best["network"]} | ({"scope6": best["scope6"]} if suffix else {})
    return found


def _is_local(address: str) -> bool:
    parsed = ipaddress.ip_address(address)
    return any(parsed in network for network in _PRIVATE)


def _primary(machine: Machine, interfaces: dict[str, Facts]) -> str | None:
    """The interface of the default route, or the first with an address that others can reach it by."""
    for name in (_default_route(machine), _default_route6(machine)):
        if name in interfaces:
            return name
    for name, values in interfaces.items():
        if any(not _is_local(one["address"]) for key in ("bindings", "bindings6") for one in values.get(key, [])):
            return name
    return None


def _default_route(machine: Machine) -> str | None:
    """The kernel lists the routes with the best metric first."""
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
