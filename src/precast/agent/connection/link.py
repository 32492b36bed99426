"""Keeps this node connected: to the server it was with last, to the next one when that is away, after a pause that fits the reason.

What a person must look at is said once, when it begins, and stands in `precast agent status` as long as it lasts.
"""

import asyncio
import gc
import logging
import random
from collections.abc import Callable, Sequence
from datetime import timedelta

from precast.agent import issues
from precast.agent.connection.pauses import Pauses, Verdict
from precast.agent.connection.session import Ending, Session
from precast.agent.identity.credentials import Credentials
from precast.agent.state.notes import CertificateNote, LinkNote
from precast.agent.state.store import LocalStore
from precast.base.errors import PrecastError
from precast.wire.sessions import Welcome

log = logging.getLogger("precast.agent")

# After these, another server may be better.
_ELSEWHERE = (Verdict.UNREACHABLE, Verdict.FAILED, Verdict.UNTRUSTED, Verdict.REFUSED, Verdict.MOVED)
_WORDS = {
    Verdict.FENCED: "another connection of this node is newer: is there a second agent, or a copy of this machine?",
    Verdict.REVOKED: "the server does not take this machine's certificate; it is tried again rarely",
    Verdict.UNTRUSTED: "the server is not of the authority that this machine trusts",
}


class Link:
    """Runs sessions, one after the other, for ever."""

    def __init__(
        self,
        session: Session,
        store: LocalStore,
        credentials: Credentials,
        urls: Sequence[str],
        name: str,
        look_at_certificate: Callable[[], None],
    ) -> None:
        self._session = session
        self._store = store
        self._credentials = credentials
        self._look_at_certificate = look_at_certificate
        self._pauses = Pauses(name, random.SystemRandom())
        self._hurry = asyncio.Event()
        self._said = ""
        self.urls = list(urls)
        last = store.noted(LinkNote)
        self._url = last.url if last is not None and last.url in self.urls else self.urls[0]

    def renew(self, urls: Sequence[str] | None = None) -> None:
        """Take a new connection soon: with another certificate, or to other servers."""
        if urls is not None:
            self.urls = list(urls)
        self._session.must_leave.set()
        self._hurry.set()

    def welcomed(self, url: str, welcome: Welcome) -> None:
        now = self._store.clock.now()
        self._store.note(LinkNote(url, True, now, welcome.epoch, welcome.server))
        self._said = ""
        self._pauses.spread_s = welcome.spread_s
        log.info("connected to %s (%s), epoch %d", url, welcome.server, welcome.epoch)

    async def run(self) -> None:
        """Stay connected. Cancelling ends the connection."""
        while True:
            if self._url not in self.urls:
                self._url = self.urls[0]
            ending = await self._try()
            pause_s = self._pauses.next_s(ending.verdict, ending.lived_s, ending.told_s)
            self._tell(ending, pause_s)
            if ending.verdict in _ELSEWHERE and self._url in self.urls:
                self._url = self.urls[(self.urls.index(self._url) + 1) % len(self.urls)]
            if ending.verdict is Verdict.REVOKED or self._has_run_out():
                self._look_at_certificate()
            await self._wait(pause_s)

    async def _try(self) -> Ending:
        try:
            context = self._credentials.context()
        except PrecastError as error:
            verdict = Verdict.NOT_ENROLLED if issues.NOT_ENROLLED.matches(error) else Verdict.LOCAL
            return Ending(verdict, f"{error.message} [{error.code}]; {error.hint}")
        try:
            return await self._session.run(self._url, context)
        finally:
            # A connection is a web of cycles with buffers in it; an agent that has ended one may not allocate again for long.
            gc.collect()

    def _tell(self, ending: Ending, pause_s: float) -> None:
        """Note it, and log it if it is news."""
        why = f"{_WORDS[ending.verdict]} ({ending.why})" if ending.verdict in _WORDS else ending.why
        if self._has_run_out():
            why = f"this machine's certificate has run out ({why})"
        now = self._store.clock.now()
        try:
            epoch = self._store.standing().epoch
            next_at = now + timedelta(seconds=pause_s)
            before = self._store.noted(LinkNote)
            since = before.since if before is not None and not before.is_connected else now
            self._store.note(LinkNote(self._url, False, since, epoch, "", why, next_at))
        except PrecastError as error:
            log.error("%s [%s]", error.message, error.code)
        if why != self._said:
            is_planned = ending.verdict in (Verdict.CYCLED, Verdict.OURS, Verdict.MOVED)
            log.log(
                logging.INFO if is_planned else logging.WARNING,
                "not connected to %s: %s; next try in %.0f s",
                self._url,
                why,
                pause_s,
            )
        self._said = why

    def _has_run_out(self) -> bool:
        try:
            known = self._store.noted(CertificateNote)
        except PrecastError:
            return False
        return known is not None and known.not_after <= self._store.clock.now()

    async def _wait(self, pause_s: float) -> None:
        self._hurry.clear()
        try:
            async with asyncio.timeout(pause_s):
                await self._hurry.wait()
        except TimeoutError:
            pass
