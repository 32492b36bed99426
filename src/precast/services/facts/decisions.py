"""What comes of a set of facts: how it differs, what of that goes into the history, and whether and when to compile.

No database and no clock: what is known goes in, what is to be stored comes out.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import takewhile

from precast.services.facts.changes import compare
from precast.services.facts.volatility import Recent, read_recent, write_recent
from precast.services.traces.fact_paths import FactReads
from precast.store.engine.compression import pack, unpack
from precast.store.facts.facts import Compared, Decided, FactChange, Waiting

# One compile in this time, and so many at once before that holds.
COMPILE_EVERY = timedelta(minutes=5)
COMPILE_BURST = 3
# The smallest step of the clock in the database.
TICK = timedelta(microseconds=1)


# Paths that are named for one set when a node asks for too much.
FLAPS_NAMED = 5


def decide(one: Waiting, reads: FactReads | None, now: datetime) -> tuple[Decided, datetime | None]:
    """What is to be stored of a set that waits, and when to decide anew if at all: as soon as the node's allowance says so.

    `reads` is what the node's catalog was compiled from; None if that is not known: then every change matters.
    """
    stored = one.stored
    if stored is not None:
        # The steps of a node have moments of their own, whatever its servers' clocks say.
        now = max(now, stored.decided_at + TICK)
    changes = _changes(one)
    recent = read_recent(unpack(stored.recent)) if stored else Recent()
    recent = recent.after(one.submissions + 1, [change.path for change in changes] if stored else [])
    steady = [change for change in changes if not is_volatile(change.path, reads, recent)]
    allowed_at = stored.allowed_at if stored else now
    due_at = None
    flapping: list[str] = []
    if not changes:
        decision = "nothing changed"
    elif not steady:
        decision = f"{len(changes)} changed, all of them volatile"
    elif not (mattering := touching(reads, steady)):
        decision = f"{len(steady)} changed, none of them matters"
    else:
        allowed_at = max(allowed_at, now) + COMPILE_EVERY
        due_at = max(now, allowed_at - COMPILE_BURST * COMPILE_EVERY)
        flapping = _flapping(mattering, recent) if due_at > now else []
        later = f" in {(due_at - now).total_seconds():.0f} s" if due_at > now else ""
        decision = f"{len(steady)} changed: compile{later}"
    # A node's first set has no history: everything would be in it twice.
    history = steady if stored else []
    return Decided(one.came, decision, now, allowed_at, pack(write_recent(recent)), history, flapping), due_at


def is_volatile(path: str, reads: FactReads | None, recent: Recent) -> bool:
    """Whether a path has no history at present: it changes all the time, and no catalog rests on it."""
    return recent.is_volatile(path) and (reads is None or not reads.reads(path))


def touching(reads: FactReads | None, changes: Sequence[FactChange]) -> list[FactChange]:
    """Those of the changes that may lead to another catalog."""
    return [change for change in changes if reads is None or reads.touched(change)]


def _flapping(changes: Sequence[FactChange], recent: Recent) -> list[str]:
    """Who is to blame for asking too often: paths that changed not only now. Where each time others do, what they are in."""
    again = [change.path for change in changes if recent.times(change.path) > 1]
    return again[:FLAPS_NAMED] or [_around(changes[0].path, changes[-1].path)]


def _around(first: str, last: str) -> str:
    """The innermost path that is around both, and so around all that are sorted between them; if that is everything, where the first is at
    the top."""
    parts = first.split("/")
    common = [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], zip(parts, last.split("/"), strict=False))]
    return "/".join(common) or f"/{parts[1]}"


def _changes(one: Waiting) -> Sequence[FactChange]:
    stored, brought = one.stored, one.came.brought
    if stored is not None and stored.digest == one.came.digest:
        return []
    if stored is not None and isinstance(brought, Compared) and brought.digest == stored.digest:
        return brought.changes
    after = brought if isinstance(brought, bytes) else unpack(one.came.stable)
    return compare(unpack(stored.stable) if stored else b"{}", after)
