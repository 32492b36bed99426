"""How a run is shown: what changed and why while it goes on, where it is if it takes long, and the sums at the end."""

import argparse
import re
import sys
import time
from collections.abc import Iterator

import msgspec

from precast.base.spans import visible
from precast.cli.console.output import print_json
from precast.wire.reports.events import Event, ResourceReport, Status, Summary

# Levels that are shown, by how often --verbose was given.
_SHOWN = (("notice", "warning", "err", "alert", "emerg", "crit"), ("info", "verbose"), ("debug",))
# A digest is as good as its beginning to people; --json has it in full.
_DIGEST = re.compile(r"(\{\w+\}[0-9a-f]{12})[0-9a-f]{20,}")
_WORDS = {"success": "changed", "noop": "would", "failure": "failed", "audit": "audit"}
# A run that takes longer than this says where it is, and how often.
PATIENCE_S = 2.0
AGAIN_S = 0.5


class Printer:
    """Prints one run: lines for people as it goes, or one document at the end."""

    def __init__(self, name: str, args: argparse.Namespace) -> None:
        self._name = name
        self._is_json = args.json
        self._has_diffs = not args.no_diff
        self._levels = {level for group in _SHOWN[: args.verbose + 1] for level in group}
        self._is_verbose = args.verbose > 0
        self._kept: list[ResourceReport] = []
        self._started_s = self._told_s = time.monotonic()
        self._has_line = False
        self._shows_progress = sys.stderr is not None and sys.stderr.isatty() and not args.json

    def starts(self, ref: str, number: int, count: int) -> None:
        """A resource's turn begins: on a terminal, a long run says which."""
        if not self._shows_progress:
            return
        now_s = time.monotonic()
        if now_s - self._started_s > PATIENCE_S and now_s - self._told_s > AGAIN_S:
            self._told_s = now_s
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
            self._kept.append(report)
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
        if report.reason is not None and not report.events and self._is_worth(report):
            yield f"{report.status.value:<8} {visible(report.resource)}: {visible(report.reason)}"

    def _is_worth(self, report: ResourceReport) -> bool:
        """What is left out by choice is not said each time."""
        return self._is_verbose or "depends" in (report.reason or "") or report.status is Status.WAITING

    def _event(self, report: ResourceReport, event: Event) -> Iterator[str]:
        is_message = event.resource.startswith("Notify[") and event.status == "success"
        if (is_message and not self._is_verbose) or (event.status != "failure" and report.level not in self._levels):
            return
        what = f"{event.property}: " if event.property else ""
        again = " (corrective)" if event.corrective else ""
        text = visible(_DIGEST.sub(r"\1…", event.message))
        yield f"{_WORDS[event.status]:<8} {visible(event.resource)}: {what}{text}{again}"
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
                    "resources": [msgspec.to_builtins(each) for each in self._kept],
                }
            )
            return
        print(f"{visible(self._name)}: {_sum(summary)}")


def _sum(summary: Summary) -> str:
    parts = [f"{summary.resources} resource{'' if summary.resources == 1 else 's'}"]
    for count, word in (
        (summary.changed, "changed"),
        (summary.noop, "would change"),
        (summary.failed, "failed"),
        (summary.skipped, "skipped"),
        (summary.waiting, "waiting"),
    ):
        if count:
            parts.append(f"{count} {word}")
    if len(parts) == 1:
        parts.append("all as wanted")
    if summary.corrective:
        parts.append(f"{summary.corrective} corrected")
    if summary.is_noop:
        parts.append("no-op")
    end = "" if summary.is_complete else "; stopped before the end"
    return f"{', '.join(parts)}, in {summary.seconds:.2f} s{end}"
