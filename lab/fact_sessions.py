"""Nodes that send facts over their sessions, as the agent's daemon does: a websocket on the server's one port, numbered records.

The protocol is spoken by hand and as thinly as it can be, because the load shares the processors with what it measures: frames are made
before the clock starts, and of what the server says only acknowledgements and wishes are looked at. A node is asked for nothing less
than a real one, and its records are numbered on from one connection to the next.
"""

import ssl
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from lab.fact_documents import name_of
from lab.fact_load import Order, body_of
from lab.lines import READ_BYTES, Line, reopen
from lab.session import Store
from precast.agent.enrolment import Identity
from precast.wire import session
from precast.wire.facts import travelling
from precast.wire.session import Ack, Record, Welcome

UPGRADE = (
    b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n" % session.PATH.encode()
)
SHORT, LONG = 126, 127
STORED = b"stored"


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


class SessionLine(Line):
    """One node's session; one record at a time."""

    def __init__(self, port: int, context: ssl.SSLContext, store: Store) -> None:
        """Open the session. Raises ConnectionError if that is refused."""
        super().__init__(port, context)
        self._store = store
        self._expected = b""  # the frame that says that all is stored
        store.attempts.insert(0, uuid.uuid4().hex)
        self.socket.sendall(UPGRADE + frame(session.encode(store.hello())))
        while b"\r\n\r\n" not in self.buffer:
            self._read()
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 101 "):
            raise ConnectionError(head.decode(errors="replace")[:200])
        while (message := self._next()) is None:
            self._read()
        welcome = session.decode_from_server(message)
        if not isinstance(welcome, Welcome):
            raise ConnectionError(str(welcome))
        store.epoch = welcome.epoch
        del store.attempts[1:]

    def send(self, request: bytes) -> bool:
        self._store.last += 1
        said = session.encode(Ack(self._store.last))
        self._expected = bytes([0x82, len(said)]) + said
        return super().send(request)

    def cut(self) -> bytes | None:
        """What a node is told that has sent something, which is that it is stored."""
        if self.buffer == self._expected:
            self.buffer = b""
            return STORED
        message = self._next()
        return None if message is None else repr(session.decode_from_server(message)).encode()

    def _read(self) -> None:
        """Wait for more, while the session is being opened."""
        came = self.socket.recv(READ_BYTES)
        if not came:
            raise ConnectionResetError("the server has closed a connection")
        self.buffer += came

    def _next(self) -> bytes | None:
        """The next frame, if it is all there."""
        buffer = self.buffer
        if len(buffer) < 2:
            return None
        at, size = 2, buffer[1]
        if size >= SHORT:
            at = 4 if size == SHORT else 10
            size = int.from_bytes(buffer[2:at])
        if len(buffer) < at + size:
            return None
        self.buffer = buffer[at + size :]
        return buffer[at : at + size]


class SessionNodes:
    """Nodes of ours, each with a session of its own."""

    def __init__(self, port: int, count: int, directory: Path) -> None:
        self._port, self._directory = port, directory
        self._stores = [Store() for _ in range(count)]
        self._made = [0] * count  # records
        self.lines: list[SessionLine] = []

    def connect(self) -> None:
        reopen(self.lines, self._connect, len(self._stores))

    def requests(self, order: Order) -> Iterator[tuple[int, bytes]]:
        at = datetime.now(UTC)
        for node in range(len(self._stores)):
            self._made[node] += 1
            body = msgspec.Raw(body_of(node, order))
            record = travelling(Record(self._made[node], session.FACTS, at, body))
            yield node, frame(session.encode(record))

    def is_good(self, order: Order, answer: bytes) -> bool:
        return answer == STORED

    def _connect(self, node: int) -> SessionLine:
        context = Identity(self._directory / "nodes" / name_of(node)).context()
        return SessionLine(self._port, context, self._stores[node])
