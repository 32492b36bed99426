"""Applies one resource as the engine does, and checks that it is in sync afterwards."""

from pathlib import Path
from typing import Any

from precast.agent.applying.machine import Machine
from precast.base.clock import ManualClock
from precast.resources import registry
from precast.resources.contract import Change, DesiredResource, Handler


def machine(root: Path) -> Machine:
    """A machine whose files are below a directory."""
    return Machine(str(root), str(root / "var/lib/precast"), ManualClock())


def handler(node: Machine, type_name: str, title: str, **parameters: Any) -> Handler:
    handler_class = registry.find(type_name)
    assert handler_class is not None
    return handler_class(DesiredResource(type_name, title, parameters), node)


def differences(node: Machine, type_name: str, title: str, **parameters: Any) -> list[Change]:
    made = handler(node, type_name, title, **parameters)
    return list(made.compare(made.read()))


def apply_resource(node: Machine, type_name: str, title: str, **parameters: Any) -> list[str]:
    """Apply all changes and return their messages. A second comparison must find the resource in sync."""
    made = handler(node, type_name, title, **parameters)
    changes = list(made.compare(made.read()))
    messages = []
    for change in changes:
        message = made.apply(change)
        node.snapshots.forget(made.invalidates)
        messages.append(f"{change.property}: {message or change.message}")
    made.flush()
    assert differences(node, type_name, title, **parameters) == []
    return messages
