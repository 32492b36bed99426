"""One node's open connection on this server: its frames, what waits to be stored, how far it was sent to.

It is small, because there are thousands of it: no task and no timer of its own while nothing happens.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from aiohttp import web

from precast.api.http.routes import Node
from precast.api.sessions import frames
from precast.api.sessions.arrivals import Arrivals
from precast.api.sessions.intake import Intake
from precast.base.errors import PrecastError
from precast.services.sessions.served import Served
from precast.services.sessions.sessions import Begun, RecordKind, SessionService, SetBack, Source, Taken
from precast.wire import sessions as session
from precast.wire.sessions import Ack, Message, Record, Released, Resend

log = logging.getLogger("precast.sessions")

# Beyond this many records, or bytes, nothing more is read from a node until they are stored.
MAX_PENDING = 256
MAX_PENDING_BYTES = 1024 * 1024
# What one node may have stored: so many records and bytes in a second, with this much of it at once. Beyond that it is read slowly.
RECORDS_PER_S = 500
BYTES_PER_S = 2 * 1024 * 1024
BURST_S = 4.0
# Records sent to a node and not confirmed; more wait in the database.
WINDOW = 64
# A node that does not take what is sent for this long is cut off.
SEND_S = 20.0
LOOK_EVERY_S = 0.1


class Wire(Protocol):
    """What brings the node's bytes, and ours to the node."""

    transport: asyncio.Transport | None

    @property
    def writing_paused(self) -> bool: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Shared(NamedTuple):
    """What the connections of a process have in common."""

    intake: Intake
    arrivals: Arrivals


