"""The records with which an agent reports a run of 460 resources, and the report of the same run in PuppetDB's format."""

import hashlib
import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from lab.fact_documents import name_of
from precast.agent.applying.reporting.reporter import BATCH_BYTES
from precast.wire.reports import records as reports
from precast.wire.reports.events import Event, ResourceReport, Status, Summary
from precast.wire.reports.records import (
    RunBegan,
    RunEnded,
    RunEvents,
    SlowResource,
    Timings,
    UneventfulResources,
    compress_rest,
)

RESOURCES = 460
CHANGED = 10
AT = datetime(2026, 11, 16, 4, tzinfo=UTC)

Records = list[tuple[str, bytes]]


def report_id(node: int, round_: int) -> str:
    """A time-ordered id as an agent makes it; in each round all nodes report at about the same time."""
    digest = hashlib.sha256(f"{node} {round_}".encode()).hexdigest()
    return f"{0x019A0000 + round_:08x}-{digest[:4]}-7{digest[4:7]}-8{digest[7:10]}-{digest[10:22]}"


def path_of(number: int) -> str:
    return f"/etc/service{number % 23}/conf.d/{number:04}-setting.conf"


def changed(number: int, round_: int) -> ResourceReport:
    """The report of a file in which one line changed."""
    path = path_of(number)
    before, after = (hashlib.sha256(f"{number} {round_ + step}".encode()).hexdigest() for step in (0, 1))
    diff = f"--- {path}\n+++ {path}\n@@ -1,3 +1,3 @@\n # managed\n-value = {before[:16]}\n+value = {after[:16]}\n"
    message = f"content changed '{{sha256}}{before}' to '{{sha256}}{after}'"
    event = Event(
        f"File[{path}]", "success", message, "content", f"{{sha256}}{before}", f"{{sha256}}{after}", diff=diff
    )
    place = f"modules/service{number % 23}/manifests/config.pp"
    return ResourceReport(f"File[{path}]", Status.CHANGED, (event,), seconds=0.0125, file=place, line=12 + number % 40)


def run_of(node: int, round_: int, count: int = CHANGED, resources: int = RESOURCES) -> Records:
    """The records of a run of a few seconds: its start, batches of events, and its end with the remaining events."""
    began = RunBegan(
        report_id(node, round_),
        "enforce",
        "released",
        AT,
        catalog=hashlib.sha256(f"{node}".encode()).hexdigest(),
        release=round_ + 1,
        environment="production",
        version=hashlib.sha256(b"version").hexdigest(),
        resources=resources,
    )
    if not count:
        quiet = Summary(resources, resources, 0, 0, 0, 0, 0, 0, 0, 0.4, False, True)
        run_ended = RunEnded(began, "ended", AT, quiet, timings=Timings({"plan": 0.21, "apply": 0.1, "finish": 0.01}))
        return [(reports.ENDED, msgspec.json.encode(run_ended))]
    changes = [changed(number * (resources // count), round_) for number in range(count)]
    parts = _parts(changes[: count * 2 // 3]) + _parts(changes[count * 2 // 3 :])
    names = {change.resource for change in changes}
    rest = [name for number in range(resources) if (name := f"File[{path_of(number)}]") not in names]
    summary = Summary(resources, resources - count, count, 0, 0, 0, 0, 0, 0, 2.5, False, True)
    timings = Timings(
        {"plan": 0.31, "apply": 2.1, "finish": 0.04}, [SlowResource(change.resource, 0.0125) for change in changes[:10]]
    )
    ended = RunEnded(
        began,
        "ended",
        AT + timedelta(seconds=2.5),
        summary,
        count,
        parts[-1],
        timings,
        compress_rest(UneventfulResources(rest)),
    )
    first_numbers = itertools.accumulate((len(part) for part in parts), initial=1)
    return [
        (reports.BEGAN, msgspec.json.encode(began)),
        *(
            (reports.EVENTS, msgspec.json.encode(RunEvents(began.report, first, part)))
            for first, part in zip(first_numbers, parts[:-1], strict=False)
        ),
        (reports.ENDED, msgspec.json.encode(ended)),
    ]


def _parts(changes: list[ResourceReport]) -> list[list[ResourceReport]]:
    """Split resource reports into batches of the size that the agent sends."""
    parts: list[list[ResourceReport]] = [[]]
    size_bytes = 0
    for resource_report in changes:
        if size_bytes >= BATCH_BYTES:
            parts.append([])
            size_bytes = 0
        parts[-1].append(resource_report)
        size_bytes += len(msgspec.json.encode(resource_report))
    return parts


def puppet_report(node: int, round_: int) -> dict[str, Any]:
    """The same run in the form of PuppetDB's command `store report`, version 8."""
    at = _stamp(AT)
    by_number = {
        number * (RESOURCES // CHANGED): changed(number * (RESOURCES // CHANGED), round_) for number in range(CHANGED)
    }
    return {
        "certname": name_of(node),
        "environment": "production",
        "puppet_version": "7.23.0",
        "report_format": 12,
        "configuration_version": str(round_),
        "start_time": at,
        "end_time": _stamp(AT + timedelta(seconds=2.5)),
        "producer_timestamp": _stamp(AT + timedelta(seconds=round_)),
        "producer": "bench",
        "transaction_uuid": report_id(node, round_),
        "catalog_uuid": report_id(node, 1_000_000),
        "code_id": None,
        "job_id": None,
        "cached_catalog_status": "not_used",
        "noop": False,
        "noop_pending": False,
        "corrective_change": False,
        "status": "changed",
        "type": "agent",
        "metrics": [{"category": "resources", "name": "total", "value": RESOURCES}],
        "logs": [_log(change, at) for change in by_number.values()],
        "resources": [_resource(number, by_number.get(number), at) for number in range(RESOURCES)],
    }


def _resource(number: int, change: ResourceReport | None, at: str) -> dict[str, Any]:
    place = f"/etc/puppetlabs/code/environments/production/modules/service{number % 23}/manifests/config.pp"
    events = [] if change is None else [
        {
            "status": "success",
            "timestamp": at,
            "name": "content_changed",
            "property": event.property,
            "new_value": event.desired,
            "old_value": event.previous,
            "message": event.message,
            "corrective_change": False,
        }
        for event in change.events
    ]  # fmt: skip
    return {
        "skipped": False,
        "timestamp": at,
        "resource_type": "File",
        "resource_title": path_of(number),
        "file": place,
        "line": 12 + number % 40,
        "containment_path": ["Stage[main]", f"Service{number % 23}::Config", f"File[{path_of(number)}]"],
        "corrective_change": False,
        "events": events,
    }


def _log(change: ResourceReport, at: str) -> dict[str, Any]:
    """The log line in which Puppet's agent sends a diff."""
    event = change.events[0]
    return {
        "file": change.file,
        "line": change.line,
        "level": "notice",
        "message": f"{event.diff}\n{event.message}",
        "source": f"/Stage[main]/{change.resource}/content",
        "tags": ["notice", "file"],
        "time": at,
    }


def _stamp(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
