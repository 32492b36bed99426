"""Nodes that send facts over their sessions, as the agent's daemon does: a websocket on the server's one port, numbered records.

The protocol is spoken by hand and as thinly as it can be, because the load shares the processors with what it measures: frames are made
before the clock starts, and of what the server says only acknowledgements and wishes are looked at. A node is asked for nothing less
than a real one, and its records are numbered on from one connection to the next.
"""

import asyncio
import ssl
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import msgspec

from lab.fact_documents import name_of
from lab.fact_load import Line, Order, body_of, reopen
from lab.session import Store
from precast.agent.enrolment import Identity
from precast.wire import session
from precast.wire.session import Ack, FromServer, Record, Want, Welcome

UPGRADE = (
    b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n" % session.PATH.encode()
)
SHORT, LONG = 126, 127


def frame(message: bytes) -> bytes:
    """A client's frame. A mask of zeros is one: the server takes it off as any other."""
    size = len(message)
    if size < SHORT:
        head = bytes([0x82, 0x80 | size])
    elif size < 1 << 16:
        head = bytes([0x82, 0x80 | SHORT]) + size.to_bytes(2)
    else:
        head = bytes([0x82, 0x80 | LONG]) + size.to_bytes(8)
    return head + bytes(4) + message


class SessionWire(asyncio.Protocol):
    """One node's session; one record at a time."""

    def __init__(self, store: Store) -> None:
        self.store = store
        # A record is sent after the one before it was answered.
        self._line = Line(self._write)
        self.ask = self._line.ask
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._is_open = False
        self._welcome: asyncio.Future[FromServer] | None = None
        self.wanted = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is not one by its type

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._is_open:
            head, end, rest = self._buffer.partition(b"\r\n\r\n")
            if not end:
                return
            if not head.startswith(b"HTTP/1.1 101 "):
                self._fail(ConnectionError(head.decode(errors="replace")[:200]))
                return
            self._is_open, self._buffer = True, rest
        while (message := self._next()) is not None:
            self._hear(session.decode_from_server(message))

    def connection_lost(self, error: Exception | None) -> None:
        self._fail(error or ConnectionResetError())

    @property
    def is_open(self) -> bool:
        return self._is_open and self._transport is not None and not self._transport.is_closing()

    async def greet(self) -> None:
        """Open the session. Raises ConnectionError if that is refused."""
        assert self._transport is not None
        self.store.attempts.insert(0, uuid.uuid4().hex)
        self._welcome = asyncio.get_running_loop().create_future()
        self._transport.write(UPGRADE + frame(session.encode(self.store.hello())))
        welcome = await self._welcome
        if not isinstance(welcome, Welcome):
            raise ConnectionError(str(welcome))
        self.store.epoch = welcome.epoch
        del self.store.attempts[1:]

    def _write(self, request: bytes) -> None:
        assert self._transport is not None
        self.store.last += 1
        self._transport.write(request)

    def _next(self) -> bytes | None:
        """The next frame, if it is all there."""
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        at, size = 2, buffer[1]
        if size >= SHORT:
            at = 4 if size == SHORT else 10
            size = int.from_bytes(buffer[2:at])
        if len(buffer) < at + size:
            return None
        self._buffer = buffer[at + size :]
        return buffer[at : at + size]

    def _hear(self, message: FromServer) -> None:
        if isinstance(message, Want):
            self.wanted += 1
        elif self._welcome is not None and not self._welcome.done():
            self._welcome.set_result(message)
        elif isinstance(message, Ack) and message.through == self.store.last:
            self._line.answer(b"stored")
        else:
            self._line.answer(repr(message).encode())

    def _fail(self, error: Exception) -> None:
        if self._welcome is not None and not self._welcome.done():
            self._welcome.set_exception(error)
        else:
            self._line.answer(error)


class SessionNodes:
    """Nodes of ours, each with a session of its own."""

    def __init__(self, port: int, count: int, directory: Path) -> None:
        self._port, self._directory = port, directory
        self._stores = [Store() for _ in range(count)]
        self._made = [0] * count  # records
        self.wires = [SessionWire(store) for store in self._stores]

    async def connect(self) -> None:
        assert not any(wire.wanted for wire in self.wires), "the server wants facts that it should have"
        await reopen(self.wires, self._connect)

    def requests(self, order: Order) -> Iterator[tuple[int, bytes]]:
        at = datetime.now(UTC)
        for node in range(len(self._stores)):
            self._made[node] += 1
            body = msgspec.Raw(body_of(node, order))
            yield node, frame(session.encode(Record(self._made[node], session.FACTS, at, body)))

    def is_good(self, order: Order, answer: bytes) -> bool:
        return answer == b"stored"

    async def _connect(self, node: int) -> SessionWire:
        context: ssl.SSLContext = Identity(self._directory / "nodes" / name_of(node)).context()
        _, wire = await asyncio.get_running_loop().create_connection(
            lambda: SessionWire(self._stores[node]), "127.0.0.1", self._port, ssl=context
        )
        await wire.greet()
        return wire
