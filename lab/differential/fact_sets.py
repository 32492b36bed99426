"""Facts of fictitious machines: five for each environment, of five systems, with different sizes, names and networks.

The facts are the structured ones of facter 4, the legacy flat ones, and a few that modules define.
"""

import random
from typing import Any

import msgspec

Facts = dict[str, Any]
GIB = 1024**3
# Name, family, release, code name. Some modules refuse systems of the last group: Puppet and Precast must both fail.
SYSTEMS = (
    (("Debian", "Debian", "12.5", "bookworm"), ("Debian", "Debian", "11.9", "bullseye")),
    (("Ubuntu", "Debian", "22.04", "jammy"), ("Ubuntu", "Debian", "20.04", "focal")),
    (("RedHat", "RedHat", "9.3", "Plow"), ("RedHat", "RedHat", "8.9", "Ootpa")),
    (("CentOS", "RedHat", "7.9.2009", "Core"), ("CentOS", "RedHat", "8.5.2111", "n/a")),
    (
        ("Fedora", "RedHat", "38", "n/a"),
        ("Rocky", "RedHat", "9.2", "Blue Onyx"),
        ("SLES", "Suse", "15.4", "n/a"),
        ("OracleLinux", "RedHat", "9.3", "n/a"),
        ("AlmaLinux", "RedHat", "8.8", "Sapphire Caracal"),
    ),
)
HOSTS = ("web", "db", "mail", "node", "edge", "app-blue", "cache")
DOMAINS = ("example.test", "corp.example.test", "dc1.example.net")


class FactSet(msgspec.Struct, frozen=True):
    """One machine and its facts."""

    certname: str
    facts: Facts


def fact_sets(chance: random.Random) -> list[FactSet]:
    """Five machines, one of each group of systems."""
    return [_machine(chance, number, chance.choice(group)) for number, group in enumerate(SYSTEMS)]


def _machine(chance: random.Random, number: int, system: tuple[str, str, str, str]) -> FactSet:
    host = f"{chance.choice(HOSTS)}{chance.randrange(1, 40)}{'abcde'[number]}"
    domain = chance.choice(DOMAINS)
    fqdn = f"{host}.{domain}"
    facts: Facts = {
        **_system(system),
        **_network(chance, host, domain),
        **_hardware(chance),
        "kernel": "Linux",
        "clientcert": fqdn,
        "clientversion": "7.23.0",
        "clientnoop": False,
        "path": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "timezone": "UTC",
        "identity": {"user": "root", "uid": 0, "gid": 0, "group": "root", "privileged": True},
        "id": "root",
        "puppetversion": "7.23.0",
        "facterversion": "4.3.0",
        "ruby": {"version": "3.1.2", "platform": "x86_64-linux-gnu"},
        "rubyversion": "3.1.2",
        "is_pe": False,
        **_of_modules(chance),
    }
    return FactSet(fqdn, facts)


def _system(system: tuple[str, str, str, str]) -> Facts:
    name, family, full, codename = system
    parts = full.split(".")
    major = full if name == "Ubuntu" else parts[0]
    release = {"full": full, "major": major} | ({"minor": parts[1]} if len(parts) > 1 else {})
    architecture = "amd64" if family == "Debian" else "x86_64"
    has_selinux = family == "RedHat"
    return {
        "os": {
            "name": name,
            "family": family,
            "architecture": architecture,
            "hardware": "x86_64",
            "release": release,
            "selinux": {"enabled": has_selinux} | ({"current_mode": "enforcing"} if has_selinux else {}),
            "distro": {"codename": codename, "id": name, "description": f"{name} {full}", "release": release},
        },
        "osfamily": family,
        "operatingsystem": name,
        "operatingsystemrelease": full,
        "operatingsystemmajrelease": major,
        "lsbdistid": name,
        "lsbdistcodename": codename,
        "lsbdistrelease": full,
        "lsbmajdistrelease": major,
        "lsbdistdescription": f"{name} {full}",
        "architecture": architecture,
        "hardwaremodel": "x86_64",
        "hardwareisa": "x86_64",
        "selinux": has_selinux,
        "kernelrelease": "6.1.0-18-amd64",
        "kernelversion": "6.1.0",
        "kernelmajversion": "6.1",
        "service_provider": "systemd",
        "systemd": True,
        "systemd_version": "252",
        "package_provider": {"Debian": "apt", "RedHat": "dnf", "Suse": "zypper"}[family],
    }


