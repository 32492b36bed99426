"""Values reach a node over its one connection: each session subscribes once to what the local store says, and stores the answers."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import msgspec
import pytest

from lab.scripted_server import DEADLINE_S, AgentConnection, ScriptedServer
from precast.agent.connection.session import Session
from precast.agent.connection.websocket_client import DirectConnector
from precast.agent.futures import value_tables as tables
from precast.agent.futures.reading import await_values, find_values
from precast.agent.futures.resolution import Known, Pending
from precast.agent.futures.run_values import Wait
from precast.agent.futures.stored_values import RunIdentity, StoredRunValues
from precast.agent.futures.subscriptions import Subscriptions
from precast.agent.futures.waiting_room import WaitEnd, WaitingRoom
from precast.agent.identity.machine import MachineIdentity
from precast.agent.orders.registry import OrderRegistry
from precast.agent.state.spool import Importance, Spool, SpoolLimits
from precast.agent.state.store import LocalStore
from precast.agent.state.wakeup import listening
from precast.base.clock import SystemClock
from precast.catalog.futures import Need
from precast.wire.jobs.orders import RUN
from precast.wire.sessions import KeyValue, Record, Subscribe, Values
from tests.component.agent.connection.test_session import RecordingListener

CATALOG, OTHER = "c" * 64, "d" * 64
ORDER = "01a1.1.1"
NEED = Need("db")


class Daemon:
    """The part of a daemon that exchanges records and values."""

    def __init__(self, root: Path, server: ScriptedServer) -> None:
        self.root, self.url = root, server.url
        self.context = server.enrol(root, "web1").context()
        self.store = self.open()
        self.news = 0
        self.spool = Spool(self.store, SpoolLimits())
        self.orders = OrderRegistry(self.store, self.spool)
        ids = iter(range(100))
        self.session = Session(
            self.store,
            self.spool,
            self.orders,
            RecordingListener(),
            lambda: f"try{next(ids)}",
            MachineIdentity("machine1", "boot1"),
            subscriptions=Subscriptions(self.store, self._note_news),
        )

    def open(self) -> LocalStore:
        return LocalStore.open(self.root, lambda: "instance1")

    def _note_news(self) -> None:
        self.news += 1

    def subscribe(self, attempt: str = "", catalog: str = CATALOG) -> None:
        """As another process does it."""
        with closing(self.open()) as store, store.transaction() as db:
            tables.add_subscription(db, attempt, catalog)

    def begin_order(self) -> None:
        with self.store.transaction() as db:
            db.execute(
                "INSERT INTO queued_order (id, kind, state, body, at) VALUES (?, ?, 'begun', ?, 0)",
                (ORDER, RUN, msgspec.json.encode({"order": ORDER})),
            )

    def values(self, attempt: str = "") -> StoredRunValues:
        run = RunIdentity(CATALOG, "web1", attempt, "report")
        return StoredRunValues(self.open, run, SpoolLimits())

    @asynccontextmanager
    async def connected(self, server: ScriptedServer) -> AsyncIterator[AgentConnection]:
        connector = DirectConnector(lambda: self.context)
        with listening(self.store.path.parent, self.session.has_records.set):
            task = asyncio.create_task(self.session.run(self.url, connector))
            try:
                line = await server.accept()
                await line.greet()
                yield line
            finally:
                task.cancel()
                await asyncio.wait([task])

    async def until(self, is_so: Callable[[], object]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not is_so():
                await asyncio.sleep(0.005)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer(tmp_path / "server") as started:
        yield started


@pytest.fixture
async def daemon(tmp_path: Path, server: ScriptedServer) -> AsyncIterator[Daemon]:
    made = Daemon(tmp_path / "node", server)
    yield made
    made.store.close()


def fulfilled(value: str = '"db1:5432"', number: int = 2, *, is_standing: bool = False) -> KeyValue:
    return KeyValue("db", "db1", "fulfilled", number, msgspec.Raw(value.encode()), is_standing=is_standing)


def answer(*values: KeyValue, order: str = "", is_last: bool = True) -> Values:
    return Values(CATALOG, list(values), order, is_last)


async def test_node_without_futures_sends_nothing_new(daemon: Daemon, server: ScriptedServer) -> None:
    async with daemon.connected(server) as line:
        daemon.spool.put("event", b'"x"', Importance.EVENT)
        daemon.session.has_records.set()
        assert isinstance(await line.receive(), Record)


async def test_subscription_is_sent_once_in_each_session_and_its_answer_is_stored(
    daemon: Daemon, server: ScriptedServer
) -> None:
    daemon.subscribe()
    for number in (2, 3):
        async with daemon.connected(server) as line:
            assert await line.expect(Subscribe) == Subscribe(CATALOG)
            await line.send_message(answer(fulfilled(f'"v{number}"', number, is_standing=True)))
            await daemon.until(lambda expected=number - 1: daemon.news == expected)  # type: ignore[misc]
            assert find_values(daemon.store, "db").states[0].value == f'"v{number}"'.encode()


async def test_run_that_waits_is_woken_by_the_value(daemon: Daemon, server: ScriptedServer) -> None:
    daemon.begin_order()
    values = daemon.values(ORDER)
    room, ends = WaitingRoom(values, SystemClock()), list[WaitEnd]()
    async with daemon.connected(server) as line:
        values.begin([], {}, has_waits=True)
        assert await line.expect(Subscribe) == Subscribe(CATALOG, ORDER)
        room.begin(Wait("File[/a]", (NEED,)), ends.append)
        await line.send_message(answer(KeyValue("db", "db1", "pending", 1), order=ORDER))
        record = await line.take()
        assert record.kind == "future-waiting"
        assert isinstance(values.resolve([NEED])[0], Pending)
        assert ends == []
        await line.send_message(answer(fulfilled(), order=ORDER, is_last=False))
        await daemon.until(lambda: ends)
        assert ends == [WaitEnd()]
        (known,) = values.resolve([NEED])
        assert isinstance(known, Known)
        room.close()
        values.end()
        while not isinstance(message := await line.receive(), Subscribe):
            assert isinstance(message, Record)
        assert message == Subscribe("", ORDER)
    assert tables.read_states(daemon.store, ORDER) == []


async def test_refused_subscription_fails_what_waits_for_it(daemon: Daemon, server: ScriptedServer) -> None:
    daemon.begin_order()
    values = daemon.values(ORDER)
    async with daemon.connected(server) as line:
        values.begin([], {}, has_waits=True)
        await line.expect(Subscribe)
        await line.send_message(Values(CATALOG, [], ORDER, True, "there is no such catalog"))
        await daemon.until(lambda: not isinstance(values.resolve([NEED])[0], Pending))
    assert values.resolve([NEED])[0] == ("db cannot be read: there is no such catalog",)


async def test_subscription_of_a_run_that_was_killed_is_removed_with_its_order(
    daemon: Daemon, server: ScriptedServer
) -> None:
    daemon.begin_order()
    daemon.subscribe(ORDER)
    async with daemon.connected(server) as line:
        assert await line.expect(Subscribe) == Subscribe(CATALOG, ORDER)
        with daemon.store.transaction() as db:
            db.execute("DELETE FROM queued_order")
        daemon.subscribe("", OTHER)
        daemon.session.has_records.set()
        assert {await line.expect(Subscribe), await line.expect(Subscribe)} == {Subscribe("", ORDER), Subscribe(OTHER)}
    assert [found.attempt for found in tables.read_subscriptions(daemon.store)] == [""]


async def test_message_for_another_catalog_is_ignored(daemon: Daemon, server: ScriptedServer) -> None:
    daemon.subscribe()
    async with daemon.connected(server) as line:
        await line.expect(Subscribe)
        await line.send_message(Values(OTHER, [fulfilled(is_standing=True)], "", True))
        await line.send_message(answer())
        await daemon.until(lambda: tables.read_subscriptions(daemon.store)[0].is_answered)
    assert not find_values(daemon.store, "db").states


async def test_new_standing_value_is_news_once_and_not_if_a_run_was_given_it(
    daemon: Daemon, server: ScriptedServer
) -> None:
    daemon.subscribe()
    async with daemon.connected(server) as line:
        await line.expect(Subscribe)
        await line.send_message(answer(fulfilled(is_standing=True)))
        await daemon.until(lambda: daemon.news)
        assert tables.read_news(daemon.store) == 1
        values = daemon.values()
        (known,) = values.resolve([NEED])
        assert isinstance(known, Known)
        values.bind("File[/a]", {NEED: known})
        assert tables.read_news(daemon.store) == 0
        await line.send_message(answer(fulfilled('"other"', 3, is_standing=True)))
        await daemon.until(lambda: daemon.news == 2)
        assert tables.read_news(daemon.store) == 2
        with daemon.store.transaction() as db:
            tables.note_used(db, 2)
        assert tables.read_news(daemon.store) == 0


async def test_program_on_the_node_waits_for_a_value(daemon: Daemon, server: ScriptedServer) -> None:
    daemon.subscribe()
    async with daemon.connected(server) as line:
        await line.expect(Subscribe)
        found: list[bytes] = []

        def wait() -> None:
            with closing(daemon.open()) as store:
                found.extend(state.value for state in await_values(store, "db", None, DEADLINE_S).states)

        thread = threading.Thread(target=wait)
        thread.start()
        await line.send_message(answer(fulfilled(is_standing=True)))
        await asyncio.to_thread(thread.join, DEADLINE_S)
    assert found == [b'"db1:5432"']


async def test_catalog_that_is_replaced_takes_its_values_with_it(daemon: Daemon, server: ScriptedServer) -> None:
    daemon.subscribe()
    async with daemon.connected(server) as line:
        await line.expect(Subscribe)
        await line.send_message(answer(fulfilled('"hunter2hunter2"', is_standing=True)))
        await daemon.until(lambda: daemon.news)
    values = daemon.values()
    (known,) = values.resolve([NEED])
    assert isinstance(known, Known)
    values.bind("File[/a]", {NEED: known})
    with daemon.store.transaction() as db:
        tables.follow_catalog(db, OTHER)
    for table in ("received_value", "bound_value"):
        assert daemon.store.read(f"SELECT * FROM {table}") == []
    daemon.store.read("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"hunter2" not in daemon.store.path.read_bytes()
