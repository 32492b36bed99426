"""One node's connection: it is paced, bounded, and lets go when told."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from precast.api.http.routes import NODE, Node, person
from precast.api.sessions import connection as subject
from precast.api.sessions.arrivals import Arrivals
from precast.api.sessions.connection import Connection, Shared
from precast.api.sessions.intake import Intake
from precast.api.sessions.messages import Messages
from precast.services.sessions.sessions import Begun, RecordKind, SetBack, Source, Taken
from precast.store.engine.promise import Promise
from precast.store.sessions.sessions import Stand
from precast.wire import sessions as session
from precast.wire.sessions import Ack, Hello, Record, Resend

AT = datetime(2026, 1, 1, tzinfo=UTC)


class Socket:
    """A websocket and what carries its bytes: keeps what is sent, how it is closed and when it is held up."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.closed: tuple[int, bytes] | None = None
        self.held: list[bool] = []
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
        self.held.append(True)

    def resume_reading(self) -> None:
        self.held.append(False)

    async def close(self, *, code: int, message: bytes, drain: bool) -> None:
        self.closed = (code, message)


class Service:
    """Stores in memory, when it is allowed to."""

    def __init__(self) -> None:
        self.may_store = asyncio.Event()
        self.may_store.set()
        self.stored: list[list[int]] = []
        self.fails_with: Exception | None = None
        self.is_fenced = False
        self.waiting: list[Record] = []
        self.confirmed = 0
        self.is_set_back = False
        self.stands: list[Stand | None] = []  # as they were known when something was handed in
        self._tasks: list[asyncio.Task[None]] = []

    def take_in(self, source: Source, records: Sequence[Record], kinds: Any, promise: Promise[Taken | None]) -> None:
        self.stands.append(source.stand)
        self._tasks.append(asyncio.create_task(self._take_in(records, promise)))

    async def _take_in(self, records: Sequence[Record], promise: Promise[Taken | None]) -> None:
        await self.may_store.wait()
        if promise.done():
            return
        if self.fails_with is not None:
            promise.set_exception(self.fails_with)
        elif self.is_fenced:
            promise.set_result(None)
        else:
            self.stored.append([record.number for record in records])
            promise.set_result(Taken(Stand(records[-1].number, 7), False, []))

    async def outgoing(self, node: str, after: int, limit: int, trimmed: int) -> list[Record]:
        if trimmed < self.confirmed or self.is_set_back:
            raise SetBack
        return [record for record in self.waiting if record.number > after][:limit]

    async def confirm(self, node: str, through: int) -> None:
        self.confirmed = through


def record(number: int, size_bytes: int = 2) -> Record:
    return Record(number, "note", AT, msgspec.Raw(b'"' + b"x" * (size_bytes - 2) + b'"'))


def connect(
    socket: Socket,
    service: Service,
    *,
    name: str = "web1",
    intake: Intake | None = None,
    arrivals: Arrivals | None = None,
) -> Connection:
    """A connection of a node; what is not given is its own."""
    made: Any = Connection
    node, begun = Node(name, {}, "ab", AT), Begun(1, 5, Stand(0, 3), "")
    shared = Shared(intake or Intake(), arrivals or Arrivals())
    connection: Connection = made(socket, node, "store", begun, 0, service, {}, shared, socket)
    return connection


@pytest.fixture
def parts() -> tuple[Connection, Socket, Service]:
    socket, service = Socket(), Service()
    return connect(socket, service), socket, service


async def test_records_that_come_meanwhile_are_stored_together(parts: tuple[Connection, Socket, Service]) -> None:
    connection, socket, service = parts
    service.may_store.clear()
    for number in range(1, 6):
        await connection.take(record(number))
        await asyncio.sleep(0)
    service.may_store.set()
    while not socket.sent or socket.sent[-1] != Ack(5):
        await asyncio.sleep(0)
    assert service.stored == [[1], [2, 3, 4, 5]]


async def test_reading_waits_while_too_much_is_not_stored(parts: tuple[Connection, Socket, Service]) -> None:
    connection, _, service = parts
    service.may_store.clear()
    taking = asyncio.create_task(_take_all(connection, subject.MAX_PENDING * 3))
    for _ in range(5_000):
        await asyncio.sleep(0)
    assert not taking.done()
    service.may_store.set()
    await taking
    while sum(map(len, service.stored)) < subject.MAX_PENDING * 3:
        await asyncio.sleep(0)
    assert max(map(len, service.stored)) <= subject.MAX_PENDING


