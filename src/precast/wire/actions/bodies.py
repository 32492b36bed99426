"""Bodies of the API about actions: what nodes shall do, which nodes, when, and how. Each due time that starts makes a job."""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from precast.wire.jobs.orders import MAX_ARGUMENTS, Mode
from precast.wire.jobs.views import JobLimits
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.plans.bodies import MAX_PARAMETERS, PlanSource, SubsetBody

RUN, RELEASE, COMMAND, FACTS, RESTART, REBOOT, PLAN, TASK = (
    *("run", "release", "command", "facts", "restart", "reboot"),
    *("plan", "task"),
)
Kind = Literal["run", "release", "command", "facts", "restart", "reboot", "plan", "task"]
# Those whose job is the run of a plan: a task of a module is a plan with one task.
PLAN_KINDS = (PLAN, TASK)
# Those that people with the role for commands create, a plan only if it runs commands.
COMMAND_KINDS = (COMMAND, PLAN, TASK)
# What people may do with an action that exists.
CANCEL, ABORT, RETRY, PAUSE, RESUME, RUN_NOW = "cancel", "abort", "retry", "pause", "resume", "run-now"
CHANGES = (CANCEL, ABORT, RETRY, PAUSE, RESUME, RUN_NOW)
# Due times of `missed: all` that are made up for.
MAX_MISSED = 100

Time = Annotated[datetime, msgspec.Meta(tz=True)]
Word = Annotated[str, msgspec.Meta(max_length=500)]


class Parameter(msgspec.Struct, frozen=True, omit_defaults=True):
    """A value for `{name}` in the arguments of a command; its type is checked."""

    value: Annotated[str, msgspec.Meta(max_length=32_768)]
    type: Literal["string", "integer", "boolean", "choice"] = "string"
    choices: Annotated[list[Word], msgspec.Meta(max_length=100)] = []


class ActionPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """The plan that an action starts. Without files it is that of the nodes' environment, as it is whenever the action starts."""

    source: PlanSource
    master: Annotated[str, msgspec.Meta(max_length=500)] = ""
    parameters: Annotated[dict[str, Any], msgspec.Meta(max_length=MAX_PARAMETERS)] = {}
    subset: SubsetBody = SubsetBody()


class ActionWork(msgspec.Struct, frozen=True, omit_defaults=True):
    """What each node shall do. `mode` is for runs and plans, `tags` for runs, `parameters` for commands and tasks of modules."""

    kind: Kind
    mode: Mode = "noop"
    tags: Annotated[list[Word], msgspec.Meta(max_length=100)] = []
    argv: Annotated[list[str], msgspec.Meta(max_length=MAX_ARGUMENTS)] = []
    parameters: Annotated[dict[str, Parameter], msgspec.Meta(max_length=100)] = {}
    output_bytes: Annotated[int, msgspec.Meta(ge=0, le=1_048_576)] = 65_536
    plan: ActionPlan | None = None
    task: Annotated[str, msgspec.Meta(max_length=200)] = ""  # of a module: MODULE or MODULE::TASK


class ActionTimes(msgspec.Struct, frozen=True, omit_defaults=True):
    """When the action is due: at a time, by a cron expression, or when a node connects; without any of them now, once."""

    at: Time | None = None
    cron: Annotated[str, msgspec.Meta(max_length=200)] | None = None
    zone: Annotated[str, msgspec.Meta(max_length=100)] = "UTC"
    on: Literal["return", "enrolment"] | None = None
    until: Time | None = None
    start_within_s: Annotated[float, msgspec.Meta(ge=1, le=30 * 86_400)] | None = None
    missed: Literal["once", "skip", "all"] = "once"
    missed_limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_MISSED)] = 10
    overlap: Literal["skip", "queue-one", "cancel-old"] = "skip"


class NewAction(msgspec.Struct, frozen=True, omit_defaults=True):
    """An action that is to be created."""

    work: ActionWork
    nodes: TargetsBody
    times: ActionTimes = ActionTimes()
    limits: JobLimits = JobLimits()
    resolve: Literal["now", "start"] = "now"
    overrides_window: bool = False
    name: Annotated[str, msgspec.Meta(max_length=100)] = ""
    why: str = ""


class DueView(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of a due time. With `node`, only that node was due."""

    due_at: datetime
    cause: str  # time, person, return, enrolment
    state: str  # due, queued; then started, skipped, missed, failed
    node: str = ""
    count: int = 1  # how many due times the row stands for
    job: str | None = None
    job_state: str | None = None
    counts: dict[str, int] = {}  # of the job's nodes, by state
    message: str | None = None
    decided_at: datetime | None = None


class ActionView(msgspec.Struct, frozen=True):
    """An action and its newest due times, the newest first."""

    id: str
    name: str
    kind: str
    state: str  # awaiting-approval, active, paused; then ended, cancelled
    message: str | None
    environment: str | None
    made_by: str
    made_at: datetime
    next_at: datetime | None
    ended_at: datetime | None
    request: str | None  # of its approval
    work: ActionWork
    times: ActionTimes
    limits: JobLimits
    nodes: TargetsBody
    resolve: str
    node_count: int | None  # None if the nodes are resolved at the start
    why: str = ""
    overrides_window: bool = False
    due: list[DueView] = []

    @property
    def newest_job(self) -> str | None:
        """The job that was started last."""
        return next((due.job for due in self.due if due.job is not None), None)

    @property
    def is_over(self) -> bool:
        """Whether nothing of it will start any more: no due time is open either, whose plan is being prepared or which is queued."""
        return self.state in ("ended", "cancelled") and all(due.state not in ("due", "queued") for due in self.due)
