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

DEFAULT = "default"  # the name that means the image's account
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


def describe_default_user(config: Mapping[str, Any]) -> UserEntry | None:
    """Return the account that `default` means. The key `user` changes its name or some of its properties; null removes a property."""
    entry: dict[str, Any] = dict(config.get("system_info", {}).get("default_user", {}))
    changes = config.get("user")
    if isinstance(changes, str):
        entry["name"] = changes
    elif isinstance(changes, dict):
        entry |= changes
    name = entry.pop("name", None)
    return UserEntry(name, _without_null(entry), True) if name else None


def find_default_user(config: Mapping[str, Any]) -> UserEntry | None:
    """Return the default user as this configuration requests it; None if it requests no default user."""
    return next((user for user in list_user_entries(config) if user.is_default), None)


def list_user_entries(config: Mapping[str, Any]) -> list[UserEntry]:
    """Return all requested users in the order in which they are created: that of the list, with the default user last.

    The order decides the user ids. Without the key `users`, only the default user is requested, and the key `user` always requests it.
    If a name occurs twice, the first value of a property counts.
    """
    items = _split_items(config.get("users"))
    if config.get("user"):
        items.append(DEFAULT)
    entries: dict[str, dict[str, Any]] = {}
    for item in items:
        entry = {} if isinstance(item, str) else dict(item)
        name = item if isinstance(item, str) else entry.pop("name", DEFAULT)
        entries[name] = {**_without_null(entry), **entries.get(name, {})}
    users = {name: UserEntry(name, entry) for name, entry in entries.items() if name != DEFAULT}
    default = describe_default_user(config)
    if DEFAULT in entries and default is not None:
        named = users.pop(default.name, UserEntry(default.name, {}))
        users[default.name] = _merge_default(default, entries[DEFAULT], named.entry)
    return list(users.values())


def split_names(value: Any) -> list[str]:
    """Return the names in a list, a mapping, or a text with commas."""
    names = value.split(",") if isinstance(value, str) else list(value or ())
    return [name.strip() for name in names if name.strip()]


def _split_items(users: Any) -> list[Any]:
    """Return the entries of the key `users`, in any of its forms: names are text, descriptions are mappings."""
    if users is None:
        return [DEFAULT]
    if isinstance(users, str):
        return sorted(dict.fromkeys(split_names(users)))
    if isinstance(users, dict):
        described = (
            (name, {} if value is True else value or {}) for name, value in users.items() if value is not False
        )
        return [{**entry, "name": name} for name, entry in described]
    return [part for item in users for part in (split_names(item) if isinstance(item, str) else [item])]


def _merge_default(default: UserEntry, described: Mapping[str, Any], named: Mapping[str, Any]) -> UserEntry:
    """Merge the default user with the entries for `default` and for its name. The default user's own properties win, but for groups."""
    groups = sorted({*split_names(named.get("groups")), *split_names(default.entry.get("groups"))})
    known = {**named, **described, **default.entry}
    if groups:
        known["groups"] = groups
    if "groups" in described:
        known["groups"] = described["groups"]
    return UserEntry(default.name, known, True)


def _without_null(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if value is not None}
