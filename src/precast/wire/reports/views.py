"""Reports as the API shows them: lists, one report, its events while they come."""

from datetime import datetime

import msgspec

from precast.wire.reports.events import ResourceReport
from precast.wire.reports.records import Slow


class ReportRow(msgspec.Struct, frozen=True):
    """A report as lists show it. Three things are independent: what it was to do (`mode`), what it changed or would change, what failed."""

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
    pending: int  # would change
    failed: int
    skipped: int
    waiting: int
    corrective: int  # of those changed or pending: brought back to what they were
    is_complete: bool  # every resource had its turn
    is_stale: bool
    began_at: datetime
    ended_at: datetime | None
    seconds: float | None
    why: str  # of one that did not come to its end, or only looked although it was to change things
    events: int  # told one by one, so far
    lost: int  # of these, how many never came

    @property
    def is_over(self) -> bool:
        return self.state != "running"


class ReportsPage(msgspec.Struct, frozen=True):
    """Reports, newest first; `after` begins the next page, if there is one."""

    reports: list[ReportRow]
    after: str | None


class ReportView(msgspec.Struct, frozen=True):
    """One report but for its events."""

    report: ReportRow
    refreshed: int
    received_at: datetime  # by the server's clock
    heard_at: datetime
    stale_since: datetime | None
    stale_why: str
    phases: dict[str, float]
    slowest: list[Slow]
    unchanged: int
    rest: list[str] | None  # names of those to which nothing happened; None: all others of the catalog
    left_out: dict[str, list[str]] = {}  # why, and who


class NumberedReport(ResourceReport, frozen=True, omit_defaults=True, kw_only=True):
    """A resource to which something happened, with its place in the report."""

    number: int


class EventsPage(msgspec.Struct, frozen=True):
    """What happened after a number, in order, and how the report stands. Ask again after `last` until it is over."""

    report: ReportRow
    events: list[NumberedReport]
    last: int  # the number of the last one here, or that was asked for


class EventRow(msgspec.Struct, frozen=True):
    """Something that happened to a resource, anywhere in the fleet."""

    node: str
    report: str
    number: int
    resource: str
    status: str
    is_corrective: bool
    at: datetime
    message: str  # of a failure
