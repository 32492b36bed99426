"""The open connection of one node: the records that it has sent and that are not stored yet, and its position in the stream of orders.

A server has thousands of connections, so each is small: an idle one has no task and no timer.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from aiohttp import web

from precast.api.http.responses import conceal
from precast.api.http.routes import NodeCaller
from precast.api.sessions import frames
from precast.api.sessions.receive_budget import ReceiveBudget
from precast.api.sessions.store_batch import StoreBatch
from precast.base.errors import PrecastError
from precast.services.jobs.flow.intake_lag import IntakeLag
from precast.services.sessions.orders import OrderService, StreamRewound
from precast.services.sessions.record_intake import RecordIntake, RecordKind, RecordSource, StoredRecords
from precast.services.sessions.served_state import ServedState
from precast.services.sessions.sessions import AcceptedSession
from precast.wire import sessions as session
from precast.wire.sessions import Ack, Message, Record, Released, Resend

log = logging.getLogger("precast.sessions")

# A node with this many records or bytes that are not stored yet is not read until they are.
MAX_PENDING = 256
MAX_PENDING_BYTES = 1024 * 1024
# The rate limit of one node: records and bytes per second, with a burst of this many seconds. Beyond it the node is read slowly.
RECORDS_PER_S = 500
BYTES_PER_S = 2 * 1024 * 1024
BURST_S = 4.0
# The send window: at most this many records to a node are unconfirmed; further ones stay in the database.
WINDOW = 64
# A node that reads nothing for this long is disconnected.
SEND_S = 20.0
WRITABLE_CHECK_S = 0.1


class HttpProtocol(Protocol):
    """The flow control of aiohttp's protocol object for a connection."""

    transport: asyncio.Transport | None

    @property
    def writing_paused(self) -> bool: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class SharedState(NamedTuple):
    """The state that all connections of a process share."""

    budget: ReceiveBudget
    batch: StoreBatch
    lag: IntakeLag