async def _take_all(connection: Connection, count: int) -> None:
    for number in range(1, count + 1):
        await connection.take(record(number))


async def test_node_that_sends_too_much_is_read_slowly(
    parts: tuple[Connection, Socket, Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, _, _ = parts
    slept: list[float] = []
    real_sleep = asyncio.sleep

    async def sleep(seconds: float) -> None:
        if seconds:
            slept.append(seconds)
        await real_sleep(0)

    monkeypatch.setattr("precast.api.sessions.connection.time.monotonic", lambda: connection.heard_s)
    monkeypatch.setattr("precast.api.sessions.connection.asyncio.sleep", sleep)
    megabytes = int(subject.BURST_S * subject.BYTES_PER_S / (256 * 1024)) + 4
    for number in range(1, megabytes + 1):
        await connection.take(record(number, 256 * 1024))
    assert slept, "nothing was ever slowed down"
    assert slept == sorted(slept)


async def test_fenced_connection_is_closed_as_such(parts: tuple[Connection, Socket, Service]) -> None:
    connection, socket, service = parts
    service.is_fenced = True
    await connection.take(record(1))
    while socket.closed is None:
        await asyncio.sleep(0)
    assert socket.closed[0] == session.CLOSE_FENCED


async def test_failure_to_store_ends_the_connection_and_no_acknowledgement_is_sent(
    parts: tuple[Connection, Socket, Service],
) -> None:
    connection, socket, service = parts
    service.fails_with = OSError("disk on fire")
    await connection.take(record(1))
    while socket.closed is None:
        await asyncio.sleep(0)
    assert socket.closed[0] == session.CLOSE_UNSTORED
    assert socket.sent == []


async def test_what_goes_wrong_before_anything_is_stored_ends_the_connection_too(
    parts: tuple[Connection, Socket, Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, socket, service = parts

    def fail(*args: object) -> None:
        raise KeyError("a mistake of ours")

    monkeypatch.setattr(service, "take_in", fail)
    await connection.take(record(1))
    while socket.closed is None:
        await asyncio.sleep(0)
    assert socket.closed[0] == session.CLOSE_UNSTORED
    await connection.take(record(2))
    await connection.settle()
    assert socket.sent == []


async def test_room_is_given_back_once_whatever_becomes_of_the_records() -> None:
    intake, service = Intake(1000), Service()
    for is_stored_first in (True, False):
        connection = connect(Socket(), service, intake=intake)
        service.may_store.clear()
        await connection.take(record(1, 100))
        await asyncio.sleep(0)
        await connection.take(record(2, 300))
        if is_stored_first:
            service.may_store.set()
            await asyncio.sleep(0)
        await connection.settle()
        for _ in range(20):
            await asyncio.sleep(0)
        assert intake._left == 1000


async def test_where_the_stream_stands_is_known_from_one_time_to_the_next(
    parts: tuple[Connection, Socket, Service],
) -> None:
    connection, _, service = parts
    for number in (1, 2):
        await connection.take(record(number))
        while len(service.stored) < number:
            await asyncio.sleep(0)
    assert service.stands == [Stand(0, 3), Stand(1, 7)]


async def test_what_came_before_the_end_and_was_not_handed_in_is_not_stored_any_more() -> None:
    intake, service = Intake(1000), Service()
    connection = connect(Socket(), service, intake=intake)
    await connection.take(record(1, 100))
    await connection.settle()
    for _ in range(20):
        await asyncio.sleep(0)
    assert (service.stands, intake._left) == ([], 1000)


async def test_nobody_waits_for_what_is_stored_after_the_end() -> None:
    intake, service, socket = Intake(1000), Service(), Socket()
    connection = connect(socket, service, intake=intake)
    service.may_store.clear()
    await connection.take(record(1, 100))
    while not service.stands:
        await asyncio.sleep(0)
    assert not connection.done()
    await connection.settle()
    assert connection.done()
    service.may_store.set()
    for _ in range(20):
        await asyncio.sleep(0)
    assert (service.stored, socket.sent, intake._left) == ([], [], 1000)


async def test_connections_that_have_sent_at_one_moment_are_all_stored() -> None:
    service, arrivals = Service(), Arrivals()
    sockets = [Socket(), Socket()]
    connections = [
        connect(socket, service, name=f"web{at}", arrivals=arrivals) for at, socket in enumerate(sockets, start=1)
    ]
    for number in (1, 2):
        for connection in connections:
            await connection.take(record(number))
    async with asyncio.timeout(20):
        while not all(socket.sent for socket in sockets):
            await asyncio.sleep(0)
        await connections[0].take(record(3))
        while sockets[0].sent != [Ack(2), Ack(3)]:
            await asyncio.sleep(0)
    assert service.stored == [[1, 2], [1, 2], [3]]


async def test_node_that_takes_nothing_loses_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "SEND_S", 0.0)
    socket = Socket()
    socket.writing_paused = True
    connection = connect(socket, Service())
    async with asyncio.timeout(10):
        await connection.send(Ack(1))
        await connection.settle()
    assert (socket.sent, socket.closed) == ([], (session.CLOSE_SILENT, b"nothing can be sent"))


async def test_node_that_takes_nothing_is_told_when_it_takes_again_and_holds_up_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(subject, "LOOK_EVERY_S", 0.0)
    service, sockets = Service(), [Socket(), Socket()]
    sockets[0].writing_paused = True
    stuck, other = (connect(socket, service, name=name) for name, socket in zip(("web1", "web2"), sockets, strict=True))
    async with asyncio.timeout(20):
        for connection in (stuck, other):
            await connection.take(record(1))
        while not sockets[1].sent:
            await asyncio.sleep(0)
        await stuck.take(record(2))
        assert sockets[0].sent == []
        sockets[0].writing_paused = False
        while sockets[0].sent != [Ack(1), Ack(2)]:
            await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("error", "code"),
    [(ConnectionResetError("gone"), session.CLOSE_SILENT), (KeyError("a mistake of ours"), session.CLOSE_UNSTORED)],
)
@pytest.mark.parametrize("is_late", [False, True])
async def test_what_cannot_be_told_ends_the_connection(
    monkeypatch: pytest.MonkeyPatch, error: Exception, code: int, is_late: bool
) -> None:
    monkeypatch.setattr(subject, "LOOK_EVERY_S", 0.0)
    socket, service = Socket(), Service()
    socket.fails_with, socket.writing_paused = error, is_late
    connection = connect(socket, service)
    async with asyncio.timeout(20):
        await connection.take(record(1))
        while not service.stored:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        socket.writing_paused = False
        while socket.closed is None:
            await asyncio.sleep(0)
        await connection.take(record(2))
        await connection.settle()
    assert (socket.closed[0], service.stored) == (code, [[1]])


async def test_nothing_is_written_behind_the_good_bye(parts: tuple[Connection, Socket, Service]) -> None:
    connection, socket, _ = parts
    await connection.close(session.CLOSE_REVOKED, "no more")
    await connection.send(Ack(1))
    assert socket.sent == []


async def test_record_that_comes_is_taken_at_once(
    parts: tuple[Connection, Socket, Service],
) -> None:
    connection, socket, service = parts
    connection.heard_s = 0.0
    assert connection.hear(session.encode(record(1)))
    assert connection.heard_s > 0
    while socket.sent != [Ack(1)]:
        await asyncio.sleep(0)
    assert service.stored == [[1]]
    connection._end(session.CLOSE_FENCED, "the node has come anew")
    assert connection.hear(session.encode(record(2)))
    await connection.settle()
    assert not connection.hear(session.encode(record(3)))
    assert service.stored == [[1]]


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"\xff", b'{"type":"record"}', b"[" * 100_000, session.encode(Ack(1)), session.encode(Resend(0))],
)
async def test_what_is_no_record_is_left_to_the_handler(parts: tuple[Connection, Socket, Service], data: bytes) -> None:
    connection, _, service = parts
    assert not connection.hear(data)
    assert (service.confirmed, service.stored) == (0, [])


