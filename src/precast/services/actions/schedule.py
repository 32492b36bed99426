"""Which due times an action has, and what becomes of those that have passed: a pure function of the schedule and the clock.

A scheduler that was down for a while finds several due times of one action at once. One of them may start now; the others are missed. The
due times before the returned `next_at` are all in the answer, so each is handled once.
"""

from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

import msgspec

from precast.base.errors import InputError

# A due time that is handled within this time is not late.
ON_TIME = timedelta(minutes=1)
# Due times of one action that are looked at together. More have passed only after a long downtime; then the oldest of them are missed.
LOOK_AHEAD = 2_000
# Missed due times that have a row each; older ones share one row, which counts them.
ROWS = 20


class Cron(Protocol):
    """A parsed cron expression in its time zone."""

    def next_after(self, moment: datetime) -> datetime:
        """The first time after a moment. Raises InputError if there is none."""


class Schedule(NamedTuple):
    """When an action is due. Without `cron` it is due once."""

    cron: Cron | None = None
    until: datetime | None = None
    start_within: timedelta | None = None
    missed: str = "once"
    missed_limit: int = 1

    def next_after(self, moment: datetime) -> datetime | None:
        """The first due time after a moment, None if there is none."""
        if self.cron is None:
            return None
        try:
            found = self.cron.next_after(moment)
        except InputError:
            return None
        return None if self.until is not None and found > self.until else found


class MissedTimes(msgspec.Struct, frozen=True):
    """Due times that do not start: the last of them, how many, and why."""

    due_at: datetime
    count: int
    message: str


class DueDecision(NamedTuple):
    """What becomes of the due times that have passed: those that are missed, the one that starts now, and the next one to look at.

    `is_late` is set for a due time that starts late, because a server was down.
    """

    missed: list[MissedTimes]
    starts_at: datetime | None
    next_at: datetime | None
    is_late: bool = False


def decide(schedule: Schedule, next_at: datetime, now: datetime) -> DueDecision:
    """Decide about the due times from `next_at` through now. `next_at` is a due time that has passed."""
    passed, following = [next_at], schedule.next_after(next_at)
    while following is not None and following <= now and len(passed) < LOOK_AHEAD:
        passed.append(following)
        following = schedule.next_after(following)
    if following is not None and following <= now:
        return DueDecision(_count(passed, "the servers were down"), None, following)
    startable = passed
    if schedule.start_within is not None:
        startable = [due_at for due_at in passed if now - due_at <= schedule.start_within]
    missed = _count(passed[: len(passed) - len(startable)], "it could not start within its start deadline")
    chosen = _choose(schedule, startable, now)  # the last ones
    reason = f"only a later one starts ({schedule.missed})" if chosen else "the servers were down"
    missed += _count(startable[: len(startable) - len(chosen)], reason)
    if not chosen:
        return DueDecision(missed, None, following)
    return DueDecision(missed, chosen[0], chosen[1] if len(chosen) > 1 else following, now - chosen[0] > ON_TIME)


def _choose(schedule: Schedule, startable: list[datetime], now: datetime) -> list[datetime]:
    """Those that shall start, the first of them now."""
    if schedule.missed == "all":
        return startable[-schedule.missed_limit :]
    if schedule.missed == "skip":
        startable = [due_at for due_at in startable if now - due_at <= ON_TIME]
    return startable[-1:]


def _count(due_times: list[datetime], message: str) -> list[MissedTimes]:
    """A row for each due time; the oldest of many share one."""
    shared = due_times[: max(0, len(due_times) - ROWS)]
    rows = [MissedTimes(shared[-1], len(shared), message)] if shared else []
    return rows + [MissedTimes(due_at, 1, message) for due_at in due_times[len(shared) :]]
