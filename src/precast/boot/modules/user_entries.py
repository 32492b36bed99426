"""Reads the configuration's user entries, and finds the default user of an image.

`default` means the account that a distribution's images come with. An image may define it (`system_info: default_user:`); otherwise it
has the name that the distribution uses in its cloud images.
"""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from precast.base.errors import PrecastError
from precast.resources.files import safe_reads

_MAX_BYTES = 1 << 20

_RULE = ["ALL=(ALL) NOPASSWD:ALL"]
_GROUPS = {
    "apt": ["adm", "audio", "cdrom", "dialout", "dip", "floppy", "netdev", "plugdev", "sudo", "video"],
    "rpm": ["adm", "systemd-journal", "wheel"],
}
# For each ID in os-release: the default user's name, and the key of its groups in _GROUPS.
_NAMES = {
    "almalinux": ("almalinux", "rpm"),
    "alpine": ("alpine", "rpm"),
    "amzn": ("ec2-user", "rpm"),
    "arch": ("arch", "rpm"),
    "centos": ("cloud-user", "rpm"),
    "debian": ("debian", "apt"),
    "fedora": ("fedora", "rpm"),
    "opensuse-leap": ("opensuse", "rpm"),
    "rhel": ("cloud-user", "rpm"),
    "rocky": ("rocky", "rpm"),
    "ubuntu": ("ubuntu", "apt"),
}


class UserEntry(NamedTuple):
    """A user's name, and the desired properties of the account in `entry`."""

    name: str
    entry: Mapping[str, Any]
    is_default: bool = False


def read_os_release(root: Path) -> dict[str, str]:
    """Return the system's os-release file as a mapping; empty if the file does not exist."""
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        try:
            content = safe_reads.read_file(safe_reads.root_parents(str(root)), path, max_bytes=_MAX_BYTES)
        except (OSError, PrecastError):
            continue
        if content is None:
            continue
        text = content.data.decode(errors="replace")
        pairs = (line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#"))
        return {key.strip(): _unquote(value) for key, _, value in pairs}
    return {}


def _unquote(value: str) -> str:
    try:
        return " ".join(shlex.split(value))
    except ValueError:
        return value.strip()


def add_default_user(config: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """Return the configuration with this system's default user, unless the configuration or the image defines one."""
    info = config.get("system_info")
    info = dict(info) if isinstance(info, dict) else {}
    if not isinstance(info.get("default_user"), dict):
        known = _NAMES.get(read_os_release(root).get("ID", ""))
        if known is None:
            return dict(config)
        name, kind = known
        info["default_user"] = {
            "name": name,
            "gecos": f"{name.capitalize()} Cloud User",
            "groups": _GROUPS[kind],
            "shell": "/bin/bash",
            "sudo": _RULE,
            "lock_passwd": True,
            "optional_groups": True,
        }
    return {**config, "system_info": info}


def find_default_user(config: Mapping[str, Any]) -> UserEntry | None:
    """Return the account that `default` means. The key `user` changes its name or some of its properties."""
    entry: dict[str, Any] = dict(config.get("system_info", {}).get("default_user", {}))
    changes = config.get("user")
    if isinstance(changes, str):
        entry["name"] = changes
    elif isinstance(changes, dict):
        entry |= changes
    name = entry.pop("name", None)
    return UserEntry(name, entry, True) if name else None


def list_user_entries(config: Mapping[str, Any]) -> list[UserEntry]:
    """Return all requested users in their order. Without the key `users`, that is the default user."""
    users: dict[str, UserEntry] = {}
    for item in _split_items(config.get("users")):
        user = find_default_user(config) if item == "default" else _parse_item(item)
        if user is not None:
            earlier = users.get(user.name)
            users[user.name] = user if earlier is None else _merge(earlier, user)
    return list(users.values())


def _split_items(users: Any) -> list[Any]:
    if users is None:
        return ["default"]
    if isinstance(users, str):
        return [name.strip() for name in users.split(",") if name.strip()]
    if isinstance(users, dict):
        return [name if name == "default" else {**(entry or {}), "name": name} for name, entry in users.items()]
    return [part for item in users for part in (_split_items(item) if isinstance(item, str) else [item])]


def _parse_item(item: Any) -> UserEntry | None:
    if isinstance(item, str):
        return UserEntry(item, {})
    entry = dict(item)
    name = entry.pop("name", None)
    return UserEntry(name, entry) if name else None


def _merge(first: UserEntry, second: UserEntry) -> UserEntry:
    return UserEntry(first.name, {**first.entry, **second.entry}, first.is_default or second.is_default)
