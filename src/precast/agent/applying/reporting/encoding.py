"""Decides which resources of a run are reported one by one, encodes these reports, and collects the names of the other resources.

A resource that is in sync is reported by its name alone. So is one that was skipped by tags or schedule, with its reason once for all
resources that share it: otherwise a run for one tag would report everything else. A diff, a message or the output of a command may be
of any length; it is cut before it is sent.
"""

import msgspec

from precast.wire.reports.events import Event, Log, ResourceReport, Status
from precast.wire.reports.records import UneventfulResources, compress_rest

# Of one resource's report; a record holds several.
MAX_REPORT_BYTES = 64 * 1024
MAX_TEXT = 4_000
MAX_DIFF = 16_000
MAX_LINES = 100
MAX_VALUE = 1_000
# Of the compressed names; a catalog of 50,000 resources needs less.
MAX_NAMES_BYTES = 200 * 1024
CUT = "… [cut]"
# Messages of these levels are not sent to the servers.
_QUIET = ("debug", "verbose", "info")
_DEPENDS = "it depends on "


def is_reported(report: ResourceReport) -> bool:
    """Whether a resource is reported by more than its name."""
    if report.status is Status.UNCHANGED:
        return bool(report.events) or any(log.level not in _QUIET for log in report.logs)
    return report.status is not Status.SKIPPED or not _is_skipped_by_choice(report)


def _is_skipped_by_choice(report: ResourceReport) -> bool:
    """Whether tags or a schedule are the reason, and not a resource that failed."""
    return report.reason is not None and not report.reason.startswith(_DEPENDS)


def encode_report(report: ResourceReport) -> bytes:
    """Encode the report of a resource, cut if it is too large."""
    if report.logs:
        report = msgspec.structs.replace(report, logs=tuple(log for log in report.logs if log.level not in _QUIET))
    data = msgspec.json.encode(report)
    return data if len(data) <= MAX_REPORT_BYTES else msgspec.json.encode(_cut(report))


class UntouchedNames:
    """The names of resources that are in sync, or were skipped by choice."""

    def __init__(self) -> None:
        self._in_sync: list[str] = []
        self._skipped: dict[str, list[str]] = {}  # by reason

    def __bool__(self) -> bool:
        return bool(self._in_sync or self._skipped)

    def add(self, report: ResourceReport) -> None:
        if report.status is Status.UNCHANGED:
            self._in_sync.append(report.resource)
        else:
            self._skipped.setdefault(report.reason or "", []).append(report.resource)

    def compress(self, *, is_all_in_sync: bool) -> bytes:
        """Compress the names; empty if they follow from the catalog, because the run is complete and all of it is in sync."""
        if is_all_in_sync and not self._skipped:
            return b""
        data = compress_rest(UneventfulResources(self._in_sync, self._skipped))
        return (
            data
            if len(data) <= MAX_NAMES_BYTES
            else compress_rest(UneventfulResources([], {"too many to be named": []}))
        )


def _cut(report: ResourceReport) -> ResourceReport:
    """Cut the texts of a report so that its size is bounded."""
    lines = [Log(log.resource, log.level, _shorten(log.message, MAX_VALUE)) for log in report.logs[:MAX_LINES]]
    if len(report.logs) > MAX_LINES:
        lines.append(Log(report.resource, "notice", f"{len(report.logs) - MAX_LINES} more lines {CUT}"))
    events = tuple(_cut_event(event) for event in report.events[:MAX_LINES])
    cut = msgspec.structs.replace(report, events=events, logs=tuple(lines))
    if len(msgspec.json.encode(cut)) <= 2 * MAX_REPORT_BYTES:
        return cut
    # There are many large parts: the messages stay, the diffs and values are dropped.
    bare = tuple(msgspec.structs.replace(event, diff=None, previous=None, desired=None) for event in events[:20])
    return msgspec.structs.replace(cut, events=bare, logs=cut.logs[:20])


def _cut_event(event: Event) -> Event:
    return msgspec.structs.replace(
        event,
        message=_shorten(event.message, MAX_TEXT),
        diff=None if event.diff is None else _shorten(event.diff, MAX_DIFF),
        previous=_cut_value(event.previous),
        desired=_cut_value(event.desired),
    )


def _cut_value(value: object) -> object:
    return value if len(str(value)) <= MAX_VALUE else _shorten(str(value), MAX_VALUE)


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + CUT
