"""Group commit: what arrives while one commit is on its way to the disk goes into the next one together.

A commit costs a flush of the disk, however much is in it. So writers queue, a committer takes all that wait (up to
`MAX_GROUP`), runs them in one transaction and answers each after the commit. A lone writer is a group of one and waits for nobody. After a
group of many, those who were just answered are about to come again: where the engine gains by it, the next group gives them a moment.

A unit that holds many rows can ask for a transaction of its own: two groups with several such units each could wait for each other in
a circle, whatever order each unit keeps for itself.

Writers that do the same thing to many items can share even the statements: of a *batch unit* a group has one, which is given
the items of everybody who waits for it.

A unit that fails does so alone: the group is rolled back, and what stood before it, the unit itself, and what stood after it
are committed apart; a batch is halved until the item at fault is alone. If the database itself fails, everyone in the group is
told so, and nobody is tried again behind their back.
"""

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from precast.store import issues
from precast.store.engine.interface import (
    BatchUnit,
    DatabaseFailed,
    Done,
    Engine,
    TransactionFactory,
    TransactionFailed,
)
from precast.store.engine.promise import Promise
from precast.store.engine.query import Transaction

log = logging.getLogger("precast.store")

MAX_GROUP = 256
# A group of so many says that many more are coming.
MANY = 8
GATHER_STEP_S = 0.001
# A few large groups are less work than many small ones, so one committer waits for the other; but what takes longer than this should
# not hold up everybody.
TURN_S = 0.1
# Writers beyond this many wait for a place, at most `PATIENCE_S`; then they are told STORE-005 and nothing of theirs is stored.
MAX_PENDING = 4096
PATIENCE_S = 30.0


class _Job:
    """A unit on its way, or an item of a batch unit, and whoever waits for it."""

    __slots__ = ("batch", "is_apart", "item", "promise", "unit")

    def __init__(
        self,
        promise: Promise[Any],
        unit: TransactionFactory | None,
        batch: BatchUnit[Any, Any] | None = None,
        item: object = None,
        *,
        is_apart: bool = False,
    ) -> None:
        self.promise = promise
        self.unit = unit
        self.is_apart = is_apart
        self.batch = batch
        self.item = item

    def succeed(self, value: object) -> None:
        self._tell(self.promise.set_result, value)

    def fail(self, error: BaseException) -> None:
        self._tell(self.promise.set_exception, error)

    def _tell(self, tell: Callable[[Any], None], what: object) -> None:
        """A boundary: who cannot be told must not keep all others waiting for ever."""
        try:
            if not self.promise.done():
                tell(what)
        except Exception:
            log.exception("a writer could not be told what became of its unit")


class _Part(NamedTuple):
    """What one unit of a transaction does: for one writer, or for all of a batch."""

    unit: TransactionFactory
    jobs: list[_Job]


