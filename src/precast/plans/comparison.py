"""What a new version of a plan changes: tasks, groups and parameters, the order of tasks, and the nodes that are affected.

The comparison is of the versions over the same nodes, before anything runs. Where a task stands in its file is no difference.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from precast.plans.expansion import expand
from precast.plans.loading.task_fields import TASK_FIELDS
from precast.plans.model import SYNC_NODE, Expansion, Plan, PlanGroup, PlanNode, PlanTask, Position
from precast.plans.views.order import NamedKey
from precast.plans.views.order_changes import OrderComparison, compare_orders

Change = Literal["added", "removed", "changed"]

# The fields as a plan has them, where that is not the name of the attribute.
_NAMES = {field.attribute: field.names[0] for field in TASK_FIELDS if field.attribute} | {
    "selectors": "roles",
    "at_once": "strategy.amount",
    "at_once_percent": "strategy.amount in percent",
    "has_canary": "strategy.canary",
}
# Their keys are compared one by one.
_MAPPINGS = ("parameters", "inputs", "unknown")
_NOT_COMPARED = ("id", "at")


class FieldChange(msgspec.Struct, frozen=True):
    """A field whose value differs; None where it has none."""

    field: str
    old: Any
    new: Any


class TaskChange(msgspec.Struct, frozen=True):
    """A task or group that one version alone has, or that differs; and the nodes on which it is, was, or no longer is."""

    id: str
    change: Change
    at: Position
    fields: list[FieldChange]
    nodes: list[str]
    gained: list[str]  # of the nodes, those that only the new version has
    lost: list[str]  # and those that only the old one has


class NodeChange(msgspec.Struct, frozen=True):
    """What changes on a node: its tasks by what happens to them. `reordered` tasks wait for others than before."""

    node: str
    added: list[str]
    removed: list[str]
    changed: list[str]
    reordered: list[str]


class PlanComparison(msgspec.Struct, frozen=True):
    """All differences between two versions, each in the order of the new version, then of the old one."""

    tasks: list[TaskChange]
    groups: list[TaskChange]
    parameters: list[FieldChange]
    order: OrderComparison
    nodes: list[NodeChange]

    @property
    def is_equal(self) -> bool:
        return not (self.tasks or self.groups or self.parameters or self.order.changes)


def compare_plans(old: Plan, new: Plan, nodes: Sequence[PlanNode]) -> PlanComparison:
    """The differences over these nodes. Raises what `expand` raises, for either version."""
    return compare_expansions(expand(old, nodes), expand(new, nodes))


def compare_expansions(old: Expansion, new: Expansion, removed: Collection[str] = ()) -> PlanComparison:
    """The differences between two versions, each over its nodes. `removed` are tasks of the new one that only keep their numbers."""
    kept = tuple(task for task in new.plan.tasks if task.id not in removed)
    order, reordered = compare_orders(old, new, removed)
    tasks = _compare_all(old.plan.tasks, kept, _nodes_by_task(old), _nodes_by_task(new))
    return PlanComparison(
        tasks,
        _compare_all(old.plan.groups, new.plan.groups, _nodes_by_group(old), _nodes_by_group(new)),
        _compare_mappings("", old.plan.parameters, new.plan.parameters),
        order,
        _list_nodes(tasks, reordered),
    )


def _nodes_by_task(expansion: Expansion) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {task.id: set() for task in expansion.plan.tasks}
    ids = [task.id for task in expansion.plan.tasks]
    for instance in expansion.instances:
        if instance.key.node != SYNC_NODE:
            found[ids[instance.key.task - 1]].add(instance.key.node)
    return found


def _nodes_by_group(expansion: Expansion) -> dict[str, set[str]]:
    return {group.name: set(group.nodes) for group in expansion.groups}


def _compare_all(
    old: Sequence[PlanTask] | Sequence[PlanGroup],
    new: Sequence[PlanTask] | Sequence[PlanGroup],
    old_nodes: Mapping[str, set[str]],
    new_nodes: Mapping[str, set[str]],
) -> list[TaskChange]:
    of_old, of_new = {item.id: item for item in old}, {item.id: item for item in new}
    changes = []
    for name in dict.fromkeys([*of_new, *of_old]):
        before, after = of_old.get(name), of_new.get(name)
        fields = _compare_fields(before, after) if before is not None and after is not None else []
        was, will = old_nodes.get(name, set()), new_nodes.get(name, set())
        if before is not None and after is not None and not fields and was == will:
            continue
        change: Change = "added" if before is None else "removed" if after is None else "changed"
        at = (after or before).at  # type: ignore[union-attr] # one of the versions has it
        changes.append(TaskChange(name, change, at, fields, sorted(was | will), sorted(will - was), sorted(was - will)))
    return changes


def _compare_fields(old: PlanTask | PlanGroup, new: PlanTask | PlanGroup) -> list[FieldChange]:
    changes = []
    for attribute in old.__struct_fields__:
        before, after = getattr(old, attribute), getattr(new, attribute)
        if attribute in _NOT_COMPARED or before == after:
            continue
        name = _NAMES.get(attribute, attribute)
        if attribute in _MAPPINGS:
            changes += _compare_mappings("" if attribute == "unknown" else f"{name}.", before, after)
        else:
            changes.append(FieldChange(name, _plain(before), _plain(after)))
    return changes


def _compare_mappings(prefix: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[FieldChange]:
    return [
        FieldChange(prefix + key, _plain(old.get(key)), _plain(new.get(key)))
        for key in dict.fromkeys([*new, *old])
        if key not in old or key not in new or old[key] != new[key]
    ]


def _plain(value: Any) -> Any:
    """A value as JSON has it; empty tuples and texts mean that a field is absent."""
    return None if value in ((), "", None) else msgspec.json.decode(msgspec.json.encode(value))


def _list_nodes(tasks: Sequence[TaskChange], reordered: Iterable[NamedKey]) -> list[NodeChange]:
    """The nodes that are affected, by name."""
    found: dict[str, dict[str, list[str]]] = defaultdict(
        lambda: {"added": [], "removed": [], "changed": [], "reordered": []}
    )
    for task in tasks:
        for node in task.nodes:
            happens = "added" if node in task.gained else "removed" if node in task.lost else task.change
            found[node][happens].append(task.id)
    for task_id, node in sorted(reordered):
        if node != SYNC_NODE:
            found[node]["reordered"].append(task_id)
    return [NodeChange(node, **lists) for node, lists in sorted(found.items())]
