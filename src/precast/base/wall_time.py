"""Times by the clock on the wall of a zone, and the moments that they name.

A change to daylight saving time skips some times of a day, and the change back repeats some. Every part of Precast reads such a time as
Vixie's cron does: a skipped time names the first moment after the skipped hour, a repeated time names its first occurrence. So each time
of each day names exactly one moment, and later times never name earlier moments.
"""

from datetime import UTC, datetime, timedelta, tzinfo

_SECOND = timedelta(seconds=1)


def find_zone(name: str) -> tzinfo | None:
    """Find a time zone by its name in the IANA database; None if this machine has no such zone."""
    if name == "UTC":
        return UTC
    import zoneinfo  # rarely needed, and a long-running daemon should not pay its memory

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return None


def first_moment(wall: datetime, zone: tzinfo) -> datetime:
    """Return the moment, in UTC, that a time of a zone names. `wall` has no zone. Raises OverflowError beyond the calendar."""
    moment = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if moment.astimezone(zone).replace(tzinfo=None) == wall:
        return moment
    # The time is skipped: read with the offset after the change, it lies before the change, and `moment` lies at or after it.
    return _find_change(wall.replace(tzinfo=zone, fold=1).astimezone(UTC), moment, zone)


def next_change(moment: datetime, until: datetime, zone: tzinfo) -> datetime | None:
    """Find the first moment in (moment, until] from which the zone has another offset; None if there is none.

    The span must be so short that the zone changes at most once in it: no zone has ever changed twice in a day.
    """
    if _offset(moment, zone) == _offset(until, zone):
        return None
    return _find_change(moment, until, zone)


def _find_change(before: datetime, after: datetime, zone: tzinfo) -> datetime:
    """Find the moment of the only change in (before, after], to the second: offsets change at whole seconds."""
    offset = _offset(before, zone)
    before, after = before.replace(microsecond=0), after + _SECOND if after.microsecond else after
    after = after.replace(microsecond=0)
    while after - before > _SECOND:
        middle = before + (after - before) // _SECOND // 2 * _SECOND
        if _offset(middle, zone) == offset:
            before = middle
        else:
            after = middle
    return after


def _offset(moment: datetime, zone: tzinfo) -> timedelta | None:
    return moment.astimezone(zone).utcoffset()
