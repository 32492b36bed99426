"""Which package manager a resource gets: the one it names, else the machine's own."""

import functools
import importlib

from precast.resources import issues, issues_system
from precast.resources.commands import is_there
from precast.resources.contract import Node, Wanted
from precast.resources.lines import read_text
from precast.resources.package.manager import Manager

# Name: module and class.
_MANAGERS = {
    "apt": ("debian", "Apt"),
    "dpkg": ("debian", "Dpkg"),
    "dnf": ("rpm", "Dnf"),
    "yum": ("rpm", "Yum"),
    "rpm": ("rpm", "Rpm"),
    "zypper": ("rpm", "Zypper"),
    "apk": ("alpine", "Apk"),
    "pip": ("python", "Pip"),
    "pip3": ("python", "Pip3"),
}
# Family, as /etc/os-release has it: the managers to look for, the first that is there.
_FAMILIES = {
    "debian": ("apt",),
    "ubuntu": ("apt",),
    "fedora": ("dnf", "yum"),
    "rhel": ("dnf", "yum"),
    "centos": ("dnf", "yum"),
    "suse": ("zypper",),
    "opensuse": ("zypper",),
    "alpine": ("apk",),
}


@functools.cache
def _class(name: str) -> type[Manager]:
    module, attribute = _MANAGERS[name]
    found: type[Manager] = getattr(importlib.import_module(f"precast.resources.package.{module}"), attribute)
    return found


def choose(wanted: Wanted, node: Node) -> Manager:
    """The manager for a resource. Raises InputError RESOURCE-009 or RESOURCE-151 if there is none."""
    name = wanted.get("provider")
    if name is None:
        return default(node)
    if name not in _MANAGERS:
        raise issues.NO_PROVIDER.error(type="package", provider=name, providers=", ".join(_MANAGERS))
    command = wanted.get("command")
    return _class(str(name))(node, None if command is None else str(command))


def default(node: Node) -> Manager:
    """The machine's own manager: by its family, else by what is installed."""
    return _class(node.snapshot("package manager", lambda: _default_name(node)))(node)


def _default_name(node: Node) -> str:
    families = [name for family in _family_names(node) for name in _FAMILIES.get(family, ())]
    for name in dict.fromkeys([*families, "apt", "dnf", "yum", "zypper", "apk"]):
        if is_there(_class(name).program, node.root):
            return name
    raise issues_system.NO_PACKAGE_MANAGER.error(providers=", ".join(_MANAGERS))


def _family_names(node: Node) -> list[str]:
    """The system's name, then those it is like."""
    text = read_text(node, "/etc/os-release") or read_text(node, "/usr/lib/os-release")
    fields = dict(line.partition("=")[::2] for line in text.splitlines() if "=" in line)
    return [word for key in ("ID", "ID_LIKE") for word in fields.get(key, "").strip("\"'").split()]
