"""Reads one task or group. Everything that can be read of it is, so that all its errors are found at once."""

import re
from collections.abc import Iterable
from typing import Any, Final, cast

from precast.plans import issues
from precast.plans.loading.dependencies import Dependencies
from precast.plans.loading.fields import Field, read_expression
from precast.plans.loading.nodes import shorten
from precast.plans.loading.shapes import text
from precast.plans.loading.strategies import Strategy
from precast.plans.loading.task_fields import (
    DEPENDENCIES,
    EXECUTION,
    FIELDS_BY_NAME,
    GROUP_ONLY,
    KEPT,
    PARAMETERS,
    PLAIN,
    SELECTORS,
    TaskField,
)
from precast.plans.loading.task_types import NO_COUNTERPART, TASK_TYPES, TaskDeclaration
from precast.plans.loading.type_parameters import read_parameters, report_missing
from precast.plans.model import ComputedDependencies, PlanGroup, PlanTask

MAX_ID: Final = 200
_ID: Final = re.compile(r"\w[\w.:+-]*")
_ID_SHAPE: Final = text("a name", MAX_ID)
_TYPE_SHAPE: Final = text("a type of task")
_FIXED: Final = ("id", "type")
_MASTER: Final = ("master",)
# A run_plan is on no node: what would gate it is refused, what would only tune it is ignored.
_NOT_OF_A_PLAN: Final = ("test_pre", "test_post", "approval", "always", "inputs", "produces", "consumes")
_IGNORED_OF_A_PLAN: Final = (
    "tags", "roles", "role", "groups", "timeout", "retries", "interval", "strategy", "lost_after", "fail_on_error",
    "reexecute_on", "refresh_on",
)  # fmt: skip


def read_task(item: Field) -> PlanTask | PlanGroup | None:
    """The task or the group; None if it has no id or no type of use, which is reported then."""
    if not item.require_mapping("a task", "write `- id: NAME`, and its type and other fields below it"):
        return None
    id_ = _read_id(item)
    task = item._replace(label=f"task {id_}" if id_ else f"the task in line {item.at.line}")
    type_ = _read_type(task)
    if type_ == "group":
        return _read_group(task._replace(label=f"group {id_}"), id_ or "")
    declaration = TASK_TYPES[type_] if type_ else TaskDeclaration("skipped", "")
    values = _read_fields(task, declaration)
    if type_ == "run_plan":
        _refuse_for_plan(task)
    if type_ == "master_shell" and values["selectors"] != _MASTER:
        task.warn(issues.ONCE_ON_THE_MASTER, task=id_)
        values["selectors"] = _MASTER
    if type_ in NO_COUNTERPART:
        task.warn(issues.NO_COUNTERPART, task=id_, type=type_)
    return PlanTask(id_, declaration.type, task.at, **values) if id_ and type_ else None


def _read_id(item: Field) -> str | None:
    if (field := item.get("id")) is None:
        item.error(
            issues.MISSING_FIELD, what="the task", field="id", advice="give the task a name that no other task has"
        )
        return None
    found: str | None = _ID_SHAPE.read(field._replace(label="the id of a task"))
    if found is not None and not _ID.fullmatch(found):
        field.error(issues.BAD_ID, id=shorten(found))
        return None
    return found


def _read_type(task: Field) -> str | None:
    types = ", ".join(TASK_TYPES)
    if (field := task.get("type")) is None:
        task.error(issues.MISSING_FIELD, what=task.label, field="type", advice=f"the types are {types}")
        return None
    found: str | None = _TYPE_SHAPE.read(field)
    if found is not None and found not in TASK_TYPES:
        near = task.problems.suggest(found, TASK_TYPES)
        field.error(issues.UNKNOWN_TYPE, task=task.label, type=shorten(found), guess=near, types=types)
        return None
    return found


def _read_fields(task: Field, declaration: TaskDeclaration) -> dict[str, Any]:
    """The attributes of a task but its id, type and place."""
    values: dict[str, Any] = {"selectors": _read_selectors(task)}
    for field in PLAIN:
        if (found := _find(task, field)) is not None and (value := field.shape.read(found)) is not None:
            values[field.attribute] = value
    values.update(_read_dependencies(task))
    values.update(_read_execution(task))
    misplaced = _find_misplaced(task, declaration)
    values["parameters"] = {**misplaced, **_read_own_parameters(task, declaration)}
    report_missing(task, declaration, values["parameters"], values.get("inputs", ()))
    for field in GROUP_ONLY:
        _warn_not_read(task, field, "only a group has it")
    values["unknown"] = {**_keep(task, GROUP_ONLY), **_keep_unknown(task, misplaced)}
    return values


def _find(task: Field, field: TaskField) -> Field | None:
    """The value of a field under one of its names; other names that the task has too are warned of."""
    found = task.get(*field.names)
    if found is not None:
        for name in field.names:
            if (other := task.get(name)) is not None and other.node is not found.node:
                other.warn(issues.NOT_READ, what=other.label, reason="the task has the field under another name too")
    return found


