"""Describes a report: its outcome in few words, its head, and the matching exit code."""

from collections.abc import Iterator

from precast.base.spans import visible
from precast.cli.console.output import format_time
from precast.wire.reports.views import ReportRow, ReportView

OPEN, FAILED = 1, 4
_REASONS = {
    "schedule": "by its schedule",
    "released": "because a catalog was released",
    "ordered": "because it was ordered",
    "hand": "started by hand",
}
_STATE_WORDS = {"not-run": "did not run", "broken-off": "broken off"}
SHOWN_SLOWEST = 5


def outcome(row: ReportRow) -> str:
    """The outcome of a run: the counts of its resources by state, and whatever else is unusual about it."""
    counts = (
        (row.changed, "changed"),
        (row.pending, "pending"),
        (row.failed, "failed"),
        (row.skipped, "skipped"),
        (row.waiting, "waiting"),
    )
    parts = [f"{count} {word}" for count, word in counts if count]
    if row.corrective:
        parts.append(f"{row.corrective} corrective")
    if row.state == "running":
        return ", ".join(["running", *parts])
    if row.state != "ended":
        why = f": {visible(row.why)}" if row.why else ""
        return ", ".join([_STATE_WORDS.get(row.state, row.state) + why, *parts])
    if not parts:
        parts = [f"{row.resources} in sync"]
    if not row.is_complete:
        parts.append("stopped before the end")
    if row.is_stale:
        parts.append("stale")
    return ", ".join(parts)


def exit_code(row: ReportRow) -> int:
    if row.failed or row.state in ("broken-off", "not-run") or (row.is_over and not row.is_complete):
        return FAILED
    return OPEN if not row.is_over or row.waiting else 0


def head_lines(view: ReportView) -> Iterator[tuple[str, str | None]]:
    """The head of a report, as names and values."""
    row = view.report
    yield "node", row.node
    yield "outcome", outcome(row)
    why = _REASONS.get(row.reason, "")
    yield "run", f"{row.mode}, {why}" + (f" ({row.order})" if row.order else "") if row.mode else None
    if row.state == "ended" and row.why:
        yield "no-op", visible(row.why)
    yield "catalog", _catalog(row)
    if row.is_stale:
        since = f" since {format_time(view.stale_since)}" if view.stale_since else ""
        yield "stale", f"{since.strip()}{': ' if since and view.stale_why else ''}{visible(view.stale_why)}" or "yes"
    yield "began", format_time(row.began_at)
    yield "took", None if row.seconds is None else f"{row.seconds:.2f} s{_phases(view)}"
    yield "resources", f"{row.resources}, {view.unchanged} in sync" if row.is_over else str(row.resources)
    if view.slowest:
        slowest = view.slowest[:SHOWN_SLOWEST]
        yield "slowest", ", ".join(f"{visible(slow.resource)} {slow.seconds:.2f} s" for slow in slowest)
    if row.lost:
        yield "lost", f"{row.lost} of {row.events} events: the node had no space for them"


def _catalog(row: ReportRow) -> str | None:
    if not row.catalog:
        return None
    parts = [row.catalog[:12]]
    if row.release:
        parts.append(f"release {row.release}")
    if row.environment:
        parts.append(f"environment {row.environment}" + (f", version {row.version[:12]}" if row.version else ""))
    return ", ".join(parts)


def _phases(view: ReportView) -> str:
    if not view.phases:
        return ""
    return " (" + ", ".join(f"{visible(name)} {seconds:.2f}" for name, seconds in view.phases.items()) + ")"
