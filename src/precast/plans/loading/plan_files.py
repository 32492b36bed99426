"""Reads one file of a plan: a list of tasks, or a mapping with `tasks`, `parameters` and what Fuel writes about a graph."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from precast.plans import issues
from precast.plans.loading.documents import DocumentRefused, PlanText, ValueBudget, read_document
from precast.plans.loading.fields import Field
from precast.plans.loading.nodes import Node
from precast.plans.loading.problems import Problems
from precast.plans.loading.shapes import Shape, anything, text
from precast.plans.loading.tasks import read_task
from precast.plans.model import Plan, PlanGroup, PlanTask, Position
from precast.plans.parameters import find_parameter_problems

MAX_PARAMETERS: Final = 500


class PlanField(NamedTuple):
    """A field of the mapping: its shape and what it says."""

    shape: Shape
    description: str


class Named(NamedTuple):
    """A value with its place."""

    at: Position
    value: Any


class FileContent(NamedTuple):
    """What a file adds to its plan. `unknown` has the fields that mean nothing to Precast, such as Fuel's of a graph."""

    path: str
    layer: int
    tasks: tuple[PlanTask | PlanGroup, ...] = ()
    name: Named | None = None
    parameters: Mapping[str, Named] = {}
    unknown: Mapping[str, Any] = {}


_NAME: Final = text("the name of the plan", 200)
_ANY: Final = anything()
_GRAPH: Final = "Fuel's, of a graph; kept and not used."
PLAN_FIELDS: Final = {
    "name": PlanField(_NAME, "The name of the plan; without it that of its file."),
    "description": PlanField(text(), "For people."),
    "parameters": PlanField(
        _ANY, "Values that a start of the plan is given, each with its type, default and description."
    ),
    "tasks": PlanField(_ANY, "The tasks and groups."),
    **{
        name: PlanField(_ANY, _GRAPH)
        for name in ("node_filter", "on_success", "on_error", "on_stop", "node_statuses_transitions")
    },
}
_READ: Final = ("name", "parameters", "tasks")
_WANTED: Final = "a list of tasks, or a mapping with tasks"


def read_file(file: PlanText, budget: ValueBudget, problems: Problems) -> FileContent:
    """What the file has. Problems are reported; what has an error is left out."""
    content = FileContent(file.path, file.layer)
    try:
        root = read_document(file, budget, problems)
    except DocumentRefused as refused:
        problems.add(refused.problem)
        return content
    if root is None:
        problems.warn(issues.NOTHING_HERE, Position(file.path, 1, 1), what="this file")
        return content
    document = Field(root, "the plan", problems)
    if root.items is not None:
        return content._replace(tasks=_read_tasks(document))
    if root.entries is None or {"id", "type"} <= root.entries.keys():
        document.refuse(_WANTED, "begin each task with a dash: `- id: NAME`")
        return content
    return _read_mapping(document, content)


def _read_mapping(plan: Field, content: FileContent) -> FileContent:
    plan.warn_unknown(PLAN_FIELDS)
    name, tasks = plan.get("name"), plan.get("tasks")
    if name is not None and (found := _NAME.read(name)) is not None:
        content = content._replace(name=Named(name.at, found))
    if tasks is not None and tasks.node.items is None:
        tasks.refuse("a list of tasks", "begin each task with a dash: `- id: NAME`")
    elif tasks is not None:
        content = content._replace(tasks=_read_tasks(tasks))
    unknown: dict[str, Any] = {}
    for key, item in plan.entries():
        if key not in _READ and not item.node.is_null:
            unknown[key] = PLAN_FIELDS[key].shape.read(item) if key in PLAN_FIELDS else item.node.as_data()
    return content._replace(parameters=_read_parameters(plan), unknown=unknown)


def _read_tasks(field: Field) -> tuple[PlanTask | PlanGroup, ...]:
    items = [
        Field(item, f"entry {number} of the tasks", field.problems)
        for number, item in enumerate(field.node.items or (), 1)
    ]
    return tuple(task for item in items if (task := read_task(item)) is not None)


def _read_parameters(plan: Field) -> dict[str, Named]:
    """The declared parameters; each must be valid by itself."""
    field = plan.get("parameters")
    if field is None or not field.require_mapping(
        "a mapping from names to declarations", "write `NAME: {type: String}`"
    ):
        return {}
    if len(field.node.entries or ()) > MAX_PARAMETERS:
        field.refuse(f"at most {MAX_PARAMETERS} parameters")
        return {}
    found: dict[str, Named] = {}
    for name, item in field.entries():
        declared = _as_declaration(item.node)
        for problem in find_parameter_problems(Plan("", (), parameters={name: declared})):
            field.problems.add(problem, item.at)
        found[name] = Named(field.place_of(name), declared)
    return found


def _as_declaration(node: Node) -> Any:
    """A declaration; without a value it says nothing, so any value may be given."""
    return {} if node.is_null else node.as_data()
