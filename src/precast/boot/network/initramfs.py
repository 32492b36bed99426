"""Reads the network that the initramfs configured: with `ip=` on the kernel's command line it writes its settings to /run/net-*.conf.

The root file system may be mounted over that network, so it is taken over unchanged. The files hold shell assignments, KEY='value'; they
are parsed as data and never executed.
"""

import fnmatch
import shlex
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from precast.base.errors import PrecastError
from precast.boot.network import issues
from precast.resources.files import safe_reads
from precast.resources.files.safe_paths import ParentCache

PLACE, PATTERNS = "/run", ("net-*.conf", "net6-*.conf")
ISCSI = "/run/initramfs/open-iscsi.interface"  # firmware can configure the network without `ip=`
MAX_FILES, MAX_BYTES = 32, 16 * 1024
_KINDS = {"none": "static", "static": "static", "dhcp": "dhcp", "dhcp6": "dhcp6"}


def has_configured(root: Path, command_line: str) -> bool:
    """Whether the initramfs was told to bring the network up, and did."""
    parents = safe_reads.root_parents(str(root))
    is_asked = any(word.startswith(("ip=", "ip6=")) for word in command_line.split())
    return (is_asked or safe_reads.exists(parents, ISCSI)) and bool(_list_paths(parents))


def _list_paths(parents: ParentCache) -> list[str]:
    """Return the regular files; a pipe, for example, would block and is left out."""
    names = safe_reads.list_names(parents, PLACE)
    paths = [f"{PLACE}/{name}" for pattern in PATTERNS for name in names if fnmatch.fnmatchcase(name, pattern)]
    return [path for path in paths if _is_file(parents, path)][:MAX_FILES]


def _is_file(parents: ParentCache, path: str) -> bool:
    status = safe_reads.find_status(parents, path, is_followed=True)
    return status is not None and stat.S_ISREG(status.st_mode)


def read_document(root: Path, macs: Mapping[str, str]) -> dict[str, Any]:
    """Return a network config of version 1. Raises InputError BOOTNET-001 for an invalid file."""
    devices: dict[str, dict[str, Any]] = {}
    parents = safe_reads.root_parents(str(root))
    for path in _list_paths(parents):
        values = _read_values(parents, path)
        name = values.get("DEVICE") or values.get("DEVICE6")
        if not name:
            raise _make_error(path, "", "a file with a line DEVICE=")
        device = devices.setdefault(name, {"type": "physical", "name": name, "subnets": []})
        if name in macs:
            device["mac_address"] = macs[name]
        device["subnets"] += _make_subnets(path, values)
    return {"version": 1, "config": list(devices.values())}


def _read_values(parents: ParentCache, path: str) -> dict[str, str]:
    try:
        content = safe_reads.read_file(parents, path, max_bytes=MAX_BYTES)
        words = shlex.split(content.data.decode(errors="replace") if content else "", comments=True)
    except (OSError, ValueError) as error:
        raise _make_error(path, str(error), "a file of lines KEY='value'") from None
    return {key: value for key, sign, value in (word.partition("=") for word in words) if sign}


def _make_subnets(path: str, values: Mapping[str, str]) -> list[dict[str, Any]]:
    usual = values.get("PROTO") or values.get("IPV6PROTO") or ("dhcp" if values.get("filename") else "none")
    subnets = []
    for family in ("IPV4", "IPV6"):
        if not values.get(f"{family}ADDR"):
            continue
        word = values.get(f"{family}PROTO", usual)
        if word not in _KINDS:
            raise _make_error(path, word, "none, dhcp or dhcp6")
        # The device is up, and taking it down might disconnect the root file system.
        subnet: dict[str, Any] = {"type": _KINDS[word], "control": "manual"}
        if subnet["type"] == "static":
            subnet["address"] = values[f"{family}ADDR"]
        for key in ("NETMASK", "BROADCAST", "GATEWAY"):
            if values.get(f"{family}{key}"):
                subnet[key.lower()] = values[f"{family}{key}"]
        servers = [server for key in ("DNS0", "DNS1") if (server := values.get(f"{family}{key}", "")).strip(":.0")]
        if servers:
            subnet["dns_nameservers"] = servers
            if search := values.get("DOMAINSEARCH", "").replace(",", " ").split():
                subnet["dns_search"] = search
        subnets.append(subnet)
    return subnets


def _make_error(path: str, value: str, wanted: str) -> PrecastError:
    return issues.BAD_VALUE.error(
        path=path, value=value or "it", wanted=wanted, advice="check the file that the initramfs wrote"
    )
