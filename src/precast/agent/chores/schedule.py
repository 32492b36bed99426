"""When recurring work is due: at a fixed offset within every interval. The node's name chooses the offset, which spreads a fleet evenly.

The time of day matters once, when the daemon starts: it chooses the node's slots, and says whether work of an earlier daemon is overdue.
From then on slots follow each other by monotonic time. The clocks of a fleet are often set together, by the same source, and that must
neither make the work of all nodes due at once nor delay it.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from precast.agent.connection.backoff import fraction
from precast.agent.state.status_notes import CertificateNote
from precast.agent.state.store import LocalStore
from precast.base.clock import Clock

# Timeouts do not count while the machine is suspended, and windows open by the time of day, so chores check what is due this often.
CHECK_S = 30.0

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Rhythm(NamedTuple):
    """How often work is due, and over which part of the interval a fleet is spread."""

    interval: timedelta
    splay: timedelta


class Timetable:
    """When one kind of work is due next. Other processes may do the work too: then it has another last time."""

    def __init__(
        self,
        clock: Clock,
        read_name: Callable[[], str],
        read_rhythm: Callable[[], Rhythm],
        read_last_at: Callable[[], datetime | None],
    ) -> None:
        """`read_last_at` tells when the work was last done, by the time of day of the process that did it."""
        self._clock = clock
        self._read_name, self._read_rhythm, self._read_last_at = read_name, read_rhythm, read_last_at
        self._slots: tuple[str, Rhythm] | None = None  # None before the first question
        # By monotonic time: one of the slots, when the work is due, and when it last began.
        self._slot = self._due = self._begun = timedelta(0)
        self._last_at: datetime | None = None

    def left(self) -> timedelta:
        """The time until the work is due; zero or less if it is."""
        self._follow()
        if (last_at := self._read_last_at()) != self._last_at:
            # The work was done since the last question. Its time of day may be that of a clock that was wrong then, or is now.
            self._last_at, self._due = last_at, self._slot_after(self._monotonic())
        return self._due - self._monotonic()

    def begin(self) -> None:
        """The work begins. It stays due until `finish` or `postpone`."""
        self._begun = self._monotonic()

    def finish(self) -> None:
        """The work that began last counts as done: it is due again in the slot after its begin."""
        self._follow()
        self._last_at, self._due = self._read_last_at(), self._slot_after(self._begun)

    def postpone(self, delay: timedelta) -> None:
        """The work is due after a delay."""
        self._follow()
        self._last_at, self._due = self._read_last_at(), self._monotonic() + delay

    def _follow(self) -> None:
        """Choose the slots, at first and whenever the name or the rhythm has changed. Work that is due sooner stays so."""
        slots = name, rhythm = self._read_name(), self._read_rhythm()
        if slots == self._slots:
            return
        now, monotonic = self._clock.now(), self._monotonic()
        self._slot = monotonic + (slot_after(name, now, *rhythm) - now)
        if self._slots is None:
            self._last_at = self._read_last_at()
            self._due = monotonic + (due_at(name, self._last_at, now, *rhythm) - now)
        else:
            self._due = min(self._due, self._slot)
        self._slots = slots

    def _slot_after(self, moment: timedelta) -> timedelta:
        interval = self._read_rhythm().interval
        return self._slot + ((moment - self._slot) // interval + 1) * interval

    def _monotonic(self) -> timedelta:
        return timedelta(seconds=self._clock.monotonic_s())


def due_at(name: str, last_at: datetime | None, now: datetime, interval: timedelta, splay: timedelta) -> datetime:
    """When the work is due next: now, if the last time is longer ago than the interval.

    If it lies in the future, the clock was wrong then or is wrong now, as it may be on every node: the next slot spreads them again.
    """
    if last_at is None or now - last_at >= interval:
        return now
    return slot_after(name, min(last_at, now), interval, splay)


def slot_after(name: str, moment: datetime, interval: timedelta, splay: timedelta) -> datetime:
    """The first slot after a moment."""
    offset = fraction(name) * min(splay, interval)
    slots = (moment - _EPOCH - offset) // interval + 1
    return _EPOCH + offset + slots * interval


def node_name(store: LocalStore) -> str:
    """The name that chooses this node's offset: of its certificate, or as long as there is none, the id of its local store."""
    certificate = store.read_note(CertificateNote)
    return certificate.name if certificate is not None else store.session_state().instance
