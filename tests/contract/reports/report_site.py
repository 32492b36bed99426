"""Records of runs, as tests need them."""

from datetime import UTC, datetime, timedelta

import msgspec

from precast.wire.reports.events import Event, ResourceReport, Status, Summary
from precast.wire.reports.records import RunBegan, RunEnded

AT = datetime(2026, 1, 1, tzinfo=UTC)


def report_id(number: int) -> str:
    return f"01890000-0000-7000-8000-{number:012x}"


def began(number: int = 1, **more: object) -> RunBegan:
    return msgspec.convert(
        {"report": report_id(number), "mode": "enforce", "reason": "hand", "began_at": AT, "resources": 9} | more,
        RunBegan,
    )


def changed(title: str, *, is_corrective: bool = False) -> ResourceReport:
    ref = f"File[{title}]"
    return ResourceReport(
        ref, Status.CHANGED, (Event(ref, "success", "content changed", "content", corrective=is_corrective),)
    )


def failed(title: str) -> ResourceReport:
    ref = f"Exec[{title}]"
    return ResourceReport(
        ref, Status.FAILED, (Event(ref, "failure", "returned 1 instead of 0"),), file="site.pp", line=3
    )


def summary(**counts: int) -> Summary:
    names = ("unchanged", "changed", "noop", "failed", "skipped", "waiting", "corrective", "refreshed")
    fields = {name: counts.get(name, 0) for name in names}
    return Summary(resources=9, seconds=1.5, is_noop=False, is_complete=True, **fields)


def ended(start: RunBegan, *last: ResourceReport, events: int = 0, **more: object) -> RunEnded:
    fields = {"how": "ended", "summary": summary(unchanged=9)} | more
    return RunEnded(start, ended_at=AT + timedelta(seconds=2), events=events, reports=list(last), **fields)  # type: ignore[arg-type] # by name
