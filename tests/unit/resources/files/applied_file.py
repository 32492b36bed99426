"""Applies file resources and the resources that they generate, as the engine does."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from precast.agent.applying.machine import Machine
from precast.base.clock import ManualClock
from precast.resources import registry
from precast.resources.contents import EnvironmentContents
from precast.resources.contract import DesiredResource, Handler


def node(
    state: Path,
    *resources: DesiredResource,
    root: str = "",
    pinned: Mapping[str, str] | None = None,
    modules: Path | None = None,
    is_chroot: bool = False,
) -> Machine:
    contents = EnvironmentContents([modules], pinned or {}) if modules is not None else None
    made = Machine(root, str(state), ManualClock(), contents, is_chroot)
    made.declare(resources, pinned or {})
    return made


def make_handler(machine: Machine, resource: DesiredResource) -> Handler:
    handler_class = registry.find(resource.type)
    assert handler_class is not None
    return handler_class(resource, machine)


def apply_resource(machine: Machine, resource: DesiredResource) -> list[str]:
    """Apply a resource; returns the messages, with the name of generated resources. A second run must find it in sync."""
    messages = _apply(machine, make_handler(machine, resource), resource.title)
    machine.finish()
    assert _apply(machine, make_handler(machine, resource), resource.title) == [], (
        "a second run must find nothing to do"
    )
    return messages


def _apply(machine: Machine, handler: Handler, title: str) -> list[str]:
    state = handler.read()
    changes = handler.compare(state)
    children: Sequence[Handler] = handler.expand(state)
    messages = []
    for change in changes:
        text = handler.apply(change) or change.message
        machine.snapshots.forget(handler.invalidates)
        where = "" if handler.resource.title == title else f"{Path(handler.resource.title).name} "
        messages.append(f"{where}{change.property}: {text}")
    return messages + [line for child in children for line in _apply(machine, child, title)]


def file(path: Path | str, *, secrets: Sequence[str] = (), **parameters: Any) -> DesiredResource:
    return DesiredResource("file", str(path), parameters, frozenset(secrets))
