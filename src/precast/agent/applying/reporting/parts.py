"""What of a run is told one by one, in which form, and the names of the rest.

A resource to which nothing happened is a name. So is one that was left out by choice, with the reason once for all who share it: a run
for one tag would otherwise tell of everything else. A diff, a message or what a command said may be of any length; what travels is cut.
"""

import msgspec

from precast.wire.reports.events import Event, Log, ResourceReport, Status
from precast.wire.reports.records import Rest, pack_rest

# Of one resource's report; a record holds several.
MOST_BYTES = 64 * 1024
MOST_TEXT = 4_000
MOST_DIFF = 16_000
MOST_LINES = 100
MOST_VALUE = 1_000
# Of the packed names; a catalog of 50,000 resources has less.
MOST_NAMES_BYTES = 200 * 1024
CUT = "… [cut]"
# What a resource says at these levels is for its machine alone.
_QUIET = ("debug", "verbose", "info")
_DEPENDS = "it depends on "


def is_told(report: ResourceReport) -> bool:
    """Whether something happened to a resource."""
    if report.status is Status.UNCHANGED:
        return bool(report.events) or any(log.level not in _QUIET for log in report.logs)
    return report.status is not Status.SKIPPED or not _is_choice(report)


def _is_choice(report: ResourceReport) -> bool:
    return report.reason is not None and not report.reason.startswith(_DEPENDS)


def encoded(report: ResourceReport) -> bytes:
    """A report as it travels."""
    if report.logs:
        report = msgspec.structs.replace(report, logs=tuple(log for log in report.logs if log.level not in _QUIET))
    data = msgspec.json.encode(report)
    return data if len(data) <= MOST_BYTES else msgspec.json.encode(_cut(report))


class Names:
    """The names of resources to which nothing happened."""

    def __init__(self) -> None:
        self._unchanged: list[str] = []
        self._left_out: dict[str, list[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._unchanged or self._left_out)

    def add(self, report: ResourceReport) -> None:
        if report.status is Status.UNCHANGED:
            self._unchanged.append(report.resource)
        else:
            self._left_out.setdefault(report.reason or "", []).append(report.resource)

    def packed(self, *, is_plain: bool) -> bytes:
        """The names; nothing where they follow from the catalog, because the run came to its end and nothing happened."""
        if is_plain and not self._left_out:
            return b""
        data = pack_rest(Rest(self._unchanged, self._left_out))
        return data if len(data) <= MOST_NAMES_BYTES else pack_rest(Rest([], {"too many to be named": []}))


def _cut(report: ResourceReport) -> ResourceReport:
    """A report whose size is bounded, whatever was in it."""
    lines = [Log(log.resource, log.level, _short(log.message, MOST_VALUE)) for log in report.logs[:MOST_LINES]]
    if len(report.logs) > MOST_LINES:
        lines.append(Log(report.resource, "notice", f"{len(report.logs) - MOST_LINES} more lines {CUT}"))
    events = tuple(_cut_event(event) for event in report.events[:MOST_LINES])
    found = msgspec.structs.replace(report, events=events, logs=tuple(lines))
    if len(msgspec.json.encode(found)) <= 2 * MOST_BYTES:
        return found
    # Many large parts: what happened stays, how it looked goes.
    bare = tuple(msgspec.structs.replace(event, diff=None, previous=None, desired=None) for event in events[:20])
    return msgspec.structs.replace(found, events=bare, logs=found.logs[:20])


def _cut_event(event: Event) -> Event:
    return msgspec.structs.replace(
        event,
        message=_short(event.message, MOST_TEXT),
        diff=None if event.diff is None else _short(event.diff, MOST_DIFF),
        previous=_value(event.previous),
        desired=_value(event.desired),
    )


def _value(value: object) -> object:
    return value if len(str(value)) <= MOST_VALUE else _short(str(value), MOST_VALUE)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + CUT
