"""The fields of a task: their names, the shapes of their values, and what they say. The loader and the JSON schema use the same table."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from precast.plans.loading.conditions import condition, inputs, question
from precast.plans.loading.dependencies import cross_dependencies, names
from precast.plans.loading.node_tests import node_tests
from precast.plans.loading.shapes import Shape, anything, duration, flag, mapping, number, selectors, text, words
from precast.plans.loading.strategies import strategy, tolerance

MAX_LOST_AFTER_S: Final = 7 * 86_400.0
MAX_RETRIES: Final = 1_000
_SELECTORS: Final = selectors()
_CROSS: Final = cross_dependencies()


class TaskField(NamedTuple):
    """A field by its names, of which the first is the usual one. `attribute` is that of `PlanTask` which has its value, if one has."""

    names: tuple[str, ...]
    shape: Shape
    description: str
    attribute: str = ""


# Nodes: the first of these fields that a task has.
SELECTORS: Final = (
    TaskField(("tags",), _SELECTORS, "The nodes with one of these tags."),
    TaskField(("roles", "role"), _SELECTORS, "The nodes with one of these roles: `*` all, `master`, or /expression/."),
    TaskField(("groups",), _SELECTORS, "The nodes with one of these roles."),
)
# Fields that may also stand below `parameters`, where Fuel has them.
EXECUTION: Final = (
    TaskField(("timeout",), duration(), "How long the task may take on a node, with its tests.", "timeout_s"),
    TaskField(("retries",), number(0, MAX_RETRIES), "How often it is tried again after a failure.", "retries"),
    TaskField(("interval",), duration(may_be_zero=True), "How long to wait before it is tried again.", "interval_s"),
    TaskField(("strategy",), strategy(), "How many nodes do it at a time."),
)
DEPENDENCIES: Final = (
    TaskField(("requires",), names(), "Tasks of the same node, and stages, that must have succeeded.", "requires"),
    TaskField(
        ("required_for",), names(), "Tasks of the same node, and stages, that wait for this one.", "required_for"
    ),
    TaskField(
        ("cross-depends", "cross_depends"), _CROSS, "Tasks of other nodes that must have succeeded.", "cross_depends"
    ),
    TaskField(
        ("cross-depended-by", "cross_depended_by"),
        _CROSS,
        "Tasks of other nodes that wait for it.",
        "cross_depended_by",
    ),
)
FUTURES: Final = (
    TaskField(
        ("produces",),
        words(),
        "Keys of futures that its catalog promises; tasks that consume one wait for it.",
        "produces",
    ),
    TaskField(("consumes",), words(), "Futures that must be fulfilled before it begins, by their keys.", "consumes"),
)
PLAIN: Final = (
    TaskField(
        ("condition",), condition(), "When it runs on a node: YAQL, or one of Fuel's older conditions.", "condition"
    ),
    TaskField(("test_pre",), node_tests(), "Tests that must pass before it starts.", "test_pre"),
    TaskField(("test_post",), node_tests(), "Tests that must pass after it, or it has failed.", "test_post"),
    TaskField(("inputs",), inputs(), "Values that it takes from the results of other tasks.", "inputs"),
    TaskField(("approval",), question(), "A person must let it go before it begins anywhere.", "approval"),
    TaskField(("always",), flag(), "It runs whatever happened before it: for cleaning up.", "is_always"),
    TaskField(("fail_on_error",), flag(), "false: a failure counts as skipped.", "fail_on_error"),
    TaskField(
        ("lost_after",),
        duration(MAX_LOST_AFTER_S, may_be_zero=True),
        "How long a node may be away while it runs the task, before that counts as a failure.",
        "lost_after_s",
    ),
    *FUTURES,
    TaskField(("reexecute_on",), words(), "Events on which it runs again.", "reexecute_on"),
    TaskField(("refresh_on",), words(), "Settings on whose change it runs again.", "refresh_on"),
)
GROUP_ONLY: Final = (
    TaskField(("tasks",), words(), "Of a group: tasks that its nodes have besides."),
    TaskField(("fault_tolerance",), tolerance(), "Of a group: how many of its nodes may fail."),
)
# What is kept in `unknown` and means nothing to Precast, and what is ignored.
KEPT: Final = (
    TaskField(("description",), text(), "For people."),
    TaskField(("node_attributes",), anything(), "Fuel's; kept and not used."),
    TaskField(("stage",), anything(), "Fuel's; kept and not used."),
)
VERSION: Final = TaskField(("version",), anything(), "Fuel's version of the format; ignored.")
PARAMETERS: Final = TaskField(("parameters",), mapping(), "The parameters of its type.", "parameters")

TASK_FIELDS: Final = (
    *SELECTORS,
    *DEPENDENCIES,
    *PLAIN,
    PARAMETERS,
    *EXECUTION,
    *GROUP_ONLY,
    *KEPT,
    VERSION,
)
FIELDS_BY_NAME: Final[Mapping[str, TaskField]] = {name: field for field in TASK_FIELDS for name in field.names}
