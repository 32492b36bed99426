"""Decides upon a fact set: how it differs, which changes go into the history, and whether and when the node is compiled.

This module uses no database and no clock: the known facts go in, the set to be stored comes out.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import takewhile

from precast.services.facts.changes import compare
from precast.services.facts.volatility import RecentChanges, read_recent, write_recent
from precast.services.traces.fact_paths import FactReads
from precast.store.engine.compression import compress, decompress
from precast.store.facts.facts import FactChange, FactSet, ReceivedFacts

# A node may cause one compile in this time, after a burst of so many.
COMPILE_EVERY = timedelta(minutes=5)
COMPILE_BURST = 3
# The smallest step of the clock in the database.
TICK = timedelta(microseconds=1)
# Paths that are named for one set when a node causes too many compiles.
FLAPS_NAMED = 5


def decide(
    received: ReceivedFacts, stored: FactSet | None, reads: FactReads | None, now: datetime
) -> tuple[FactSet, datetime | None]:
    """The set to be stored, and when to compile, if at all: as soon as the node's allowance permits.

    `stored` is the node's stored set. `reads` says which facts the node's catalog was compiled from; None if that is not known: then
    every change matters.
    """
    submissions = 1
    if stored is not None:
        # Two steps of a node's history never have the same time, whatever its servers' clocks say.
        now = max(now, stored.decided_at + TICK)
        submissions += stored.submissions
    changes = _changes(received, stored)
    recent = read_recent(decompress(stored.recent)) if stored else RecentChanges()
    recent = recent.after(submissions, [change.path for change in changes] if stored else [])
    steady = [change for change in changes if not is_volatile(change.path, reads, recent)]
    allowed_at = stored.allowed_at if stored else now
    due_at = None
    flapping: list[str] = []
    if not changes:
        decision = "nothing changed"
    elif not steady:
        decision = f"{len(changes)} changed, all of them volatile"
    elif not (mattering := select_mattering(reads, steady)):
        decision = f"{len(steady)} changed, none of them matters"
    else:
        allowed_at = max(allowed_at, now) + COMPILE_EVERY
        due_at = max(now, allowed_at - COMPILE_BURST * COMPILE_EVERY)
        flapping = _find_flapping(mattering, recent) if due_at > now else []
        later = f" in {(due_at - now).total_seconds():.0f} s" if due_at > now else ""
        decision = f"{len(steady)} changed: compile{later}"
    # A node's first set has no history: everything would be stored twice.
    history = steady if stored else []
    decided = FactSet(
        received.node,
        received.digest,
        received.stable,
        received.received_at,
        decision,
        now,
        allowed_at,
        compress(write_recent(recent)),
        submissions,
        history,
        flapping,
    )
    return decided, due_at


def is_volatile(path: str, reads: FactReads | None, recent: RecentChanges) -> bool:
    """Whether a path has no history at present: it changes all the time, and the node's catalog was not compiled from it."""
    return recent.is_volatile(path) and (reads is None or not reads.reads(path))


def select_mattering(reads: FactReads | None, changes: Sequence[FactChange]) -> list[FactChange]:
    """The changes that may lead to another catalog."""
    return [change for change in changes if reads is None or reads.is_touched_by(change)]


def _find_flapping(changes: Sequence[FactChange], recent: RecentChanges) -> list[str]:
    """The paths that cause too many compiles: those that changed not only now. If other paths change each time, the path around them."""
    again = [change.path for change in changes if recent.times(change.path) > 1]
    return again[:FLAPS_NAMED] or [_around(changes[0].path, changes[-1].path)]


def _around(first: str, last: str) -> str:
    """The innermost path that contains both, and so all paths that are sorted between them; if that is the root, the top-level fact of
    the first."""
    parts = first.split("/")
    common = [part for part, _ in takewhile(lambda pair: pair[0] == pair[1], zip(parts, last.split("/"), strict=False))]
    return "/".join(common) or f"/{parts[1]}"


def _changes(received: ReceivedFacts, stored: FactSet | None) -> Sequence[FactChange]:
    comparison = received.comparison
    if stored is not None and stored.digest == received.digest:
        return []
    if stored is not None and comparison is not None and comparison.digest == stored.digest:
        return comparison.changes
    after = decompress(received.stable) if received.stable_json is None else received.stable_json
    return compare(decompress(stored.stable) if stored else b"{}", after)
