"""Chooses the init system of a service: the one it names, or else the one that runs."""

import functools
import importlib
from pathlib import Path

from precast.resources import issues
from precast.resources.commands import has_program
from precast.resources.contract import DesiredResource, ManagedNode
from precast.resources.properties import as_texts
from precast.resources.service.init_system import InitSystem

# Name: module and class.
_SYSTEMS = {
    "systemd": ("systemd", "Systemd"),
    "debian": ("scripts", "DebianScripts"),
    "redhat": ("scripts", "RedHatScripts"),
    "openrc": ("scripts", "OpenRc"),
    "init": ("scripts", "Scripts"),
    "base": ("scripts", "Commands"),
}


@functools.cache
def _class(name: str) -> type[InitSystem]:
    module, attribute = _SYSTEMS[name]
    system: type[InitSystem] = getattr(importlib.import_module(f"precast.resources.service.{module}"), attribute)
    return system


def choose(resource: DesiredResource, node: ManagedNode) -> InitSystem:
    """The init system for a resource. Raises InputError RESOURCE-009 if the name is unknown."""
    paths = [path for text in as_texts(resource.get("path", [])) for path in text.split(":")]
    name = resource.get("provider")
    if name is None:
        return _class(_running_name(node))(node, paths)
    if name not in _SYSTEMS:
        raise issues.NO_PROVIDER.error(type="service", provider=name, providers=", ".join(_SYSTEMS))
    return _class(str(name))(node, paths)


def default(node: ManagedNode) -> InitSystem:
    return _class(_running_name(node))(node)


def _running_name(node: ManagedNode) -> str:
    return node.snapshot("init system", lambda: _find(node))


def _find(node: ManagedNode) -> str:
    if Path(node.path("/run/systemd/system")).is_dir():  # the check that systemd's documentation recommends
        return "systemd"
    if has_program("rc-service", node.root):
        return "openrc"
    if has_program("update-rc.d", node.root):
        return "debian"
    return "redhat" if has_program("chkconfig", node.root) else "init"
