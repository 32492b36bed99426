"""Has the cached catalog applied: when another one was fetched, when a run is ordered, on the agent's schedule, and when a window opens.

Each run is a process of its own, and one run takes place at a time. A daemon that ends asks a run to stop after the current resource. A
daemon that was killed learns at its next start what became of the run and of its order. Only a run that is far too late is killed, by
the daemon that is there then, because it would keep every later run from beginning.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from precast.agent.applying.lease import is_run_active
from precast.agent.chores import run_process
from precast.agent.chores.child_processes import ChildProcesses
from precast.agent.chores.fetch import FRESH
from precast.agent.chores.run_process import RunProcess
from precast.agent.chores.schedule import CHECK_S, Rhythm, Timetable, node_name
from precast.agent.orders.run_orders import RunOrders
from precast.agent.settings import AgentSettings
from precast.agent.state.paths import STATE
from precast.agent.state.status_notes import CatalogRunNote, FetchNote, PolicyNote, RunNote
from precast.agent.state.store import LocalStore
from precast.base.errors import PrecastError
from precast.wire.jobs.orders import RunOrder
from precast.wire.nodes.policy import find_open_window

log = logging.getLogger("precast.agent")

# How long a daemon that ends waits for its run. A run that needs longer ends by itself.
GRACE_S = 5.0
# How long a run waits for one that a person has started by hand.
WAIT_S = 600
# After this long, a new catalog whose run did not come to its end is tried again, and so is an order whose process did not begin.
RETRY = timedelta(minutes=5)
RETRY_START_S = 5.0
# The exit codes of a run that came to its end, whatever its outcome.
ENDED = range(7)


class DueRun(NamedTuple):
    """A run that is to begin: why, and for which order."""

    reason: str
    order: RunOrder | None = None

    @property
    def arguments(self) -> list[str]:
        """The arguments of `precast agent apply`."""
        arguments = ["--reason", self.reason, "--wait", str(WAIT_S)]
        if self.order is not None:
            arguments += ["--order", self.order.order, f"--{self.order.mode}"]
            if self.order.tags:
                arguments += ["--tags", ",".join(self.order.tags)]
        return arguments


class ApplyChore:
    """Starts runs when they are due. Without a catalog only orders are due, and their runs answer that there is no catalog."""

    def __init__(
        self,
        children: ChildProcesses,
        store: LocalStore,
        orders: RunOrders,
        settings: AgentSettings,
        root: Path,
        refresh: Callable[[timedelta], Awaitable[None]],
    ) -> None:
        """`refresh` fetches the catalog, unless the last fetch is younger than its argument."""
        self._children = children
        self._store = store
        self._orders = orders
        self._state = root / STATE
        self._refresh = refresh
        self._woken = asyncio.Event()
        self._scheduled_at: datetime | None = None
        self._tried_catalog = ("", 0.0)  # the digest, and when its run began by monotonic time
        self._stopping: RunProcess | None = None
        self._kill_reason = ""  # of a run that was killed, until its order is answered
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
            is_running = is_run_active(self._state)
            self._orders.recover(is_running=is_running, why=self._kill_reason)
            if is_running:
                self._end_late_run()
            else:
                self._kill_reason = ""
            # A run that an earlier daemon or a person has started is left to end.
            due = None if is_running else await self._next_due()
            if due is not None:
                has_begun = await self._apply(due)
                await asyncio.sleep(0 if has_begun else RETRY_START_S)
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(RETRY_START_S if is_running else self._left_s()):
                    await self._woken.wait()

    async def _next_due(self) -> DueRun | None:
        if self._orders.has_waiting():
            # An order means the catalog that is released now, which the server may not have announced to this node yet.
            await self._refresh(timedelta(0))
            if (order := self._orders.dispatch_next()) is not None:
                return DueRun("ordered", order)
        reason = next((reason for reason, left_s in self._times_left_s().items() if left_s <= 0), None)
        if reason == "schedule":
            await self._refresh(FRESH)
        return None if reason is None else DueRun(reason)

    def _left_s(self) -> float:
        return min([CHECK_S, *(max(0.0, left_s) for left_s in self._times_left_s().values())])

    def _times_left_s(self) -> dict[str, float]:
        """The seconds until runs are due, by reason; zero or less if they are."""
        if not (self._state / "catalog.json").exists():
            return {}
        left_s: dict[str, float] = {}
        clock = self._store.clock
        fetched, last_run = self._store.read_note(FetchNote), self._store.read_note(CatalogRunNote)
        if fetched is not None and fetched.digest and (last_run is None or last_run.digest != fetched.digest):
            digest, tried_s = self._tried_catalog
            retry_s = tried_s + RETRY.total_seconds() - clock.monotonic_s()
            left_s["released"] = retry_s if digest == fetched.digest else 0.0
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

    async def _apply(self, due: DueRun) -> bool:
        """Start a run and wait for its end; whether it came to an end, or had to be killed."""
        clock = self._store.clock
        if due.reason == "schedule":
            self._scheduled_at = clock.now()
            if self.settings.apply_interval:
                self._timetable.begin()
                self._timetable.finish()
        elif due.reason == "released" and (fetched := self._store.read_note(FetchNote)) is not None:
            self._tried_catalog = (fetched.digest, clock.monotonic_s())
        process = await self._children.start("agent", "apply", "--json", *due.arguments)
        if process is None:
            log.error("the catalog could not be applied: a process could not be started")
            return False
        try:
            self._note_process(process.pid)
            code = await self._wait_for(process)
        except asyncio.CancelledError:
            await _stop(process)
            raise
        if code is not None and code not in ENDED:
            log.error("the catalog could not be applied: exit code %s; try `precast agent apply --noop`", code)
        return code is None or code in ENDED

    def _note_process(self, pid: int) -> None:
        """Note the process of a run for the next daemon. If that fails, this daemon watches the process all the same."""
        if (process := run_process.find_process(pid)) is not None:
            try:
                self._store.write_note(process)
            except PrecastError as error:
                log.error("the process of a run could not be noted: %s", error)

    async def _wait_for(self, process: asyncio.subprocess.Process) -> int | None:
        """Wait for the end of a run and return its exit code; None if it had to be killed."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(run_process.MAX_DURATION.total_seconds()):
                return await process.wait()
        log.error("a run has taken more than %s and is asked to stop", run_process.MAX_DURATION)
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(run_process.STOP_GRACE.total_seconds()):
                return await process.wait()
        self._note_kill()
        run_process.kill_group(process.pid)
        # A process in an uninterruptible system call ends only after it; until then its lease keeps other runs away.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(run_process.STOP_GRACE.total_seconds()):
                await process.wait()
        return None

    def _end_late_run(self) -> None:
        """Stop or kill a late run that an earlier daemon has started."""
        process = self._store.read_note(RunProcess)
        if process is None or not process.is_alive:
            return
        late = timedelta(seconds=process.age_s) - run_process.MAX_DURATION
        if late > run_process.STOP_GRACE:
            self._note_kill()
            run_process.kill_group(process.pid)
        elif late > timedelta(0) and self._stopping != process:
            log.error("a run has taken more than %s and is asked to stop", run_process.MAX_DURATION)
            run_process.request_stop(process.pid)
            self._stopping = process

    def _note_kill(self) -> None:
        self._kill_reason = (
            f"it took more than {run_process.MAX_DURATION}, was asked to stop,"
            f" did not stop within {run_process.STOP_GRACE}, and was killed"
        )
        log.error("a run is killed: %s", self._kill_reason)


async def _stop(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError, TimeoutError):
        process.terminate()
        async with asyncio.timeout(GRACE_S):
            await process.wait()
