"""When something is due: at the same moments of every interval, which the node's name chooses, so that a fleet is spread evenly."""

from datetime import UTC, datetime, timedelta

from precast.agent.connection.pauses import fraction

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def due_at(name: str, last_at: datetime | None, now: datetime, interval: timedelta, splay: timedelta) -> datetime:
    """When it is due next. At once if the last time is longer ago than the interval, or of a time that has not come yet."""
    if last_at is None or last_at > now or now - last_at >= interval:
        return now
    offset = fraction(name) * min(splay, interval)
    slots = (last_at - _EPOCH - offset) // interval + 1
    return _EPOCH + offset + slots * interval
