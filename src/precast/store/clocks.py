"""The time that this site last trusted, in one row, so that a server that starts knows how far its clock may have moved.

The row never moves back, except when an operator confirms the clock. It also remembers the latest time during which the clock was behind:
rows that were written then look older than they are.
"""

from datetime import datetime
from typing import NamedTuple

from precast.base.clock import from_micros, from_optional_micros, to_micros
from precast.store.engine.query import Query, Transaction

READ = Query(
    "clocks.read",
    "SELECT at, boot_id, boot, confirmed, lowest_at, corrected_at FROM clock_mark WHERE id = 1",
)
ADVANCE = Query(
    "clocks.advance",
    """
    INSERT INTO clock_mark (id, at, boot_id, boot, confirmed) VALUES (1, :now, :boot_id, :boot, 0)
    ON CONFLICT (id) DO UPDATE SET at = excluded.at, boot_id = excluded.boot_id, boot = excluded.boot
    WHERE excluded.at > clock_mark.at AND clock_mark.confirmed = :confirmed
    """,
)
CONFIRM = Query(
    "clocks.confirm",
    """
    INSERT INTO clock_mark (id, at, boot_id, boot, confirmed) VALUES (1, :now, '', 0, 1)
    ON CONFLICT (id) DO UPDATE SET at = excluded.at, boot_id = '', boot = 0, confirmed = clock_mark.confirmed + 1
    """,
)
NOTE_LOWEST = Query(
    "clocks.note_lowest",
    """
    -- The clock is behind: rows that are written now get a time that is too low.
    UPDATE clock_mark SET corrected_at = NULL,
        lowest_at = CASE WHEN lowest_at IS NULL OR lowest_at > :now THEN :now ELSE lowest_at END
    WHERE id = 1 AND (corrected_at IS NOT NULL OR lowest_at IS NULL OR lowest_at > :now)
    """,
)
NOTE_CORRECTED = Query(
    "clocks.note_corrected",
    "UPDATE clock_mark SET corrected_at = :now WHERE id = 1 AND lowest_at IS NOT NULL AND corrected_at IS NULL",
)


class ClockMark(NamedTuple):
    """The time that was last trusted, and the boot and its uptime at which a server saw it."""

    at: datetime
    boot_id: str
    boot_s: float
    confirmed: int = 0  # how often an operator has confirmed the clock
    lowest_at: datetime | None = None  # the lowest time while the clock was behind
    corrected_at: datetime | None = None  # when it was right again


def read_mark() -> Transaction[ClockMark | None]:
    """The mark; None if no server has trusted a clock yet."""
    rows = yield READ()
    if not rows:
        return None
    at, boot_id, boot, confirmed, lowest, corrected = rows[0]
    return ClockMark(
        from_micros(at),
        boot_id,
        boot / 1_000_000,
        confirmed,
        from_optional_micros(lowest),
        from_optional_micros(corrected),
    )


def advance_mark(mark: ClockMark) -> Transaction[None]:
    """Move the mark forward, unless an operator has confirmed the clock since the mark's `confirmed`."""
    yield ADVANCE(
        now=to_micros(mark.at), boot_id=mark.boot_id, boot=int(mark.boot_s * 1_000_000), confirmed=mark.confirmed
    )
    yield NOTE_CORRECTED(now=to_micros(mark.at))


def note_behind(lowest_at: datetime) -> Transaction[None]:
    """Note that the clock is behind, and has been at least as low as this."""
    yield NOTE_LOWEST(now=to_micros(lowest_at))


def confirm_clock(now: datetime) -> Transaction[None]:
    """Trust the clock as it is now, on an operator's word."""
    yield CONFIRM(now=to_micros(now))
    yield NOTE_CORRECTED(now=to_micros(now))
