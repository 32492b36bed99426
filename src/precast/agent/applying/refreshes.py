"""Carries refreshes through the graph: from resources that changed, through containers, to resources that subscribe.

A container passes on one refresh for all that reached it, when it is complete. A refresh that a no-op run would have sent takes the
same path and triggers nothing.
"""

from precast.agent.applying.resource_application import NO_REFRESHES, PendingRefreshes
from precast.catalog.order import Order, OrderPoint
from precast.wire.reports.events import ResourceReport, Status


class Refreshes:
    """The pending refreshes of a run. Only one thread adds to them; those of a resource are complete before it is applied."""

    def __init__(self, graph: Order) -> None:
        self._graph = graph
        self._pending: dict[OrderPoint, PendingRefreshes] = {}

    def pending(self, ref: str) -> PendingRefreshes:
        return self._pending.get(("do", ref), NO_REFRESHES)

    def send_from_resource(self, ref: str, report: ResourceReport) -> None:
        """Send refreshes for the changes of a resource that was applied. A resource that failed sends none."""
        self._pending.pop(("do", ref), None)
        if report.status is Status.FAILED or not report.events:
            return
        noop = sum(event.status == "noop" for event in report.events)
        self._send(("do", ref), PendingRefreshes(len(report.events) - noop, noop))

    def send_through(self, point: OrderPoint, is_skipped: bool) -> None:
        """Pass on what a container has received, now that it is complete. A skipped container passes nothing on."""
        received = self._pending.pop(point, None)
        if received is not None and not is_skipped:
            self._send(point, PendingRefreshes(1, 0) if received.real else PendingRefreshes(0, 1))

    def _send(self, point: OrderPoint, sent: PendingRefreshes) -> None:
        for target in self._graph.refreshed(point):
            real, noop = self._pending.get(target, NO_REFRESHES)
            self._pending[target] = PendingRefreshes(real + sent.real, noop + sent.noop)
