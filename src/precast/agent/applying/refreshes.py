"""Refreshes on their way through the graph: from what changed, through containers, to what subscribed.

A container hands on one refresh for all that reached it, when its moment comes. A refresh that a no-op run would have sent goes the
same way, and triggers nothing.
"""

from precast.agent.applying.turn import NOTHING, Pending
from precast.catalog.order import Moment, Order
from precast.wire.reports.events import ResourceReport, Status


class Refreshes:
    """What waits for whom. Only one thread adds; a resource's own are complete when its turn comes."""

    def __init__(self, graph: Order) -> None:
        self._graph = graph
        self._pending: dict[Moment, Pending] = {}

    def pending(self, ref: str) -> Pending:
        return self._pending.get(("do", ref), NOTHING)

    def of_resource(self, ref: str, report: ResourceReport) -> None:
        """A resource has had its turn: what it changed goes on. One that failed sends nothing."""
        self._pending.pop(("do", ref), None)
        if report.status is Status.FAILED or not report.events:
            return
        noop = sum(event.status == "noop" for event in report.events)
        self._send(("do", ref), Pending(len(report.events) - noop, noop))

    def through(self, moment: Moment, is_skipped: bool) -> None:
        """A container's moment has come. One that is skipped keeps what it got."""
        waiting = self._pending.pop(moment, None)
        if waiting is not None and not is_skipped:
            self._send(moment, Pending(1, 0) if waiting.real else Pending(0, 1))

    def _send(self, moment: Moment, sent: Pending) -> None:
        for target in self._graph.refreshed(moment):
            real, noop = self._pending.get(target, NOTHING)
            self._pending[target] = Pending(real + sent.real, noop + sent.noop)
