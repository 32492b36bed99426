"""Runs over nodes: one row for each, one step for each of its nodes, what commands said, and who drives it.

A step moves only forward: waiting, ordered, began, and one of the ends; every move is written with the state it comes from. What
changed gets a number from its driver, under the run's row, so that a viewer who has seen everything through 17 never misses an
18. The methods that end in `ing` are parts of other transactions.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from precast.base.clock import from_micros, from_optional_micros, to_micros
from precast.store.engine.compression import pack, unpack
from precast.store.engine.database import Database
from precast.store.engine.query import Row, Transaction, Wake
from precast.store.jobs import queries as queries

# Woken when there is a run to be driven; and, with its id, when one of its nodes has said something, or viewers may look.
MADE_TOPIC = "run-made"
MOVED = "run-moved."
SEEN = "run-seen."

WAITING, ORDERED, BEGAN = "waiting", "ordered", "began"
DONE, FAILED, NOT_RUN, SILENT, AWAY, LEFT_OUT = "done", "failed", "not-run", "silent", "away", "left-out"
GOING, STOPPING, HALTING = "going", "stopping", "halting"
# What a driver takes at once, so that others are served in between.
PAGE = 500
# What is kept of one node's command, whatever the node sends: more than an order can ask for.
OUTPUT_BYTES = 4 * 1024 * 1024


class RunRow(msgspec.Struct, frozen=True):
    """A run as it is stored."""

    id: str
    kind: str
    body: bytes
    made_by: str
    made_at: datetime
    state: str
    stopped_by: str | None
    ended_at: datetime | None
    nodes: int
    changes: int


class StepRow(msgspec.Struct, frozen=True):
    """One node of a run."""

    node: str
    batch: int
    state: str
    number: int | None
    ordered_at: datetime | None
    began_at: datetime | None
    ended_at: datetime | None
    report: str | None
    message: str | None
    result: str | None


class OutputRow(NamedTuple):
    """Lines of a node's command, as JSON."""

    node: str
    first: int
    number: int
    lines: bytes


class NewStep(NamedTuple):
    """A step as it begins: waiting, or at its end already."""

    node: str
    batch: int
    state: str = WAITING
    message: str | None = None


class Held(NamedTuple):
    """A run that this server drives."""

    run: str
    owner: str
    fence: int


class Ended(NamedTuple):
    """How a node's part ended."""

    state: str
    message: str | None = None
    report: str | None = None
    result: str | None = None


