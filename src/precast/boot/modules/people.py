"""Who is meant by user entries: their names, and the user that an image has by default.

`default` stands for the account that a distribution's images come with. An image may say who that is (`system_info: default_user:`);
otherwise the name is the one that the distribution uses in clouds.
"""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from precast.resources.files import safe_paths

_RULE = ["ALL=(ALL) NOPASSWD:ALL"]
_GROUPS = {
    "apt": ["adm", "audio", "cdrom", "dialout", "dip", "floppy", "netdev", "plugdev", "sudo", "video"],
    "rpm": ["adm", "systemd-journal", "wheel"],
}
# ID in os-release: name and kind of groups.
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


class Person(NamedTuple):
    """A user entry with its name; `entry` has what is wanted of the account."""

    name: str
    entry: Mapping[str, Any]
    is_default: bool = False


def os_release(root: Path) -> dict[str, str]:
    """What the system says it is; nothing if it does not."""
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        try:
            text = Path(safe_paths.resolve(str(root).rstrip("/"), path, is_followed=True)).read_text(errors="replace")
        except OSError:
            continue
        pairs = (line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#"))
        return {key.strip(): _unquoted(value) for key, _, value in pairs}
    return {}


def _unquoted(value: str) -> str:
    try:
        return " ".join(shlex.split(value))
    except ValueError:
        return value.strip()


def with_defaults(config: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """The configuration with the default user of this system, as far as neither it nor the image says who that is."""
    info = config.get("system_info")
    info = dict(info) if isinstance(info, dict) else {}
    if not isinstance(info.get("default_user"), dict):
        known = _NAMES.get(os_release(root).get("ID", ""))
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


def default_user(config: Mapping[str, Any]) -> Person | None:
    """The account that `default` stands for. The key `user` changes its name, or some of what is wanted of it."""
    entry: dict[str, Any] = dict(config.get("system_info", {}).get("default_user", {}))
    given = config.get("user")
    if isinstance(given, str):
        entry["name"] = given
    elif isinstance(given, dict):
        entry |= given
    name = entry.pop("name", None)
    return Person(name, entry, True) if name else None


def people(config: Mapping[str, Any]) -> list[Person]:
    """All users that are wanted, in their order. Without a word there is the default one."""
    found: dict[str, Person] = {}
    for each in _entries(config.get("users")):
        person = default_user(config) if each == "default" else _person(each)
        if person is not None:
            before = found.get(person.name)
            found[person.name] = person if before is None else _both(before, person)
    return list(found.values())


def _entries(given: Any) -> list[Any]:
    if given is None:
        return ["default"]
    if isinstance(given, str):
        return [name.strip() for name in given.split(",") if name.strip()]
    if isinstance(given, dict):
        return [name if name == "default" else {**(entry or {}), "name": name} for name, entry in given.items()]
    return [name for each in given for name in (_entries(each) if isinstance(each, str) else [each])]


def _person(given: Any) -> Person | None:
    if isinstance(given, str):
        return Person(given, {})
    entry = dict(given)
    name = entry.pop("name", None)
    return Person(name, entry) if name else None


def _both(first: Person, second: Person) -> Person:
    return Person(first.name, {**first.entry, **second.entry}, first.is_default or second.is_default)
