"""The events of a run, by resource, and its summary. They never contain a secret.

Events have Puppet's fields: the property, the previous and the desired value, a message, and the status. They are plain values that are
sent and stored as they are.
"""

import enum
from typing import Annotated, Any, Literal

import msgspec

EventStatus = Literal["success", "failure", "noop", "audit"]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**31)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class Status(enum.Enum):
    """How a resource ended."""

    UNCHANGED = "unchanged"
    CHANGED = "changed"
    NOOP = "noop"  # has a pending change
    FAILED = "failed"
    SKIPPED = "skipped"  # because of a dependency, its tags or its schedule
    WAITING = "waiting"  # for a value that is not known yet, or for a resource that waits


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """One property that changed, has a pending change, failed to change, or was found changed by an audit."""

    resource: str
    status: EventStatus
    message: str
    property: str | None = None
    previous: Any = None
    desired: Any = None
    corrective: bool = False
    diff: str | None = None


class Log(msgspec.Struct, frozen=True):
    """A log message of a resource."""

    resource: str
    level: str
    message: str


class ResourceReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """One resource of the catalog with its events and logs."""

    resource: str
    status: Status
    events: tuple[Event, ...] = ()
    logs: tuple[Log, ...] = ()
    reason: str | None = None  # why it was skipped, failed before a change, or waits
    hint: str | None = None  # what to do about a failure
    level: str = "notice"
    applied_by: str = ""  # the program that read and changed it, if it was not Precast: "Puppet 7.23.0"
    seconds: Seconds = 0.0
    file: str | None = None
    line: int | None = None

    @property
    def is_corrective(self) -> bool:
        """Whether one of its changes is corrective: it undoes a change that was made outside Precast."""
        return True in [event.corrective for event in self.events]


class Summary(msgspec.Struct, frozen=True):
    """The counts of a whole run."""

    resources: Count
    unchanged: Count
    changed: Count
    noop: Count
    failed: Count
    skipped: Count
    waiting: Count
    corrective: Count
    refreshed: Count
    seconds: Seconds
    is_noop: bool
    is_complete: bool

    @property
    def has_changes(self) -> bool:
        return self.changed > 0

    @property
    def has_failures(self) -> bool:
        return self.failed > 0