class Runs:
    """The runs of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _now(self) -> int:
        return to_micros(self._database.clock.now())

    # Making and looking

    def making(
        self, run: str, kind: str, body: bytes, actor: str, allowed: timedelta, steps: Sequence[NewStep]
    ) -> Transaction[None]:
        """A run over these nodes, in their order."""
        now = self._now()
        yield queries.MAKE(
            run=run,
            kind=kind,
            body=body,
            actor=actor,
            now=now,
            count=len(steps),
            allowed=allowed // timedelta(microseconds=1),
        )
        yield queries.MAKE_STEP.many(
            {
                "run": run,
                "node": one.node,
                "place": place,
                "batch": one.batch,
                "state": one.state,
                "ended_at": None if one.state == WAITING else now,
                "message": one.message,
            }
            for place, one in enumerate(steps)
        )
        yield Wake(MADE_TOPIC)

    def showing(self, run: str) -> Transaction[RunRow | None]:
        rows = yield queries.SHOW(run=run)
        return _run(rows[0]) if rows else None

    def open_count(self) -> Transaction[int]:
        """How many runs are going on."""
        ((count,),) = yield queries.COUNT_OPEN()
        return int(count)

    def listing(self, before: str, limit: int) -> Transaction[list[RunRow]]:
        """The newest first, from below an id on."""
        return [_run(row) for row in (yield queries.LIST(before=before, limit=limit))]

    def counts(self, run: str) -> Transaction[dict[str, int]]:
        """How many steps there are in each state."""
        return dict((yield queries.COUNTS(run=run)))

    def steps(self, run: str, after: str, limit: int) -> Transaction[list[StepRow]]:
        """Steps by node, from after one on."""
        return [_step(row) for row in (yield queries.STEPS(run=run, after_node=after, limit=limit))]

    def changes(self, run: str, after: int, limit: int) -> Transaction[tuple[list[StepRow], list[OutputRow]]]:
        """What has changed after a number: at most so many of each, by number."""
        steps = [_step(row) for row in (yield queries.STEPS_AFTER(run=run, number=after, limit=limit))]
        rows = yield queries.OUTPUT_AFTER(run=run, number=after, limit=limit)
        return steps, [OutputRow(node, first, number, unpack(lines)) for node, first, number, lines in rows]

    def asking_to_stop(self, run: str, actor: str) -> Transaction[bool]:
        """False if it is stopping or over."""
        rows = yield queries.ASK_TO_STOP(run=run, actor=actor)
        yield Wake(MOVED + run)
        return bool(rows)

    # What nodes say

    def beginning(self, run: str, node: str, report: str | None) -> Transaction[bool]:
        """A node has begun; False if nobody waits for that."""
        rows = yield queries.BEGIN(run=run, node=node, report=report, now=self._now())
        if rows:
            yield Wake(MOVED + run)
        return bool(rows)

    def ending(self, run: str, node: str, ended: Ended) -> Transaction[bool]:
        """A node's part is over; False if it was before. What comes after it was given up is kept beside that."""
        values = {"run": run, "node": node, "report": ended.report, "result": ended.result}
        rows = yield queries.END(**values, message=ended.message, state=ended.state, now=self._now())
        if not rows:
            late = f"came too late: {ended.state}" + (f", {ended.message}" if ended.message else "")
            if (yield queries.ADD_LATE(**values, message=late)):
                yield Wake(MOVED + run)
            return False
        yield Wake(MOVED + run)
        return True

    def saying(self, run: str, node: str, first: int, lines: bytes) -> Transaction[None]:
        """Lines of a command that somebody waits for; others are dropped."""
        rows = yield queries.ADD_OUTPUT(
            run=run, node=node, first=first, lines=pack(lines), size=len(lines), most=OUTPUT_BYTES, now=self._now()
        )
        if rows:
            yield Wake(MOVED + run)

    # Driving

    async def claim(self, owner: str, lease_s: float, limit: int) -> list[Held]:
        """Take on runs that nobody drives."""
        return await self._database.write(self._claiming, owner, lease_s, limit)

    def _claiming(self, owner: str, lease_s: float, limit: int) -> Transaction[list[Held]]:
        until = self._now() + int(lease_s * 1e6)
        rows = yield queries.CLAIM(owner=owner, now=self._now(), until=until, limit=limit)
        return [Held(run, owner, fence) for run, fence in rows]

    async def let_go(self, owner: str) -> None:
        """Whoever comes next may drive what this server drove."""
        await self._database.write(_letting_go, owner)

    def holding(self, held: Held, lease_s: float) -> Transaction[RunRow | None]:
        """The run, ours until the commit, and the lease renewed; None if somebody else drives it, or it is over."""
        until = self._now() + int(lease_s * 1e6)
        rows = yield queries.HOLD(run=held.run, owner=held.owner, fence=held.fence, until=until)
        return _run(rows[0]) if rows else None

    def running(self, run: str) -> Transaction[tuple[int | None, int]]:
        """The first batch in which somebody is at it, and how many are at it."""
        ((batch, count),) = yield queries.RUNNING(run=run)
        return batch, count

    def waiting(self, run: str, limit: int) -> Transaction[list[tuple[str, int]]]:
        """Whose turn is next, each with its batch."""
        return [(node, batch) for node, batch in (yield queries.WAITING(run=run, limit=limit))]

    def ordering(self, run: str, node: str, due_at: datetime) -> Transaction[None]:
        yield queries.ORDER(run=run, node=node, due_at=to_micros(due_at), now=self._now())

    def leaving_out(self, run: str, node: str, state: str, message: str) -> Transaction[None]:
        """A node that was not ordered, and will not be."""
        yield queries.LEAVE_OUT(run=run, node=node, state=state, message=message, now=self._now())

    def leaving_out_all(self, run: str, message: str) -> Transaction[None]:
        """The same for all whose turn has not come."""
        yield queries.LEAVE_OUT_ALL(run=run, state=LEFT_OUT, message=message, now=self._now())

    def expiring(self, run: str, never_began: str, never_ended: str) -> Transaction[int]:
        """Give up on those who were waited for long enough; how many."""
        rows = yield queries.EXPIRE(
            run=run, now=self._now(), never_began=never_began, never_ended=never_ended, limit=PAGE
        )
        return len(rows)

    def numbering(self, run: str, last: int) -> Transaction[tuple[int, bool]]:
        """Number what has changed, what commands said before how they ended; the last number, and whether there is more."""
        # In this order: what is stored together with a step's end is there when that is seen.
        unseen = [node for (node,) in (yield queries.UNSEEN(run=run, limit=PAGE))]
        said = yield queries.UNSEEN_OUTPUT(run=run, limit=PAGE)
        yield queries.NUMBER_OUTPUT.many(
            {"run": run, "node": node, "first": first, "number": number}
            for number, (node, first) in enumerate(said, last + 1)
        )
        last += len(said)
        if len(said) == PAGE:
            return last, True
        yield queries.NUMBER.many(
            {"run": run, "node": node, "number": number} for number, node in enumerate(unseen, last + 1)
        )
        return last + len(unseen), len(unseen) == PAGE

    def has_unseen(self, run: str) -> Transaction[bool]:
        """Whether something has changed that has no number yet."""
        return bool((yield queries.HAS_UNSEEN(run=run)))

    def moving(self, run: str, state: str, changes: int, ended_at: datetime | None) -> Transaction[None]:
        yield queries.SET_STATE(
            run=run, state=state, last=changes, ended_at=None if ended_at is None else to_micros(ended_at)
        )
        yield Wake(SEEN + run)

    # Forgetting

    async def forget_old(self, before: datetime, limit: int) -> int:
        """Remove runs that ended before a time, a few at once; how many."""
        return await self._database.write(_forgetting_old, before, limit)


def forgetting(node: str) -> Transaction[None]:
    """Remove a node from every run."""
    yield queries.FORGET_NODE_OUTPUT(node=node)
    yield queries.FORGET_NODE(node=node)


def _letting_go(owner: str) -> Transaction[None]:
    yield queries.LET_GO(owner=owner)
    yield Wake(MADE_TOPIC)


def _forgetting_old(before: datetime, limit: int) -> Transaction[int]:
    rows = yield queries.OLD(before_at=to_micros(before), limit=limit)
    for (run,) in rows:
        yield queries.FORGET_OUTPUT(run=run)
        yield queries.FORGET_STEPS(run=run)
        yield queries.FORGET(run=run)
    return len(rows)


def _run(row: Row) -> RunRow:
    id_, kind, body, by, made, state, stopped_by, ended, nodes, changes = row
    return RunRow(
        id_,
        kind,
        bytes(body),
        by,
        from_micros(made),
        state,
        stopped_by,
        from_optional_micros(ended),
        nodes,
        changes,
    )


def _step(row: Row) -> StepRow:
    node, batch, state, number, ordered, began, ended, report, message, result = row
    times = (from_optional_micros(ordered), from_optional_micros(began), from_optional_micros(ended))
    return StepRow(node, batch, state, number, *times, report, message, result)
