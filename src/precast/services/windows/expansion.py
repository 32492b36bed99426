"""Expands windows to intervals, and caches what it has expanded, by the digest of the window.

A calendar is parsed and expanded in a thread, because that may take a second for the largest ones.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import NamedTuple

from precast.base import digests
from precast.services.windows.calendars import expand_calendar, parse_calendar
from precast.wire.windows.bodies import WindowKind
from precast.wire.windows.intervals import Interval, clip, merge
from precast.wire.windows.rules import parse_rule

# How far ahead anybody may ask: every window that recurs at all in a year is found.
LONGEST_SPAN = timedelta(days=400)
# What is expanded beyond the asked span, so that the next callers find it in the cache.
BEFORE, AFTER = timedelta(days=1), timedelta(days=14)
_CACHED = 500


class _Expansion(NamedTuple):
    start: datetime
    end: datetime
    intervals: list[Interval]


def digest_of(kind: WindowKind, source: str, zone: str) -> str:
    """The digest of everything that decides when a window is open."""
    return digests.of_bytes("\0".join((kind, zone, source)).encode())


def expand(kind: WindowKind, source: str, zone: str, start: datetime, end: datetime) -> list[Interval]:
    """Return the merged intervals in which a window is open between two moments, which they may exceed.

    Raises InputError POLICY-001, WINDOW-004, CRON-002.
    """
    if kind == "calendar":
        return merge(expand_calendar(parse_calendar(source, zone), start, end))
    return merge(interval for rule in source.splitlines() for interval in parse_rule(rule).expand(start, end))


class WindowExpansions:
    """The cached expansions of one process, the least recently used of which are dropped."""

    def __init__(self) -> None:
        self._expansions: OrderedDict[str, _Expansion] = OrderedDict()

    async def expand(
        self,
        kind: WindowKind,
        digest: str,
        zone: str,
        start: datetime,
        end: datetime,
        read_source: Callable[[], Awaitable[str]],
    ) -> list[Interval]:
        """Return the parts of a window's intervals between two moments. The source is only read if the cache does not have them.

        Raises as `expand` does. Cancelling is safe.
        """
        assert end - start <= LONGEST_SPAN, "nobody asks for more"
        found = self._expansions.get(digest)
        if found is None or start < found.start or end > found.end:
            begin, until = start - BEFORE, end + AFTER
            source = await read_source()
            found = _Expansion(begin, until, await asyncio.to_thread(expand, kind, source, zone, begin, until))
            self._expansions[digest] = found
        self._expansions.move_to_end(digest)
        if len(self._expansions) > _CACHED:
            self._expansions.popitem(last=False)
        return clip(found.intervals, start, end)
