"""Group commit: writes that arrive while one commit is being flushed are committed together in the next one.

A commit costs one disk flush, however much it contains. So writers queue, a committer takes all pending writes (up to
`MAX_GROUP`), runs them in one database transaction and completes each after the commit. A single writer is a group of one and waits
for nothing. After a large group, the writers that were just completed are about to write again: where the engine gains by it, the
committer waits a short time for them before it takes the next group.

A transaction that locks many rows can ask to be committed alone: two groups with several such transactions each could deadlock, even
though each transaction locks its own rows in order.

Writers that do the same thing to many items can even share the statements: a group runs each *batch transaction* once, for the items
of all writers that wait for it.

A failing transaction fails alone: the group is rolled back, and the transactions before it, the failing one, and those after it are
committed separately; a batch is bisected until the failing item is alone. If the database itself fails, every writer of the group
gets the error, and no write is retried.
"""

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from precast.base.errors import PrecastError
from precast.store import issues
from precast.store.engine.interface import (
    BatchTransaction,
    Completion,
    DatabaseFailed,
    Engine,
    TransactionFactory,
    TransactionFailed,
    TransactionResult,
)
from precast.store.engine.query import Transaction

log = logging.getLogger("precast.store.commit")
# A command, which has no log, prints the error itself: without any handler, `logging` would print the line too.
log.addHandler(logging.NullHandler())
changes = logging.getLogger("precast.changes")

MAX_GROUP = 256
# A group of this size means that many more writes are about to arrive.
MANY = 8
GATHER_STEP_S = 0.001
# A few large groups are less work than many small ones, so one committer waits for the other; but a commit that takes longer than
# this should not delay all other writers.
TURN_S = 0.1
# Writers beyond this many wait for a place in the queue, at most `PATIENCE_S`. Then they get STORE-005, and their write is not stored.
MAX_PENDING = 4096
PATIENCE_S = 30.0


class _Failure:
    """Logs that the database fails, once for each reason until it works again, and then that it does."""

    def __init__(self) -> None:
        self._began_s: float | None = None
        self._codes: set[str] = set()

    def note(self, error: PrecastError) -> None:
        if self._began_s is None:
            self._began_s = time.monotonic()
        if error.code not in self._codes:
            self._codes.add(error.code)
            log.error("%s [%s]; %s", error.message, error.code, error.hint)

    def end(self) -> None:
        if self._began_s is not None:
            log.warning("the database stores again, after %.0f s", time.monotonic() - self._began_s)
            self._began_s, self._codes = None, set()


class _PendingWrite:
    """A transaction, or an item of a batch transaction, and the completion that receives its outcome."""

    __slots__ = ("batch", "completion", "factory", "is_alone", "item")

    def __init__(
        self,
        completion: Completion[Any],
        factory: TransactionFactory | None,
        batch: BatchTransaction[Any, Any] | None = None,
        item: object = None,
        *,
        is_alone: bool = False,
    ) -> None:
        self.completion = completion
        self.factory = factory
        self.is_alone = is_alone
        self.batch = batch
        self.item = item

    def succeed(self, value: object) -> None:
        self._complete(self.completion.set_result, value)

    def fail(self, error: BaseException) -> None:
        self._complete(self.completion.set_exception, error)

    def _complete(self, complete: Callable[[Any], None], outcome: object) -> None:
        """A boundary: a completion that raises must not leave all other writers waiting for ever."""
        try:
            if not self.completion.done():
                complete(outcome)
        except Exception:
            log.exception("a completion raised when it received the outcome of its write")


class _GroupMember(NamedTuple):
    """One transaction of a group: of one writer, or of all writers of a batch."""

    factory: TransactionFactory
    writes: list[_PendingWrite]


