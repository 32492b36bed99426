"""Counts the outcomes of a run's resources as their reports come, so that the run need not store the reports."""

from collections import Counter

from precast.wire.reports.events import ResourceReport, Status, Summary


class Tally:
    """The counts of one run."""

    def __init__(self) -> None:
        self._by_status: Counter[Status] = Counter()
        self._corrective = 0
        self._refreshed = 0

    def add(self, report: ResourceReport) -> None:
        self._by_status[report.status] += 1
        if not report.events:
            return
        self._corrective += any(event.corrective for event in report.events)
        self._refreshed += any(event.property is None and event.status == "success" for event in report.events)

    def summary(self, seconds: float, is_noop: bool, is_complete: bool) -> Summary:
        count = self._by_status
        return Summary(
            resources=sum(count.values()),
            **{status.value: count[status] for status in Status},
            corrective=self._corrective,
            refreshed=self._refreshed,
            seconds=round(seconds, 3),
            is_noop=is_noop,
            is_complete=is_complete,
        )
