"""Fact sets of fictitious machines: 20 KB each, structured like real ones, all of them distinct.

A machine has a number and a count of upgrades. Each upgrade changes the next ten of its packages, so that a change is a few values
of a large set. The tick changes the volatile facts: uptime and memory.
"""

import functools
import hashlib
from typing import Any

from precast.agent.facts.submission import split_facts

PACKAGES = 360
PACKAGES_AN_UPGRADE = 10
INTERFACES = 6
MOUNTS = 8


def name_of(node: int) -> str:
    return f"node{node:05}.example.org"


def facts_of(node: int, upgrades: int, tick: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    """The facts of a machine: the stable part and the volatile part."""
    stable, volatile = _split(node)
    # The rest is cached for each node, because a benchmark makes thousands of these.
    packages = {_package(at): _version(at, upgrades) for at in range(PACKAGES)}
    _, moved = split_facts({"system_uptime": _uptime(tick), "memory": _memories(tick)})
    return {**stable, "packages": packages}, {**volatile, **moved}


@functools.cache
def _split(node: int) -> tuple[dict[str, Any], dict[str, Any]]:
    return split_facts(_everything(node))


def _everything(node: int) -> dict[str, Any]:
    name = name_of(node)
    seed = hashlib.sha256(name.encode()).hexdigest()
    return {
        "os": {
            "name": "Debian",
            "family": "Debian",
            "architecture": "amd64",
            "hardware": "x86_64",
            "release": {"full": "12.11", "major": "12", "minor": "11"},
            "distro": {"id": "Debian", "codename": "bookworm", "description": "Debian GNU/Linux 12 (bookworm)"},
            "selinux": {"enabled": False},
        },
        "kernel": "Linux",
        "kernelrelease": "6.1.0-37-amd64",
        "kernelversion": "6.1.0",
        "dmi": {"product": {"name": "PowerEdge R650", "uuid": seed[:32]}, "bios": {"vendor": "Dell", "version": "1.9"}},
        "networking": {
            "hostname": name.partition(".")[0],
            "domain": "example.org",
            "fqdn": name,
            "primary": "eth0",
            "interfaces": {f"eth{at}": _interface(node, at, seed) for at in range(INTERFACES)},
        },
        "processors": {"count": 32, "isa": "x86_64", "models": ["Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz"] * 32},
        "memory": _memories(0),
        "mountpoints": {f"/srv/volume{at}": _mount(at) for at in range(MOUNTS)},
        "disks": {f"sd{chr(97 + at)}": {"size_bytes": 960197124096, "serial": seed[at : at + 14]} for at in range(8)},
        "ssh": {kind: {"key": seed * 2, "fingerprint": seed} for kind in ("ecdsa", "ed25519", "rsa")},
        "system_uptime": _uptime(0),
        "load_averages": {"1m": 0.5, "5m": 0.4, "15m": 0.3},
        "timezone": "UTC",
        "virtual": "physical",
    }


@functools.cache
def _package(at: int) -> str:
    return f"lib{hashlib.sha256(b'name %d' % at).hexdigest()[:10]}-dev"


@functools.cache
def _build(at: int) -> str:
    number = int.from_bytes(hashlib.sha256(b"version %d" % at).digest()[:4])
    return f"{number % 7}.{number // 7 % 40}.{number // 280 % 1000}"


def _version(at: int, upgrades: int) -> str:
    turns = PACKAGES // PACKAGES_AN_UPGRADE
    revision = (upgrades + turns - 1 - at // PACKAGES_AN_UPGRADE) // turns
    return f"{_build(at)}-{1 + at % 3}+deb12u{revision}"


def _interface(node: int, at: int, seed: str) -> dict[str, Any]:
    address = f"10.{at}.{node >> 8}.{node & 255}"
    return {
        "ip": address,
        "netmask": "255.255.0.0",
        "network": f"10.{at}.0.0",
        "mac": ":".join(seed[2 * part + at : 2 * part + at + 2] for part in range(6)),
        "mtu": 1500,
        "bindings": [{"address": address, "netmask": "255.255.0.0", "network": f"10.{at}.0.0"}],
    }


def _uptime(tick: int) -> dict[str, Any]:
    return {"seconds": 86_400 + tick, "hours": 24 + tick // 3600, "days": 1, "uptime": "1 day"}


def _memories(tick: int) -> dict[str, Any]:
    return {"system": _memory(64, tick), "swap": _memory(8, tick)}


def _memory(total_gib: int, tick: int) -> dict[str, Any]:
    used = 2**30 + tick * 4096
    total = total_gib * 2**30
    return {
        "total_bytes": total,
        "total": f"{total_gib}.00 GiB",
        "used_bytes": used,
        "used": f"{used / 2**30:.2f} GiB",
        "available_bytes": total - used,
        "available": f"{(total - used) / 2**30:.2f} GiB",
        "capacity": f"{used / total:.2%}",
    }


def _mount(at: int) -> dict[str, Any]:
    return {
        "device": f"/dev/mapper/vg-volume{at}",
        "filesystem": "ext4",
        "options": ["rw", "relatime", "errors=remount-ro"],
        "size_bytes": 2**40,
        "size": "1.00 TiB",
        "available_bytes": 2**39,
        "available": "512.00 GiB",
        "used_bytes": 2**39,
        "used": "512.00 GiB",
        "capacity": "50.00%",
    }