def _read_selectors(task: Field) -> tuple[str, ...]:
    """The nodes: the first of the fields that the task has."""
    chosen: Field | None = None
    selectors: tuple[str, ...] = ()
    for field in SELECTORS:
        if (found := _find(task, field)) is None:
            continue
        if chosen is None:
            chosen, selectors = found, field.shape.read(found)
        else:
            found.warn(
                issues.NOT_READ, what=found.label, reason=f"the task has {chosen.label.split()[0]} too, which counts"
            )
    return selectors


def _read_dependencies(task: Field) -> dict[str, Any]:
    values: dict[str, Any] = {}
    computed: list[ComputedDependencies] = []
    for field in DEPENDENCIES:
        if (found := _find(task, field)) is not None:
            read: Dependencies = field.shape.read(found)
            values[field.attribute] = read.given
            computed += [ComputedDependencies(cast(Any, field.attribute), text) for text in read.expressions]
    return {**values, "computed": tuple(computed)}


def _read_execution(task: Field) -> dict[str, Any]:
    """How a task is executed. Fuel has these fields below `parameters`."""
    parameters = task.get("parameters")
    values: dict[str, Any] = {}
    for field in EXECUTION:
        name = field.names[0]
        own, below = task.get(name), None if parameters is None else parameters.get(name)
        if own is not None and below is not None:
            below.warn(
                issues.NOT_READ,
                what=below.label,
                reason=f"the task has {name} outside its parameters too, which counts",
            )
        if own is not None and name == "strategy":
            task.problems.warn(issues.MISPLACED, task.place_of(name), field=name, what=task.label)
        if (chosen := own or below) is not None:
            values.update(_read_execution_field(chosen, field))
    return values


def _read_execution_field(chosen: Field, field: TaskField) -> dict[str, Any]:
    if field.attribute and read_expression(chosen) is not None:
        chosen.warn(issues.NOT_COMPUTED, what=chosen.label, instead="its default is used")
        return {}
    value = field.shape.read(chosen)
    if isinstance(value, Strategy):
        return value._asdict()
    return {} if value is None else {field.attribute: value}


def _read_own_parameters(task: Field, declaration: TaskDeclaration) -> dict[str, Any]:
    if (field := task.get(*PARAMETERS.names)) is None or not field.require_mapping("a mapping"):
        return {}
    return read_parameters(field, declaration, [field.names[0] for field in EXECUTION])


def _find_misplaced(task: Field, declaration: TaskDeclaration) -> dict[str, Any]:
    """The parameters of the type that stand beside `parameters` instead of below it: they are what is meant, with a warning."""
    found: dict[str, Any] = {}
    for key, item in task.entries():
        if key not in FIELDS_BY_NAME and key in declaration.parameters and not item.node.is_null:
            task.problems.warn(issues.MISPLACED, task.place_of(key), field=key, what=task.label)
            found[key] = declaration.parameters[key].shape.read(item)
    return found


def _keep(task: Field, fields: Iterable[TaskField]) -> dict[str, Any]:
    """Fields that mean nothing here, as they are written; those that are kept for people must have their shape."""
    for field in KEPT:
        if (found := task.get(*field.names)) is not None:
            field.shape.read(found)
    names = {name for field in (*KEPT, *fields) for name in field.names}
    return {key: item.node.as_data() for key, item in task.entries() if key in names and not item.node.is_null}


def _keep_unknown(task: Field, misplaced: dict[str, Any]) -> dict[str, Any]:
    task.warn_unknown((*_FIXED, *FIELDS_BY_NAME, *misplaced))
    return {
        key: item.node.as_data()
        for key, item in task.entries()
        if key not in FIELDS_BY_NAME and key not in _FIXED and key not in misplaced
    }


def _warn_not_read(task: Field, field: TaskField, reason: str) -> None:
    if (found := task.get(*field.names)) is not None:
        found.warn(issues.NOT_READ, what=found.label, reason=reason)


def _refuse_for_plan(task: Field) -> None:
    for name in _NOT_OF_A_PLAN:
        if (found := task.get(name)) is not None:
            found.error(issues.NOT_FOR_RUN_PLAN, what=found.label)
    for name in _IGNORED_OF_A_PLAN:
        if (found := task.get(name)) is not None:
            found.warn(issues.NOT_READ, what=found.label, reason="the tasks of the plan have their own")


def _read_group(group: Field, id_: str) -> PlanGroup | None:
    tasks, tolerance = (_read_of_group(group, field) for field in GROUP_ONLY)
    for field in (*PLAIN, *EXECUTION):
        _warn_not_read(group, field, "a group has only nodes, tasks and fault_tolerance")
    if (parameters := group.get(*PARAMETERS.names)) is not None:
        for field in GROUP_ONLY:
            _warn_not_read(parameters, field, "a group has it beside its parameters, and not below")
    # Fuel writes dependencies and a strategy of groups, which mean nothing when tasks have them.
    unknown = {**_keep(group, (*DEPENDENCIES, PARAMETERS)), **_keep_unknown(group, {})}
    selectors = _read_selectors(group)
    return PlanGroup(id_, group.at, selectors, tasks or (), tolerance, unknown) if id_ else None


def _read_of_group(group: Field, field: TaskField) -> Any:
    found = group.get(*field.names)
    return None if found is None else field.shape.read(found)