def _network(chance: random.Random, host: str, domain: str) -> Facts:
    names = ["eth0", "eth1", "ens3"][: chance.randrange(1, 4)]
    if chance.random() < 0.3:
        names[0] = "ens3" if len(names) < 3 else "bond0"
    base = f"10.{chance.randrange(256)}.{chance.randrange(256)}"
    interfaces: Facts = {}
    flat: Facts = {}
    for number, name in enumerate(names):
        address = f"{base}.{10 + number * 7}"
        mac = "52:54:00:" + ":".join(f"{chance.randrange(256):02x}" for _ in range(3))
        interfaces[name] = {
            "ip": address, "netmask": "255.255.255.0", "network": f"{base}.0", "mac": mac, "mtu": 1500,
            "ip6": f"fe80::{number + 1}",
        }  # fmt: skip
        flat |= {f"ipaddress_{name}": address, f"netmask_{name}": "255.255.255.0", f"macaddress_{name}": mac}
    first = interfaces[names[0]]
    interfaces["lo"] = {"ip": "127.0.0.1", "netmask": "255.0.0.0", "network": "127.0.0.0", "mtu": 65536, "ip6": "::1"}
    fqdn = f"{host}.{domain}"
    return {
        "networking": {
            "hostname": host, "domain": domain, "fqdn": fqdn, "primary": names[0], "interfaces": interfaces,
            **{key: first[key] for key in ("ip", "ip6", "mac", "netmask", "network", "mtu")},
        },
        "hostname": host,
        "domain": domain,
        "fqdn": fqdn,
        "ipaddress": first["ip"],
        "ipaddress6": first["ip6"],
        "macaddress": first["mac"],
        "netmask": first["netmask"],
        "interfaces": ",".join([*names, "lo"]),
        "ipaddress_lo": "127.0.0.1",
        **flat,
    }  # fmt: skip


def _hardware(chance: random.Random) -> Facts:
    cores, memory = chance.choice((1, 2, 4, 16, 64)), chance.choice((1, 2, 4, 16, 256))
    is_virtual = chance.random() < 0.7
    mib = memory * 1024
    return {
        "processors": {"count": cores, "physicalcount": 1, "isa": "x86_64", "models": ["A CPU"] * cores},
        "processorcount": cores,
        "physicalprocessorcount": 1,
        "memory": {
            "system": {
                "total": f"{memory}.00 GiB",
                "total_bytes": memory * GIB,
                "available_bytes": memory * GIB // 2,
                "available": f"{memory / 2:.2f} GiB",
            },
            "swap": {"total_bytes": 0},
        },
        "memorysize": f"{memory}.00 GiB",
        "memorysize_mb": float(mib),
        "memoryfree_mb": mib / 2,
        "swapsize_mb": 0.0,
        "virtual": "kvm" if is_virtual else "physical",
        "is_virtual": is_virtual,
        "uptime_seconds": chance.randrange(10**7),
    }


def _of_modules(chance: random.Random) -> Facts:
    workers = chance.choice((1, 2, 4, 8))
    return {
        "root_home": "/root",
        "puppet_vardir": "/var/lib/puppet",
        "puppet_vardirtmp": "/tmp",
        "puppet_environmentpath": "/etc/puppet/environments",
        "concat_basedir": "/var/lib/puppet/concat",
        "mysql_server_id": chance.randrange(1, 2**31),
        "mysql_version": "10.11",
        "apt_has_updates": False,
        "apt_update_last_success": 1,
        "apt_reboot_required": False,
        "augeas": {"version": "1.14.0"},
        "augeasversion": "1.14.0",
        "staging_http_get": "curl",
        "python_version": "3.11.2",
        "os_service_default": "<SERVICE DEFAULT>",
        "os_workers": workers,
        "os_workers_small": workers,
        "os_workers_heat_engine": workers,
        "os_workers_keystone": workers,
        "collectd_version": "5.12.0",
        "postfix_version": "3.7.6",
        "nameservers": ["127.0.0.1"],
        "iptables_persistent_version": "1.0",
        "iptables_version": "1.8.9",
        "kmods": {},
        "systemd_internal_services": {},
        "rabbitmq_version": "3.10.8",
        "erlang_version": "25.2",
        "zookeeper_version": "3.8.0",
        "redis_server_version": "7.0.15",
        "filebeat_version": "7.17.0",
        "monit_version": "5.33.0",
    }
