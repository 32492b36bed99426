"""Which init system a service gets: the one it names, else the one that runs."""

import functools
import importlib
from pathlib import Path

from precast.resources import issues
from precast.resources.commands import is_there
from precast.resources.contract import Node, Wanted
from precast.resources.properties import listed
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
    found: type[InitSystem] = getattr(importlib.import_module(f"precast.resources.service.{module}"), attribute)
    return found


def choose(wanted: Wanted, node: Node) -> InitSystem:
    """The init system for a resource. Raises InputError RESOURCE-009 if there is none of that name."""
    paths = [each for text in listed(wanted.get("path", [])) for each in text.split(":")]
    name = wanted.get("provider")
    if name is None:
        return _class(_running(node))(node, paths)
    if name not in _SYSTEMS:
        raise issues.NO_PROVIDER.error(type="service", provider=name, providers=", ".join(_SYSTEMS))
    return _class(str(name))(node, paths)


def default(node: Node) -> InitSystem:
    return _class(_running(node))(node)


def _running(node: Node) -> str:
    return node.snapshot("init system", lambda: _find(node))


def _find(node: Node) -> str:
    if Path(node.path("/run/systemd/system")).is_dir():  # what systemd itself says to look for
        return "systemd"
    if is_there("rc-service", node.root):
        return "openrc"
    if is_there("update-rc.d", node.root):
        return "debian"
    return "redhat" if is_there("chkconfig", node.root) else "init"
