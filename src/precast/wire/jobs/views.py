"""Bodies of the API about runs over nodes: what is wanted, how it stands, what has changed since one looked."""

from datetime import datetime
from typing import Annotated

import msgspec

from precast.wire.jobs.orders import MAX_ARGUMENTS, Line, Mode
from precast.wire.nodes.bodies import TargetsBody

# A number of nodes, or a share of them.
Amount = Annotated[str, msgspec.Meta(pattern=r"\A([1-9][0-9]{0,6}|[1-9][0-9]?%|100%)\Z")]
Tolerance = Annotated[str, msgspec.Meta(pattern=r"\A([0-9]{1,7}|[0-9]{1,2}%|100%)\Z")]
Seconds = Annotated[float, msgspec.Meta(ge=1, le=7 * 86_400)]


class RunLimits(msgspec.Struct, frozen=True):
    """How a run spreads over its nodes, and how long it waits for each."""

    batch: Amount | None = None  # so many, and the next when all of these have ended
    at_once: Amount | None = None
    tolerate: Tolerance | None = None  # when more have failed, nobody else begins
    begin_s: Seconds = 300.0  # for a node to begin
    take_s: Seconds = 3600.0  # and, once it has, to end
    away_s: Annotated[float, msgspec.Meta(ge=0, le=7 * 86_400)] = 0.0  # for a node that is away to come


class NewRun(msgspec.Struct, frozen=True):
    """Have nodes apply what was released to them, now."""

    nodes: TargetsBody
    mode: Mode = "enforce"
    tags: Annotated[list[Annotated[str, msgspec.Meta(max_length=200)]], msgspec.Meta(max_length=100)] = []
    limits: RunLimits = RunLimits()
    why: str = ""


class NewCommand(msgspec.Struct, frozen=True):
    """Have nodes run a command, now."""

    nodes: TargetsBody
    argv: Annotated[list[str], msgspec.Meta(min_length=1, max_length=MAX_ARGUMENTS)]
    limits: RunLimits = RunLimits(take_s=60.0)
    output_bytes: Annotated[int, msgspec.Meta(ge=0, le=1_048_576)] = 65_536
    why: str = ""


class StepResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a node's part ended, in figures: of a run its resources, of a command its end."""

    changed: int = 0
    pending: int = 0
    failed: int = 0
    skipped: int = 0
    waiting: int = 0
    corrective: int = 0
    resources: int = 0
    is_noop: bool = False  # it only looked
    is_stale: bool = False
    code: int | None = None
    signal: int | None = None
    cut_bytes: int = 0


class StepView(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="what", tag="step"):
    """One node of a run: waiting, ordered, began; then done, failed, not-run, silent, away or left-out."""

    node: str
    state: str
    batch: int
    ordered_at: datetime | None = None
    began_at: datetime | None = None
    ended_at: datetime | None = None
    report: str | None = None
    message: str | None = None
    result: StepResult | None = None


class OutputView(msgspec.Struct, frozen=True, tag_field="what", tag="output"):
    """Lines of a node's command; `first` is the number of the first."""

    node: str
    first: int
    lines: list[Line]


class RunView(msgspec.Struct, frozen=True):
    """A run, and how many of its nodes are in which state."""

    id: str
    kind: str  # apply, exec
    state: str  # going, stopping, halting; then done, stopped, halted
    made_by: str
    made_at: datetime
    ended_at: datetime | None
    stopped_by: str | None
    nodes: int
    counts: dict[str, int]
    limits: RunLimits
    mode: str | None = None
    tags: list[str] = []
    argv: list[str] = []
    why: str = ""

    @property
    def is_over(self) -> bool:
        return self.ended_at is not None


class RunChanges(msgspec.Struct, frozen=True):
    """What has changed after a number, in its order: output of commands comes before how they ended."""

    run: RunView
    changes: list[StepView | OutputView]
    after: int
