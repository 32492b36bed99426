"""Nodes that send facts over their sessions, as the agent's daemon does: numbered records on a websocket on the server's one port.

This module implements the protocol itself, with little overhead, because the load shares the processors with the server that it
measures. Frames are built and encrypted before the clock starts, and responses are decrypted and checked after it has stopped; in
between, a node recognises a response by its length. The server does the same work as for a real node, and the record numbers continue
from one connection to the next.
"""

import ssl
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from lab.fact_documents import name_of
from lab.fact_load import FactBatch, Senders, body_of
from lab.load_connections import GOOD_BYE, LoadConnection, reopen
from lab.session import Store
from precast.agent.identity.enrolment import Identity
from precast.wire import sessions as session
from precast.wire.facts import compress_facts
from precast.wire.sessions import Ack, Record, Welcome

UPGRADE = (
    b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n" % session.PATH.encode()
)
SHORT, LONG = 126, 127
READ_BYTES = 4096
# The overhead of a TLS 1.3 record: header, content type and authentication tag.
SEAL_BYTES = 5 + 1 + 16
SEALED = (b"an answer",)
STORED = b"stored"


def frame(message: bytes) -> bytes:
    """A client's frame. Its mask is all zeros, which is valid: the server unmasks it like any other."""
    size = len(message)
    if size < SHORT:
        head = bytes([0x82, 0x80 | size])
    elif size < 1 << 16:
        head = bytes([0x82, 0x80 | SHORT]) + size.to_bytes(2)
    else:
        head = bytes([0x82, 0x80 | LONG]) + size.to_bytes(8)
    return head + bytes(4) + message


class SessionConnection(LoadConnection):
    """One node's session, with one record in flight."""

    def __init__(self, port: int, context: ssl.SSLContext, store: Store, expected: deque[bytes]) -> None:
        """Open the session. `expected` are the acknowledgement frames of the records, in order. Raises ConnectionError if the server
        refuses the session."""
        super().__init__(port)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname="127.0.0.1")
        self._store = store
        self._expected = expected
        self._due: deque[int] = deque()  # encrypted lengths of the expected responses
        self._sealed: list[bytes] = []  # received and not yet decrypted
        self._sealed_bytes = 0
        self._shake_hands()
        store.attempts.insert(0, uuid.uuid4().hex)
        self.socket.sendall(self._seal(UPGRADE + frame(session.encode(store.hello()))))
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

    def seal(self, record: bytes) -> bytes:
        """Encrypt the frame of the next record."""
        self._due.append(len(self._expected[len(self._due)]) + SEAL_BYTES)
        self._store.last += 1
        return self._seal(record)

    def hear(self) -> Sequence[bytes]:
        """Receive data, and recognise a complete response by its length."""
        try:
            received = self.socket.recv(READ_BYTES)
        except BlockingIOError:
            return ()
        if not received:
            raise ConnectionResetError("the server has closed a connection")
        if not self._due:
            self._open(received)
            raise ConnectionResetError(f"the server has sent an unexpected message: {self.buffer[:200]!r}")
        self._sealed.append(received)
        self._sealed_bytes += len(received)
        if self._sealed_bytes < self._due[0]:
            return ()
        self._sealed_bytes -= self._due.popleft()
        return SEALED

    def answers(self) -> Iterator[bytes]:
        """Decrypt the messages received since the last call."""
        self._open(b"".join(self._sealed))
        self._sealed.clear()
        self._sealed_bytes = 0
        while self.buffer:
            if self._expected and self.buffer.startswith(self._expected[0]):
                self.buffer = self.buffer[len(self._expected.popleft()) :]
                yield STORED
            elif (message := self._next()) is None:
                return
            else:
                yield repr(session.decode_from_server(message)).encode()

    def is_open(self) -> bool:
        try:
            self._open(self.socket.recv(READ_BYTES))
        except BlockingIOError:
            return True
        except OSError:
            return False
        assert not self.buffer or self.buffer.startswith(GOOD_BYE), self.buffer[:200]
        return False

    def _shake_hands(self) -> None:
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self.socket.sendall(self._outgoing.read())
                self._incoming.write(self._receive())
            else:
                self.socket.sendall(self._outgoing.read())
                return

    def _seal(self, data: bytes) -> bytes:
        while data:
            data = data[self._tls.write(data) :]
        return self._outgoing.read()

    def _open(self, sealed: bytes) -> None:
        """Decrypt data and append it to the buffer."""
        self._incoming.write(sealed)
        try:
            while more := self._tls.read(READ_BYTES):
                self.buffer += more
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            return

    def _read(self) -> None:
        """Wait for more data while the session is being opened."""
        self._open(self._receive())

    def _receive(self) -> bytes:
        received = self.socket.recv(READ_BYTES)
        if not received:
            raise ConnectionResetError("the server has closed a connection")
        return received

    def _next(self) -> bytes | None:
        """The payload of the next frame, or None if the frame is incomplete."""
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


class SessionSenders(Senders):
    """Nodes of Precast, each with its own session."""

    def __init__(self, port: int, count: int, directory: Path) -> None:
        self._port, self._directory = port, directory
        self._stores = [Store() for _ in range(count)]
        self._made = [0] * count  # records
        self._expected: list[deque[bytes]] = [deque() for _ in range(count)]
        self.lines: list[SessionConnection] = []

    def connect(self) -> None:
        reopen(self.lines, self._connect, len(self._stores))

    def requests(self, batch: FactBatch) -> Iterator[tuple[int, bytes]]:
        at = datetime.now(UTC)
        for node in range(len(self._stores)):
            self._made[node] += 1
            body = msgspec.Raw(body_of(node, batch))
            record = compress_facts(Record(self._made[node], session.FACTS, at, body))
            acknowledgement = session.encode(Ack(record.number))
            self._expected[node].append(bytes([0x82, len(acknowledgement)]) + acknowledgement)
            yield node, frame(session.encode(record))

    def seal(self, requests: Sequence[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        return [(node, self.lines[node].seal(record)) for node, record in requests]

    def open(self, answers: Sequence[bytes]) -> list[bytes]:
        return [answer for line in self.lines for answer in line.answers()]

    def is_good(self, batch: FactBatch, answer: bytes) -> bool:
        return answer == STORED

    def _connect(self, node: int) -> SessionConnection:
        context = Identity(self._directory / "nodes" / name_of(node)).context()
        return SessionConnection(self._port, context, self._stores[node], self._expected[node])