class Connection:
    """Owned by the handler of its websocket, known to the hub. Whoever stores its records tells it what became of them."""

    __slots__ = (
        "_allowed_s",
        "_arrivals",
        "_ending",
        "_held_bytes",
        "_intake",
        "_is_settled",
        "_is_storing",
        "_kinds",
        "_pending",
        "_pending_bytes",
        "_pushing",
        "_room",
        "_service",
        "_socket",
        "_stand",
        "_storing_bytes",
        "_stream",
        "_telling",
        "_trimmed",
        "_wire",
        "confirmed",
        "epoch",
        "heard_s",
        "hears_hints",
        "is_held_up",
        "node",
        "sent",
        "served",
    )

    def __init__(
        self,
        socket: web.WebSocketResponse,
        node: Node,
        instance: str,
        begun: Begun,
        received: int,
        service: SessionService,
        kinds: Mapping[str, RecordKind],
        shared: Shared,
        wire: Wire,
    ) -> None:
        self._socket = socket
        self._service = service
        self._kinds = kinds
        self._intake, self._arrivals = shared
        self._wire = wire
        self._held_bytes = 0
        self.node = node
        self._stream = (node.name, instance)
        self.epoch = begun.epoch
        self._stand = begun.stand
        self.hears_hints = begun.version >= session.WITH_HINTS
        self.served = begun.served  # as it was told
        self.heard_s = time.monotonic()
        self.is_held_up = False  # by us: nothing is read of it for lack of room
        self.sent = self.confirmed = received
        self._trimmed = 0  # what was confirmed through this number is removed
        self._pending: list[Record] = []
        self._pending_bytes = 0
        self._is_storing = False  # or is about to, or is answering
        self._is_settled = False
        self._storing_bytes = 0
        self._telling: asyncio.Task[None] | None = None  # what the node did not take at once
        self._ending: asyncio.Task[None] | None = None
        self._pushing = False
        self._room: asyncio.Event | None = None
        self._allowed_s = self.heard_s

    async def send(self, message: Message) -> None:
        """Send; who takes nothing is waited for until the deadline. What cannot be sent ends the connection, which is repeated from what
        is stored."""
        try:
            if self.is_clogged:
                await self._until_taken()
            self._write(message)
        except (TimeoutError, ConnectionError):
            self._end(session.CLOSE_SILENT, "nothing can be sent")

    def _write(self, message: Message) -> None:
        """Write, which waits for nobody: whoever calls has seen to it that the node takes what is sent. Raises ConnectionError."""
        transport = self._wire.transport
        if transport is None or transport.is_closing() or self._socket.closed:
            raise ConnectionResetError("the connection is being closed")
        transport.write(frames.binary(session.encode(message)))

    @property
    def is_clogged(self) -> bool:
        """Whether the node does not take what is sent."""
        return self._wire.writing_paused

    async def _until_taken(self) -> None:
        """Raises TimeoutError."""
        async with asyncio.timeout(SEND_S):
            while self.is_clogged:  # noqa: ASYNC110 - the wire tells nobody that it goes on
                await asyncio.sleep(LOOK_EVERY_S)

    def lacks(self, now: Served) -> bool:
        """Whether the node was not told of what it has now."""
        digest, policy = self.served
        return self.hears_hints and ((now.digest or digest) != digest or (now.policy or policy) != policy)

    async def tell(self, now: Served, spread_s: float) -> None:
        """Tell the node what it has now; what is not said is as it was."""
        self.served = Served(now.digest or self.served.digest, now.policy or self.served.policy)
        await self.send(Released(now.digest, now.policy, spread_s))

    async def close(self, code: int, why: str) -> None:
        with contextlib.suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(SEND_S):
                await self._socket.close(code=code, message=why.encode()[:120], drain=False)

    def _end(self, code: int, why: str) -> None:
        """Close, without waiting for it; nothing more is taken in."""
        if self._ending is None:
            self._ending = asyncio.create_task(self.close(code, why), name="precast-session-end")
        self._make_room()

    async def settle(self) -> None:
        """Let go of what is under way; the node repeats what was not acknowledged."""
        self._is_settled = True
        if self._telling is not None:
            self._telling.cancel()
        self._pending, self._pending_bytes, self._storing_bytes = [], 0, 0
        self._give_back(self._held_bytes)
        if self._ending is not None:
            await self._ending  # so that the node is told why

    def _give_back(self, size_bytes: int) -> None:
        self._held_bytes -= size_bytes
        self._intake.give(size_bytes)

    def hear(self, data: bytes) -> bool:
        """Take a record right when it comes, if nobody has to wait for that; False for everything else, which is the handler's."""
        if self._is_settled or self._intake.is_full or (self._pending and self._is_full):
            return False
        try:
            record = session.decode_from_node(data)
        except (ValueError, RecursionError):
            return False
        now_s = time.monotonic()
        if type(record) is not Record or self._allowed_s > now_s + BURST_S:
            return False
        self.heard_s = now_s
        size_bytes = len(memoryview(record.body))
        self._pace(now_s, size_bytes)
        self._keep(record, size_bytes)
        return True

    async def take(self, record: Record) -> None:
        """Have a record stored soon, together with those that come meanwhile. Waits while there are too many."""
        if self._ending is not None:
            return
        size_bytes = len(memoryview(record.body))
        if (ahead_s := self._pace(time.monotonic(), size_bytes)) > 0:
            await asyncio.sleep(ahead_s)
        if self._intake.is_full:
            await self._wait_for_room()
        self._keep(record, size_bytes)
        if self._is_full and self._ending is None:
            self._room = asyncio.Event()
            await self._room.wait()

    def _keep(self, record: Record, size_bytes: int) -> None:
        if self._ending is not None:
            return
        self._intake.take(size_bytes)
        self._held_bytes += size_bytes
        self._pending.append(record)
        self._pending_bytes += size_bytes
        if not self._is_storing:
            self._is_storing = True
            self._arrivals.add(self)

    @property
    def _is_full(self) -> bool:
        return len(self._pending) >= MAX_PENDING or self._pending_bytes >= MAX_PENDING_BYTES

    async def _wait_for_room(self) -> None:
        """Read nothing of this node until there is room: what it sends stays with the kernel, and then with the node."""
        self._wire.pause_reading()
        self.is_held_up = True
        try:
            await self._intake.wait()
        finally:
            self.is_held_up, self.heard_s = False, time.monotonic()
            self._wire.resume_reading()

    def _pace(self, now_s: float, size_bytes: int) -> float:
        """How long to wait until the node may have one more record of this size."""
        self._allowed_s = max(self._allowed_s, now_s) + 1 / RECORDS_PER_S + size_bytes / BYTES_PER_S
        return self._allowed_s - now_s - BURST_S

    async def confirm(self, through: int) -> None:
        """The node has stored what was for it."""
        if self.confirmed < through <= self.sent:
            self.confirmed = through
            await self._service.confirm(self.node.name, through)
            self._trimmed = through
            await self.push()

    async def repeat(self, after: int) -> None:
        """The node has not got what came after this number."""
        self.sent = max(self.confirmed, min(after, self.sent))
        await self.push()

    async def push(self) -> None:
        """Send what is for the node and was not sent yet, as far as the window reaches."""
        if self._pushing:
            return
        self._pushing = True
        try:
            while (room := WINDOW - (self.sent - self.confirmed)) > 0:
                after = self.sent
                records = await self._service.outgoing(self.node.name, after, room, self._trimmed)
                if not records and self.sent == after:
                    return
                for record in records:
                    if self.sent != after:
                        break  # meanwhile the node has asked for earlier ones
                    self.sent = after = record.number
                    await self.send(record)
        except SetBack:
            log.warning("what is for %s was set back to an earlier time; it has to come anew", self.node.name)
            self._end(session.CLOSE_UNSTORED, "the database was set back")
        finally:
            self._pushing = False

    def store(self) -> None:
        """Have what has come stored; `set_result` or `set_exception` goes on. The boundary of storing: a failure ends the connection."""
        if self._is_settled:
            return
        records, self._storing_bytes = self._pending, self._pending_bytes
        self._pending, self._pending_bytes = [], 0
        self._make_room()
        try:
            self._service.take_in(Source(self._stream, self.epoch, self._stand), records, self._kinds, self)
        except Exception as error:  # noqa: BLE001 - the boundary
            self._give_up(error)

    def done(self) -> bool:
        """Whether nobody waits for what is being stored."""
        return self._is_settled

    def set_result(self, taken: Taken | None) -> None:
        """It is stored; or the node has come anew, and it is not."""
        self._give_back_stored()
        if taken is None:
            self._end(session.CLOSE_FENCED, "the node has come anew")
        else:
            self._stand = taken.stand
            self._answer(taken)

    def set_exception(self, error: BaseException) -> None:
        """It is not stored."""
        self._give_back_stored()
        self._give_up(error)

    def _give_back_stored(self) -> None:
        self._give_back(self._storing_bytes)
        self._storing_bytes = 0

    def _give_up(self, error: BaseException) -> None:
        """What could not be stored or answered ends the connection; the node repeats it."""
        if isinstance(error, PrecastError):
            log.warning("records of %s are not stored: %s", self.node.name, error)
            self._end(session.CLOSE_UNSTORED, error.message)
        else:
            log.error("records of %s are not stored or not answered", self.node.name, exc_info=error)
            self._end(session.CLOSE_UNSTORED, "something went wrong here")

    def _answer(self, taken: Taken) -> None:
        """Tell the node what became of its records, then have those stored that came meanwhile. The boundary of telling: what a node does
        not take at once, it is told by a task of its own."""
        messages: list[Message] = [Ack(taken.stand.received), *taken.wants]
        if taken.has_gap:
            self._give_back(self._pending_bytes)
            self._pending, self._pending_bytes = [], 0
            self._make_room()
            messages.append(Resend(taken.stand.received))
        try:
            while messages and not self.is_clogged:
                self._write(messages.pop(0))
        except ConnectionError:
            self._end(session.CLOSE_SILENT, "nothing can be sent")
        except Exception as error:  # noqa: BLE001 - the boundary
            self._give_up(error)
        else:
            if messages:
                self._telling = asyncio.create_task(self._tell(messages), name="precast-session-answer")
            else:
                self._go_on()

    async def _tell(self, messages: Iterable[Message]) -> None:
        try:
            for message in messages:
                await self.send(message)
        except Exception as error:  # noqa: BLE001 - the same boundary
            self._give_up(error)
        else:
            self._go_on()

    def _go_on(self) -> None:
        if self._pending:
            self._arrivals.add(self)
        else:
            self._is_storing = False

    def _make_room(self) -> None:
        if self._room is not None:
            self._room.set()
            self._room = None
