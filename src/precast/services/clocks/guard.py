"""Holds every final act by age while the clock cannot be trusted: nothing is deleted, given up or expired for good by a clock that jumped.

An act asks for its cutoff, and gets none while the clock is held. The check is made at that moment, not only by the task that repeats it.
What is temporary stays with the clock: a certificate that looks expired is refused now and accepted once the clock is right.
"""

import asyncio
import logging
from datetime import datetime, timedelta
from pathlib import Path

from precast.base.clock import BEGINNING_OF_TIME, Clock
from precast.base.clock_differences import TOLERANCE
from precast.base.errors import PrecastError
from precast.services.clocks.judgement import TRUSTED, Judgement, Reading, judge
from precast.store import clocks as store
from precast.store.clocks import ClockMark
from precast.store.engine.database import Database

log = logging.getLogger("precast.clock")

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
CHECK_EVERY_S = 5.0
# The mark is written this often.
MARK_EVERY = timedelta(minutes=1)


class ClockGuard:
    """Judges the clock of one process; the processes of a site share the mark in the database."""

    def __init__(self, database: Database, boot_id: str, own: Clock | None = None, *, is_remote: bool = False) -> None:
        """`own` is this machine's clock, if the database has one of its own, possibly on another machine (`is_remote`)."""
        self._database, self._boot_id, self._own, self._is_remote = database, boot_id, own, is_remote
        self._seen: ClockMark | None = None
        self._mark: ClockMark | None = None
        self._held_from: datetime | None = None
        self._checked_s = database.clock.monotonic_s()
        self.judgement = TRUSTED

    @property
    def is_held(self) -> bool:
        """Whether the clock is distrusted at this moment, by what this process knows."""
        self._judge()
        return not self.judgement.is_trusted

    @property
    def trusted_since(self) -> datetime | None:
        """While the clock is held: waits that began before this time must not be ended by it. None if it is trusted."""
        return self._held_from if self.is_held else None

    def since(self, age: timedelta) -> datetime:
        """The time since which nothing is older than `age`, by what this process knows. While the clock is held, nothing is too old."""
        return BEGINNING_OF_TIME if self.is_held else self._database.clock.now() - age

    async def cutoff(self, age: timedelta) -> datetime | None:
        """The time before which everything is older than `age`; None while the clock is held: then nothing is deleted.

        Raises UnavailableError if the database does not answer.
        """
        await self.check()
        if not self.judgement.is_trusted:
            return None
        before = self._database.clock.now() - age
        lowest_at, corrected_at = (None, None) if self._mark is None else self._mark[-2:]
        # Rows from the time when the clock was behind look older than they are: they stay as long as the youngest of them may.
        if lowest_at is not None and corrected_at is not None and corrected_at > before:
            return min(before, lowest_at)
        return before

    async def check(self) -> Judgement:
        """Judge the clock, and share the result with the other servers. Raises UnavailableError if the database does not answer."""
        self._mark = await self._database.read(store.read_mark)
        since_s = self._database.clock.monotonic_s() - self._checked_s
        seen = self._judge()
        if self.judgement.is_trusted:
            self._seen = seen  # only here: what is trusted before the mark is read may be wrong
            await self._advance(seen)
        elif self.judgement.is_behind and self._mark is not None:
            lowest_at = seen.at - timedelta(seconds=since_s) - TOLERANCE
            if self._mark.lowest_at is None or self._mark.corrected_at is not None or lowest_at < self._mark.lowest_at:
                await self._database.write(store.note_behind, lowest_at)
        self._checked_s = self._database.clock.monotonic_s()
        return self.judgement

    async def examine(self) -> Judgement:
        """Judge the clock as a server that starts now would, and write nothing."""
        mark = await self._database.read(store.read_mark)
        return judge(self._read(), None, mark)

    async def run(self) -> None:
        """Check for ever; if the database is unavailable, the next check tries again."""
        while True:
            try:
                await self.check()
            except PrecastError as error:
                if not error.consequence.retry:
                    raise
            await asyncio.sleep(CHECK_EVERY_S)

    def _judge(self) -> ClockMark:
        """Judge the clock by what this process knows. Returns what it shows now."""
        reading = self._read()
        confirmed = 0 if self._mark is None else self._mark.confirmed
        seen = ClockMark(reading.now, reading.boot_id, reading.boot_s, confirmed)
        self._note(judge(reading, self._seen, self._mark), seen)
        return seen

    def _read(self) -> Reading:
        clock = self._database.clock
        own = None if self._own is None else self._own.now()
        return Reading(clock.now(), self._boot_id, clock.monotonic_s(), own, self._is_remote)

    def _note(self, judgement: Judgement, seen: ClockMark) -> None:
        before, self.judgement = self.judgement, judgement
        if judgement.is_trusted:
            self._held_from = None
            if not before.is_trusted:
                log.warning(
                    "the clock is trusted again (%s): old data is deleted by age again", f"{seen.at:%Y-%m-%d %H:%M:%SZ}"
                )
        elif before.is_trusted:
            self._held_from = seen.at
            log.error(
                "%s: nothing is deleted by age until the clock is trusted again; %s", judgement.why, judgement.hint
            )

    async def _advance(self, seen: ClockMark) -> None:
        mark = self._mark
        is_noted = mark is not None and mark.lowest_at is not None and mark.corrected_at is None
        if mark is None or is_noted or seen.at - mark.at >= MARK_EVERY:
            await self._database.write(store.advance_mark, seen)
            self._mark = await self._database.read(store.read_mark)


def read_boot_id() -> str:
    """The id of this start of the machine; empty if the system has none, which equals no other."""
    try:
        return BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""
