"""Bodies of the API about jobs over nodes: new jobs, their state, and the changes since a number."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from precast.wire.jobs.orders import MAX_ARGUMENTS, Mode, OutputLine, WholeOutput
from precast.wire.nodes.bodies import TargetsBody

# A number of nodes, or a percentage of them.
Amount = Annotated[str, msgspec.Meta(pattern=r"\A([1-9][0-9]{0,6}|[1-9][0-9]?%|100%)\Z")]
Tolerance = Annotated[str, msgspec.Meta(pattern=r"\A([0-9]{1,7}|[0-9]{1,2}%|100%)\Z")]
Seconds = Annotated[float, msgspec.Meta(ge=1, le=7 * 86_400)]


class JobLimits(msgspec.Struct, frozen=True):
    """How a job spreads over its nodes, and how long it waits for each."""

    batch: Amount | None = None  # the size of a batch; the next one begins when all of its nodes have ended
    at_once: Amount | None = None
    tolerate: Tolerance | None = None  # when more nodes have failed, no other node begins
    begin_s: Seconds = 300.0  # how long a node may take to begin
    take_s: Seconds = 3600.0  # how long it may take to end after it has begun
    away_s: Annotated[float, msgspec.Meta(ge=0, le=7 * 86_400)] = (
        0.0  # how long to wait for a disconnected node to connect
    )
    canary: Amount | None = None  # the first batch, none of which may fail
    per_minute: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] | None = None  # how many nodes may begin in a minute
    tries: Annotated[int, msgspec.Meta(ge=1, le=1_000)] | None = None  # how often to look for a disconnected node
    try_every_s: Seconds = 60.0
    # How long it usually takes: it begins only while a window stays open for that long. None: as long as it has taken before.
    needs_s: Seconds | None = None


# What a retry does with nodes that succeeded with a value which is promised again: it runs or fails them, or keeps them as they are.
StaleValues = Literal["rerun", "fail", "keep"]


class NewRunJob(msgspec.Struct, frozen=True):
    """Make nodes apply their released catalogs now."""

    nodes: TargetsBody
    mode: Mode = "enforce"
    tags: Annotated[list[Annotated[str, msgspec.Meta(max_length=200)]], msgspec.Meta(max_length=100)] = []
    limits: JobLimits = JobLimits()
    why: str = ""
    overrides_window: bool = False
    overrides_futures: bool = False  # it starts though nodes would wait for values that never come
    stale_values: StaleValues = "rerun"


class NewExecJob(msgspec.Struct, frozen=True):
    """Make nodes run a command now."""

    nodes: TargetsBody
    argv: Annotated[list[str], msgspec.Meta(min_length=1, max_length=MAX_ARGUMENTS)]
    limits: JobLimits = JobLimits(take_s=60.0)
    output_bytes: Annotated[int, msgspec.Meta(ge=0, le=1_048_576)] = 65_536
    why: str = ""
    overrides_window: bool = False


class StepResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a step ended: the resources of a run by state, or the exit of a command."""

    changed: int = 0
    pending: int = 0
    failed: int = 0
    skipped: int = 0
    waiting: int = 0
    corrective: int = 0
    resources: int = 0
    is_noop: bool = False
    is_stale: bool = False
    code: int | None = None
    signal: int | None = None
    cut_bytes: int = 0  # of output that is not among the lines
    output: WholeOutput | None = None  # all output, if some was cut; people are not shown its digest
    returned: str = ""  # the JSON that a task has returned
    telling_line: str = ""  # of the output of a task that has failed


class StepView(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="what", tag="step"):
    """The step of one node, by an attempt. `wire.jobs.states` has the states and their reasons."""

    node: str
    state: str
    batch: int
    task: int = 1  # the number of the task of a plan
    attempt: int = 1  # the round of the job
    reason: str | None = None  # of a queued step: why it has not begun
    queued_at: datetime | None = None
    ordered_at: datetime | None = None  # when it got its turn
    claimed_at: datetime | None = None
    picked_up_at: datetime | None = None
    ended_at: datetime | None = None
    late: str | None = None  # the state that a result after the deadline has
    report: str | None = None
    message: str | None = None
    result: StepResult | None = None
    phase: str | None = None  # of a task of a plan: pre-test, task, post-test


class OutputView(msgspec.Struct, frozen=True, tag_field="what", tag="output"):
    """Output of a node's command; `first` is the number of the first line."""

    node: str
    first: int
    lines: list[OutputLine]
    attempt: int
    task: int = 1


class JobView(msgspec.Struct, frozen=True):
    """A job, and how many of its nodes are in each state."""

    id: str
    kind: str  # apply, exec, facts, restart, reboot, release, plan
    state: str  # going, stopping, halting, aborting; then done, stopped, halted, aborted
    environment: str | None  # None if its nodes are of several
    action: str | None
    made_by: str
    made_at: datetime
    ended_at: datetime | None
    stopped_by: str | None
    nodes: int
    round: int
    counts: dict[str, int]  # by state
    reasons: dict[str, int]  # by state and reason
    limits: JobLimits
    mode: str | None = None
    tags: list[str] = []
    argv: list[str] = []
    why: str = ""
    needs_s: float = 0.0  # how long a window must stay open for it to begin
    overrides_window: bool = False

    @property
    def is_over(self) -> bool:
        return self.ended_at is not None


class JobChanges(msgspec.Struct, frozen=True):
    """The changes after a number, in order: the output of a command comes before its end."""

    run: JobView
    changes: list[StepView | OutputView]
    after: int
