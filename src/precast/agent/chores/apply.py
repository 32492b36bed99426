"""Has the kept catalog applied: when another was fetched, when somebody orders it, on the agent's schedule, when a window opens.

Each run is a process of its own, and there is one at a time. A daemon that ends lets a run under way finish what it is doing: it is
told to wind up. A daemon that is killed finds out, at its next start, what became of the run, and of the order it was for. Only a run
that is late beyond all measure is killed, by whichever daemon is there then: it would keep every later one from beginning.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from precast.agent.applying.lease import is_held
from precast.agent.chores import run_process
from precast.agent.chores.children import Children
from precast.agent.chores.chores import LOOK_S, name_of
from precast.agent.chores.fetch import FRESH
from precast.agent.chores.run_process import RunProcess
from precast.agent.chores.schedule import due_at
from precast.agent.orders.runs import Orders
from precast.agent.settings import AgentSettings
from precast.agent.state.notes import FetchNote, KeptRunNote, PolicyNote, RunNote
from precast.agent.state.places import STATE
from precast.agent.state.store import LocalStore
from precast.base.errors import PrecastError
from precast.wire.jobs.orders import RunOrder
from precast.wire.nodes.policy import opened_at

log = logging.getLogger("precast.agent")

# How long a daemon that ends waits for it. One that needs longer ends by itself.
GRACE_S = 5.0
# How long a run waits for one that somebody has started by hand.
TURN_S = 600
# A new catalog whose run did not come to its end, and an order whose process did not begin, are tried again after this long.
RETRY = timedelta(minutes=5)
AGAIN_S = 5.0
# Exit codes of a run that came to its end, whatever it found.
ENDED = range(7)


class Due(NamedTuple):
    """A run that is to begin: why, and for which order."""

    reason: str
    order: RunOrder | None = None

    @property
    def words(self) -> list[str]:
        """What the command is told."""
        words = ["--reason", self.reason, "--wait", str(TURN_S)]
        if self.order is not None:
            words += ["--order", self.order.order, f"--{self.order.mode}"]
            if self.order.tags:
                words += ["--tags", ",".join(self.order.tags)]
        return words


class ApplyChore:
    """Starts runs when they are due. Without a catalog nothing is due but orders, which are then answered."""

    def __init__(
        self,
        children: Children,
        store: LocalStore,
        orders: Orders,
        settings: AgentSettings,
        root: Path,
        freshen: Callable[[timedelta], Awaitable[None]],
    ) -> None:
        self._children = children
        self._store = store
        self._orders = orders
        self._state = root / STATE
        self._freshen = freshen
        self._woken = asyncio.Event()
        self._scheduled_at: datetime | None = None
        self._tried_catalog = ("", store.clock.now())
        self._winding_up: RunProcess | None = None
        self._trouble = ""  # of a run that was killed, until that is told
        self.settings = settings

    def look(self) -> None:
        """Look now whether something is due."""
        self._woken.set()

    async def run(self) -> None:
        """Apply for ever. Cancelling tells a run that is under way to wind up."""
        while True:
            self._woken.clear()
            is_running = is_held(self._state)
            self._orders.settle(is_running=is_running, why=self._trouble)
            if is_running:
                self._end_late()
            else:
                self._trouble = ""
            # A run that an earlier daemon has started, or somebody by hand, is let end.
            due = None if is_running else await self._next()
            if due is not None:
                has_begun = await self._apply(due)
                await asyncio.sleep(0 if has_begun else AGAIN_S)
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(AGAIN_S if is_running else self._left_s()):
                    await self._woken.wait()

    async def _next(self) -> Due | None:
        if self._orders.has_waiting():
            # Who orders a run means what is released by now, of which we may not have heard yet.
            await self._freshen(timedelta(0))
            if (order := self._orders.next()) is not None:
                return Due("ordered", order)
        now = self._store.clock.now()
        due = next((reason for reason, at in self._due(now).items() if at <= now), None)
        if due == "schedule":
            await self._freshen(FRESH)
        return None if due is None else Due(due)

    def _left_s(self) -> float:
        now = self._store.clock.now()
        return min([LOOK_S, *(max(0.0, (at - now).total_seconds()) for at in self._due(now).values())])

    def _due(self, now: datetime) -> dict[str, datetime]:
        """When a run is due, by reason."""
        if not (self._state / "catalog.json").exists():
            return {}
        found = {}
        fetched, kept = self._store.noted(FetchNote), self._store.noted(KeptRunNote)
        if fetched is not None and fetched.digest and (kept is None or kept.digest != fetched.digest):
            digest, tried_at = self._tried_catalog
            found["released"] = now if digest != fetched.digest or tried_at > now else tried_at + RETRY
        if (opened := self._window(now)) is not None and not self._has_used(opened, kept):
            found["schedule"] = now
        elif self.settings.apply_interval:
            noted = self._store.noted(RunNote)
            known = [at for at in (noted.ended_at if noted else None, self._scheduled_at) if at is not None]
            last_at = max(known, default=None)
            found["schedule"] = due_at(
                name_of(self._store), last_at, now, self.settings.apply_interval, self.settings.splay
            )
        return found

    def _window(self, now: datetime) -> datetime | None:
        """When the window opened that is open now, if that is when things may change. What is decided here is only when to run."""
        policy = self._store.noted(PolicyNote)
        if policy is None or policy.enforce != "window" or self.settings.noop:
            return None
        try:
            return opened_at(policy.windows, now)
        except PrecastError:  # a zone that is gone from this machine; the run will say so
            return None

    def _has_used(self, opened: datetime, kept: KeptRunNote | None) -> bool:
        known = [kept.enforced_at if kept else None, self._scheduled_at]
        return any(at is not None and at >= opened for at in known)

    async def _apply(self, due: Due) -> bool:
        """Have it done; whether a run has begun, as far as orders tell."""
        now = self._store.clock.now()
        if due.reason == "schedule":
            self._scheduled_at = now
        elif due.reason == "released" and (fetched := self._store.noted(FetchNote)) is not None:
            self._tried_catalog = (fetched.digest, now)
        process = await self._children.start("agent", "apply", "--json", *due.words)
        if process is None:
            log.error("the catalog could not be applied: a process could not be started")
            return False
        try:
            self._note_process(process.pid)
            code = await self._ended(process)
        except asyncio.CancelledError:
            await _wind_up(process)
            raise
        if code is not None and code not in ENDED:
            log.error("the catalog could not be applied: exit code %s; try `precast agent apply --noop`", code)
        return code is None or code in ENDED

    def _note_process(self, pid: int) -> None:
        """A daemon that comes after us knows it again; where it cannot be noted, we watch it all the same."""
        if (found := run_process.known(pid)) is not None:
            try:
                self._store.note(found)
            except PrecastError as error:
                log.error("a run could not be noted: %s", error)

    async def _ended(self, process: asyncio.subprocess.Process) -> int | None:
        """The exit code of a run; None if it had to be killed."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(run_process.LONGEST.total_seconds()):
                return await process.wait()
        log.error("a run has taken more than %s and is told to wind up", run_process.LONGEST)
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(run_process.WIND_UP.total_seconds()):
                return await process.wait()
        self._tell_killed()
        run_process.kill_group(process.pid)
        # One that the kernel holds on to ends when it lets go; its lease keeps others out until then.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(run_process.WIND_UP.total_seconds()):
                await process.wait()
        return None

    def _end_late(self) -> None:
        """Look after a run that a daemon before us has left."""
        left = self._store.noted(RunProcess)
        if left is None or not left.is_alive:
            return
        late = timedelta(seconds=left.age_s) - run_process.LONGEST
        if late > run_process.WIND_UP:
            self._tell_killed()
            run_process.kill_group(left.pid)
        elif late > timedelta(0) and self._winding_up != left:
            log.error("a run has taken more than %s and is told to wind up", run_process.LONGEST)
            run_process.wind_up(left.pid)
            self._winding_up = left

    def _tell_killed(self) -> None:
        self._trouble = (
            f"it took more than {run_process.LONGEST}, was told to wind up,"
            f" did not within {run_process.WIND_UP}, and was killed"
        )
        log.error("a run is ended: %s", self._trouble)


async def _wind_up(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError, TimeoutError):
        process.terminate()
        async with asyncio.timeout(GRACE_S):
            await process.wait()
