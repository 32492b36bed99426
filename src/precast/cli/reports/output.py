"""How a report is shown: its outcome in few words, its head, and the exit code that says the same."""

from collections.abc import Iterator

from precast.base.spans import visible
from precast.cli.console.output import moment
from precast.wire.reports.views import ReportRow, ReportView

OPEN, FAILED = 1, 4
_REASONS = {
    "schedule": "by its schedule",
    "released": "because a catalog was released",
    "ordered": "because it was ordered",
    "hand": "started by hand",
}
SLOWEST = 5


def outcome(row: ReportRow) -> str:
    """What came of a run: three independent things, and what is odd about it."""
    counts = (
        (row.changed, "changed"),
        (row.pending, "would change"),
        (row.failed, "failed"),
        (row.skipped, "skipped"),
        (row.waiting, "waiting"),
    )
    parts = [f"{count} {word}" for count, word in counts if count]
    if row.corrective:
        parts.append(f"{row.corrective} corrected")
    if row.state == "running":
        return ", ".join(["running", *parts])
    if row.state != "ended":
        why = f": {visible(row.why)}" if row.why else ""
        return ", ".join([row.state.replace("-", " ") + why, *parts])
    if not parts:
        parts = ["all as wanted"]
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
    """The head of a report, line by line."""
    row = view.report
    yield "node", row.node
    yield "outcome", outcome(row)
    why = _REASONS.get(row.reason, "")
    yield "run", f"{row.mode}, {why}" + (f" ({row.order})" if row.order else "") if row.mode else None
    if row.state == "ended" and row.why:
        yield "only looked", visible(row.why)
    yield "catalog", _catalog(row)
    if row.is_stale:
        since = f" since {moment(view.stale_since)}" if view.stale_since else ""
        yield "stale", f"{since.strip()}{': ' if since and view.stale_why else ''}{visible(view.stale_why)}" or "yes"
    yield "began", moment(row.began_at)
    yield "took", None if row.seconds is None else f"{row.seconds:.2f} s{_phases(view)}"
    yield "resources", f"{row.resources}, {view.unchanged} as wanted" if row.is_over else str(row.resources)
    if view.slowest:
        yield "slowest", ", ".join(f"{visible(one.resource)} {one.seconds:.2f} s" for one in view.slowest[:SLOWEST])
    if row.lost:
        yield "lost", f"{row.lost} of {row.events} events: the node had no room for them"


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
