"""Chooses the package manager of a resource: the one it names, or else the machine's own."""

import functools
import importlib

from precast.resources import issues, issues_system
from precast.resources.commands import has_program
from precast.resources.contract import DesiredResource, ManagedNode
from precast.resources.package.manager import Manager
from precast.resources.text_files import read_text

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
# Family in /etc/os-release: the managers of that family, of which the first that is installed is used.
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
    manager: type[Manager] = getattr(importlib.import_module(f"precast.resources.package.{module}"), attribute)
    return manager


def choose(resource: DesiredResource, node: ManagedNode) -> Manager:
    """The manager for a resource. Raises InputError RESOURCE-009 if it is unknown, RESOURCE-151 if the machine has none."""
    name = resource.get("provider")
    if name is None:
        return default(node)
    if name not in _MANAGERS:
        raise issues.NO_PROVIDER.error(type="package", provider=name, providers=", ".join(_MANAGERS))
    command = resource.get("command")
    return _class(str(name))(node, None if command is None else str(command))


def default(node: ManagedNode) -> Manager:
    """The machine's own manager: by its family, or else the first that is installed."""
    return _class(node.snapshot("package manager", lambda: _default_name(node)))(node)


def _default_name(node: ManagedNode) -> str:
    families = [name for family in _family_names(node) for name in _FAMILIES.get(family, ())]
    for name in dict.fromkeys([*families, "apt", "dnf", "yum", "zypper", "apk"]):
        if has_program(_class(name).program, node.root):
            return name
    raise issues_system.NO_PACKAGE_MANAGER.error(providers=", ".join(_MANAGERS))


def _family_names(node: ManagedNode) -> list[str]:
    """The name of the system, then the names of similar systems."""
    text = read_text(node, "/etc/os-release") or read_text(node, "/usr/lib/os-release")
    fields = dict(line.partition("=")[::2] for line in text.splitlines() if "=" in line)
    return [word for key in ("ID", "ID_LIKE") for word in fields.get(key, "").strip("\"'").split()]