class GroupCommit:
    """Owns the committer tasks of one database, from `start` to `close`."""

    def __init__(self, engine: Engine, wake: Callable[[frozenset[str]], None], committers: int) -> None:
        self._engine = engine
        self._wake = wake
        self._pending: deque[_Job] = deque()
        self._has_come = asyncio.Event()  # something is pending, or it is time to stop
        self._has_room = asyncio.Event()
        self._committers = committers
        self._tasks: list[asyncio.Task[None]] = []
        self._late: set[asyncio.Task[None]] = set()  # who waits for a place
        self._begun_s: list[float] = []  # when each group that is under way began
        self._turn = asyncio.Event()
        self._taking = asyncio.Lock()
        self._is_closing = False
        self._is_closed = False

    def start(self) -> None:
        self._tasks = [
            asyncio.create_task(self._commit_groups(), name="precast-commit") for _ in range(self._committers)
        ]

    async def submit(self, unit: TransactionFactory, *, is_apart: bool = False) -> Any:
        """Run the unit in a group, or apart from all others; its value once it is durable.

        Cancelling before its group starts drops the unit; after that it may or may not be stored.
        """
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._put(_Job(future, unit, is_apart=is_apart))
        return await future

    def submit_item(self, batch: BatchUnit[Any, Any], item: object, promise: Promise[Any]) -> None:
        """Run the batch unit for this item and all others that wait; the value for this one is told once it is durable."""
        self._put(_Job(promise, None, batch, item))

    def _put(self, job: _Job) -> None:
        if self._is_closing:
            job.fail(issues.CLOSED.error())
            return
        if len(self._pending) < MAX_PENDING:
            self._pending.append(job)
            self._has_come.set()
        else:
            waiting = asyncio.create_task(self._put_patiently(job), name="precast-commit-late")
            self._late.add(waiting)
            waiting.add_done_callback(self._late.discard)

    async def close(self) -> None:
        """Commit what is waiting, then end the committers. New units are refused from now on."""
        self._is_closing = True
        self._has_come.set()
        await asyncio.gather(*self._tasks)
        # Who waited for a place in the queue gets it now, too late, and is told so by `_put_patiently`.
        self._is_closed = True
        self._has_room.set()
        while self._pending:
            self._pending.popleft().fail(issues.CLOSED.error())

    async def abandon(self) -> None:
        """End at once, without waiting for locks or the network: what is under way is stored or it is not, and its writers
        are told STORE-013."""
        self._is_closing = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    async def _put_patiently(self, job: _Job) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                while len(self._pending) >= MAX_PENDING:
                    self._has_room.clear()
                    await self._has_room.wait()
        except TimeoutError:
            job.fail(issues.BUSY.error(waited_s=PATIENCE_S))
            return
        if self._is_closed:
            job.fail(issues.CLOSED.error())
        else:
            self._pending.append(job)
            self._has_come.set()

    async def _commit_groups(self) -> None:
        while group := await self._take_group():
            begun_s = time.monotonic()
            self._begun_s.append(begun_s)
            self._turn.clear()
            try:
                await self._commit(deque(_transactions(group)))
            finally:
                self._begun_s.remove(begun_s)
                if not self._begun_s:
                    self._turn.set()
            if len(group) >= MANY:
                await self._gather(len(group))

    async def _take_group(self) -> list[_Job]:
        """Who waits by now; nobody when it is time to stop."""
        async with self._taking:
            # One that has been at it for long enough is waited for no more, whoever comes.
            if self._begun_s and (left_s := self._begun_s[-1] + TURN_S - time.monotonic()) > 0:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(left_s):
                        await self._turn.wait()
            while not self._pending and not self._is_closing:
                self._has_come.clear()
                await self._has_come.wait()
            group = [self._pending.popleft() for _ in range(min(len(self._pending), MAX_GROUP))]
            self._has_room.set()
            return group

    async def _gather(self, count: int) -> None:
        """Wait until so many have come again, for as long as the engine gains by it."""
        for _ in range(round(self._engine.gather_s / GATHER_STEP_S)):
            if len(self._pending) >= count or self._is_closing:
                return
            await asyncio.sleep(GATHER_STEP_S)

    async def _commit(self, groups: "deque[list[_Job]]") -> None:
        """Commit the groups in turn; one that fails by a unit's fault is split around that unit."""
        while groups:
            group = [job for job in groups.popleft() if not job.promise.done()]
            if not group:
                continue
            parts = _parts(group)
            try:
                done = await self._engine.transact([part.unit for part in parts])
            except TransactionFailed as failure:
                if len(group) == 1:
                    group[0].fail(failure.__cause__ or failure)
                    continue
                at = failure.index
                before, faulty, after = parts[:at], parts[at].jobs, parts[at + 1 :]
                half = len(faulty) // 2
                groups.extendleft([_jobs(after), faulty[half:], faulty[:half], _jobs(before)])
            except DatabaseFailed as failure:
                for job in group:
                    job.fail(failure.error)
            except asyncio.CancelledError:
                for job in [*group, *(job for later in groups for job in later)]:
                    job.fail(issues.CLOSED.error())
                raise
            except Exception as error:  # noqa: BLE001 - a boundary: a bug must not leave writers waiting for ever
                for job in group:
                    job.fail(issues.FAILED.error(query="of a commit", reason=f"{type(error).__name__}: {error}"))
            else:
                self._answer(parts, done)

    def _answer(self, parts: list[_Part], done: list[Done]) -> None:
        topics: set[str] = set()
        for part, result in zip(parts, done, strict=True):
            topics |= result.topics
            values = [result.value] if part.jobs[0].batch is None else result.value
            for job, value in zip(part.jobs, values, strict=True):
                job.succeed(value)
        if topics:
            self._wake(frozenset(topics))


def _transactions(group: list[_Job]) -> list[list[_Job]]:
    """What has to be committed apart, each by itself, after all that need not."""
    apart = [[job] for job in group if job.is_apart]
    return [[job for job in group if not job.is_apart], *apart]


def _parts(group: list[_Job]) -> list[_Part]:
    """The units of a transaction. Nobody in a group waits for anybody else in it, so a batch may stand where its first item does."""
    parts: list[_Part] = []
    batches: dict[BatchUnit[Any, Any], list[_Job]] = {}
    for job in group:
        if job.batch is None:
            assert job.unit is not None, "a job has a unit or a batch"
            parts.append(_Part(job.unit, [job]))
        elif job.batch in batches:
            batches[job.batch].append(job)
        else:
            jobs = batches[job.batch] = [job]
            # The list grows until the transaction begins.
            parts.append(_Part(partial(_run_batch, job.batch, jobs), jobs))
    return parts


def _run_batch(batch: BatchUnit[Any, Any], jobs: list[_Job]) -> Transaction[Any]:
    return batch([job.item for job in jobs])


def _jobs(parts: list[_Part]) -> list[_Job]:
    return [job for part in parts for job in part.jobs]
