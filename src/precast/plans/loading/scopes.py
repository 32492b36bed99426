"""Names of an included plan: its tasks get the id of the run_plan task, a dot, and their own id; what they name is renamed alike.

A name that no task of the included plan has is renamed too, so that it never means a task of the plan around it.
"""

import msgspec

from precast.plans.model import ComputedDependencies, CrossDependency, PlanGroup, PlanTask, TaskInput
from precast.plans.names import is_expression

_SPECIAL = frozenset(".+")


def scope_name(name: str, scope: str) -> str:
    """The name of a task, or an expression for names, as it is called in the plan around its own. Without a scope it stays as it is."""
    if not scope:
        return name
    if not is_expression(name):
        return f"{scope}.{name}"
    prefix = "".join(f"\\{char}" if char in _SPECIAL else char for char in scope)
    return f"/{prefix}\\.(?:{_drop_starts(name[1:-1])})/"


def scope_dependency(dependency: CrossDependency, scope: str) -> CrossDependency:
    return msgspec.structs.replace(dependency, name=scope_name(dependency.name, scope))


def scope_task(task: PlanTask, scope: str) -> PlanTask:
    """The task as a part of the plan around its own."""
    return msgspec.structs.replace(
        task,
        id=scope_name(task.id, scope),
        requires=tuple(scope_name(name, scope) for name in task.requires),
        required_for=tuple(scope_name(name, scope) for name in task.required_for),
        cross_depends=tuple(scope_dependency(dependency, scope) for dependency in task.cross_depends),
        cross_depended_by=tuple(scope_dependency(dependency, scope) for dependency in task.cross_depended_by),
        inputs={name: _scope_input(item, scope) for name, item in task.inputs.items()},
        computed=tuple(_scope_computed(item, scope) for item in task.computed),
    )


def scope_group(group: PlanGroup, scope: str) -> PlanGroup:
    """The group as a part of the plan around its own. Without selectors, its own id was the role of its nodes."""
    return msgspec.structs.replace(
        group,
        id=scope_name(group.id, scope),
        selectors=group.selectors or (group.id,),
        tasks=tuple(scope_name(name, scope) for name in group.tasks),
    )


def _scope_computed(computed: ComputedDependencies, scope: str) -> ComputedDependencies:
    return msgspec.structs.replace(computed, scope=scope_name(computed.scope, scope) if computed.scope else scope)


def _scope_input(item: TaskInput, scope: str) -> TaskInput:
    return msgspec.structs.replace(item, task=scope_name(item.task, scope))


def _drop_starts(pattern: str) -> str:
    """The pattern without `^`, which would not match after a prefix. Patterns of names are anchored at their start anyway."""
    kept: list[str] = []
    in_class = False
    at = 0
    while at < len(pattern):
        char = pattern[at]
        step = 2 if char == "\\" else 1
        if char == "[" and not in_class:
            in_class = True
            step = 2 if pattern[at + 1 : at + 2] == "^" else 1  # [^…] is a class of its own
        elif char == "]":
            in_class = False
        if char != "^" or in_class:
            kept.append(pattern[at : at + step])
        at += step
    return "".join(kept)
