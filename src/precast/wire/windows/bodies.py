"""Bodies of the API about maintenance windows."""

from datetime import datetime
from typing import Literal

import msgspec

from precast.wire.windows.intervals import Interval

ActionClass = Literal["run-enforce", "run-noop", "command", "release", "reboot", "restart", "facts"]
CLASSES: tuple[ActionClass, ...] = ("run-enforce", "run-noop", "command", "release", "reboot", "restart", "facts")
ALL_CLASSES = "all"
AtClose = Literal["finish", "abort"]
WindowKind = Literal["rules", "calendar"]


class WindowBody(msgspec.Struct, frozen=True):
    """A window to store: simple rules, or the text of an iCalendar file. A blackout closes what other windows open.

    Times of a calendar that name no zone are in `zone`.
    """

    rules: list[str] = []
    calendar: str = ""
    zone: str = "UTC"
    is_blackout: bool = False
    why: str = ""


class WindowRow(msgspec.Struct, frozen=True):
    """A window as lists show it. `next` is the interval in which it is open now, or the next one within a year."""

    name: str
    kind: WindowKind
    is_blackout: bool
    zone: str
    bindings: int
    made_by: str
    made_at: datetime
    changed_by: str
    changed_at: datetime
    next: Interval | None = None


class BindingBody(msgspec.Struct, frozen=True):
    """Binds a window to the nodes that a target selects whenever it is asked, for classes of actions."""

    target: str
    classes: list[ActionClass | Literal["all"]] = msgspec.field(default_factory=lambda: ["all"])
    at_close: AtClose = "finish"
    why: str = ""


class BindingRow(msgspec.Struct, frozen=True):
    """A binding. `at_close` is what happens to an action that is under way when the window closes."""

    window: str
    target: str
    classes: list[str]
    at_close: AtClose
    bound_by: str
    bound_at: datetime


class BindingView(msgspec.Struct, frozen=True):
    """A binding, how many nodes it selects now, and whether that depends on facts, which a node could forge."""

    binding: BindingRow
    nodes: int
    rests_on_claims: bool


class WindowView(msgspec.Struct, frozen=True):
    """A window with its source (its rules, one in a line, or the text of its calendar), its bindings, and when it is open next."""

    window: WindowRow
    source: str
    bindings: list[BindingView]
    intervals: list[Interval]


class OpeningView(msgspec.Struct, frozen=True):
    """When actions of a class may begin on a node: now, or next within a year; and by which bindings. Without any, always."""

    node: str
    action_class: ActionClass
    is_open: bool
    opens_at: datetime | None
    closes_at: datetime | None
    at_close: AtClose
    windows: list[str]
    blackouts: list[str]
