"""Has the released catalog and the policy fetched: when a server says that there is another one, and on a schedule in case none says so.

The child process notes what it has fetched. A failed fetch is noted here and retried; until then runs use the cached catalog and
report it as stale.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from precast.agent.chores.child_processes import ChildProcesses
from precast.agent.chores.schedule import CHECK_S, Rhythm, Timetable, node_name
from precast.agent.connection.backoff import fraction
from precast.agent.identity.credentials import Credentials
from precast.agent.settings import AgentSettings
from precast.agent.state.status_notes import FetchNote, PolicyNote
from precast.agent.state.store import LocalStore

log = logging.getLogger("precast.agent")

# A catalog may name much content.
FETCH_S = 900.0
# Between two fetches, however often they are wanted.
MIN_PAUSE_S = 1.0
RETRY = timedelta(minutes=5)
# A confirmation that is younger than this need not be repeated before a run.
FRESH = timedelta(minutes=1)
MAX_SPREAD_S = 3600.0


class FetchChore:
    """Fetches when it is due or woken, one fetch at a time."""

    def __init__(
        self,
        children: ChildProcesses,
        store: LocalStore,
        credentials: Credentials,
        settings: AgentSettings,
        on_fetched: Callable[[], None],
    ) -> None:
        self._children = children
        self._store = store
        self._credentials = credentials
        self._on_fetched = on_fetched
        self._fetching = asyncio.Lock()
        self._woken = asyncio.Event()
        self._spread_s = 0.0
        self._fetched_s: float | None = None  # by monotonic time
        self.settings = settings
        self._timetable = Timetable(
            store.clock,
            lambda: node_name(store),
            lambda: Rhythm(self.settings.fetch_interval, self.settings.splay),
            self._last_checked_at,
        )
        self._resume_retry()

    def wake(self, spread_s: float = 0.0) -> None:
        """Fetch soon: after a part of `spread_s` that the node's name chooses."""
        self._spread_s = min(spread_s, MAX_SPREAD_S) * fraction(node_name(self._store))
        self._woken.set()

    def compare_released(self, digest: str, policy: int, spread_s: float = 0.0) -> None:
        """Fetch soon if a server has another catalog or policy than the cached ones; an empty value means that it did not say."""
        known = self._store.read_note(FetchNote) or FetchNote()
        if known.trouble or (digest or known.digest) != known.digest or (policy or known.policy) != known.policy:
            self.wake(spread_s)

    async def run(self) -> None:
        """Fetch for ever. Cancelling kills a fetch that is under way; the cached catalog stays whole."""
        while True:
            if self._woken.is_set():
                await asyncio.sleep(self._spread_s)
            if self._is_enrolled() and (self._woken.is_set() or self._timetable.left() <= timedelta(0)):
                async with self._fetching:
                    await self._fetch()
                self._on_fetched()
                await asyncio.sleep(MIN_PAUSE_S)
            left_s = self._timetable.left().total_seconds()
            # Before the machine is enrolled it cannot fetch, even if a fetch is due.
            pause_s = max(0.0, min(left_s, CHECK_S)) if self._is_enrolled() else CHECK_S
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._woken.wait()

    async def refresh(self, max_age: timedelta = FRESH) -> None:
        """Fetch, unless the last fetch is younger than `max_age`. The outcome is noted."""
        async with self._fetching:
            now_s = self._store.clock.monotonic_s()
            is_recent = self._fetched_s is not None and now_s - self._fetched_s < max_age.total_seconds()
            if not is_recent and self._is_enrolled():
                await self._fetch()

    def _is_enrolled(self) -> bool:
        return self._credentials.certificate.exists()

    def _last_checked_at(self) -> datetime | None:
        return (self._store.read_note(FetchNote) or FetchNote()).checked_at

    def _resume_retry(self) -> None:
        """Retry a fetch that has failed before this daemon began, as that daemon would have."""
        known = self._store.read_note(FetchNote) or FetchNote()
        if known.trouble and known.failed_at is not None:
            left = known.failed_at + self._retry_delay() - self._store.clock.now()
            self._timetable.postpone(min(max(left, timedelta(0)), self._retry_delay()))

    def _retry_delay(self) -> timedelta:
        return RETRY * (0.5 + fraction(node_name(self._store)))

    async def _fetch(self) -> None:
        self._woken.clear()
        self._timetable.begin()
        before, policy_before = self._store.read_note(FetchNote) or FetchNote(), self._store.read_note(PolicyNote)
        result = await self._children.run("agent", "fetch", "--json", deadline_s=FETCH_S)
        self._fetched_s = self._store.clock.monotonic_s()
        after = self._store.read_note(FetchNote) or FetchNote()
        if result.trouble and after == before:
            self._note_failure(after, result.trouble)
        elif before.trouble and not after.trouble:
            log.info("a server confirms the cached catalog of this node")
        if result.trouble or after.trouble:
            self._timetable.postpone(self._retry_delay())
        else:
            self._timetable.finish()
        self._log_policy(policy_before or PolicyNote())

    def _log_policy(self, before: PolicyNote) -> None:
        after = self._store.read_note(PolicyNote) or PolicyNote()
        if after.trouble and after.trouble != before.trouble:
            log.error("%s", after.trouble)
        elif after.serial != before.serial:
            windows = f" ({', '.join(after.windows)})" if after.windows else ""
            log.info("a new policy is in force: enforce %s%s", after.enforce, windows)

    def _note_failure(self, known: FetchNote, trouble: str) -> None:
        reason = trouble.partition("\n")[0].removeprefix("precast: ").removeprefix("error: ")
        if reason != known.trouble:
            log.error("the released catalog cannot be fetched: %s", reason)
        self._store.write_note(msgspec.structs.replace(known, trouble=reason, failed_at=self._store.clock.now()))
