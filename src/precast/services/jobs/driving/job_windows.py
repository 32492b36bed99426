"""The windows of one job's nodes: on which nodes it may begin now, when that changes, and where it must end."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from precast.base.clock import Clock
from precast.base.errors import PrecastError
from precast.services.jobs import requests
from precast.services.jobs.requests import JobRequest, decode_request
from precast.services.windows.openings import NodeOpenings
from precast.store.jobs.jobs import JobRow
from precast.wire.windows.bodies import ActionClass
from precast.wire.windows.intervals import closes_at, find_start, is_open

# How far ahead openings are asked for, and how often: bindings may change meanwhile.
AHEAD = timedelta(days=8)
REFRESH_S = 20.0

_CLASSES: dict[str, ActionClass] = {
    requests.EXEC: "command",
    requests.FACTS: "facts",
    requests.RESTART: "restart",
    requests.REBOOT: "reboot",
    requests.RELEASE: "release",
}


class Openings(Protocol):
    """The service of windows, as far as driving needs it."""

    async def openings(
        self, nodes: Sequence[str], class_: ActionClass, start: datetime, end: datetime
    ) -> dict[str, NodeOpenings | None]: ...


async def find_held(service: Openings, clock: Clock, job: JobRow, nodes: Sequence[str]) -> dict[str, datetime | None]:
    """The nodes on which a job may not begin because of their windows, each with the time at which it may, if that is known.

    Empty while windows cannot be evaluated: the driver logs why, and their steps wait.
    """
    windows = JobWindows(service, clock, job, decode_request(job), nodes)
    try:
        await windows.refresh()
    except PrecastError:
        return {}
    return {node: windows.find_start(node) for node in windows.find_closed()}


class JobWindows:
    """Asks for the openings of the nodes from time to time, and compares them with the clock."""

    def __init__(self, service: Openings, clock: Clock, job: JobRow, request: JobRequest, nodes: Sequence[str]) -> None:
        self._service, self._clock, self._nodes = service, clock, list(nodes)
        self._needs_s, self._is_overridden = request.needs_s, request.overrides_window
        applied: ActionClass = "run-enforce" if request.mode == "enforce" else "run-noop"
        # A plan whose tasks were sealed runs commands.
        planned: ActionClass = "command" if job.kind == requests.PLAN and request.sealed_until else applied
        self._class: ActionClass = _CLASSES.get(job.kind, planned)
        self._openings: dict[str, NodeOpenings] = {}
        self._asked_s = float("-inf")

    async def refresh(self) -> None:
        """Ask for the openings, unless that was a moment ago. Raises what evaluating the targets of bindings raises."""
        now_s = self._clock.monotonic_s()
        if self._is_overridden or now_s - self._asked_s < REFRESH_S:
            return
        self._asked_s = now_s
        now = self._clock.now()
        found = await self._service.openings(self._nodes, self._class, now, now + AHEAD)
        self._openings = {node: opening for node, opening in found.items() if opening is not None}

    def find_closed(self) -> set[str]:
        """The nodes on which nothing may begin now: their windows are closed, or close before it would be done."""
        now = self._clock.now()
        may: dict[int, bool] = {}
        for opening in self._openings.values():
            if id(opening) not in may:
                may[id(opening)] = find_start(opening.intervals, now, self._needs_s) == now
        return {node for node, opening in self._openings.items() if not may[id(opening)]}

    def find_start(self, node: str) -> datetime | None:
        """When something may begin on a node that has windows; None if that is later than they were asked for."""
        return find_start(self._openings[node].intervals, self._clock.now(), self._needs_s)

    def find_aborted(self) -> set[str]:
        """The nodes whose windows are closed, and on which what was begun must end."""
        now = self._clock.now()
        return {
            node
            for node, opening in self._openings.items()
            if opening.at_close == "abort" and not is_open(opening.intervals, now)
        }

    def find_next_change(self) -> datetime | None:
        """When something opens or closes next; None if nothing does, as far as is known."""
        now = self._clock.now()
        changes = []
        for opening in {id(opening): opening for opening in self._openings.values()}.values():
            start = find_start(opening.intervals, now, self._needs_s)
            close = closes_at(opening.intervals, now)
            changes += [at for at in (start, close) if at is not None and at > now]
        if changes:
            return min(changes)
        return now + AHEAD if self._openings else None
