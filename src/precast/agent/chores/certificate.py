"""Has the certificate renewed: after two thirds of its life, and when a server orders it.

A server's order stays in the local store until it is fulfilled, so a daemon that dies in between fulfils it after its next start.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from precast.agent.chores.child_processes import ChildProcesses
from precast.agent.connection.backoff import fraction
from precast.agent.identity.credentials import Credentials
from precast.agent.orders.renew_orders import RenewOrders
from precast.agent.state.status_notes import CertificateNote
from precast.agent.state.store import LocalStore
from precast.base.async_programs import ProgramOutcome
from precast.base.clock_differences import format_moment, is_same_trouble

log = logging.getLogger("precast.agent")

RENEW_S = 90.0
# After a renewal that did not help, because the clock is wrong, the next one comes no sooner.
VAIN_PAUSE_S = 600.0
# How often a machine that is not enrolled checks whether it has a certificate.
ENROLMENT_CHECK_S = 30.0
# The certificate is checked at least this often.
CHECK_EVERY = timedelta(days=1)


class RenewalOutput(msgspec.Struct, frozen=True):
    """The output of `precast agent renew --json`, also if the renewal failed."""

    name: str
    not_before: datetime
    not_after: datetime
    due_at: datetime
    renewed: bool


class CertificateChore:
    """Checks the certificate when it is due or woken, and renews it if necessary."""

    def __init__(
        self,
        children: ChildProcesses,
        store: LocalStore,
        orders: RenewOrders,
        credentials: Credentials,
        on_renewed: Callable[[], None],
    ) -> None:
        self._children = children
        self._store = store
        self._orders = orders
        self._credentials = credentials
        self._on_renewed = on_renewed
        self._woken = asyncio.Event()
        self._vain_s = float("-inf")  # when a certificate was issued that is not valid by this machine's clock

    def wake(self) -> None:
        """Check the certificate now."""
        self._woken.set()

    async def run(self) -> None:
        """Look after the certificate for ever. Cancelling kills a renewal that is under way, which can be repeated."""
        while True:
            self._woken.clear()
            is_enrolled = self._credentials.certificate.exists()
            pause_s = await self._renew() if is_enrolled else ENROLMENT_CHECK_S
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._woken.wait()

    async def _renew(self) -> float:
        """Have a child process check the certificate. Returns the seconds until the next check."""
        is_ordered = self._orders.is_pending()
        # By a clock that is far ahead, a certificate that was just issued has expired already: it is not renewed again and again.
        left_s = VAIN_PAUSE_S - (self._store.clock.monotonic_s() - self._vain_s)
        if left_s > 0 and not is_ordered:
            return left_s
        arguments = ("agent", "renew", "--json", *(() if is_ordered else ("--if-due",)))
        result = await self._children.run(*arguments, deadline_s=RENEW_S)
        if is_ordered and not result.trouble:
            self._orders.fulfil()
        return self._note_result(result)

    def _note_result(self, result: ProgramOutcome) -> float:
        """Note what the child process reported. Returns the seconds until the next check."""
        now = self._store.clock.now()
        try:
            output = msgspec.json.decode(result.out, type=RenewalOutput)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            output = None
        if output is None or result.trouble:
            return self._note_failure(now, result.trouble, output)
        trouble = ""
        if output.renewed and not output.not_before <= now < output.not_after:
            span = f"{format_moment(output.not_before)} to {format_moment(output.not_after)}"
            shown = f"it shows {format_moment(now)}; the certificate issued now is valid from {span}"
            trouble = f"this machine's clock is wrong: set it ({shown})"
            log.error("%s", trouble)
            self._vain_s = self._store.clock.monotonic_s()
        self._store.write_note(CertificateNote(output.name, output.not_after, output.due_at, trouble, bool(trouble)))
        if output.renewed:
            log.info("the certificate of %s is renewed until %s", output.name, output.not_after.isoformat())
            self._on_renewed()
        spread = CHECK_EVERY * fraction(output.name) / 24
        return (min(max(output.due_at, now), now + CHECK_EVERY) - now + spread).total_seconds()

    def _note_failure(self, now: datetime, trouble: str, output: RenewalOutput | None) -> float:
        """Note why the check failed. Returns the seconds until a retry: the nearer the expiry the sooner, at most about once a minute."""
        before = self._store.read_note(CertificateNote)
        known = before if output is None else CertificateNote(output.name, output.not_after, output.due_at)
        if known is None:
            log.error("the certificate could not be checked: %s", trouble)
            return 600.0
        if before is None or not is_same_trouble(before.trouble, trouble):
            log.error("the certificate could not be renewed: %s", trouble)
        self._store.write_note(msgspec.structs.replace(known, trouble=trouble))
        left_s = (known.not_after - now).total_seconds()
        return min(max(left_s / 20, 60.0), 3600.0) * (0.5 + fraction(known.name))