@pytest.mark.parametrize("why", ["no room at all", "too many", "too large", "too quick"])
async def test_record_that_somebody_would_have_to_wait_for_is_left_to_the_handler(
    monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    service, intake = Service(), Intake()
    connection = connect(Socket(), service, intake=intake)
    service.may_store.clear()
    left_bytes = intake._left
    size_bytes = {"no room at all": intake._left, "too large": subject.MAX_PENDING_BYTES}.get(why, 2)
    if why == "too quick":
        monkeypatch.setattr("precast.api.sessions.connection.time.monotonic", lambda: connection.heard_s)
        monkeypatch.setattr(subject, "MAX_PENDING", 10**6)
    taken = 0
    while connection.hear(session.encode(record(taken + 1, size_bytes))):
        taken += 1
        await asyncio.sleep(0)
    # What came first is being stored.
    assert (
        taken
        == {
            "no room at all": 1,
            "too many": subject.MAX_PENDING + 1,
            "too large": 2,
            "too quick": subject.BURST_S * subject.RECORDS_PER_S,
        }[why]
    )
    await connection.settle()
    assert intake._left == left_bytes


async def test_handler_that_waited_for_room_is_not_stuck_when_the_connection_ends() -> None:
    socket, service, intake = Socket(), Service(), Intake(1)
    connection = connect(socket, service, intake=intake)
    service.may_store.clear()
    service.is_fenced = True
    intake.take(5)
    taking = asyncio.create_task(connection.take(record(1, subject.MAX_PENDING_BYTES)))
    while not connection.is_held_up:
        await asyncio.sleep(0)
    connection._end(session.CLOSE_FENCED, "the node has come anew")
    intake.give(5)
    async with asyncio.timeout(20):
        await taking
        await connection.settle()
    assert socket.closed is not None


async def test_node_that_finds_no_room_is_not_read_from_and_does_not_count_as_silent() -> None:
    intake, socket, service = Intake(1), Socket(), Service()
    connection = connect(socket, service, intake=intake)
    intake.take(5)
    taking = asyncio.create_task(connection.take(record(1)))
    while not socket.held:
        await asyncio.sleep(0)
    assert (socket.held, connection.is_held_up) == ([True], True)
    intake.give(5)
    await taking
    assert (socket.held, connection.is_held_up) == ([True, False], False)
    while not service.stored:
        await asyncio.sleep(0)
    assert service.stored == [[1]]


async def test_window_bounds_what_is_sent_and_confirming_opens_it(parts: tuple[Connection, Socket, Service]) -> None:
    connection, socket, service = parts
    service.waiting = [record(number) for number in range(1, subject.WINDOW + 10)]
    await connection.push()
    assert [one.number for one in socket.sent] == list(range(1, subject.WINDOW + 1))
    await connection.confirm(5)
    assert service.confirmed == 5
    assert [one.number for one in socket.sent][-5:] == list(range(subject.WINDOW + 1, subject.WINDOW + 6))
    # What was never sent cannot be confirmed.
    await connection.confirm(10_000)
    assert service.confirmed == 5


async def test_repeat_while_more_is_looked_for_is_not_forgotten(parts: tuple[Connection, Socket, Service]) -> None:
    connection, socket, service = parts
    service.waiting = [record(number) for number in range(1, 4)]
    await connection.push()
    looked = service.outgoing

    async def outgoing(node: str, after: int, limit: int, trimmed: int) -> list[Record]:
        service.outgoing = looked  # type: ignore[method-assign] # once
        service.waiting.append(record(4))
        await connection.repeat(1)
        return await looked(node, after, limit, trimmed)

    service.outgoing = outgoing  # type: ignore[method-assign]
    socket.sent.clear()
    await connection.push()
    assert [one.number for one in socket.sent] == [2, 3, 4]


async def test_node_has_to_come_anew_when_the_database_was_set_back(parts: tuple[Connection, Socket, Service]) -> None:
    connection, socket, service = parts
    service.waiting = [record(1)]
    await connection.push()
    await connection.confirm(1)
    service.is_set_back = True
    await connection.push()
    await connection.settle()
    assert socket.closed == (session.CLOSE_UNSTORED, b"the database was set back")


async def test_repeat_goes_back_but_not_behind_what_is_confirmed(parts: tuple[Connection, Socket, Service]) -> None:
    connection, socket, service = parts
    service.waiting = [record(number) for number in range(1, 6)]
    await connection.push()
    await connection.confirm(2)
    socket.sent.clear()
    await connection.repeat(0)
    assert [one.number for one in socket.sent] == [3, 4, 5]


def test_message_that_does_not_say_whom_it_requires_stops_the_server() -> None:
    with pytest.raises(TypeError, match="Resend"):
        Messages({Hello: NODE, Record: NODE, Ack: NODE})
    with pytest.raises(TypeError, match="Ack"):
        Messages({Hello: NODE, Record: NODE, Resend: NODE, Ack: person("admin")})
    messages = Messages({Hello: NODE, Record: NODE, Ack: NODE, Resend: NODE})
    kind = RecordKind(Hello, lambda node, body: body, lambda came: iter(()))  # type: ignore[arg-type, return-value] # not used
    with pytest.raises(TypeError, match="weather"):
        messages.add("weather", None, kind)  # type: ignore[arg-type] # that is the point
    messages.add("weather", NODE, kind)
    with pytest.raises(ValueError, match="twice"):
        messages.add("weather", NODE, kind)
