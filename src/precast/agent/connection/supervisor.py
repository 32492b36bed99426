"""Keeps this node connected: to the server of the last connection, or to the next one if that fails, after a delay that fits the reason.

A problem that an operator must solve is logged once, when it begins, and is shown by `precast agent status` as long as it lasts.
"""

import asyncio
import gc
import logging
import random
import time
from collections.abc import Callable, Sequence
from datetime import timedelta

from precast.agent.connection.backoff import Backoff, EndReason
from precast.agent.connection.session import Session, SessionEnd
from precast.agent.connection.session_socket import Connector
from precast.agent.identity.expiry import describe_expiry
from precast.agent.state.status_notes import CertificateNote, ConnectionNote
from precast.agent.state.store import LocalStore
from precast.base.clock_differences import is_same_trouble
from precast.base.errors import PrecastError
from precast.wire.sessions import Welcome

log = logging.getLogger("precast.agent")

# While the agent waits, it checks this often whether the machine's clock was set, by at least so much.
CLOCK_CHECK_S = 5.0
CLOCK_SET_S = 60.0
# After these, the next server is tried.
_NEXT_SERVER = (
    EndReason.UNREACHABLE,
    EndReason.FAILED,
    EndReason.UNTRUSTED,
    EndReason.CLOCK,
    EndReason.REFUSED,
    EndReason.MOVED,
)
_EXPLANATIONS = {
    EndReason.FENCED: "this node has a newer connection: is there a second agent, or a copy of this machine?",
    EndReason.REVOKED: "the server does not accept this machine's certificate; the agent retries rarely",
    EndReason.UNTRUSTED: "the server's certificate is not of the authority that this machine trusts",
}


class ConnectionSupervisor:
    """Runs one session after the other, until it is cancelled."""

    def __init__(
        self,
        session: Session,
        store: LocalStore,
        connector: Connector,
        urls: Sequence[str],
        name: str,
        check_certificate: Callable[[], None],
    ) -> None:
        self._session = session
        self._store = store
        self._connector = connector
        self._check_certificate = check_certificate
        self._backoff = Backoff(name, random.SystemRandom())
        self._reconnect_now = asyncio.Event()
        self._logged = ""
        self.urls = list(urls)
        last = store.read_note(ConnectionNote)
        self._url = last.url if last is not None and last.url in self.urls else self.urls[0]

    def reconnect(self, urls: Sequence[str] | None = None) -> None:
        """Open a new connection soon: with another certificate, or to other servers."""
        if urls is not None:
            self.urls = list(urls)
        self._session.must_leave.set()
        self._reconnect_now.set()

    def note_welcome(self, url: str, welcome: Welcome) -> None:
        """Note that a session has begun."""
        now = self._store.clock.now()
        self._store.write_note(ConnectionNote(url, True, now, welcome.epoch, welcome.server))
        self._logged = ""
        self._backoff.spread_s = welcome.spread_s
        log.info("connected to %s (%s), epoch %d", url, welcome.server, welcome.epoch)

    async def run(self) -> None:
        """Stay connected. Cancelling closes the connection."""
        while True:
            if self._url not in self.urls:
                self._url = self.urls[0]
            end = await self._run_session()
            delay_s = self._backoff.next_delay_s(end.reason, end.lived_s, end.retry_range_s)
            self._note_end(end, delay_s)
            if end.reason in _NEXT_SERVER and self._url in self.urls:
                self._url = self.urls[(self.urls.index(self._url) + 1) % len(self.urls)]
            if end.reason is EndReason.REVOKED or self._describe_expiry():
                self._check_certificate()
            await self._wait(delay_s)

    async def _run_session(self) -> SessionEnd:
        try:
            return await self._session.run(self._url, self._connector)
        finally:
            # A connection leaves reference cycles with buffers; an idle agent may not allocate enough to trigger a collection for long.
            gc.collect()

    def _note_end(self, end: SessionEnd, delay_s: float) -> None:
        """Note why the session ended, and log it if the reason is not the same as before."""
        why = f"{_EXPLANATIONS[end.reason]} ({end.why})" if end.reason in _EXPLANATIONS else end.why
        now = self._store.clock.now()
        # Clocks that differ are the cause: by a wrong clock, the certificate may only look expired.
        if end.reason is not EndReason.CLOCK and (expiry := self._describe_expiry()):
            why = f"{expiry} ({why})"
        try:
            epoch = self._store.session_state().epoch
            next_at = now + timedelta(seconds=delay_s)
            before = self._store.read_note(ConnectionNote)
            since = before.since if before is not None and not before.is_connected else now
            self._store.write_note(ConnectionNote(self._url, False, since, epoch, "", why, next_at))
        except PrecastError as error:
            log.error("%s [%s]", error.message, error.code)
        if not is_same_trouble(why, self._logged):
            is_planned = end.reason in (EndReason.CYCLED, EndReason.OURS, EndReason.MOVED)
            log.log(
                logging.INFO if is_planned else logging.WARNING,
                "not connected to %s: %s; next attempt in %.0f s",
                self._url,
                why,
                delay_s,
            )
        self._logged = why

    def _describe_expiry(self) -> str:
        """One line if the certificate of this machine is not valid by its clock, or empty."""
        try:
            certificate = self._store.read_note(CertificateNote)
        except PrecastError:
            return ""
        if certificate is None:
            return ""
        if certificate.is_clock_wrong:
            return certificate.trouble
        return describe_expiry(certificate.name, certificate.not_after, self._store.clock.now())

    async def _wait(self, delay_s: float) -> None:
        """Wait for the delay, or until a new connection is wanted, or until this machine's clock is set: it may have been the reason."""
        self._reconnect_now.clear()
        clock = self._store.clock
        until_s, offset_s = time.monotonic() + delay_s, clock.now().timestamp() - time.monotonic()
        while (left_s := until_s - time.monotonic()) > 0:
            try:
                async with asyncio.timeout(min(left_s, CLOCK_CHECK_S)):
                    await self._reconnect_now.wait()
                return
            except TimeoutError:
                pass
            if abs(clock.now().timestamp() - time.monotonic() - offset_s) > CLOCK_SET_S:
                return
