"""Bodies of the API about plans: what is checked and started, and how a run of a plan is shown.

A run of a plan is a job of the kind `plan`; its id is the job's. `wire.plans.states` has the states of a task on a node.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from precast.wire.jobs.orders import Mode
from precast.wire.jobs.programs import Phase
from precast.wire.jobs.views import Amount, JobView, OutputView, StepResult
from precast.wire.nodes.bodies import TargetsBody

MAX_FILES = 2_000
MAX_FILE_CHARS = 1024 * 1024
MAX_PARAMETERS = 500

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Names = Annotated[list[Name], msgspec.Meta(max_length=5_000)]


class PlanFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file of a plan, as it was read; the path is for messages. A task of a later layer replaces one of an earlier layer."""

    path: Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)]
    text: Annotated[str, msgspec.Meta(max_length=MAX_FILE_CHARS)]
    layer: Annotated[int, msgspec.Meta(ge=0, le=MAX_FILES)] = 0


class PlanSource(msgspec.Struct, frozen=True, omit_defaults=True):
    """The files of a plan, in the order in which they are merged; or, without files, the name of a plan of the environment.

    The plan `web` of an environment is the file `plans/web.yaml`, or all files `*.yaml` below the directory `plans/web`.
    """

    name: Name
    files: Annotated[list[PlanFile], msgspec.Meta(max_length=MAX_FILES)] = []


class SubsetBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which tasks run; the others are skipped. Names may be patterns, as in a plan."""

    start: Names = []
    end: Names = []
    only: Names = []
    skip: Names = []
    events: Names = []  # tasks whose `reexecute_on` or `refresh_on` names one of them


class PlanRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A plan over nodes, which is checked or started."""

    source: PlanSource
    nodes: TargetsBody
    master: str = ""  # the node that is meant by the role `master`
    parameters: Annotated[dict[str, Any], msgspec.Meta(max_length=MAX_PARAMETERS)] = {}
    subset: SubsetBody = SubsetBody()
    mode: Mode = "enforce"
    at_once: Amount | None = None  # how many nodes are at work at once
    away_s: Annotated[float, msgspec.Meta(ge=0, le=7 * 86_400)] = (
        600.0  # how long a node may be away when a task could begin on it
    )
    why: Annotated[str, msgspec.Meta(max_length=2_000)] = ""
    overrides_window: bool = False
    overrides_futures: bool = False


class ProblemView(msgspec.Struct, frozen=True):
    """An error or a warning of a plan. Line and column count from 1; they are 0 if it concerns no place."""

    file: str
    line: int
    column: int
    code: str
    text: str
    hint: str = ""


class PlanCheck(msgspec.Struct, frozen=True):
    """What a check has found. A plan with errors does not start."""

    name: str
    digest: str  # of the plan; empty if it cannot be loaded
    errors: list[ProblemView]
    warnings: list[ProblemView]
    tasks: int = 0
    instances: int = 0  # tasks on nodes, without stages
    skipped: int = 0  # of them, those that a condition or the subset leaves out
    nodes: int = 0
    needs_commands: list[str] = []  # the tasks that need the role for commands, and the consent of their nodes


class TaskApprovalView(msgspec.Struct, frozen=True):
    """A task that a person must let go, and who has."""

    task: str
    text: str
    is_due: bool  # everything before it has ended on some node
    by: str | None = None
    at: datetime | None = None


class TaskSummary(msgspec.Struct, frozen=True):
    """A task of a running plan: how many of its nodes are in each state."""

    number: int
    id: str
    type: str
    counts: dict[str, int]


class FailureView(msgspec.Struct, frozen=True):
    """A failure that is the cause of others, and how many follow from it."""

    task: str
    node: str
    reason: str
    message: str | None
    phase: Phase | None
    followers: int


class PlanRunBrief(msgspec.Struct, frozen=True):
    """A run of a plan in a list."""

    run: JobView
    plan: str
    digest: str
    counts: dict[str, int]  # tasks on nodes, by state

    @property
    def id(self) -> str:
        return self.run.id


class PlanRunView(msgspec.Struct, frozen=True):
    """A run of a plan."""

    run: JobView
    plan: str
    digest: str
    nodes: list[str]
    counts: dict[str, int]  # tasks on nodes, by state
    tasks: list[TaskSummary] = []
    approvals: list[TaskApprovalView] = []
    failures: list[FailureView] = []
    parameters: dict[str, Any] = {}
    warnings: list[ProblemView] = []  # of the plan; only in the answer to its start


class InstanceView(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="what", tag="instance"):
    """A task on a node."""

    key: str  # its place in lists: `NODE:NUMBER`
    number: int
    task: str
    node: str
    state: str
    attempt: int = 1
    reason: str | None = None
    phase: Phase | None = None
    message: str | None = None
    cause: str | None = None  # of one that cannot begin: `TASK on NODE` that has failed
    queued_at: datetime | None = None
    picked_up_at: datetime | None = None
    ended_at: datetime | None = None
    late: str | None = None
    report: str | None = None
    result: StepResult | None = None


class PlanChanges(msgspec.Struct, frozen=True):
    """The changes of a run after a number, in order."""

    run: PlanRunView
    changes: list[InstanceView | OutputView]
    after: int


class DocumentNode(msgspec.Struct, frozen=True):
    """A node of a run as its plan sees it, without its data."""

    name: str
    roles: list[str]
    tags: list[str]
    is_master: bool = False


class PlanDocument(msgspec.Struct, frozen=True):
    """What a run has pinned: the plan as a JSON text (a `plans.model.Plan`), its nodes, and the versions of their catalogs."""

    plan: str
    digest: str
    nodes: list[DocumentNode]
    subset: SubsetBody
    catalogs: dict[str, dict[str, str]]  # by node: by entry point, and the released one by ""
    computed: str = (
        "[]"  # the dependencies that expressions gave, as a JSON text (a list of `plans.model.ComputedResult`)
    )


class ResumeBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """Go on with a run that has ended. With `source`, on another version of the plan and on present data and catalogs (rebase).

    `parameters` are values of that version beside those that the run was given; of these, what it does not declare is left out.
    """

    source: PlanSource | None = None
    is_preview: bool = False  # only show what another version changes
    parameters: dict[str, Any] = {}


class RetryBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """Repeat what has failed: all of it, or only these tasks."""

    tasks: Names = []


class RebaseChange(msgspec.Struct, frozen=True):
    """How what a task does on nodes changes by a rebase. `catalog`: it applies or tests another version of a catalog."""

    task: str
    change: Literal["added", "removed", "changed", "catalog"]
    nodes: list[str]


class ResumeView(msgspec.Struct, frozen=True):
    """The run after a resume or before it, and what a rebase changes: on nodes, and in the plan, as `precast plan diff --json` shows it."""

    run: PlanRunView
    changes: list[RebaseChange] = []
    comparison: dict[str, Any] | None = None


class ApproveBody(msgspec.Struct, frozen=True):
    """Let a task go."""

    task: Name


class RunTaskBody(msgspec.Struct, frozen=True):
    """Repeat a task of a run on one node, with its tests and the inputs that it had."""

    task: Name
    node: Name
    why: Annotated[str, msgspec.Meta(max_length=2_000)] = ""
