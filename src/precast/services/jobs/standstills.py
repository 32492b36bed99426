"""Ends waits for values that nobody can end any more: runs that wait for each other, or for runs that cannot begin because of them.

A run says what its resources wait for, and whether it has nothing else to do. If all runs that could fulfil what a run waits for wait,
too, their promises are failed, with who waits for whom as the reason; the resources that wait then fail on the nodes, each by itself. A
standstill must be found twice before it is broken: what a run says may be overtaken by a value that is on its way.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from precast.services.jobs.requests import decode_request
from precast.services.jobs.waits import find_cycles
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.futures import job_promises, waits
from precast.store.futures.job_promises import AttemptName
from precast.store.futures.waits import FutureWait, OpenAttempt
from precast.store.jobs.jobs import Jobs
from precast.wire.jobs import states

log = logging.getLogger("precast.jobs")

MAX_JOBS = 100
MAX_WAITS = 20_000
# How many members of a circle are named.
NAMED = 6


class Stuck(NamedTuple):
    """A run that waits for this key of this attempt, which waits, too."""

    wait: FutureWait
    producer: AttemptName


class Standstills:
    """Remembers what the last check has found."""

    def __init__(self, database: Database, jobs: Jobs) -> None:
        self._database, self._jobs = database, jobs
        self._found: set[tuple[AttemptName, str, AttemptName]] = set()

    async def end(self) -> int:
        """End the standstills that were found before, too. Returns how many promises were failed."""
        if not await self._database.read(waits.has_idle):
            self._found.clear()
            return 0
        stuck = await self._database.read(self._find)
        found = {(each.wait.attempt, each.wait.key, each.producer) for each in stuck}
        known, self._found = self._found, found
        lasting = [each for each in stuck if (each.wait.attempt, each.wait.key, each.producer) in known]
        if not lasting:
            return 0
        reasons = explain(lasting)
        for reason in sorted(set(reasons.values())):
            log.warning("runs cannot go on: %s", reason)
        failed = [(producer, key, reason) for (producer, key), reason in reasons.items()]
        return await self._database.write(job_promises.fail, failed, self._database.clock.now())

    def _find(self) -> Transaction[list[Stuck]]:
        idle: list[FutureWait] = []
        pending: dict[tuple[str, str], list[AttemptName]] = {}
        attempts: dict[AttemptName, OpenAttempt] = {}
        limited: set[str] = set()
        for job in (yield from waits.list_idle_jobs(MAX_JOBS)):
            idle += [wait for wait in (yield from waits.list_waits(job, MAX_WAITS)) if wait.is_idle]
            for key, producers in (yield from waits.list_pending(job)).items():
                pending[job, key] = producers
            for attempt in (yield from waits.list_open(job)):
                attempts[attempt.attempt] = attempt
            row = yield from self._jobs.find(job)
            # A run that only waits holds no slot, and its batch goes on; but the others do not begin before a canary has ended.
            if row is not None and decode_request(row).limits.canary is not None:
                limited.add(job)
        return find_stuck(idle, pending, attempts, limited)


def find_stuck(
    idle: Sequence[FutureWait],
    pending: Mapping[tuple[str, str], Sequence[AttemptName]],
    attempts: Mapping[AttemptName, OpenAttempt],
    limited: "set[str]",
) -> list[Stuck]:
    """Which idle runs wait for what only runs can fulfil that do not go on either.

    `pending` are the attempts that will promise a key of a job, `limited` the jobs in which members wait for the end of others.
    """
    by_run: dict[AttemptName, list[FutureWait]] = {}
    for wait in idle:
        by_run.setdefault(wait.attempt, []).append(wait)
    stuck = {name for name in attempts if name in by_run or attempts[name].state == states.QUEUED}
    while True:
        going = {
            name for name in stuck if _goes_on(attempts[name], by_run.get(name), pending, attempts, limited, stuck)
        }
        if not going:
            break
        stuck -= going
    return [
        Stuck(wait, producer)
        for name in sorted(stuck & by_run.keys())
        for wait in by_run[name]
        for producer in pending.get((name.job, wait.key), ())
    ]


def _goes_on(
    attempt: OpenAttempt,
    own: "Sequence[FutureWait] | None",
    pending: Mapping[tuple[str, str], Sequence[AttemptName]],
    attempts: Mapping[AttemptName, OpenAttempt],
    limited: "set[str]",
    stuck: "set[AttemptName]",
) -> bool:
    """Whether an attempt can go on, if those in `stuck` cannot."""
    if attempt.state == states.PICKED_UP:
        promises = [pending.get((attempt.attempt.job, wait.key), ()) for wait in own or ()]
        return any(not producers or any(each not in stuck for each in producers) for producers in promises)
    if attempt.has_turn:
        return attempt.holder not in stuck or not attempt.is_claimed
    if attempt.is_away or attempt.attempt.job not in limited:
        return True  # it is its turn soon, or its deadline ends it
    return any(
        other.has_turn and name not in stuck for name, other in attempts.items() if name.job == attempt.attempt.job
    )


def explain(stuck: Sequence[Stuck]) -> dict[tuple[AttemptName, str], str]:
    """Why each promise that is waited for will not be fulfilled, by attempt and key."""
    waiting: dict[AttemptName, list[AttemptName]] = {}
    first: dict[tuple[AttemptName, AttemptName], FutureWait] = {}
    for each in stuck:
        waiting.setdefault(each.wait.attempt, []).append(each.producer)
        first.setdefault((each.wait.attempt, each.producer), each.wait)
    circles: dict[AttemptName, str] = {}
    for cycle in find_cycles(waiting):
        pairs = list(zip(cycle, [*cycle[1:], cycle[0]], strict=True))[:NAMED]
        steps = [
            f"{one.node} waits for {first[one, two].key} of {two.node} ({first[one, two].resource})"
            for one, two in pairs
        ]
        text = "runs wait for each other: " + ", ".join(steps) + (" and so on" if len(cycle) > NAMED else "")
        circles |= dict.fromkeys(cycle, text)
    general = next(iter(circles.values()), "")
    reasons: dict[tuple[AttemptName, str], str] = {}
    for each in stuck:
        text = circles.get(each.producer) or circles.get(each.wait.attempt) or general
        if not text:
            node = each.wait.attempt.node
            text = f"it cannot begin before others end, of which {node} waits for it ({each.wait.resource})"
        reasons[each.producer, each.wait.key] = text[:500]
    return reasons
