"""Prints a run: changes with their reasons as they happen, the current resource if the run takes long, and a summary at the end."""

import argparse
import re
import sys
import time
from collections.abc import Iterator

import msgspec

from precast.base.spans import visible
from precast.cli.console.output import print_json
from precast.wire.reports.events import Event, ResourceReport, Status, Summary

# The levels that are printed, by how often --verbose was given.
_SHOWN = (("notice", "warning", "err", "alert", "emerg", "crit"), ("info", "verbose"), ("debug",))
# People see only the beginning of a digest; --json prints it in full.
_DIGEST = re.compile(r"(\{\w+\}[0-9a-f]{12})[0-9a-f]{20,}")
_WORDS = {"success": "changed", "noop": "pending", "failure": "failed", "audit": "audit"}
# A run that takes longer than the first prints its current resource, at most once per the second.
PROGRESS_AFTER_S = 2.0
PROGRESS_PAUSE_S = 0.5


class Printer:
    """Prints one run: lines for people as it happens, or one JSON document at the end."""

    def __init__(self, name: str, args: argparse.Namespace) -> None:
        self._name = name
        self._is_json = args.json
        self._has_diffs = not args.no_diff
        self._levels = {level for group in _SHOWN[: args.verbose + 1] for level in group}
        self._is_verbose = args.verbose > 0
        self._reports: list[ResourceReport] = []
        self._started_s = self._printed_s = time.monotonic()
        self._has_line = False
        self._shows_progress = sys.stderr is not None and sys.stderr.isatty() and not args.json

    def show_resource(self, ref: str, number: int, count: int) -> None:
        """Print the resource that is applied next, if the run takes long and is on a terminal."""
        if not self._shows_progress:
            return
        now_s = time.monotonic()
        if now_s - self._started_s > PROGRESS_AFTER_S and now_s - self._printed_s > PROGRESS_PAUSE_S:
            self._printed_s = now_s
            self._has_line = True
            text = f"{number}/{count} {visible(ref)}"[:78]
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    def _clear(self) -> None:
        if self._has_line:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            self._has_line = False

    def report(self, report: ResourceReport) -> None:
        if report.status is Status.UNCHANGED and not report.logs and not report.events:
            return
        if self._is_json:
            self._reports.append(report)
            return
        lines = list(self._lines(report))
        if lines:
            self._clear()
            sys.stdout.write("\n".join(lines) + "\n")
            sys.stdout.flush()

    def _lines(self, report: ResourceReport) -> Iterator[str]:
        for log in report.logs:
            if log.level in self._levels:
                yield f"{log.level:<8} {visible(log.resource)}: {visible(log.message)}"
        for event in report.events:
            yield from self._event(report, event)
        if report.reason is not None and not report.events and self._is_worth_printing(report):
            yield f"{report.status.value:<8} {visible(report.resource)}: {visible(report.reason)}"

    def _is_worth_printing(self, report: ResourceReport) -> bool:
        """Whether to print a resource without events; one that was skipped on purpose is printed only with --verbose."""
        return self._is_verbose or "depends" in (report.reason or "") or report.status is Status.WAITING

    def _event(self, report: ResourceReport, event: Event) -> Iterator[str]:
        is_message = event.resource.startswith("Notify[") and event.status == "success"
        if (is_message and not self._is_verbose) or (event.status != "failure" and report.level not in self._levels):
            return
        name = f"{event.property}: " if event.property else ""
        mark = " (corrective)" if event.corrective else ""
        text = visible(_DIGEST.sub(r"\1…", event.message))
        program = f" [{visible(report.applied_by)}]" if report.applied_by else ""
        yield f"{_WORDS[event.status]:<8} {visible(event.resource)}: {name}{text}{mark}{program}"
        if event.status == "failure":
            yield from self._help(report)
        if event.diff and self._has_diffs:
            yield from (f"    {visible(line)}" for line in event.diff.splitlines())

    def _help(self, report: ResourceReport) -> Iterator[str]:
        if report.file is not None:
            yield f"         declared at {visible(report.file)}:{report.line}"
        if report.hint:
            yield f"         hint: {visible(report.hint)}"

    def finish(self, summary: Summary) -> None:
        self._clear()
        if self._is_json:
            print_json(
                {
                    "node": self._name,
                    "summary": msgspec.to_builtins(summary),
                    "resources": [msgspec.to_builtins(report) for report in self._reports],
                }
            )
            return
        print(f"{visible(self._name)}: {_describe(summary)}")


def _describe(summary: Summary) -> str:
    parts = [f"{summary.resources} resource{'' if summary.resources == 1 else 's'}"]
    for count, word in (
        (summary.changed, "changed"),
        (summary.noop, "pending"),
        (summary.failed, "failed"),
        (summary.skipped, "skipped"),
        (summary.waiting, "waiting"),
    ):
        if count:
            parts.append(f"{count} {word}")
    if len(parts) == 1:
        parts.append("all in sync")
    if summary.corrective:
        parts.append(f"{summary.corrective} corrective")
    if summary.is_noop:
        parts.append("no-op")
    end = "" if summary.is_complete else "; stopped before the end"
    return f"{', '.join(parts)}, in {summary.seconds:.2f} s{end}"
