"""One resource set in place as the engine would do it, and shown to be settled afterwards."""

from pathlib import Path
from typing import Any

from precast.agent.applying.machine import Machine
from precast.base.clock import ManualClock
from precast.resources import registry
from precast.resources.contract import Change, Handler, Wanted


def machine(root: Path) -> Machine:
    """A machine whose files are below a directory."""
    return Machine(str(root), str(root / "var/lib/precast"), ManualClock())


def handler(node: Machine, type_name: str, title: str, **parameters: Any) -> Handler:
    found = registry.find(type_name)
    assert found is not None
    return found(Wanted(type_name, title, parameters), node)


def differences(node: Machine, type_name: str, title: str, **parameters: Any) -> list[Change]:
    made = handler(node, type_name, title, **parameters)
    return list(made.compare(made.read()))


def settle(node: Machine, type_name: str, title: str, **parameters: Any) -> list[str]:
    """Apply what differs; the messages. A second look must find nothing to do."""
    made = handler(node, type_name, title, **parameters)
    changes = list(made.compare(made.read()))
    messages = []
    for change in changes:
        said = made.apply(change)
        node.snapshots.forget(made.invalidates)
        messages.append(f"{change.property}: {said or change.message}")
    made.flush()
    assert differences(node, type_name, title, **parameters) == []
    return messages
