"""Has what was released fetched: when a server says that there is something else, and on a schedule of its own should nobody say it.

The child notes what it has fetched. What it cannot fetch is noted here, and tried again; until then what is kept counts, as stale.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from precast.agent.chores.children import Children
from precast.agent.chores.chores import LOOK_S, name_of
from precast.agent.chores.schedule import due_at
from precast.agent.connection.pauses import fraction
from precast.agent.identity.credentials import Credentials
from precast.agent.settings import AgentSettings
from precast.agent.state.notes import FetchNote, PolicyNote
from precast.agent.state.store import LocalStore

log = logging.getLogger("precast.agent")

# A catalog may name much content.
FETCH_S = 900.0
# Between two, whoever wants them.
LEAST_PAUSE_S = 1.0
RETRY = timedelta(minutes=5)
# A look that is younger than this need not be repeated before a run.
FRESH = timedelta(minutes=1)
LONGEST_SPREAD_S = 3600.0


class FetchChore:
    """Fetches when told, and when it is due. One at a time."""

    def __init__(
        self,
        children: Children,
        store: LocalStore,
        credentials: Credentials,
        settings: AgentSettings,
        done: Callable[[], None],
    ) -> None:
        self._children = children
        self._store = store
        self._credentials = credentials
        self._done = done
        self._one = asyncio.Lock()
        self._wanted = asyncio.Event()
        self._spread_s = 0.0
        self._asked_at: datetime | None = None
        self.settings = settings

    def want(self, spread_s: float = 0.0) -> None:
        """Fetch soon: after a part of this long that the node's name chooses."""
        self._spread_s = min(spread_s, LONGEST_SPREAD_S) * fraction(name_of(self._store))
        self._wanted.set()

    def hear(self, digest: str, policy: int, spread_s: float = 0.0) -> None:
        """A server says what this node has there; what is empty is not said. What is known is not fetched."""
        known = self._store.noted(FetchNote) or FetchNote()
        if known.trouble or (digest or known.digest) != known.digest or (policy or known.policy) != known.policy:
            self.want(spread_s)

    async def run(self) -> None:
        """Fetch for ever. Cancelling kills a fetch that is under way; what was kept before is whole."""
        while True:
            if self._wanted.is_set():
                await asyncio.sleep(self._spread_s)
            if self._credentials.certificate.exists() and (self._wanted.is_set() or self._is_due()):
                await self._fetch()
                await asyncio.sleep(LEAST_PAUSE_S)
            left_s = (self._due_at() - self._store.clock.now()).total_seconds()
            # Before it is enrolled nothing can be fetched, whatever is due.
            is_node = self._credentials.certificate.exists()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, min(left_s, LOOK_S)) if is_node else LOOK_S):
                    await self._wanted.wait()

    async def freshen(self, least_age: timedelta = FRESH) -> None:
        """Ask whether what is kept still counts, unless that was asked so lately. What comes of it is noted."""
        async with self._one:
            now = self._store.clock.now()
            is_recent = self._asked_at is not None and timedelta(0) <= now - self._asked_at < least_age
            if not is_recent and self._credentials.certificate.exists():
                await self._ask()

    def _is_due(self) -> bool:
        return self._due_at() <= self._store.clock.now()

    def _due_at(self) -> datetime:
        now = self._store.clock.now()
        known = self._store.noted(FetchNote) or FetchNote()
        if known.trouble and known.failed_at is not None and known.failed_at <= now:
            return known.failed_at + RETRY * (0.5 + fraction(name_of(self._store)))
        return due_at(name_of(self._store), known.checked_at, now, self.settings.fetch_interval, self.settings.splay)

    async def _fetch(self) -> None:
        async with self._one:
            await self._ask()
        self._done()

    async def _ask(self) -> None:
        self._wanted.clear()
        before, policy = self._store.noted(FetchNote) or FetchNote(), self._store.noted(PolicyNote)
        ended = await self._children.run("agent", "fetch", "--json", deadline_s=FETCH_S)
        self._asked_at = self._store.clock.now()
        now = self._store.noted(FetchNote) or FetchNote()
        if ended.trouble and now == before:
            self._fail(now, ended.trouble)
        elif before.trouble and not now.trouble:
            log.info("a server confirms what this node has")
        self._tell_policy(policy or PolicyNote())

    def _tell_policy(self, before: PolicyNote) -> None:
        now = self._store.noted(PolicyNote) or PolicyNote()
        if now.trouble and now.trouble != before.trouble:
            log.error("%s", now.trouble)
        elif now.serial != before.serial:
            log.info(
                "another policy counts: enforce %s%s", now.enforce, f" ({', '.join(now.windows)})" * bool(now.windows)
            )

    def _fail(self, known: FetchNote, trouble: str) -> None:
        words = trouble.partition("\n")[0].removeprefix("precast: ").removeprefix("error: ")
        if words != known.trouble:
            log.error("what was released cannot be fetched: %s", words)
        self._store.note(msgspec.structs.replace(known, trouble=words, failed_at=self._store.clock.now()))
