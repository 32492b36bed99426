"""File resources brought to what they want, with all that follows from them, as the engine does it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from precast.agent.applying.machine import Machine
from precast.base.clock import ManualClock
from precast.resources import registry
from precast.resources.contents import EnvironmentContents
from precast.resources.contract import Handler, Wanted


def node(
    state: Path,
    *resources: Wanted,
    root: str = "",
    pinned: Mapping[str, str] | None = None,
    modules: Path | None = None,
    is_chroot: bool = False,
) -> Machine:
    contents = EnvironmentContents([modules], pinned or {}) if modules is not None else None
    made = Machine(root, str(state), ManualClock(), contents, is_chroot)
    made.tell(resources, pinned or {})
    return made


def made(machine: Machine, wanted: Wanted) -> Handler:
    found = registry.find(wanted.type)
    assert found is not None
    return found(wanted, machine)


def bring(machine: Machine, wanted: Wanted) -> list[str]:
    """Apply it; what was said, each line with the resource if it is another. A second time nothing may be left to do."""
    said = _bring(machine, made(machine, wanted), wanted.title)
    machine.finish()
    assert _bring(machine, made(machine, wanted), wanted.title) == [], "a second run must find nothing to do"
    return said


def _bring(machine: Machine, handler: Handler, title: str) -> list[str]:
    state = handler.read()
    changes = handler.compare(state)
    children: Sequence[Handler] = handler.expand(state)
    said = []
    for change in changes:
        text = handler.apply(change) or change.message
        machine.snapshots.forget(handler.invalidates)
        where = "" if handler.wanted.title == title else f"{Path(handler.wanted.title).name} "
        said.append(f"{where}{change.property}: {text}")
    return said + [line for child in children for line in _bring(machine, child, title)]


def file(path: Path | str, *, secrets: Sequence[str] = (), **parameters: Any) -> Wanted:
    return Wanted("file", str(path), parameters, frozenset(secrets))
