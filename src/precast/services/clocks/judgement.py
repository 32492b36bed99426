"""Judges a clock by others: what it showed before and how long ago that was, the time that the site last trusted, and a second clock.

A wrong clock does no lasting harm as long as nothing is deleted by it, so the judgement errs on the side of distrust: a clock that cannot
be explained is not trusted until it agrees with the others again, or until an operator confirms it. What nodes say about the time does not
count: they are not the operator's machines, and deleting is the one act that they must never cause.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from precast.base.clock_differences import TOLERANCE, describe_offset, format_moment
from precast.store.clocks import ClockMark

# After a start of the machine, nobody knows how long it was off. Up to this time its clock is believed.
MAX_OFF = timedelta(days=1)


class Reading(NamedTuple):
    """All clocks at one moment."""

    now: datetime  # the clock that the site uses: the machine's, or the database's
    boot_id: str
    boot_s: float  # since the machine started
    own: datetime | None = None  # this machine's clock, if the site uses the database's
    is_remote: bool = False  # the database is on another machine, so the two clocks are independent


class Judgement(NamedTuple):
    """Whether the clock is trusted, and if not, why: one line, and what to do."""

    why: str = ""
    hint: str = ""
    is_behind: bool = False  # rows that are written now look older than they are

    @property
    def is_trusted(self) -> bool:
        return not self.why


DISAGREE = "set the clock that is wrong, and keep both machines on NTP"
CONFIRM = "set the clock right; if it is right, confirm it with `precast db clock --confirm`"
TRUSTED = Judgement()


def judge(reading: Reading, seen: ClockMark | None, mark: ClockMark | None) -> Judgement:
    """Judge the clock. `seen` is what this process trusted last, `mark` what any server of the site did."""
    known = _choose(seen, mark)
    is_same_boot = known is not None and bool(known.boot_id) and reading.boot_id == known.boot_id
    elapsed = timedelta(seconds=reading.boot_s - known.boot_s) if known is not None and is_same_boot else timedelta(0)
    offset = timedelta(0) if known is None else reading.now - known.at - elapsed
    is_behind = offset < -TOLERANCE
    if reading.own is not None and abs(reading.own - reading.now) > TOLERANCE:
        expected = known.at + elapsed if known is not None and is_same_boot else None
        return Judgement(_compare_clocks(reading.own, reading.now, expected), DISAGREE, is_behind)
    is_explained = abs(offset) <= TOLERANCE if is_same_boot else -TOLERANCE <= offset <= MAX_OFF
    are_independent = reading.own is not None and reading.is_remote  # and they agree
    if known is None or is_explained or are_independent:
        return TRUSTED
    reference = "what it should show after the time that has passed" if is_same_boot else "the time last trusted here"
    text = f"the clock of this server is {describe_offset(offset)} {reference}"
    return Judgement(
        f"{text} (it shows {format_moment(reading.now)}, and was last trusted at {format_moment(known.at)})",
        CONFIRM,
        is_behind,
    )


def _compare_clocks(own: datetime, database: datetime, expected: datetime | None) -> str:
    """Say which of two clocks is wrong, if it is known what they should show; without that, this server's is named first."""
    if expected is not None and abs(own - expected) <= TOLERANCE:
        text = f"the clock of the database is {describe_offset(database - own)} this server's"
    else:
        text = f"the clock of this server is {describe_offset(own - database)} the database's"
    return f"{text} (this server shows {format_moment(own)}, the database {format_moment(database)})"


def _choose(seen: ClockMark | None, mark: ClockMark | None) -> ClockMark | None:
    """What the clock is compared with: what this process saw, unless an operator has confirmed another time since."""
    if seen is not None and (mark is None or seen.confirmed == mark.confirmed):
        return seen
    return mark
