"""Has the cached catalog applied: when another one was fetched, when a value that it needs is new, on the agent's schedule, and when a
window opens.

Each run is a process of its own, and one run takes place at a time (`leased_processes`). Ordered work goes first: while an order is granted
or carried out, no run of this chore begins.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from precast.agent.chores.fetch import FRESH
from precast.agent.chores.leased_processes import LeasedProcesses
from precast.agent.chores.schedule import CHECK_S, Rhythm, Timetable, node_name
from precast.agent.futures import value_tables
from precast.agent.orders.claims import OrderClaims
from precast.agent.orders.work_process import WAIT_S, WorkProcess
from precast.agent.settings import AgentSettings
from precast.agent.state.status_notes import CatalogRunNote, FetchNote, PolicyNote, RunNote
from precast.agent.state.store import LocalStore
from precast.base.errors import PrecastError
from precast.wire.nodes.policy import find_open_window

log = logging.getLogger("precast.agent")

# After this long, a new catalog whose run did not come to its end is tried again.
RETRY = timedelta(minutes=5)
RETRY_START_S = 5.0
# The exit codes of a run that came to its end, whatever its outcome.
ENDED = range(7)


class ApplyChore:
    """Starts runs when they are due. Without a catalog none is due."""

    def __init__(
        self,
        store: LocalStore,
        claims: OrderClaims,
        processes: LeasedProcesses,
        settings: AgentSettings,
        refresh: Callable[[timedelta], Awaitable[None]],
    ) -> None:
        """`refresh` fetches the catalog, unless the last fetch is younger than its argument."""
        self._store = store
        self._claims = claims
        self._processes = processes
        self._refresh = refresh
        self._woken = asyncio.Event()
        self._scheduled_at: datetime | None = None
        self._tried_catalog = ("", 0.0)  # the digest, and when its run began by monotonic time
        self._tried_values = (0, 0.0)  # the number of the newest one, and when its run began
        self.settings = settings
        self._timetable = Timetable(
            store.clock,
            lambda: node_name(store),
            lambda: Rhythm(self.settings.apply_interval, self.settings.splay),
            self._last_run_at,
        )

    def wake(self) -> None:
        """Check now whether a run is due."""
        self._woken.set()

    async def run(self) -> None:
        """Apply for ever. Cancelling asks a run that is under way to stop."""
        while True:
            self._woken.clear()
            # A run that an earlier daemon or a person has started is left to end.
            is_busy = self._claims.has_granted() or self._processes.is_busy()
            reason = None if is_busy else await self._next_due()
            if reason is not None:
                has_begun = await self._apply(reason)
                await asyncio.sleep(0 if has_begun else RETRY_START_S)
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(RETRY_START_S if is_busy else self._left_s()):
                    await self._woken.wait()

    async def _next_due(self) -> str | None:
        """Why a run is due; None if none is."""
        reason = next((reason for reason, left_s in self._times_left_s().items() if left_s <= 0), None)
        if reason == "schedule":
            await self._refresh(FRESH)
        return reason

    def _left_s(self) -> float:
        return min([CHECK_S, *(max(0.0, left_s) for left_s in self._times_left_s().values())])

    def _times_left_s(self) -> dict[str, float]:
        """The seconds until runs are due, by reason; zero or less if they are."""
        if not (self._processes.state / "catalog.json").exists():
            return {}
        left_s: dict[str, float] = {}
        clock = self._store.clock
        fetched, last_run = self._store.read_note(FetchNote), self._store.read_note(CatalogRunNote)
        if fetched is not None and fetched.digest and (last_run is None or last_run.digest != fetched.digest):
            digest, tried_s = self._tried_catalog
            retry_s = tried_s + RETRY.total_seconds() - clock.monotonic_s()
            left_s["released"] = retry_s if digest == fetched.digest else 0.0
        if news := value_tables.read_news(self._store):
            number, tried_s = self._tried_values
            left_s["values"] = tried_s + RETRY.total_seconds() - clock.monotonic_s() if number == news else 0.0
        if self._has_unused_window(clock.now(), last_run):
            left_s["schedule"] = 0.0
        elif self.settings.apply_interval:
            left_s["schedule"] = self._timetable.left().total_seconds()
        return left_s

    def _last_run_at(self) -> datetime | None:
        noted = self._store.read_note(RunNote)
        return noted.ended_at if noted else None

    def _has_unused_window(self, now: datetime, last_run: CatalogRunNote | None) -> bool:
        """Whether a window is open, and no run has enforced since it opened. A time in the future is that of a clock that was ahead."""
        opened = self._window_opened_at(now)
        run_times = [last_run.enforced_at if last_run else None, self._scheduled_at]
        return opened is not None and not any(at is not None and opened <= at <= now for at in run_times)

    def _window_opened_at(self, now: datetime) -> datetime | None:
        """When the current window of the policy opened, if there is one. This decides only when to run, not whether to enforce."""
        policy = self._store.read_note(PolicyNote)
        if policy is None or policy.enforce != "window" or self.settings.noop:
            return None
        try:
            return find_open_window(policy.windows, now)
        except PrecastError:  # this machine no longer knows the time zone; the run will report it
            return None

    async def _apply(self, reason: str) -> bool:
        """Start a run and wait for its end; whether it came to an end, or had to be killed."""
        clock, news = self._store.clock, value_tables.read_news(self._store)
        self._tried_values = (news, clock.monotonic_s())
        if reason == "schedule":
            self._scheduled_at = clock.now()
            if self.settings.apply_interval:
                self._timetable.begin()
                self._timetable.finish()
        elif reason == "released" and (fetched := self._store.read_note(FetchNote)) is not None:
            self._tried_catalog = (fetched.digest, clock.monotonic_s())
        # New values are as a new release: the policy decides whether that run enforces.
        shown = "released" if reason == "values" else reason
        arguments = ["agent", "apply", "--json", "--reason", shown, "--wait", str(WAIT_S)]
        code = await self._processes.carry_out(WorkProcess(arguments))
        if news and code in ENDED:
            with self._store.transaction() as db:
                value_tables.note_used(db, news)
        if code is not None and code not in ENDED:
            log.error("the catalog could not be applied: exit code %s; try `precast agent apply --noop`", code)
        return code is None or code in ENDED
