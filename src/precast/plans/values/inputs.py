"""The inputs of tasks: values from the JSON results of other tasks."""

from collections.abc import Mapping, Sequence
from typing import Any

from precast.base import canonical
from precast.base.errors import PrecastError
from precast.plans.model import PlanNode, PlanTask, TaskInput
from precast.plans.roles import resolve_nodes

# What tasks have returned: by task and node.
Results = Mapping[tuple[str, str], Any]


def read_result(returned: str) -> Any:
    """What a task has returned; None if that is no object in JSON, or one that no order can have."""
    try:
        value = canonical.decode_mapping(returned.encode()) if returned else None
        canonical.encode(value)
    except (ValueError, RecursionError, PrecastError):
        return None
    return value


def gather_inputs(
    task: PlanTask, node: str, nodes: Sequence[PlanNode], own: Results, of_roles: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """The inputs of a task on a node: a value of the same node, from `own`; or a mapping from node to value for a role."""
    values: dict[str, Any] = {}
    for name, source in sorted(task.inputs.items()):
        if source.role == ("self",):
            values[name] = _pick(own.get((source.task, node)), source)
            continue
        results = of_roles.get(source.task, {})
        members = {member.name for member in resolve_nodes(source.role, nodes)}
        values[name] = {
            member: _pick(result, source) for member, result in sorted(results.items()) if member in members
        }
    return values


def _pick(result: Any, source: TaskInput) -> Any:
    """The part of a result that a dotted path names; None if there is none."""
    for key in source.key.split(".") if source.key else ():
        result = result.get(key) if isinstance(result, dict) else None
    return result
