"""The work of applying a catalog: a part of the released one, or that of an entry point.

It is a run like any other, with its own report, under the lease that the task holds. One of a part does not count as a run of the whole
released catalog. The node's policy decides whether it may change anything. A task that was to change something fails where it may not, and
its report says what is pending.
"""

import sqlite3
from datetime import UTC, datetime

import msgspec

from precast.agent.applying.options import RunOptions
from precast.agent.applying.run import RunRequest, apply
from precast.agent.catalog.enforcement import ORDERED, RunMode, decide_mode
from precast.agent.catalog.released_run import begin_release, describe_run, make_reporter, note_whole_run
from precast.agent.futures.run_options import FutureOptions
from precast.agent.state.store import LocalStore
from precast.agent.tasks.catalogs import (
    AnyCatalogWork,
    CatalogAccess,
    LoadedPart,
    has_resources,
    load_part,
    report_dropped,
)
from precast.agent.tasks.context import MAX_MESSAGE_CHARS, StepOutcome, TaskContext, failed
from precast.base.spans import visible
from precast.wire.jobs.orders import MAX_LINE_CHARS
from precast.wire.reports.events import ResourceReport, Status, Summary
from precast.wire.reports.records import RunBegan

NOOP_ONLY = "the node allows no-op runs only"
_EVENTS = {"success": "changed", "noop": "pending", "failure": "failed", "audit": "audit"}


def apply_catalog(context: TaskContext, work: AnyCatalogWork, access: CatalogAccess) -> StepOutcome:
    """Apply a part of a catalog. It has succeeded if no resource has failed. Raises as `load_part` and `apply` do.

    If it is not the last try, servers are not told that a promise has failed: the next try may fulfil it.
    """
    loaded = load_part(context, work, access.versions)
    if not has_resources(loaded.part):
        return failed(f"the catalog has no resource of {loaded.selection}", is_final=True)
    report_dropped(context, loaded.part)
    mode = _decide_mode(context, work)
    run = _ReportedRun(context, loaded, loaded.request(context, access), mode)
    futures = FutureOptions(is_released=True, attempt=context.order, is_last_try=access.is_last_try)
    request = run.request._replace(begins=lambda store: begin_release(store, loaded.pointer), futures=futures)
    options = RunOptions(is_noop=mode.is_noop, is_look_only=mode.is_look_only)
    summary = apply(request, options, lambda report: _pass_on(context, report))
    return _judge(work, mode, summary, run.report)


class _ReportedRun:
    """A run with its own report, whose id is known when it has begun."""

    def __init__(self, context: TaskContext, loaded: LoadedPart, request: RunRequest, mode: RunMode) -> None:
        self.report = ""
        self._context, self._request, self._mode = context, request, mode
        self._is_whole = loaded.pointer is not None and loaded.part.body is loaded.document.body
        reporter = make_reporter(context.root, context.settings, context.store.life, self._describe, mode.refusal)
        self.request = request._replace(reporter=reporter, ends=self._end)

    def _describe(self, store: LocalStore) -> RunBegan:
        is_noop, order = self._mode.is_noop, self._context.order
        began = describe_run(store, self._request, is_noop=is_noop, reason="ordered", order=order)
        self.report = began.report
        return began

    def _end(self, store: LocalStore, db: sqlite3.Connection, summary: Summary) -> str:
        if self._is_whole and summary.is_complete:
            note_whole_run(store, db, self._request.version, ORDERED, summary)
        return "" if summary.is_complete else "its task was ended: it stopped after the current resource"


def _decide_mode(context: TaskContext, work: AnyCatalogWork) -> RunMode:
    return decide_mode(
        context.root,
        ORDERED,
        datetime.now(UTC),
        asks_noop=work.mode == "noop",
        asks_enforce=work.mode == "enforce",
        is_noop_configured=context.settings.noop,
    )


def _judge(work: AnyCatalogWork, mode: RunMode, summary: Summary, report: str) -> StepOutcome:
    message = describe_counts(summary)
    is_success = summary.is_complete and not summary.has_failures
    is_refused = work.mode == "enforce" and mode.is_noop
    if is_refused:
        message = f"{NOOP_ONLY}: {mode.refusal}; {message}"
    elif not summary.is_complete:
        message = f"the run stopped before its end: {message}"
    result = msgspec.json.encode(
        {"resources": summary.resources, **_counts(summary), "is_noop": summary.is_noop}
    ).decode()
    return StepOutcome(
        is_success and not is_refused,
        message[:MAX_MESSAGE_CHARS],
        result=result,
        report=report,
        is_final=is_refused,
    )


def describe_counts(summary: Summary) -> str:
    """The counts of a run, in one line."""
    parts = [f"{count} {name}" for name, count in _counts(summary).items() if count]
    resources = f"{summary.resources} resource{'' if summary.resources == 1 else 's'}"
    return f"{resources}: {', '.join(parts) or 'all in sync'}{'; no-op' if summary.is_noop else ''}"


def _counts(summary: Summary) -> dict[str, int]:
    return {
        "changed": summary.changed,
        "pending": summary.noop,
        "failed": summary.failed,
        "skipped": summary.skipped,
        "waiting": summary.waiting,
    }


def _pass_on(context: TaskContext, report: ResourceReport) -> None:
    """Add what has changed or failed to the output of the task. The report has all of it."""
    lines = [f"{_EVENTS[event.status]} {event.resource}: {event.message}" for event in report.events]
    if report.status is Status.FAILED and not report.events:
        lines.append(f"failed {report.resource}: {report.reason or ''}")
    for line in lines:
        context.say(visible(line)[:MAX_LINE_CHARS], "err" if report.status is Status.FAILED else "out")
