"""Records both ways over one open connection.

Ours are sent from the spool in their order, as far as the window reaches; the server says up to where it has stored them, or from
where to begin again. The server's are stored before they are acknowledged, each once. A gap in them is asked for once; if the same
record comes again, what is missing does not exist any more (our store is newer than the server's memory of it), and we go on.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable
from typing import Protocol

import msgspec
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from precast.agent.connection.opening import Over, closed
from precast.agent.connection.pauses import Verdict
from precast.agent.orders.commands import ExecOrders
from precast.agent.orders.runs import Orders
from precast.agent.state.spool import Spool
from precast.agent.state.store import LocalStore
from precast.base.errors import PrecastError
from precast.wire import sessions as session
from precast.wire.facts import travelling
from precast.wire.jobs import orders as runs
from precast.wire.sessions import Ack, FromServer, Message, Reconnect, Record, Released, Resend, Want, Welcome

log = logging.getLogger("precast.agent")

SEND_S = 60.0
# In flight: sent, and not acknowledged yet. How many bytes of it there may be says the server.
WINDOW_RECORDS = 256
# Taken from the store at once, so that an agent with much to tell stays small.
BATCH_RECORDS = 32
BATCH_BYTES = 256 * 1024

# What is done as soon as it can be, once, however often it was ordered. Runs are each an order of its own: see `orders`.
_ORDERS: dict[str, type[session.CollectOrder | session.RenewOrder]] = {
    session.COLLECT: session.CollectOrder,
    session.RENEW: session.RenewOrder,
}


class Listener(Protocol):
    """Who wants to know what happens on a connection."""

    def on_welcome(self, url: str, welcome: Welcome) -> None:
        """A session has begun."""

    def on_order(self, kind: str, why: str) -> None:
        """A server has ordered something; it is in the store."""

    def on_released(self, released: Released) -> None:
        """Something else counts for this node, as the server says."""

    def on_want(self) -> None:
        """The server lacks the stable facts; the store knows."""


class Conversation:
    """A session that has begun. Owns the socket from now on."""

    def __init__(
        self, socket: ClientConnection, store: LocalStore, spool: Spool, listener: Listener, begin: int
    ) -> None:
        self._socket = socket
        self._store = store
        self._spool = spool
        self._listener = listener
        self._orders = Orders(store, spool)
        self._commands = ExecOrders(store, spool)
        self._sent = begin
        self._in_flight: dict[int, int] = {}
        self._said_s = time.monotonic()
        self._gap_at: int | None = None

    async def run(self, welcome: Welcome, has_records: asyncio.Event, must_leave: asyncio.Event) -> None:
        """Talk until it is over. Raises Over, always. Cancelling closes the connection."""
        try:
            # In a task of its own: with Python before 3.11.3 deadlines come to nothing in a task in which a group has failed.
            await asyncio.create_task(self._talk(welcome, has_records, must_leave), name="precast-conversation")
        finally:
            await self._socket.close()

    async def _talk(self, welcome: Welcome, has_records: asyncio.Event, must_leave: asyncio.Event) -> None:
        over: Over | None = None
        try:
            async with asyncio.TaskGroup() as tasks:
                for work in (
                    self._send_records(has_records, welcome),
                    self._receive(has_records),
                    self._keep_alive(welcome.heartbeat_s),
                    self._leave_in_time(welcome.cycle_s),
                    self._leave_when_told(must_leave),
                ):
                    tasks.create_task(_guarded(work))
        except* Over as group:
            over = _first(group)  # raised below: here Python before 3.11.4 would put it into a group again
        assert over is not None, "no part ends by itself"
        raise over

    async def _send_records(self, has_records: asyncio.Event, welcome: Welcome) -> None:
        while True:
            has_records.clear()
            batch = self._next(welcome.window_bytes)
            for record in batch:
                if record.number != self._sent + 1:
                    break  # the server wanted to begin again meanwhile
                self._sent = record.number
                self._in_flight[record.number] = len(bytes(record.body))
                await self._say(travelling(record, welcome.version))
            if not batch:
                await has_records.wait()

    def _next(self, window_bytes: int) -> list[Record]:
        records = min(BATCH_RECORDS, WINDOW_RECORDS - len(self._in_flight))
        room_bytes = min(BATCH_BYTES, window_bytes - sum(self._in_flight.values()))
        if records <= 0 or (room_bytes <= 0 and self._in_flight):
            return []
        # What is larger than the window goes alone.
        return self._spool.batch(self._sent, records, room_bytes, least=0 if self._in_flight else 1)

    async def _receive(self, has_records: asyncio.Event) -> None:
        while True:
            frame = await self._socket.recv(decode=False)
            try:
                message = session.decode_from_server(frame)
            except (ValueError, RecursionError) as error:
                raise Over(Verdict.FAILED, "it does not speak our protocol") from error
            await self._hear(message)
            has_records.set()

    async def _hear(self, message: FromServer) -> None:
        match message:
            case Record():
                await self._take(message)
            case Ack(through):
                self._spool.acknowledge(min(through, self._sent))
                self._in_flight = {number: size for number, size in self._in_flight.items() if number > through}
            case Resend(after):
                first, _ = self._spool.span()
                self._sent = min(self._sent, max(after, first - 1))
                self._in_flight = {number: size for number, size in self._in_flight.items() if number <= self._sent}
            case Want():
                self._store.know_facts("")
                self._listener.on_want()
            case Released():
                self._listener.on_released(message)
            case Reconnect(why, after_s, spread_s):
                raise Over(Verdict.MOVED, why, (after_s, after_s + spread_s))
            case _:
                raise Over(Verdict.FAILED, "it says welcome again")

    async def _take(self, record: Record) -> None:
        """Store a record of the server's, then acknowledge it."""
        received = self._store.standing().received
        is_next = record.number == received + 1 or record.number == self._gap_at
        if record.number > received and not is_next:
            if self._gap_at is None:
                self._gap_at = record.number
                await self._say(Resend(received))
            return
        if record.number > received:
            self._gap_at = None
            self._keep(record)
        await self._say(Ack(max(record.number, received)))

    def _keep(self, record: Record) -> None:
        if record.kind == runs.RUN:
            self._keep_run(record)
            return
        if record.kind == runs.EXEC:
            self._keep_command(record)
            return
        order = _ORDERS.get(record.kind)
        if order is None:
            log.warning("the server sent a record of unknown kind %.40r, which is passed over", record.kind)
            self._store.take(record, None)
            return
        try:
            why = msgspec.json.decode(record.body, type=order).why
        except (msgspec.MsgspecError, UnicodeDecodeError):
            why = ""  # what is to be done is clear all the same
        self._store.take(record, record.kind, why)
        self._listener.on_order(record.kind, why)

    def _keep_run(self, record: Record) -> None:
        try:
            order = msgspec.json.decode(record.body, type=runs.RunOrder)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            log.error("the server ordered a run in words that are not understood; it is passed over")
            self._store.take(record, None)
            return
        if self._orders.take(record, order):
            self._listener.on_order(runs.RUN, order.why)

    def _keep_command(self, record: Record) -> None:
        try:
            order = msgspec.json.decode(record.body, type=runs.ExecOrder)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            log.error("the server ordered a command in words that are not understood; it is passed over")
            self._store.take(record, None)
            return
        if self._commands.take(record, order):
            self._listener.on_order(runs.EXEC, order.why)

    async def _say(self, message: Message) -> None:
        async with asyncio.timeout(SEND_S):
            await self._socket.send(session.encode(message), text=True)
        self._said_s = time.monotonic()

    async def _keep_alive(self, heartbeat_s: float) -> None:
        """Ping when we have said nothing for so long; the connection is dead if no answer comes in the same time."""
        while True:
            quiet_s = time.monotonic() - self._said_s
            if quiet_s < heartbeat_s:
                await asyncio.sleep(heartbeat_s - quiet_s)
                continue
            self._said_s = time.monotonic()
            try:
                async with asyncio.timeout(heartbeat_s):
                    await (await self._socket.ping())
            except TimeoutError:
                raise Over(Verdict.FAILED, f"nothing was heard from it for {heartbeat_s:g} s") from None

    async def _leave_in_time(self, cycle_s: float) -> None:
        await asyncio.sleep(cycle_s)
        raise Over(Verdict.CYCLED, "it is time for a new connection")

    async def _leave_when_told(self, must_leave: asyncio.Event) -> None:
        await must_leave.wait()
        raise Over(Verdict.OURS, "a new connection is wanted here")


async def _guarded(work: Awaitable[None]) -> None:
    """One part of a conversation: whatever ends it is Over."""
    try:
        await work
    except ConnectionClosed as end:
        raise closed(end) from end
    except TimeoutError:
        raise Over(Verdict.FAILED, f"nothing could be sent to it for {SEND_S:g} s") from None
    except PrecastError as error:
        raise Over(Verdict.LOCAL, f"{error.message} [{error.code}]") from error


def _first(group: BaseExceptionGroup[Over]) -> Over:
    """What ended the conversation; parts that ended by it may have their own words for that."""
    found = group.exceptions[0]
    return _first(found) if isinstance(found, BaseExceptionGroup) else found
