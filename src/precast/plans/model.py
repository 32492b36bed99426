"""A plan as it is loaded, and its expansion over nodes: the values that the other modules of this package, and servers, share.

A *plan* is a list of tasks. An *instance* is one task on one node. The *expansion* of a plan over nodes has all instances, each with the
instances that it waits for. The expansion of the same plan over the same nodes is always the same, in the same order, so a server that
takes over a running plan computes it again.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from precast.wire.jobs.programs import AnyTest

# The node of stages: nothing is done on it, it only joins and separates what others do.
SYNC_NODE = ""

TaskType = Literal[
    "catalog", "manifest", "shell", "task", "upload_file", "copy_files", "sync", "reboot",
    "stage", "group", "skipped", "run_plan",
]  # fmt: skip


class Position(msgspec.Struct, frozen=True):
    """A place in a file of a plan; lines and columns count from 1."""

    file: str
    line: int
    column: int


class CrossDependency(msgspec.Struct, frozen=True, omit_defaults=True):
    """A dependency on instances of other nodes. `name` may be a regular expression between slashes."""

    name: str
    role: tuple[str, ...] | None = ("*",)  # "self": the same node; None: the sync node
    policy: Literal["all", "any"] = "all"


class Condition(msgspec.Struct, frozen=True, omit_defaults=True):
    """When a task runs on a node: a YAQL expression, or one of Fuel's older strings."""

    text: str
    is_yaql: bool = True


class TaskInput(msgspec.Struct, frozen=True, omit_defaults=True):
    """A value that a task takes from the JSON result of another: of the same node, or a mapping from node to value for a role."""

    task: str
    key: str = ""  # a dotted path; empty for the whole result
    role: tuple[str, ...] = ("self",)


class ComputedDependencies(msgspec.Struct, frozen=True, omit_defaults=True):
    """Dependencies that are different on each node: a YAQL expression gives a list, as the field of the task has it.

    `plans.loading.dependencies.read_computed` reads its result.
    """

    field: Literal["requires", "required_for", "cross_depends", "cross_depended_by"]
    expression: str
    scope: str = ""  # of an included plan: the run_plan task, which is put before the names that the expression gives


class PlanTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """A task. `parameters` are those of its type, as they were written; `unknown` has the fields that nothing reads."""

    id: str
    type: TaskType
    at: Position
    selectors: tuple[str, ...] = ()  # the nodes: the first present of tags, roles, groups
    requires: tuple[str, ...] = ()
    required_for: tuple[str, ...] = ()
    cross_depends: tuple[CrossDependency, ...] = ()
    cross_depended_by: tuple[CrossDependency, ...] = ()
    condition: Condition | None = None
    parameters: dict[str, Any] = {}
    test_pre: tuple[AnyTest, ...] = ()
    test_post: tuple[AnyTest, ...] = ()
    timeout_s: float = 3_600.0
    retries: int = 0
    interval_s: float = 1.0
    at_once: int | None = None  # how many nodes do it at a time, over all nodes
    at_once_percent: int | None = None
    has_canary: bool = False  # one node first, and the others only if it succeeds there
    inputs: dict[str, TaskInput] = {}
    approval: str = ""  # what a person is asked before it begins anywhere
    is_always: bool = False  # it runs whatever happened before it
    fail_on_error: bool = True
    lost_after_s: float = 600.0
    produces: tuple[str, ...] = ()
    consumes: tuple[str, ...] = ()
    reexecute_on: tuple[str, ...] = ()
    refresh_on: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    unknown: dict[str, Any] = {}
    computed: tuple[ComputedDependencies, ...] = ()
    arguments: dict[str, Any] = {}  # of a task of an included plan: values of parameters, before those of the plan
    # Of a task that only sends the files of another, a `copy_files`, from the master: the id of that.
    collects_for: str = ""


class PlanGroup(msgspec.Struct, frozen=True, omit_defaults=True):
    """A group: tasks that its nodes have besides, and how many of its nodes may fail."""

    id: str
    at: Position
    selectors: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    fault_tolerance: str | None = None  # an integer or "N%"; None: never stops
    unknown: dict[str, Any] = {}


class Plan(msgspec.Struct, frozen=True, omit_defaults=True):
    """A plan as it is pinned: everything that its run depends on besides nodes and data. Its digest names it."""

    name: str
    tasks: tuple[PlanTask, ...]
    groups: tuple[PlanGroup, ...] = ()
    parameters: dict[str, Any] = {}  # declared ones, with their types and defaults
    unknown: dict[str, Any] = {}


class PlanProblem(msgspec.Struct, frozen=True):
    """An error in a plan; or a warning: something that is probably not meant, and does not prevent its use. `at` may be None."""

    at: Position | None
    code: str
    text: str
    hint: str = ""
    is_error: bool = True  # where errors and warnings stand in one list


class PlanNode(msgspec.Struct, frozen=True, omit_defaults=True):
    """A node as a plan sees it. `data` is what conditions and YAQL parameters read."""

    name: str
    roles: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    is_master: bool = False


class InstanceKey(NamedTuple):
    """Names an instance: the number of its task in the plan, from 1, and its node."""

    task: int
    node: str


class Instance(NamedTuple):
    """An instance, and what it waits for: the indexes of instances that must have succeeded, and sets of which one must have.

    `joins` are indexes of the expansion's joints: sets of instances that many others wait for as a whole, stored once. Instances that wait
    for one of the same set share the tuple too.
    """

    key: InstanceKey
    needs: tuple[int, ...] = ()
    needs_any: tuple[tuple[int, ...], ...] = ()
    joins: tuple[int, ...] = ()


class ToleranceGroup(NamedTuple):
    """Nodes of which only so many may fail; None: any number."""

    name: str
    nodes: frozenset[str]
    tolerate: int | None


class ComputedResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a computed field of a task gives on these nodes: names for `requires` and `required_for`, dependencies for the other fields."""

    task: int
    field: Literal["requires", "required_for", "cross_depends", "cross_depended_by"]
    nodes: tuple[str, ...]
    names: tuple[str, ...] = ()
    dependencies: tuple[CrossDependency, ...] = ()


class PlacedDependency(NamedTuple):
    """A task that waits for another on certain nodes. Tasks are numbers from 1; stages are on the sync node."""

    task: int
    needed: int
    nodes: frozenset[str]  # where instances of the task wait
    needed_on: frozenset[str]  # for instances on these nodes
    is_local: bool  # each instance waits only for that on its own node; both sets of nodes are the same
    is_any: bool  # one of them is enough
    field: str  # the field that says so
    declared_by: int  # of this task


class Expansion(NamedTuple):
    """A plan over nodes. The instances are in an order in which they can run: no instance waits for a later one.

    Of the instances that could be next in this order, that of the task with the lowest number is, and of one task that on the first node
    by name. `dependencies` are those from which the instances' needs were made.
    """

    plan: Plan
    nodes: Sequence[PlanNode]
    instances: Sequence[Instance]
    groups: Sequence[ToleranceGroup]
    at_once: Mapping[int, int]  # by the number of a task: how many of its instances run at a time
    canaries: Mapping[int, str]  # by the number of a task: the node that is first
    joints: Sequence[tuple[int, ...]] = ()
    warnings: Sequence[PlanProblem] = ()
    dependencies: Sequence[PlacedDependency] = ()


class Subset(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which instances run; the others are skipped and keep their edges. Names of tasks may be patterns as in a plan."""

    start: tuple[str, ...] = ()
    end: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
