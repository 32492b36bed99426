"""Exchanges records with a server over one open connection.

The node sends the records of its spool in their order, as far as the send window allows. The server acknowledges the records that it
has stored, or asks for them again from a number on. The node stores each record of the server once, before it acknowledges it. It asks
once for records that are missing between two numbers; if the server sends the same record again, the missing ones no longer exist (the
local store is newer than the server's copy of the stream), and the node accepts the gap.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable
from typing import Protocol

from precast.agent.connection.backoff import EndReason
from precast.agent.connection.session_socket import ConnectionEnded, SessionSocket
from precast.agent.futures.subscriptions import Subscriptions
from precast.agent.orders.registry import OrderRegistry, StoredOrder
from precast.agent.state.spool import Spool
from precast.agent.state.store import LocalStore
from precast.base.errors import PrecastError
from precast.wire import sessions as session
from precast.wire.facts import compress_facts
from precast.wire.sessions import (
    Ack,
    FactsWanted,
    FromServer,
    Message,
    Reconnect,
    Record,
    Released,
    Resend,
    Values,
    Welcome,
)

log = logging.getLogger("precast.agent")

SEND_S = 60.0
# In flight: sent and not acknowledged. The server sets the limit in bytes (`Welcome.window_bytes`).
WINDOW_RECORDS = 256
# Read from the store in one go; small, so that an agent with a full spool stays small.
BATCH_RECORDS = 32
BATCH_BYTES = 256 * 1024


class SessionListener(Protocol):
    """Is notified of what happens in a session."""

    def on_welcome(self, url: str, welcome: Welcome) -> None:
        """A session has begun."""

    def on_order(self, order: StoredOrder) -> None:
        """An order of the server was stored."""

    def on_released(self, released: Released) -> None:
        """The server has another catalog or another policy for this node."""

    def on_facts_wanted(self) -> None:
        """The server lacks the stable facts; the store has noted that."""


class RecordExchange:
    """The exchange on one connection, after the welcome. It owns the socket."""

    def __init__(
        self,
        socket: SessionSocket,
        store: LocalStore,
        spool: Spool,
        orders: OrderRegistry,
        listener: SessionListener,
        begin: int,
        subscriptions: Subscriptions,
    ) -> None:
        """`begin` is the number after which the records of this node are sent."""
        self._socket = socket
        self._store = store
        self._spool = spool
        self._orders = orders
        self._listener = listener
        self._subscriptions = subscriptions
        self._sent = begin
        self._in_flight: dict[int, int] = {}
        self._last_send_s = time.monotonic()
        self._gap_at: int | None = None

    async def run(self, welcome: Welcome, has_records: asyncio.Event, must_leave: asyncio.Event) -> None:
        """Exchange records until the connection ends. Always raises ConnectionEnded. Cancelling closes the connection."""
        try:
            # In a task of its own: with Python before 3.11.3 deadlines have no effect in a task in which a group has failed.
            await asyncio.create_task(self._exchange(welcome, has_records, must_leave), name="precast-exchange")
        finally:
            await self._socket.close()

    async def _exchange(self, welcome: Welcome, has_records: asyncio.Event, must_leave: asyncio.Event) -> None:
        ended: ConnectionEnded | None = None
        try:
            async with asyncio.TaskGroup() as tasks:
                for part in (
                    self._send_records(has_records, welcome.window_bytes),
                    self._receive(has_records),
                    self._keep_alive(welcome.heartbeat_s),
                    self._leave_after(welcome.cycle_s),
                    self._leave_on(must_leave),
                ):
                    tasks.create_task(_translate_errors(part))
        except* ConnectionEnded as group:
            ended = _first(group)  # raised below: here Python before 3.11.4 would wrap it into another group
        assert ended is not None, "no part ends without an exception"
        raise ended

    async def _send_records(self, has_records: asyncio.Event, window_bytes: int) -> None:
        while True:
            has_records.clear()
            for subscribe in self._subscriptions.take_unsent():
                await self._send(subscribe)
            batch = self._next_batch(window_bytes)
            for record in batch:
                if record.number != self._sent + 1:
                    break  # meanwhile the server has asked for earlier records again
                self._sent = record.number
                self._in_flight[record.number] = len(bytes(record.body))
                await self._send(compress_facts(record))
            if not batch:
                await has_records.wait()

    def _next_batch(self, window_bytes: int) -> list[Record]:
        records = min(BATCH_RECORDS, WINDOW_RECORDS - len(self._in_flight))
        room_bytes = min(BATCH_BYTES, window_bytes - sum(self._in_flight.values()))
        if records <= 0 or (room_bytes <= 0 and self._in_flight):
            return []
        # A record that is larger than the window is sent alone.
        return self._spool.next_batch(self._sent, records, room_bytes, least=0 if self._in_flight else 1)

    async def _receive(self, has_records: asyncio.Event) -> None:
        while True:
            frame = await self._socket.recv()
            try:
                message = session.decode_from_server(frame)
            except (ValueError, RecursionError) as error:
                raise ConnectionEnded(EndReason.FAILED, "the server does not speak this protocol") from error
            await self._handle(message)
            has_records.set()

    async def _handle(self, message: FromServer) -> None:
        match message:
            case Record():
                await self._receive_record(message)
            case Ack(through):
                self._spool.acknowledge(min(through, self._sent))
                self._in_flight = {number: size for number, size in self._in_flight.items() if number > through}
            case Resend(after):
                first, _ = self._spool.number_range()
                self._sent = min(self._sent, max(after, first - 1))
                self._in_flight = {number: size for number, size in self._in_flight.items() if number <= self._sent}
            case FactsWanted():
                self._store.set_facts_digest("")
                self._listener.on_facts_wanted()
            case Released():
                self._listener.on_released(message)
            case Values():
                self._subscriptions.receive(message)
            case Reconnect(why, after_s, spread_s):
                raise ConnectionEnded(EndReason.MOVED, why, (after_s, after_s + spread_s))
            case _:
                raise ConnectionEnded(EndReason.FAILED, "the server sent a message that is out of place")

    async def _receive_record(self, record: Record) -> None:
        """Store a record of the server, then acknowledge it."""
        received = self._store.session_state().received
        is_next = record.number == received + 1 or record.number == self._gap_at
        if record.number > received and not is_next:
            if self._gap_at is None:
                self._gap_at = record.number
                await self._send(Resend(received))
            return
        if record.number > received:
            self._gap_at = None
            if (order := self._orders.receive(record)) is not None:
                self._listener.on_order(order)
        await self._send(Ack(max(record.number, received)))

    async def _send(self, message: Message) -> None:
        async with asyncio.timeout(SEND_S):
            await self._socket.send(session.encode(message))
        self._last_send_s = time.monotonic()

    async def _keep_alive(self, heartbeat_s: float) -> None:
        """Send a ping when nothing was sent for `heartbeat_s`. The connection has failed if no pong comes within the same time."""
        while True:
            quiet_s = time.monotonic() - self._last_send_s
            if quiet_s < heartbeat_s:
                await asyncio.sleep(heartbeat_s - quiet_s)
                continue
            self._last_send_s = time.monotonic()
            try:
                async with asyncio.timeout(heartbeat_s):
                    await self._socket.ping()
            except TimeoutError:
                raise ConnectionEnded(EndReason.FAILED, f"the server sent nothing for {heartbeat_s:g} s") from None

    async def _leave_after(self, cycle_s: float) -> None:
        await asyncio.sleep(cycle_s)
        raise ConnectionEnded(EndReason.CYCLED, "the connection has reached its planned age")

    async def _leave_on(self, must_leave: asyncio.Event) -> None:
        await must_leave.wait()
        raise ConnectionEnded(EndReason.OURS, "this agent needs a new connection")


async def _translate_errors(part: Awaitable[None]) -> None:
    """Await one part of an exchange, and turn every failure that can be expected into ConnectionEnded."""
    try:
        await part
    except TimeoutError:
        raise ConnectionEnded(EndReason.FAILED, f"the server accepted no data for {SEND_S:g} s") from None
    except PrecastError as error:
        raise ConnectionEnded(EndReason.LOCAL, f"{error.message} [{error.code}]") from error


def _first(group: BaseExceptionGroup[ConnectionEnded]) -> ConnectionEnded:
    """The exception that ended the exchange; the other parts may have raised theirs as a consequence."""
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
