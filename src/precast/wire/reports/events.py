"""What a run says of itself, resource by resource, and its sums. Nothing secret is ever in it.

Events have Puppet's parts: which property, from what to what, in which words, and how it ended. They are plain values that travel
and are stored as they are.
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
    seconds: Seconds = 0.0
    file: str | None = None
    line: int | None = None

    @property
    def is_corrective(self) -> bool:
        """Whether it was brought back to what it was before somebody else changed it."""
        return True in [event.corrective for event in self.events]


class Summary(msgspec.Struct, frozen=True):
    """A whole run in figures."""

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