class GroupCommit:
    """Owns the committer tasks of one database, from `start` to `close`."""

    def __init__(self, engine: Engine, wake: Callable[[frozenset[str]], None], committers: int) -> None:
        self._engine = engine
        self._wake = wake
        self._failure = _Failure()
        self._pending: deque[_PendingWrite] = deque()
        self._has_work = asyncio.Event()  # a write is pending, or it is time to stop
        self._has_room = asyncio.Event()
        self._committers = committers
        self._tasks: list[asyncio.Task[None]] = []
        self._late: set[asyncio.Task[None]] = set()  # tasks that wait for a place in the queue
        self._started_s: list[float] = []  # when each group that is being committed started
        self._idle = asyncio.Event()  # no group is being committed
        self._take_lock = asyncio.Lock()
        self._is_closing = False
        self._is_closed = False

    def start(self) -> None:
        self._tasks = [
            asyncio.create_task(self._commit_groups(), name="precast-commit") for _ in range(self._committers)
        ]

    async def submit(self, factory: TransactionFactory, *, is_alone: bool = False) -> Any:
        """Commit the transaction in a group, or alone, and return its value once it is durable.

        Cancelling before its group starts drops the transaction; after that it may or may not be stored.
        """
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._put(_PendingWrite(future, factory, is_alone=is_alone))
        return await future

    def submit_item(self, batch: BatchTransaction[Any, Any], item: object, completion: Completion[Any]) -> None:
        """Commit the item in one batch transaction with all other pending items; the completion gets its value once it is durable."""
        self._put(_PendingWrite(completion, None, batch, item))

    def _put(self, write: _PendingWrite) -> None:
        if self._is_closing:
            write.fail(issues.CLOSED.error())
            return
        if len(self._pending) < MAX_PENDING:
            self._pending.append(write)
            self._has_work.set()
        else:
            late = asyncio.create_task(self._put_patiently(write), name="precast-commit-late")
            self._late.add(late)
            late.add_done_callback(self._late.discard)

    async def close(self) -> None:
        """Commit the pending writes, then end the committers. New writes are refused from now on."""
        self._is_closing = True
        self._has_work.set()
        await asyncio.gather(*self._tasks)
        # Writers that waited for a place in the queue get it now, too late; `_put_patiently` fails them.
        self._is_closed = True
        self._has_room.set()
        while self._pending:
            self._pending.popleft().fail(issues.CLOSED.error())

    async def abandon(self) -> None:
        """End at once, without waiting for locks or the network: each write under way is stored or it is not, and its writer
        gets STORE-013."""
        self._is_closing = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    async def _put_patiently(self, write: _PendingWrite) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                while len(self._pending) >= MAX_PENDING:
                    self._has_room.clear()
                    await self._has_room.wait()
        except TimeoutError:
            write.fail(issues.BUSY.error(waited_s=PATIENCE_S))
            return
        if self._is_closed:
            write.fail(issues.CLOSED.error())
        else:
            self._pending.append(write)
            self._has_work.set()

    async def _commit_groups(self) -> None:
        while group := await self._take_group():
            started_s = time.monotonic()
            self._started_s.append(started_s)
            self._idle.clear()
            try:
                await self._commit(deque(_split_alone(group)))
            finally:
                self._started_s.remove(started_s)
                if not self._started_s:
                    self._idle.set()
            if len(group) >= MANY:
                await self._gather(len(group))

    async def _take_group(self) -> list[_PendingWrite]:
        """Wait for pending writes and take them; an empty list when it is time to stop."""
        async with self._take_lock:
            # A commit that has taken `TURN_S` already is not waited for any longer.
            if self._started_s and (left_s := self._started_s[-1] + TURN_S - time.monotonic()) > 0:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(left_s):
                        await self._idle.wait()
            while not self._pending and not self._is_closing:
                self._has_work.clear()
                await self._has_work.wait()
            group = [self._pending.popleft() for _ in range(min(len(self._pending), MAX_GROUP))]
            self._has_room.set()
            return group

    async def _gather(self, count: int) -> None:
        """Wait until this many writes are pending, at most for the engine's `gather_s`."""
        for _ in range(round(self._engine.gather_s / GATHER_STEP_S)):
            if len(self._pending) >= count or self._is_closing:
                return
            await asyncio.sleep(GATHER_STEP_S)

    async def _commit(self, groups: "deque[list[_PendingWrite]]") -> None:
        """Commit the groups one after the other; a group in which one transaction fails is split around that transaction."""
        while groups:
            group = [write for write in groups.popleft() if not write.completion.done()]
            if not group:
                continue
            members = _group_members(group)
            try:
                results = await self._engine.transact([member.factory for member in members])
            except TransactionFailed as failure:
                if len(group) == 1:
                    group[0].fail(failure.__cause__ or failure)
                    continue
                at = failure.index
                before, faulty, after = members[:at], members[at].writes, members[at + 1 :]
                half = len(faulty) // 2
                groups.extendleft([_writes(after), faulty[half:], faulty[:half], _writes(before)])
            except DatabaseFailed as failure:
                self._failure.note(failure.error)
                for write in group:
                    write.fail(failure.error)
            except asyncio.CancelledError:
                for write in [*group, *(write for later in groups for write in later)]:
                    write.fail(issues.CLOSED.error())
                raise
            except Exception as error:  # noqa: BLE001 - a boundary: a bug must not leave writers waiting for ever
                for write in group:
                    write.fail(issues.FAILED.error(query="of a commit", reason=f"{type(error).__name__}: {error}"))
            else:
                self._complete(members, results)

    def _complete(self, members: list[_GroupMember], results: list[TransactionResult]) -> None:
        self._failure.end()
        topics: set[str] = set()
        for member, result in zip(members, results, strict=True):
            topics |= result.topics
            for notice in result.notices:
                changes.info("%s", notice.text, extra={"kind": notice.kind})
            values = [result.value] if member.writes[0].batch is None else result.value
            for write, value in zip(member.writes, values, strict=True):
                write.succeed(value)
        if topics:
            self._wake(frozenset(topics))


def _split_alone(group: list[_PendingWrite]) -> list[list[_PendingWrite]]:
    """Split a group: first all writes that can share a commit, then each write that must be committed alone."""
    alone = [[write] for write in group if write.is_alone]
    return [[write for write in group if not write.is_alone], *alone]


def _group_members(group: list[_PendingWrite]) -> list[_GroupMember]:
    """Make the transactions of a group. No writer of a group waits for another one, so a batch may run where its first item stands."""
    members: list[_GroupMember] = []
    batches: dict[BatchTransaction[Any, Any], list[_PendingWrite]] = {}
    for write in group:
        if write.batch is None:
            assert write.factory is not None, "a write has a transaction or a batch"
            members.append(_GroupMember(write.factory, [write]))
        elif write.batch in batches:
            batches[write.batch].append(write)
        else:
            writes = batches[write.batch] = [write]
            # The list grows until the transaction begins.
            members.append(_GroupMember(partial(_run_batch, write.batch, writes), writes))
    return members


def _run_batch(batch: BatchTransaction[Any, Any], writes: list[_PendingWrite]) -> Transaction[Any]:
    return batch([write.item for write in writes])


def _writes(members: list[_GroupMember]) -> list[_PendingWrite]:
    return [write for member in members for write in member.writes]
