"""What a run says of itself: a report for each resource, in the order of a sequential run, and the sums at the end.

Events have Puppet's parts: which property, from what to what, in which words, and how it ended. They are plain values that travel
and are stored as they are; nothing secret is ever in them.
"""

import enum
from collections import Counter
from typing import Any, Literal

import msgspec

EventStatus = Literal["success", "failure", "noop", "audit"]


class Status(enum.Enum):
    """How a resource ended."""

    UNCHANGED = "unchanged"
    CHANGED = "changed"
    NOOP = "noop"  # would change
    FAILED = "failed"
    SKIPPED = "skipped"  # because of a dependency, its tags or its schedule
    WAITING = "waiting"  # for a value that is not known yet, or for a resource that waits


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """One property that changed, would change, failed to, or was seen to have changed."""

    resource: str
    status: EventStatus
    message: str
    property: str | None = None
    previous: Any = None
    desired: Any = None
    corrective: bool = False
    diff: str | None = None


class Log(msgspec.Struct, frozen=True):
    """What a resource said."""

    resource: str
    level: str
    message: str


class ResourceReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """One resource of the catalog, with what followed from it."""

    resource: str
    status: Status
    events: tuple[Event, ...] = ()
    logs: tuple[Log, ...] = ()
    reason: str | None = None  # why it was skipped, failed before a change, or waits
    hint: str | None = None  # what to do about a failure
    level: str = "notice"
    seconds: float = 0.0
    file: str | None = None
    line: int | None = None


class Summary(msgspec.Struct, frozen=True):
    """A whole run in figures."""

    resources: int
    unchanged: int
    changed: int
    noop: int
    failed: int
    skipped: int
    waiting: int
    corrective: int
    refreshed: int
    seconds: float
    is_noop: bool
    is_complete: bool

    @property
    def has_changes(self) -> bool:
        return self.changed > 0

    @property
    def has_failures(self) -> bool:
        return self.failed > 0


class Tally:
    """Counts reports as they come: a run keeps no more of them than it must."""

    def __init__(self) -> None:
        self._by_status: Counter[Status] = Counter()
        self._corrective = 0
        self._refreshed = 0

    def add(self, report: ResourceReport) -> None:
        self._by_status[report.status] += 1
        if not report.events:
            return
        self._corrective += any(event.corrective for event in report.events)
        self._refreshed += any(event.property is None and event.status == "success" for event in report.events)

    def summary(self, seconds: float, is_noop: bool, is_complete: bool) -> Summary:
        count = self._by_status
        return Summary(
            resources=sum(count.values()),
            **{status.value: count[status] for status in Status},
            corrective=self._corrective,
            refreshed=self._refreshed,
            seconds=round(seconds, 3),
            is_noop=is_noop,
            is_complete=is_complete,
        )