class Connection:
    """Owned by the handler of its websocket, and registered at the endpoint. It is also the `Completion` of its own writes: the committer
    calls `set_result` or `set_exception` directly."""

    __slots__ = (
        "_batch",
        "_budget",
        "_budgeted_bytes",
        "_close_task",
        "_confirmed",
        "_has_unread",
        "_is_batched",
        "_is_detached",
        "_is_pushing",
        "_is_storing",
        "_kinds",
        "_lag",
        "_next_allowed_s",
        "_orders",
        "_pending",
        "_pending_bytes",
        "_position",
        "_protocol",
        "_records",
        "_reply_task",
        "_socket",
        "_space_freed",
        "_storing_bytes",
        "_stream",
        "_trimmed",
        "announced",
        "confirmed",
        "epoch",
        "is_paused",
        "last_heard_s",
        "node",
        "sent",
    )

    def __init__(
        self,
        socket: web.WebSocketResponse,
        node: NodeCaller,
        instance: str,
        accepted: AcceptedSession,
        received: int,
        records: RecordIntake,
        orders: OrderService,
        kinds: Mapping[str, RecordKind],
        shared: SharedState,
        protocol: HttpProtocol,
    ) -> None:
        self._socket = socket
        self._records = records
        self._orders = orders
        self._kinds = kinds
        self._budget, self._batch, self._lag = shared
        self._protocol = protocol
        self._budgeted_bytes = 0
        self.node = node
        self._stream = (node.name, instance)
        self.epoch = accepted.epoch
        self._position = accepted.position
        self.announced = accepted.served  # the catalog and policy that the node was told about
        self.last_heard_s = time.monotonic()
        self.is_paused = False  # the server does not read from the node, because the receive budget is used up
        self.sent = self.confirmed = received
        self._confirmed = 0  # records up to this number are confirmed, and to be deleted with the next batch
        self._trimmed = 0  # records up to this number are confirmed and deleted
        self._pending: list[Record] = []
        self._pending_bytes = 0
        self._is_batched = False  # it is in the batch of connections that have something to store
        self._is_storing = False  # until the reply is written
        self._is_detached = False
        self._storing_bytes = 0
        self._reply_task: asyncio.Task[None] | None = None  # sends a reply while writing is paused
        self._close_task: asyncio.Task[None] | None = None
        self._is_pushing = False
        self._has_unread = False  # the stream may have records that were not read
        self._space_freed: asyncio.Event | None = None
        self._next_allowed_s = self.last_heard_s

    @property
    def name(self) -> str:
        """The name of the node."""
        return self.node.name

    def send_now(self, message: Message) -> bool:
        """Send a message without waiting; False if the node does not read, or the connection is being closed."""
        try:
            if self.is_write_paused:
                return False
            self._write(message)
        except ConnectionError:
            return False
        return True

    async def send(self, message: Message) -> None:
        """Send a message. If the node does not read within `SEND_S`, the connection ends, and the next one repeats what is stored."""
        try:
            if self.is_write_paused:
                await self._wait_until_writable()
            self._write(message)
        except (TimeoutError, ConnectionError):
            self.end(session.CLOSE_SILENT, "the node does not read")

    def _write(self, message: Message) -> None:
        """Write a frame without waiting; callers check `is_write_paused` first. Raises ConnectionError."""
        transport = self._protocol.transport
        if transport is None or transport.is_closing() or self._socket.closed:
            raise ConnectionResetError("the connection is being closed")
        transport.write(frames.encode_binary(session.encode(message)))

    @property
    def is_write_paused(self) -> bool:
        """Whether the node does not read, so that the write buffer is above its limit."""
        return self._protocol.writing_paused

    async def _wait_until_writable(self) -> None:
        """Raises TimeoutError."""
        async with asyncio.timeout(SEND_S):
            while self.is_write_paused:  # noqa: ASYNC110 - aiohttp's protocol has no event for it
                await asyncio.sleep(WRITABLE_CHECK_S)

    def needs_announcement(self, now: ServedState) -> bool:
        """Whether the node has not been told about this catalog or policy."""
        digest, policy = self.announced
        return (now.digest or digest) != digest or (now.policy or policy) != policy

    async def announce(self, now: ServedState, spread_s: float) -> None:
        """Tell the node about a new catalog or policy. An empty field has not changed."""
        self.announced = ServedState(now.digest or self.announced.digest, now.policy or self.announced.policy)
        await self.send(Released(now.digest, now.policy, spread_s))

    async def close(self, code: int, why: str) -> None:
        with contextlib.suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(SEND_S):
                await self._socket.close(code=code, message=why.encode()[:120], drain=False)

    def end(self, code: int, why: str) -> None:
        """Close the connection in the background. No further record is accepted."""
        if self._close_task is None:
            self._close_task = asyncio.create_task(self.close(code, why), name="precast-session-end")
        self._signal_space()

    async def detach(self) -> None:
        """Drop all records that are not acknowledged, and free their budget; the node sends them again."""
        self._is_detached = True
        self._lag.commit(self)
        if self._reply_task is not None:
            self._reply_task.cancel()
        self._pending, self._pending_bytes, self._storing_bytes = [], 0, 0
        self._free_budget(self._budgeted_bytes)
        if self._close_task is not None:
            await self._close_task  # so that the node receives the close code

    def _free_budget(self, size_bytes: int) -> None:
        self._budgeted_bytes -= size_bytes
        self._budget.release(size_bytes)

    def accept(self, data: bytes) -> bool:
        """Accept a message within the call that has received it, if that needs no waiting. False leaves the message to the handler."""
        if self._is_detached or self._budget.is_full or (self._pending and self._is_full):
            return False
        try:
            message = session.decode_from_node(data)
        except (ValueError, RecursionError):
            return False
        now_s = time.monotonic()
        if self._next_allowed_s > now_s + BURST_S:
            return False
        if type(message) is Record:
            size_bytes = len(memoryview(message.body))
            self._charge(now_s, size_bytes)
            self._enqueue(message, size_bytes)
        elif type(message) is Ack and not self._has_unread:
            self._charge(now_s, 0)
            self._confirm(message.through)
        else:
            return False
        self.last_heard_s = now_s
        return True

    async def receive(self, record: Record) -> None:
        """Queue a record for the next batch. Waits while the node exceeds its rate, or too many records are pending."""
        if self._close_task is not None:
            return
        size_bytes = len(memoryview(record.body))
        if (ahead_s := self._charge(time.monotonic(), size_bytes)) > 0:
            await asyncio.sleep(ahead_s)
        if self._budget.is_full:
            await self._wait_for_budget()
        self._enqueue(record, size_bytes)
        if self._is_full and self._close_task is None:
            self._space_freed = asyncio.Event()
            await self._space_freed.wait()

    def _enqueue(self, record: Record, size_bytes: int) -> None:
        if self._close_task is not None:
            return
        self._budget.acquire(size_bytes)
        self._budgeted_bytes += size_bytes
        self._pending.append(record)
        self._pending_bytes += size_bytes
        if not self._is_storing:
            self._join_batch()

    def _join_batch(self) -> None:
        if not self._is_batched:
            self._is_batched = True
            self._batch.add(self)

    @property
    def _is_full(self) -> bool:
        return len(self._pending) >= MAX_PENDING or self._pending_bytes >= MAX_PENDING_BYTES

    async def _wait_for_budget(self) -> None:
        """Stop reading from this node until budget is free. Backpressure: first the kernel's buffers fill, then the node waits."""
        self._protocol.pause_reading()
        self.is_paused = True
        try:
            await self._budget.wait_for_space()
        finally:
            self.is_paused, self.last_heard_s = False, time.monotonic()
            self._protocol.resume_reading()

    async def pace(self, records: int = 1) -> None:
        """Wait while the node exceeds its rate. `records` is what a frame other than a record costs, in records."""
        if (ahead_s := self._charge(time.monotonic(), 0, records)) > 0:
            await asyncio.sleep(ahead_s)

    def _charge(self, now_s: float, size_bytes: int, records: int = 1) -> float:
        """Charge a record to the node's rate limit and return how long to wait before accepting it."""
        self._next_allowed_s = max(self._next_allowed_s, now_s) + records / RECORDS_PER_S + size_bytes / BYTES_PER_S
        return self._next_allowed_s - now_s - BURST_S

    async def confirm(self, through: int) -> None:
        """Handle the node's acknowledgement: it has stored the records up to this number. That may open the send window for others."""
        self._confirm(through)
        if self._has_unread:
            await self.push()

    def _confirm(self, through: int) -> None:
        if self.confirmed < through <= self.sent:
            self.confirmed = self._confirmed = through
            self._join_batch()

    def note_trimmed(self, through: int) -> None:
        """Records up to this number are deleted."""
        self._trimmed = max(self._trimmed, through)

    async def resend(self, after: int) -> None:
        """Send the records after this number again, because the node has not received them."""
        self.sent = max(self.confirmed, min(after, self.sent))
        await self.push()

    async def push(self) -> None:
        """Send the node's pending records, as far as the send window allows. A push that is under way reads again for this one."""
        self._has_unread = True
        if self._is_pushing:
            return
        self._is_pushing = True
        try:
            while self._has_unread and (window := WINDOW - (self.sent - self.confirmed)) > 0:
                after = self.sent
                self._has_unread = False
                records = await self._orders.read(self.node.name, after, window, self._trimmed)
                self._has_unread = self._has_unread or len(records) == window
                for record in records:
                    if self.sent != after:
                        break  # meanwhile the node has asked for earlier records
                    self.sent = after = record.number
                    await self.send(record)
        except StreamRewound:
            log.warning(
                "the order stream of %s was restored to an earlier state; the node has to reconnect", self.node.name
            )
            self.end(session.CLOSE_UNSTORED, "the database was restored to an earlier state")
        finally:
            self._is_pushing = False

    def store(self) -> None:
        """Submit the pending records; `set_result` or `set_exception` is called when they are stored. A failure ends the connection.

        What the node has confirmed is deleted in the same batch, even if the connection has ended.
        """
        self._is_batched = False
        if self._confirmed:
            self._orders.confirm(self.node.name, self._confirmed, _Confirmation(self))
            self._confirmed = 0
        if self._is_detached or self._is_storing or not self._pending:
            return
        self._is_storing = True
        records, self._storing_bytes = self._pending, self._pending_bytes
        self._pending, self._pending_bytes = [], 0
        self._signal_space()
        self._lag.arrive(self)
        try:
            self._records.submit(RecordSource(self._stream, self.epoch, self._position), records, self._kinds, self)
        except Exception as error:  # noqa: BLE001 - the boundary
            self.fail(error)

    def done(self) -> bool:
        """Whether the result of the current write is no longer needed."""
        return self._is_detached

    def set_result(self, stored: StoredRecords | None) -> None:
        """Reply that the records are stored. None means that a newer connection of the node has fenced this one."""
        self._free_stored()
        if stored is None:
            self.end(session.CLOSE_FENCED, "the node has reconnected")
        else:
            self._position = stored.position
            self._reply(stored)

    def set_exception(self, error: BaseException) -> None:
        """End the connection: the records are not stored."""
        self._free_stored()
        self.fail(error)

    def _free_stored(self) -> None:
        self._lag.commit(self)
        self._free_budget(self._storing_bytes)
        self._storing_bytes = 0

    def fail(self, error: BaseException) -> None:
        """End the connection because records could not be stored or acknowledged; the node sends them again."""
        if isinstance(error, PrecastError):
            log.warning("records of %s are not stored: %s", self.node.name, error)
            self.end(session.CLOSE_UNSTORED, conceal(error).message)
        else:
            log.error("records of %s are not stored or not acknowledged", self.node.name, exc_info=error)
            self.end(session.CLOSE_UNSTORED, "internal error")

    def _reply(self, stored: StoredRecords) -> None:
        """Acknowledge the stored records, then store those that arrived meanwhile. If writing is paused, a task sends the rest of the
        reply. This is the boundary of replies: a failure ends the connection."""
        messages: list[Message] = [Ack(stored.position.received), *stored.wants]
        if stored.has_gap:
            self._free_budget(self._pending_bytes)
            self._pending, self._pending_bytes = [], 0
            self._signal_space()
            messages.append(Resend(stored.position.received))
        try:
            while messages and not self.is_write_paused:
                self._write(messages.pop(0))
        except ConnectionError:
            self.end(session.CLOSE_SILENT, "the node does not read")
        except Exception as error:  # noqa: BLE001 - the boundary
            self.fail(error)
        else:
            if messages:
                self._reply_task = asyncio.create_task(
                    self._reply_when_writable(messages), name="precast-session-answer"
                )
            else:
                self._store_next()

    async def _reply_when_writable(self, messages: Iterable[Message]) -> None:
        try:
            for message in messages:
                await self.send(message)
        except Exception as error:  # noqa: BLE001 - the same boundary
            self.fail(error)
        else:
            self._store_next()

    def _store_next(self) -> None:
        self._is_storing = False
        if self._pending:
            self._join_batch()

    def _signal_space(self) -> None:
        if self._space_freed is not None:
            self._space_freed.set()
            self._space_freed = None


class _Confirmation:
    """The `Completion` of the deletion of records that a node has confirmed."""

    __slots__ = ("_connection",)

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def done(self) -> bool:
        """Never: the records are deleted even if the connection has ended."""
        return False

    def set_result(self, through: int) -> None:
        self._connection.note_trimmed(through)

    def set_exception(self, error: BaseException) -> None:
        self._connection.fail(error)
