"""What the daemon has others do: collecting facts and renewing the certificate, each in a short-lived child, each on its own clock.

An order of a server's is in the local store until it is done, so a daemon that dies in between does it after its next start.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from precast.agent.chores.children import Children, Ended
from precast.agent.chores.schedule import due_at
from precast.agent.connection.pauses import fraction
from precast.agent.identity.credentials import Credentials
from precast.agent.settings import AgentSettings
from precast.agent.state.notes import CertificateNote, FactsNote, FactsPlan
from precast.agent.state.store import LocalStore
from precast.wire.sessions import COLLECT, RENEW

log = logging.getLogger("precast.agent")

FACTS_S = 90.0
RENEW_S = 90.0
# Between two collections, whoever wants them.
LEAST_PAUSE_S = 2.0
RETRY = timedelta(minutes=5)
# The clock may be set, and the machine may sleep: so often it is looked at anew.
LOOK_S = 30.0
RENEW_EVERY = timedelta(days=1)


class Certified(msgspec.Struct, frozen=True):
    """What `precast agent renew --json` says."""

    name: str
    not_after: datetime
    due_at: datetime
    renewed: bool


class FactsChore:
    """Collects facts when they are due, or when somebody wants them."""

    def __init__(
        self, children: Children, store: LocalStore, settings: AgentSettings, done: Callable[[], None]
    ) -> None:
        self._children = children
        self._store = store
        self._done = done
        self._wanted = asyncio.Event()
        self._failed_at: datetime | None = None
        self.settings = settings

    def want(self) -> None:
        self._wanted.set()

    async def run(self) -> None:
        """Collect for ever. Cancelling kills a collection that is under way."""
        while True:
            if self._is_wanted() or self._due_at() <= self._store.clock.now():
                await self._collect()
                await asyncio.sleep(LEAST_PAUSE_S)
            left_s = (self._due_at() - self._store.clock.now()).total_seconds()
            await _wait(self._wanted, max(0.0, min(left_s, LOOK_S)))

    def _is_wanted(self) -> bool:
        return self._wanted.is_set() or (self._failed_at is None and COLLECT in self._store.orders())

    def _due_at(self) -> datetime:
        now = self._store.clock.now()
        if self._failed_at is not None and self._failed_at <= now:
            return self._failed_at + RETRY
        last = self._store.noted(FactsNote)
        return due_at(
            name_of(self._store),
            last.collected_at if last else None,
            now,
            self.settings.facts_interval,
            self.settings.splay,
        )

    async def _collect(self) -> None:
        self._wanted.clear()
        orders = self._store.orders()
        ended = await self._children.run("agent", "facts", "--spool", deadline_s=FACTS_S)
        self._failed_at = self._store.clock.now() if ended.trouble else None
        if ended.trouble:
            log.error("facts could not be collected: %s", ended.trouble)
        elif COLLECT in orders:
            self._store.fulfil(COLLECT)
        self._store.note(FactsPlan(self._due_at(), ended.trouble))
        self._done()


class CertificateChore:
    """Has the certificate renewed when two thirds of its life are over, or when a server wants it."""

    def __init__(
        self, children: Children, store: LocalStore, credentials: Credentials, renewed: Callable[[], None]
    ) -> None:
        self._children = children
        self._store = store
        self._credentials = credentials
        self._renewed = renewed
        self._look = asyncio.Event()

    def look(self) -> None:
        """Look at the certificate now."""
        self._look.set()

    async def run(self) -> None:
        """Look after the certificate for ever. Cancelling kills a renewal that is under way, which can be repeated."""
        while True:
            self._look.clear()
            # Before it is enrolled there is nothing to look after.
            again_s = await self._renew() if self._credentials.certificate.exists() else LOOK_S
            await _wait(self._look, again_s)

    async def _renew(self) -> float:
        """Have a child look at it; when to look again."""
        is_ordered = RENEW in self._store.orders()
        words = ("agent", "renew", "--json", *(() if is_ordered else ("--if-due",)))
        ended = await self._children.run(*words, deadline_s=RENEW_S)
        if is_ordered and not ended.trouble:
            self._store.fulfil(RENEW)
        return self._take(ended)

    def _take(self, ended: Ended) -> float:
        """Note what the child found; when to look again."""
        now = self._store.clock.now()
        known = self._store.noted(CertificateNote)
        try:
            found = msgspec.json.decode(ended.out, type=Certified) if not ended.trouble else None
        except (msgspec.MsgspecError, UnicodeDecodeError):
            found = None
        if found is None:
            return self._retry_s(known, now, ended.trouble)
        self._store.note(CertificateNote(found.name, found.not_after, found.due_at))
        if found.renewed:
            log.info("the certificate of %s is renewed until %s", found.name, found.not_after.isoformat())
            self._renewed()
        spread = RENEW_EVERY * fraction(found.name) / 24
        return (min(max(found.due_at, now), now + RENEW_EVERY) - now + spread).total_seconds()

    def _retry_s(self, known: CertificateNote | None, now: datetime, trouble: str) -> float:
        """The nearer the end, the sooner; never more than once a minute."""
        if known is None:
            log.error("the certificate could not be looked at: %s", trouble)
            return 600.0
        if known.trouble != trouble:
            log.error("the certificate could not be renewed: %s", trouble)
            self._store.note(msgspec.structs.replace(known, trouble=trouble))
        left_s = (known.not_after - now).total_seconds()
        return min(max(left_s / 20, 60.0), 3600.0) * (0.5 + fraction(known.name))


def name_of(store: LocalStore) -> str:
    """What spreads this node among others: its name, or as long as that is not known, its store's."""
    known = store.noted(CertificateNote)
    return known.name if known is not None else store.standing().instance


async def _wait(event: asyncio.Event, timeout_s: float) -> None:
    try:
        async with asyncio.timeout(timeout_s):
            await event.wait()
    except TimeoutError:
        pass
