"""Reports as the API shows them: lists, one report, and its events while it is running."""

from datetime import datetime

import msgspec

from precast.wire.reports.events import ResourceReport
from precast.wire.reports.records import SlowResource


class ReportRow(msgspec.Struct, frozen=True):
    """A report as lists show it. Three things are independent: its `mode`, its changes (made or pending), and its failures."""

    id: str
    node: str
    state: str  # running, ended, broken-off, not-run
    mode: str  # noop, enforce
    reason: str  # schedule, released, ordered, hand
    order: str
    catalog: str
    release: int
    environment: str
    version: str
    resources: int
    changed: int
    pending: int  # changes that a no-op run found
    failed: int
    skipped: int
    waiting: int
    corrective: int  # of those changed or pending: changes that undo a change made outside Precast
    is_complete: bool  # every resource was handled
    is_stale: bool
    began_at: datetime
    ended_at: datetime | None
    seconds: float | None
    why: str  # why it did not end normally, or was a no-op although it was to enforce
    events: int  # resources with an event, so far
    lost: int  # how many of these were never received

    @property
    def is_over(self) -> bool:
        return self.state != "running"


class ReportsPage(msgspec.Struct, frozen=True):
    """Reports, newest first; `after` begins the next page, if there is one."""

    reports: list[ReportRow]
    after: str | None


class ReportView(msgspec.Struct, frozen=True):
    """One report without its events."""

    report: ReportRow
    refreshed: int
    received_at: datetime  # by the server's clock
    heard_at: datetime
    stale_since: datetime | None
    stale_why: str
    phases: dict[str, float]
    slowest: list[SlowResource]
    unchanged: int
    rest: list[str] | None  # names of the resources without an event; None means all others of the catalog
    left_out: dict[str, list[str]] = {}  # resources by the reason why they were left out


class NumberedReport(ResourceReport, frozen=True, omit_defaults=True, kw_only=True):
    """A resource with an event, and its number in the report."""

    number: int


class EventsPage(msgspec.Struct, frozen=True):
    """The events after a number, in order, and the state of the report. A caller asks again after `last` until the run has ended."""

    report: ReportRow
    events: list[NumberedReport]
    last: int  # the number of the last event here, or the one that was asked for


class EventRow(msgspec.Struct, frozen=True):
    """An event of a resource, on any node."""

    node: str
    report: str
    number: int
    resource: str
    status: str
    is_corrective: bool
    at: datetime
    message: str  # of a failure
