"""One node's connection: it is rate-limited and bounded, and drops its records when it is detached."""

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from precast.api.http.routes import NODE, NodeCaller, person
from precast.api.sessions import connection as subject
from precast.api.sessions.connection import Connection, SharedState
from precast.api.sessions.messages import SessionMessages
from precast.api.sessions.receive_budget import ReceiveBudget
from precast.api.sessions.store_batch import StoreBatch
from precast.services.jobs.flow.intake_lag import IntakeLag
from precast.services.sessions.orders import StreamRewound
from precast.services.sessions.record_intake import RecordKind, RecordSource, StoredRecords
from precast.services.sessions.sessions import AcceptedSession
from precast.store.engine.interface import Completion
from precast.store.sessions.sessions import StreamPosition
from precast.wire import sessions as session
from precast.wire.sessions import Ack, Hello, Record, Resend, Subscribe

AT = datetime(2026, 1, 1, tzinfo=UTC)


class Socket:
    """A websocket and its transport: records what is sent, how it is closed, and when reading is paused."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.closed: tuple[int, bytes] | None = None
        self.pauses: list[bool] = []
        self.writing_paused = False
        self.fails_with: Exception | None = None

    @property
    def transport(self) -> "Socket":
        return self

    def is_closing(self) -> bool:
        return False

    def write(self, frame: bytes) -> None:
        if self.fails_with is not None:
            raise self.fails_with
        assert frame[:2] == bytes([0x82, len(frame) - 2])
        self.sent.append(session.decode_from_server(frame[2:]))

    def pause_reading(self) -> None:
        self.pauses.append(True)

    def resume_reading(self) -> None:
        self.pauses.append(False)

    async def close(self, *, code: int, message: bytes, drain: bool) -> None:
        self.closed = (code, message)


class RecordStore:
    """Stores records in memory while `may_store` is set, and serves orders."""

    def __init__(self) -> None:
        self.may_store = asyncio.Event()
        self.may_store.set()
        self.stored: list[list[int]] = []
        self.fails_with: Exception | None = None
        self.is_fenced = False
        self.waiting: list[Record] = []
        self.reads = 0
        self.confirmed = 0
        self.reads = 0
        self.is_rewound = False
        self.positions: list[StreamPosition | None] = []  # as the connection knew them at each submit
        self._tasks: list[asyncio.Task[None]] = []

    def submit(
        self, source: RecordSource, records: Sequence[Record], kinds: Any, completion: Completion[StoredRecords | None]
    ) -> None:
        self.positions.append(source.position)
        self._tasks.append(asyncio.create_task(self._store(records, completion)))

    async def _store(self, records: Sequence[Record], completion: Completion[StoredRecords | None]) -> None:
        await self.may_store.wait()
        if completion.done():
            return
        if self.fails_with is not None:
            completion.set_exception(self.fails_with)
        elif self.is_fenced:
            completion.set_result(None)
        else:
            self.stored.append([record.number for record in records])
            completion.set_result(StoredRecords(StreamPosition(records[-1].number, 7), False, []))

    async def read(self, node: str, after: int, limit: int, trimmed: int) -> list[Record]:
        self.reads += 1
        if trimmed < self.confirmed or self.is_rewound:
            raise StreamRewound
        return [record for record in self.waiting if record.number > after][:limit]

    def confirm(self, node: str, through: int, completion: Completion[int]) -> None:
        if self.fails_with is not None:
            completion.set_exception(self.fails_with)
            return
        self.confirmed = through
        completion.set_result(through)


def record(number: int, size_bytes: int = 2) -> Record:
    return Record(number, "note", AT, msgspec.Raw(b'"' + b"x" * (size_bytes - 2) + b'"'))


def connect(
    socket: Socket,
    store: RecordStore,
    *,
    name: str = "web1",
    budget: ReceiveBudget | None = None,
    batch: StoreBatch | None = None,
) -> Connection:
    """A connection of a node; it gets a budget and a batch of its own unless they are given."""
    untyped: Any = Connection
    node, accepted = NodeCaller(name, {}, "ab", AT), AcceptedSession(1, 5, StreamPosition(0, 3), "")
    shared = SharedState(budget or ReceiveBudget(), batch or StoreBatch(), IntakeLag(time.monotonic))
    connection: Connection = untyped(socket, node, "store", accepted, 0, store, store, {}, shared, socket)
    return connection


async def next_batch() -> None:
    """Wait for the turn of the event loop in which the connections of the batch are stored."""
    await asyncio.sleep(0)


@pytest.fixture
def parts() -> tuple[Connection, Socket, RecordStore]:
    socket, store = Socket(), RecordStore()
    return connect(socket, store), socket, store


async def test_records_received_meanwhile_are_stored_as_one_batch(
    parts: tuple[Connection, Socket, RecordStore],
) -> None:
    connection, socket, store = parts
    store.may_store.clear()
    for number in range(1, 6):
        await connection.receive(record(number))
        await asyncio.sleep(0)
    store.may_store.set()
    while not socket.sent or socket.sent[-1] != Ack(5):
        await asyncio.sleep(0)
    assert store.stored == [[1], [2, 3, 4, 5]]


async def test_reading_waits_while_too_many_records_are_pending(parts: tuple[Connection, Socket, RecordStore]) -> None:
    connection, _, store = parts
    store.may_store.clear()
    receiving = asyncio.create_task(_receive_all(connection, subject.MAX_PENDING * 3))
    for _ in range(5_000):
        await asyncio.sleep(0)
    assert not receiving.done()
    store.may_store.set()
    await receiving
    while sum(map(len, store.stored)) < subject.MAX_PENDING * 3:
        await asyncio.sleep(0)
    assert max(map(len, store.stored)) <= subject.MAX_PENDING


async def _receive_all(connection: Connection, count: int) -> None:
    for number in range(1, count + 1):
        await connection.receive(record(number))


async def test_node_above_its_rate_limit_is_read_slowly(
    parts: tuple[Connection, Socket, RecordStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, _, _ = parts
    slept: list[float] = []
    real_sleep = asyncio.sleep

    async def sleep(seconds: float) -> None:
        if seconds:
            slept.append(seconds)
        await real_sleep(0)

    monkeypatch.setattr("precast.api.sessions.connection.time.monotonic", lambda: connection.last_heard_s)
    monkeypatch.setattr("precast.api.sessions.connection.asyncio.sleep", sleep)
    megabytes = int(subject.BURST_S * subject.BYTES_PER_S / (256 * 1024)) + 4
    for number in range(1, megabytes + 1):
        await connection.receive(record(number, 256 * 1024))
    assert slept, "the node was never slowed down"
    assert slept == sorted(slept)


async def test_frames_that_are_no_records_are_charged_too(
    parts: tuple[Connection, Socket, RecordStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, _, _ = parts
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("precast.api.sessions.connection.time.monotonic", lambda: connection.last_heard_s)
    monkeypatch.setattr("precast.api.sessions.connection.asyncio.sleep", sleep)
    burst = int(subject.BURST_S * subject.RECORDS_PER_S)
    for _ in range(burst - subject.WINDOW - 1):
        await connection.pace()
    assert not slept
    await connection.pace(subject.WINDOW)  # a request to send the window again costs as much as its records
    assert not slept
    await connection.pace(subject.WINDOW)
    assert len(slept) == 1


async def test_fenced_connection_is_closed_with_its_code(parts: tuple[Connection, Socket, RecordStore]) -> None:
    connection, socket, store = parts
    store.is_fenced = True
    await connection.receive(record(1))
    while socket.closed is None:
        await asyncio.sleep(0)
    assert socket.closed[0] == session.CLOSE_FENCED


async def test_failure_to_store_ends_the_connection_and_no_acknowledgement_is_sent(
    parts: tuple[Connection, Socket, RecordStore],
) -> None:
    connection, socket, store = parts
    store.fails_with = OSError("disk on fire")
    await connection.receive(record(1))
    while socket.closed is None:
        await asyncio.sleep(0)
    assert socket.closed[0] == session.CLOSE_UNSTORED
    assert socket.sent == []


async def test_failure_to_submit_ends_the_connection(
    parts: tuple[Connection, Socket, RecordStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, socket, store = parts

    def fail(*args: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(store, "submit", fail)
    await connection.receive(record(1))
    while socket.closed is None:
        await asyncio.sleep(0)
    assert socket.closed[0] == session.CLOSE_UNSTORED
    await connection.receive(record(2))
    await connection.detach()
    assert socket.sent == []


async def test_budget_is_released_once_whether_records_are_stored_or_not() -> None:
    budget, store = ReceiveBudget(1000), RecordStore()
    for is_stored_first in (True, False):
        connection = connect(Socket(), store, budget=budget)
        store.may_store.clear()
        await connection.receive(record(1, 100))
        await asyncio.sleep(0)
        await connection.receive(record(2, 300))
        if is_stored_first:
            store.may_store.set()
            await asyncio.sleep(0)
        await connection.detach()
        for _ in range(20):
            await asyncio.sleep(0)
        assert budget._free_bytes == 1000


async def test_position_of_the_stream_is_remembered_between_batches(
    parts: tuple[Connection, Socket, RecordStore],
) -> None:
    connection, _, store = parts
    for number in (1, 2):
        await connection.receive(record(number))
        while len(store.stored) < number:
            await asyncio.sleep(0)
    assert store.positions == [StreamPosition(0, 3), StreamPosition(1, 7)]


async def test_records_not_submitted_before_the_end_are_dropped() -> None:
    budget, store = ReceiveBudget(1000), RecordStore()
    connection = connect(Socket(), store, budget=budget)
    await connection.receive(record(1, 100))
    await connection.detach()
    for _ in range(20):
        await asyncio.sleep(0)
    assert (store.positions, budget._free_bytes) == ([], 1000)


async def test_completion_is_done_once_the_connection_is_detached() -> None:
    budget, store, socket = ReceiveBudget(1000), RecordStore(), Socket()
    connection = connect(socket, store, budget=budget)
    store.may_store.clear()
    await connection.receive(record(1, 100))
    while not store.positions:
        await asyncio.sleep(0)
    assert not connection.done()
    await connection.detach()
    assert connection.done()
    store.may_store.set()
    for _ in range(20):
        await asyncio.sleep(0)
    assert (store.stored, socket.sent, budget._free_bytes) == ([], [], 1000)


async def test_records_of_several_connections_are_stored_in_one_turn() -> None:
    store, batch = RecordStore(), StoreBatch()
    sockets = [Socket(), Socket()]
    connections = [
        connect(socket, store, name=f"web{number}", batch=batch) for number, socket in enumerate(sockets, start=1)
    ]
    for number in (1, 2):
        for connection in connections:
            await connection.receive(record(number))
    async with asyncio.timeout(20):
        while not all(socket.sent for socket in sockets):
            await asyncio.sleep(0)
        await connections[0].receive(record(3))
        while sockets[0].sent != [Ack(2), Ack(3)]:
            await asyncio.sleep(0)
    assert store.stored == [[1, 2], [1, 2], [3]]


async def test_node_that_does_not_read_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "SEND_S", 0.0)
    socket = Socket()
    socket.writing_paused = True
    connection = connect(socket, RecordStore())
    async with asyncio.timeout(10):
        await connection.send(Ack(1))
        await connection.detach()
    assert (socket.sent, socket.closed) == ([], (session.CLOSE_SILENT, b"the node does not read"))


async def test_reply_waits_until_the_node_reads_and_delays_no_other_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(subject, "WRITABLE_CHECK_S", 0.0)
    store, sockets = RecordStore(), [Socket(), Socket()]
    sockets[0].writing_paused = True
    stuck, other = (connect(socket, store, name=name) for name, socket in zip(("web1", "web2"), sockets, strict=True))
    async with asyncio.timeout(20):
        for connection in (stuck, other):
            await connection.receive(record(1))
        while not sockets[1].sent:
            await asyncio.sleep(0)
        await stuck.receive(record(2))
        assert sockets[0].sent == []
        sockets[0].writing_paused = False
        while sockets[0].sent != [Ack(1), Ack(2)]:
            await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("error", "code"),
    [(ConnectionResetError("gone"), session.CLOSE_SILENT), (KeyError("a bug"), session.CLOSE_UNSTORED)],
)
@pytest.mark.parametrize("is_late", [False, True])
async def test_failure_to_reply_ends_the_connection(
    monkeypatch: pytest.MonkeyPatch, error: Exception, code: int, is_late: bool
) -> None:
    monkeypatch.setattr(subject, "WRITABLE_CHECK_S", 0.0)
    socket, store = Socket(), RecordStore()
    socket.fails_with, socket.writing_paused = error, is_late
    connection = connect(socket, store)
    async with asyncio.timeout(20):
        await connection.receive(record(1))
        while not store.stored:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        socket.writing_paused = False
        while socket.closed is None:
            await asyncio.sleep(0)
        await connection.receive(record(2))
        await connection.detach()
    assert (socket.closed[0], store.stored) == (code, [[1]])


async def test_nothing_is_written_after_the_close_frame(parts: tuple[Connection, Socket, RecordStore]) -> None:
    connection, socket, _ = parts
    await connection.close(session.CLOSE_REVOKED, "no more")
    await connection.send(Ack(1))
    assert socket.sent == []


async def test_record_is_accepted_within_the_call(
    parts: tuple[Connection, Socket, RecordStore],
) -> None:
    connection, socket, store = parts
    connection.last_heard_s = 0.0
    assert connection.accept(session.encode(record(1)))
    assert connection.last_heard_s > 0
    while socket.sent != [Ack(1)]:
        await asyncio.sleep(0)
    assert store.stored == [[1]]
    connection.end(session.CLOSE_FENCED, "the node has reconnected")
    assert connection.accept(session.encode(record(2)))
    await connection.detach()
    assert not connection.accept(session.encode(record(3)))
    assert store.stored == [[1]]


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"\xff", b'{"type":"record"}', b"[" * 100_000, session.encode(Resend(0))],
)
async def test_other_message_is_left_to_the_handler(parts: tuple[Connection, Socket, RecordStore], data: bytes) -> None:
    connection, _, store = parts
    assert not connection.accept(data)
    assert (store.confirmed, store.stored) == (0, [])


@pytest.mark.parametrize("why", ["no budget", "too many", "too large", "too fast"])
async def test_record_that_would_have_to_wait_is_left_to_the_handler(monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    store, budget = RecordStore(), ReceiveBudget()
    connection = connect(Socket(), store, budget=budget)
    store.may_store.clear()
    free_bytes = budget._free_bytes
    size_bytes = {"no budget": budget._free_bytes, "too large": subject.MAX_PENDING_BYTES}.get(why, 2)
    if why == "too fast":
        monkeypatch.setattr("precast.api.sessions.connection.time.monotonic", lambda: connection.last_heard_s)
        monkeypatch.setattr(subject, "MAX_PENDING", 10**6)
    accepted = 0
    while connection.accept(session.encode(record(accepted + 1, size_bytes))):
        accepted += 1
        await asyncio.sleep(0)
    # The first record is being stored and no longer pending.
    assert (
        accepted
        == {
            "no budget": 1,
            "too many": subject.MAX_PENDING + 1,
            "too large": 2,
            "too fast": subject.BURST_S * subject.RECORDS_PER_S,
        }[why]
    )
    await connection.detach()
    assert budget._free_bytes == free_bytes


async def test_handler_that_waits_for_budget_goes_on_when_the_connection_ends() -> None:
    socket, store, budget = Socket(), RecordStore(), ReceiveBudget(1)
    connection = connect(socket, store, budget=budget)
    store.may_store.clear()
    store.is_fenced = True
    budget.acquire(5)
    receiving = asyncio.create_task(connection.receive(record(1, subject.MAX_PENDING_BYTES)))
    while not connection.is_paused:
        await asyncio.sleep(0)
    connection.end(session.CLOSE_FENCED, "the node has reconnected")
    budget.release(5)
    async with asyncio.timeout(20):
        await receiving
        await connection.detach()
    assert socket.closed is not None


async def test_node_without_budget_is_not_read_and_does_not_count_as_silent() -> None:
    budget, socket, store = ReceiveBudget(1), Socket(), RecordStore()
    connection = connect(socket, store, budget=budget)
    budget.acquire(5)
    receiving = asyncio.create_task(connection.receive(record(1)))
    while not socket.pauses:
        await asyncio.sleep(0)
    assert (socket.pauses, connection.is_paused) == ([True], True)
    budget.release(5)
    await receiving
    assert (socket.pauses, connection.is_paused) == ([True, False], False)
    while not store.stored:
        await asyncio.sleep(0)
    assert store.stored == [[1]]


async def test_send_window_bounds_unconfirmed_records(parts: tuple[Connection, Socket, RecordStore]) -> None:
    connection, socket, store = parts
    store.waiting = [record(number) for number in range(1, subject.WINDOW + 10)]
    await connection.push()
    assert [sent.number for sent in socket.sent] == list(range(1, subject.WINDOW + 1))
    await connection.confirm(5)
    await next_batch()
    assert store.confirmed == 5
    assert [sent.number for sent in socket.sent][-5:] == list(range(subject.WINDOW + 1, subject.WINDOW + 6))
    # A record that was never sent cannot be confirmed.
    await connection.confirm(10_000)
    await next_batch()
    assert store.confirmed == 5


async def test_record_is_read_once_and_its_confirmation_reads_nothing(
    parts: tuple[Connection, Socket, RecordStore],
) -> None:
    connection, socket, store = parts
    for number in (1, 2):
        store.waiting = [record(number)]
        await connection.push()
        await connection.confirm(number)
    assert [sent.number for sent in socket.sent] == [1, 2]
    assert store.reads == 2


async def test_record_that_is_appended_during_a_push_is_sent(parts: tuple[Connection, Socket, RecordStore]) -> None:
    connection, socket, store = parts
    store.waiting = [record(1)]
    original = store.read

    async def read(node: str, after: int, limit: int, trimmed: int) -> list[Record]:
        store.read = original  # type: ignore[method-assign] # once
        found = await original(node, after, limit, trimmed)
        store.waiting.append(record(2))
        await connection.push()
        return found

    store.read = read  # type: ignore[method-assign]
    await connection.push()
    assert [sent.number for sent in socket.sent] == [1, 2]


async def test_resend_during_a_push_is_not_lost(parts: tuple[Connection, Socket, RecordStore]) -> None:
    connection, socket, store = parts
    store.waiting = [record(number) for number in range(1, 4)]
    await connection.push()
    original = store.read

    async def read(node: str, after: int, limit: int, trimmed: int) -> list[Record]:
        store.read = original  # type: ignore[method-assign] # once
        store.waiting.append(record(4))
        await connection.resend(1)
        return await original(node, after, limit, trimmed)

    store.read = read  # type: ignore[method-assign]
    socket.sent.clear()
    await connection.push()
    assert [sent.number for sent in socket.sent] == [2, 3, 4]


async def test_node_has_to_reconnect_when_the_database_was_restored(
    parts: tuple[Connection, Socket, RecordStore],
) -> None:
    connection, socket, store = parts
    store.waiting = [record(1)]
    await connection.push()
    await connection.confirm(1)
    store.is_rewound = True
    await connection.push()
    await connection.detach()
    assert socket.closed == (session.CLOSE_UNSTORED, b"the database was restored to an earlier state")


async def test_stream_is_read_once_for_a_push_and_not_for_its_confirmation(
    parts: tuple[Connection, Socket, RecordStore],
) -> None:
    connection, socket, store = parts
    store.waiting = [record(number) for number in range(1, 4)]
    await connection.push()
    await connection.confirm(3)
    await next_batch()
    assert ([sent.number for sent in socket.sent], store.confirmed, store.reads) == ([1, 2, 3], 3, 1)


async def test_push_during_another_one_is_not_lost(parts: tuple[Connection, Socket, RecordStore]) -> None:
    connection, socket, store = parts
    store.waiting = [record(1)]
    original = store.read

    async def read(node: str, after: int, limit: int, trimmed: int) -> list[Record]:
        store.read = original  # type: ignore[method-assign] # once
        found = await original(node, after, limit, trimmed)
        store.waiting.append(record(2))
        await connection.push()
        return found

    store.read = read  # type: ignore[method-assign]
    await connection.push()
    assert [sent.number for sent in socket.sent] == [1, 2]


async def test_confirmation_is_accepted_within_the_call_that_has_received_it(
    parts: tuple[Connection, Socket, RecordStore],
) -> None:
    connection, _, store = parts
    store.waiting = [record(number) for number in range(1, subject.WINDOW + 2)]
    await connection.push()
    # The window was full: confirming opens it, and the handler has to send the rest.
    assert not connection.accept(session.encode(Ack(subject.WINDOW)))
    await connection.confirm(subject.WINDOW)
    assert connection.accept(session.encode(Ack(subject.WINDOW + 1)))
    await next_batch()
    assert store.confirmed == subject.WINDOW + 1


async def test_confirmation_that_cannot_be_stored_ends_the_connection(
    parts: tuple[Connection, Socket, RecordStore],
) -> None:
    connection, socket, store = parts
    store.waiting = [record(1)]
    await connection.push()
    store.fails_with = RuntimeError("a bug")
    assert connection.accept(session.encode(Ack(1)))
    await next_batch()
    await connection.detach()
    assert socket.closed == (session.CLOSE_UNSTORED, b"internal error")


async def test_confirmation_of_an_ended_connection_is_stored(parts: tuple[Connection, Socket, RecordStore]) -> None:
    connection, _, store = parts
    store.waiting = [record(1)]
    await connection.push()
    assert connection.accept(session.encode(Ack(1)))
    await connection.detach()
    await next_batch()
    assert store.confirmed == 1


async def test_confirmation_while_records_are_stored_does_not_store_others_beside_them(
    parts: tuple[Connection, Socket, RecordStore],
) -> None:
    connection, socket, store = parts
    store.waiting = [record(1)]
    await connection.push()
    store.may_store.clear()
    assert connection.accept(session.encode(record(1)))
    await next_batch()
    assert connection.accept(session.encode(record(2)))
    assert connection.accept(session.encode(Ack(1)))
    await next_batch()
    assert (store.confirmed, len(store.positions)) == (1, 1)
    store.may_store.set()
    while socket.sent[-1] != Ack(2):
        await asyncio.sleep(0)
    assert store.stored == [[1], [2]]


async def test_resend_never_goes_behind_the_confirmed_records(parts: tuple[Connection, Socket, RecordStore]) -> None:
    connection, socket, store = parts
    store.waiting = [record(number) for number in range(1, 6)]
    await connection.push()
    await connection.confirm(2)
    socket.sent.clear()
    await connection.resend(0)
    assert [sent.number for sent in socket.sent] == [3, 4, 5]


def test_message_without_a_requirement_stops_the_server() -> None:
    with pytest.raises(TypeError, match="Resend"):
        SessionMessages({Hello: NODE, Record: NODE, Ack: NODE, Subscribe: NODE})
    with pytest.raises(TypeError, match="Ack"):
        SessionMessages({Hello: NODE, Record: NODE, Resend: NODE, Subscribe: NODE, Ack: person("admin")})
    messages = SessionMessages({Hello: NODE, Record: NODE, Ack: NODE, Resend: NODE, Subscribe: NODE})
    kind = RecordKind(Hello, lambda node, body: body, lambda received: iter(()))  # type: ignore[arg-type, return-value] # not used
    with pytest.raises(TypeError, match="weather"):
        messages.add("weather", None, kind)  # type: ignore[arg-type] # that is the point
    messages.add("weather", NODE, kind)
    with pytest.raises(ValueError, match="twice"):
        messages.add("weather", NODE, kind)
