"""Removes the secrets of a catalog from the reports of its run, before a report is shown, stored or sent.

The report of a resource is scrubbed of the resource's own secrets, of their lines and words too, because its handler and the programs
that it starts know them. It is also scrubbed of the longer secrets of all other resources, and of the lines of keys in them: a command may
print a file that contains one, and a class may have unwrapped one. Names of resources stay, because they identify the report.
"""

import threading
from collections.abc import Iterable

from precast.agent.applying.plan import PlannedResource
from precast.base.scrubbing import Scrubber
from precast.wire.reports.events import Event, Log, ResourceReport

# Shorter secrets are removed only from the report of their own resource.
MIN_SHARED_CHARS = 8
MIN_KEY_LINE_CHARS = 24
_USUAL_LEVEL = "notice"


class ReportScrubber:
    """Scrubs the reports of one run. Safe for its threads."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = set(secrets)
        self._lock = threading.Lock()
        self._shared = _shared_scrubber(self._secrets)

    def scrub(self, planned: PlannedResource, report: ResourceReport) -> ResourceReport:
        """The report without secrets."""
        if planned.bound is not None:
            self._learn(planned.secret_texts())
        if not (report.events or report.logs or report.reason or report.hint) and report.level == _USUAL_LEVEL:
            return report
        own = Scrubber(planned.secret_texts(), with_parts=True)
        for scrubber in (own, self._shared):
            if scrubber:
                report = _scrub_report(report, scrubber)
        return report

    def _learn(self, secrets: set[str]) -> None:
        """Add secrets that became known when the values of a resource were bound."""
        with self._lock:
            if not secrets <= self._secrets:
                self._secrets |= secrets
                self._shared = _shared_scrubber(self._secrets)


def _shared_scrubber(secrets: set[str]) -> Scrubber:
    lines = {line.strip() for secret in secrets if "\n" in secret for line in secret.splitlines()}
    return Scrubber(secrets.union(filter(_is_key_line, lines)), min_chars=MIN_SHARED_CHARS)


def _is_key_line(line: str) -> bool:
    """Whether a line of a longer secret is likely to be secret by itself, unlike a comment or a setting."""
    return len(line) >= MIN_KEY_LINE_CHARS and not any(sign.isspace() for sign in line)


def _scrub_report(report: ResourceReport, scrubber: Scrubber) -> ResourceReport:
    return ResourceReport(
        report.resource,
        report.status,
        tuple(_scrub_event(event, scrubber) for event in report.events),
        tuple(Log(log.resource, scrubber.scrub(log.level), scrubber.scrub(log.message)) for log in report.logs),
        reason=_scrub_optional(report.reason, scrubber),
        hint=_scrub_optional(report.hint, scrubber),
        level=scrubber.scrub(report.level),
        applied_by=report.applied_by,
        seconds=report.seconds,
        file=report.file,
        line=report.line,
    )


def _scrub_event(event: Event, scrubber: Scrubber) -> Event:
    return Event(
        event.resource,
        event.status,
        scrubber.scrub(event.message),
        event.property,
        scrubber.scrub_value(event.previous),
        scrubber.scrub_value(event.desired),
        event.corrective,
        _scrub_optional(event.diff, scrubber),
    )


def _scrub_optional(text: str | None, scrubber: Scrubber) -> str | None:
    return None if text is None else scrubber.scrub(text)
