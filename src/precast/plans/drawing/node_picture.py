"""The picture of one node: its tasks in a plan, the stages between them, and the tasks of other nodes that they wait for."""

from collections.abc import Mapping
from typing import NamedTuple

from precast.plans.drawing.picture import (
    OTHER,
    PlanPicture,
    TaskArrow,
    TaskBox,
    make_box,
    note_left_out,
)
from precast.plans.model import SYNC_NODE, Expansion, PlacedDependency
from precast.plans.views.graph import find_implied

MOST_NAMES = 3


def make_node_picture(
    expansion: Expansion, node: str, states: Mapping[str, str] | None = None, *, shows_all: bool = False
) -> PlanPicture:
    """The picture of a node of an expansion. `states` has the state of each of its tasks."""
    here = {instance.key.task for instance in expansion.instances if instance.key.node == node}
    stages = {instance.key.task for instance in expansion.instances if instance.key.node == SYNC_NODE}
    waits = _find_waits(expansion, node, here, stages)
    keys = [_Key(task) for task in sorted(here | stages)] + sorted({wait.needed for wait in waits if wait.needed.nodes})
    joined = {key for wait in waits for key in (wait.task, wait.needed)}
    keys = [key for key in keys if key.task in here or key in joined]
    numbers = {key: number for number, key in enumerate(keys)}
    arrows = [TaskArrow(wait.kind, numbers[wait.needed], numbers[wait.task]) for wait in waits]
    implied = set() if shows_all else find_implied(len(keys), [(arrow.source, arrow.target) for arrow in arrows])
    shown = tuple(arrow for number, arrow in enumerate(arrows) if number not in implied)
    boxes = tuple(_make_box(expansion, key, states or {}) for key in keys)
    return PlanPicture(f"{expansion.plan.name} on {node}", boxes, shown, note_left_out(len(implied)))


class _Key(NamedTuple):
    """A box: a task of the node or a stage, or a task on other nodes."""

    task: int
    nodes: tuple[str, ...] = ()


class _Wait(NamedTuple):
    """An arrow, by the keys of its boxes."""

    kind: str
    task: _Key
    needed: _Key


def _find_waits(expansion: Expansion, node: str, here: set[int], stages: set[int]) -> list[_Wait]:
    found: dict[tuple[_Key, _Key], _Wait] = {}
    for dependency in expansion.dependencies:
        is_here = (dependency.task in here and node in dependency.nodes) or dependency.task in stages
        for wait in _split(dependency, node, here, stages) if is_here else ():
            found.setdefault((wait.task, wait.needed), wait)
    return list(found.values())


def _split(dependency: PlacedDependency, node: str, here: set[int], stages: set[int]) -> list[_Wait]:
    """What a dependency means for a node: to wait for its own task or for a stage, and for the same task elsewhere.

    A stage waits for all nodes by its nature, so its waits for others are not shown.
    """
    task = _Key(dependency.task)
    waits = []
    if dependency.needed in stages or (dependency.needed in here and node in dependency.needed_on):
        waits.append(_Wait("need", task, _Key(dependency.needed)))
    elsewhere = dependency.needed_on - {node, SYNC_NODE}
    if elsewhere and not dependency.is_local and dependency.task not in stages:
        waits.append(
            _Wait("any" if dependency.is_any else "cross", task, _Key(dependency.needed, tuple(sorted(elsewhere))))
        )
    return waits


def _make_box(expansion: Expansion, key: _Key, states: Mapping[str, str]) -> TaskBox:
    task = expansion.plan.tasks[key.task - 1]
    if not key.nodes:
        return make_box(task, {states[task.id]: 1} if task.id in states else {})
    names = key.nodes if len(key.nodes) <= MOST_NAMES else (f"{len(key.nodes)} nodes",)
    return TaskBox(task.id, OTHER, names)
