"""Sessions on both databases: every record is stored once and in order, a healthy machine is never held, orders wait for confirmation."""

import asyncio
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from lab.confirmations import confirm
from precast.base.errors import InputError, UnavailableError
from precast.base.ids import TimeOrderedIds
from precast.services.sessions.orders import MAX_ORDERS, OrderService, StreamRewound
from precast.services.sessions.record_intake import RecordIntake, RecordKind, RecordSource, StoredRecords
from precast.services.sessions.sessions import AcceptedSession, SessionService
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import NodeCertificates
from precast.store.sessions.sessions import LockedStream, Sessions, SessionStart, Stream, StreamPosition
from precast.store.sessions.streams import Streams
from precast.wire.sessions import FactsWanted, Hello, Record

AT = datetime(2026, 1, 1, tzinfo=UTC)
NOTE = "note"


class Note(msgspec.Struct, frozen=True):
    """The body of a kind of record for tests."""

    text: str


class Site:
    """One server: its sessions on a database. The texts of records are appended to a stream in their transaction.

    It remembers the positions of the streams of its connections, as a server does, or forgets them each time.
    """

    def __init__(self, database: Database, name: str = "s1", *, is_forgetful: bool = False) -> None:
        self.database, self.name, self.is_forgetful = database, name, is_forgetful
        self._positions: dict[tuple[str, int], StreamPosition] = {}  # by node and epoch
        self.sessions, self.nodes, self.streams = (
            Sessions(database),
            NodeCertificates(database),
            Streams(database, MAX_ORDERS),
        )
        self.audit = AuditLog(database, TimeOrderedIds(database.clock))
        self.service = SessionService(database, self.sessions, self.streams, self.audit, lambda node: _nothing())
        self.records = RecordIntake(database, self.sessions)
        self.orders = OrderService(self.nodes, self.streams, self.audit)
        self.kinds = {NOTE: RecordKind(Note, _prepare, self._store)}

    def _store(self, notes: Sequence[tuple[str, Note]]) -> Transaction[Sequence[FactsWanted | None]]:
        for node, note in notes:
            yield from self.streams.append_records(f"seen.{node}", [note.text.encode()])
        return [None] * len(notes)

    async def open(self, *nodes: str) -> "Site":
        for node in nodes:
            await self.database.write(self.nodes.lock_or_create, node)
        await self.sessions.renew_lease(self.name, self.name, 15, 0)
        return self

    async def begin(self, hello: Hello, node: str = "web1", address: str = "192.0.2.1") -> AcceptedSession:
        arrival = SessionStart(
            node,
            self.name,
            hello.instance,
            hello.attempts,
            hello.machine_id,
            address,
            hello.boot_id,
            hello.agent,
        )
        session = await self.service.begin(arrival, hello)
        self._positions[node, session.epoch] = session.position
        return session

    async def take(
        self, epoch: int, *records: Record, instance: str = "store", node: str = "web1"
    ) -> tuple[int, bool] | None:
        completion: asyncio.Future[StoredRecords | None] = asyncio.get_running_loop().create_future()
        position = None if self.is_forgetful else self._positions[node, epoch]
        self.records.submit(RecordSource((node, instance), epoch, position), records, self.kinds, completion)
        taken = await completion
        if taken is None:
            return None
        self._positions[node, epoch] = taken.position
        return taken.position.received, taken.has_gap

    def forget_last(self, node: str, epoch: int) -> None:
        """Remember the position that a connection's stream had before anything was stored."""
        self._positions[node, epoch] = StreamPosition(0, self._positions[node, epoch].at - 1)

    async def order(self, node: str, why: str = "") -> bool:
        return await self.database.write(self.orders.order_facts, node, "person:ann", why)

    async def seen(self, node: str = "web1") -> list[str]:
        return [record.body.decode() for record in (await self.streams.read(f"seen.{node}", 0)).records]


def _nothing() -> Transaction[str | None]:
    return None
    yield  # a transaction without statements


def _prepare(node: str, note: Note) -> Note:
    if note.text == "bad":
        raise InputError("TEST-001", "bad", "")
    return note


def hello(*attempts: str, **more: Any) -> Hello:
    return Hello([1], more.pop("instance", "store"), list(attempts), "boot", "0.1", **more)


def note(number: int, text: str = "") -> Record:
    return Record(number, NOTE, AT, msgspec.Raw(msgspec.json.encode(Note(text or f"note {number}"))))


@pytest.fixture(params=[False, True], ids=["knows", "forgets"])
async def site(database: Database, request: pytest.FixtureRequest) -> Site:
    return await Site(database, is_forgetful=request.param).open("web1")


async def test_kinds_of_a_lower_rank_are_stored_first_whichever_node_sends_them(site: Site) -> None:
    stored: list[tuple[str, str]] = []

    def store(notes: Sequence[tuple[str, Note]]) -> Transaction[Sequence[FactsWanted | None]]:
        stored.extend((node, note.text) for node, note in notes)
        yield from ()
        return [None] * len(notes)

    site.kinds["late"] = RecordKind(Note, _prepare, lambda notes: store(notes), rank=1)
    site.kinds["early"] = RecordKind(Note, _prepare, lambda notes: store(notes))
    await site.open("web2")
    first, second = await site.begin(hello("a1"), "web2"), await site.begin(hello("a1"))
    records = [msgspec.structs.replace(note(at, kind), kind=kind) for at, kind in enumerate(("early", "late"), 1)]
    await asyncio.gather(
        site.take(first.epoch, msgspec.structs.replace(records[1], number=1), node="web2"),
        site.take(second.epoch, *records),
    )
    assert stored == [("web1", "early"), ("web2", "late"), ("web1", "late")]


async def test_repeated_record_is_stored_once(site: Site) -> None:
    session = await site.begin(hello("a1"))
    assert await site.take(session.epoch, note(1), note(2)) == (2, False)
    assert await site.take(session.epoch, note(2), note(3)) == (3, False)
    again = await site.begin(hello("a2", "a1", epoch=1, last=3))
    assert (again.epoch, again.position.received) == (2, 3)
    assert await site.seen() == ["note 1", "note 2", "note 3"]


async def test_records_after_a_gap_are_not_stored(site: Site) -> None:
    session = await site.begin(hello("a1"))
    assert await site.take(session.epoch, note(1), note(3)) == (1, True)
    assert await site.seen() == ["note 1"]


async def test_older_session_is_fenced(site: Site, other_database: Database) -> None:
    other = await Site(other_database, "s2").open()
    old = await site.begin(hello("a1"))
    await site.take(old.epoch, note(1))
    new = await other.begin(hello("a2", "a1", epoch=1, last=1))
    assert await site.take(old.epoch, note(2, "from the dead")) is None
    assert await other.take(new.epoch, note(2, "alive")) == (2, False)
    assert await site.seen() == ["note 1", "alive"]


async def test_older_session_of_another_store_is_fenced(site: Site, other_database: Database) -> None:
    other = await Site(other_database, "s2").open()
    old = await site.begin(hello("a1"))
    await site.take(old.epoch, note(1))
    await site.sessions.end(site.name, [("web1", old.epoch)])
    new = await other.begin(hello("b1", instance="another"))
    assert await site.take(old.epoch, note(2, "from the dead")) is None
    assert await other.take(new.epoch, note(1, "alive"), instance="another") == (1, False)
    assert await site.seen() == ["note 1", "alive"]


async def test_stream_is_advanced_by_one_statement_while_its_position_is_known(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked: list[int] = []
    lock_streams = site.sessions.lock_streams

    def record_locks(streams: Sequence[Stream]) -> Transaction[dict[Stream, LockedStream]]:
        locked.append(len(streams))
        return (yield from lock_streams(streams))

    monkeypatch.setattr(site.sessions, "lock_streams", record_locks)
    session = await site.begin(hello("a1"))
    for number in range(1, 4):
        assert await site.take(session.epoch, note(number)) == (number, False)
    assert locked == ([1, 1, 1] if site.is_forgetful else [])
    locked.clear()
    # Nothing is new, so the stream is read under a lock to see whether the node has reconnected.
    assert await site.take(session.epoch, note(2)) == (3, False)
    assert locked == [1]


async def test_two_connections_of_one_store_in_one_batch(site: Site) -> None:
    old = await site.begin(hello("a1"))
    new = await site.begin(hello("a2", "a1", epoch=1))
    takes = [site.take(epoch, note(1, f"epoch {epoch}")) for epoch in (new.epoch, old.epoch, new.epoch)]
    assert await asyncio.gather(*takes) == [(1, False), None, (1, False)]
    assert await site.seen() == [f"epoch {new.epoch}"]


async def test_each_node_of_a_batch_gets_its_own_outcome(site: Site, other_database: Database) -> None:
    """One node continues, one has reconnected elsewhere, one repeats, one leaves a gap, one knows an older position, one was deleted."""
    names = ["on", "anew", "repeats", "gap", "behind", "gone"]
    await site.open(*names)
    other = await Site(other_database, "s2").open()
    epochs = {}
    for name in names:
        epochs[name] = (await site.begin(hello("a1"), name)).epoch
        assert await site.take(epochs[name], note(1), node=name) == (1, False)
    await other.begin(hello("a2", "a1", epoch=1, last=1), "anew")
    site.forget_last("behind", epochs["behind"])
    await site.database.write(site.sessions.delete_node, "gone")
    sent = {"on": [2, 3], "anew": [2], "repeats": [1], "gap": [2, 4], "behind": [1, 2], "gone": [2]}
    takes = [site.take(epochs[name], *map(note, numbers), node=name) for name, numbers in sent.items()]
    assert dict(zip(names, await asyncio.gather(*takes), strict=True)) == {
        "on": (3, False),
        "anew": None,
        "repeats": (1, False),
        "gap": (2, True),
        "behind": (2, False),
        "gone": None,
    }
    assert {name: len(await site.seen(name)) for name in names} == {
        "on": 3,
        "anew": 1,
        "repeats": 1,
        "gap": 2,
        "behind": 2,
        "gone": 1,
    }
    # All streams continue.
    going_on = {"on": 4, "repeats": 2, "gap": 3, "behind": 3}
    takes = [site.take(epochs[name], note(number), node=name) for name, number in going_on.items()]
    assert await asyncio.gather(*takes) == [(number, False) for number in going_on.values()]


async def test_two_servers_concurrently_store_each_record_once(site: Site, other_database: Database) -> None:
    """The node considers its connection lost and repeats the records over another; the first server is still storing."""
    other = await Site(other_database, "s2").open()
    for round_ in range(10):
        last = 3 * round_
        old = await site.begin(hello(f"a{round_}", f"b{round_ - 1}", epoch=2 * round_, last=last))

        async def through_the_other(last: int = last, round_: int = round_, old: AcceptedSession = old) -> None:
            new = await other.begin(hello(f"b{round_}", f"a{round_}", epoch=old.epoch, last=last + 3))
            await other.take(new.epoch, *(note(number) for number in range(new.position.received + 1, last + 4)))

        storing = site.take(old.epoch, *(note(number) for number in range(last + 1, last + 4)))
        await asyncio.gather(storing, through_the_other(), return_exceptions=True)
    assert await site.seen() == [f"note {number}" for number in range(1, 31)]


async def test_unusable_record_is_counted_as_lost_and_skipped(site: Site) -> None:
    session = await site.begin(hello("a1"))
    unknown = Record(1, "weather", AT, msgspec.Raw(b"{}"))
    broken = Record(2, NOTE, AT, msgspec.Raw(b'{"text": 5}'))
    assert await site.take(session.epoch, unknown, broken, note(3, "bad"), note(4)) == (4, False)
    assert await site.seen() == ["note 4"]
    presence = await site.sessions.read_presence("web1")
    assert presence is not None
    assert presence.lost == 3


async def test_dropped_records_are_counted_as_lost(site: Site) -> None:
    session = await site.begin(hello("a1"))
    await site.take(session.epoch, note(1))
    later = await site.begin(hello("a2", "a1", epoch=1, first=11, last=12))
    assert later.position.received == 10
    presence = await site.sessions.read_presence("web1")
    assert presence is not None
    assert presence.lost == 9


async def test_lost_welcome_holds_no_node(site: Site) -> None:
    await site.begin(hello("a1"))
    # The welcomes of these two never arrived, so the node still knows epoch 0 and all its attempts.
    await site.begin(hello("a2", "a1"))
    assert (await site.begin(hello("a3", "a2", "a1"))).epoch == 3


async def test_restored_database_holds_no_node(site: Site) -> None:
    await site.begin(hello("a1"))
    # The node was welcomed nine times since the backup, which knows one welcome.
    back = await site.begin(hello("a10", "a9", epoch=9))
    assert back.epoch == 10
    assert await site.audit.read_latest() == []


async def test_unknown_version_is_refused(site: Site) -> None:
    with pytest.raises(InputError, match="versions 7, 9 of the session protocol, this server 1"):
        await site.begin(Hello([7, 9], "store", ["a1"], "boot", "9"))


async def test_order_waits_until_it_is_confirmed(site: Site) -> None:
    assert await site.order("web1", "because")
    assert await site.order("web1")
    assert await site.orders.list_nodes_with_orders() == ["web1"]
    orders = await site.orders.read("web1", 0, 10)
    assert [(record.number, record.kind, bytes(record.body)) for record in orders] == [
        (1, "collect", b'{"why":"because"}'),
        (2, "collect", b'{"why":""}'),
    ]
    await confirm(site.orders, "web1", 1)
    assert [record.number for record in await site.orders.read("web1", 0, 10)] == [2]
    await confirm(site.orders, "web1", 2)
    assert await site.orders.list_nodes_with_orders() == []


@pytest.mark.parametrize(
    ("waiting", "received", "epoch", "numbers"),
    [
        pytest.param(0, 50, 9, [51], id="purged"),
        pytest.param(2, 50, 9, [51, 52, 53], id="set back"),
        pytest.param(5, 3, 9, [6, 7, 8, 9, 10, 11], id="set back, and ordered since"),
        pytest.param(2, 50, 0, [51, 52, 53], id="it has more than was given"),
        pytest.param(5, 3, 0, [4, 5, 6], id="it has some, which is not confirmed"),
        pytest.param(5, 0, 9, [1, 2, 3, 4, 5, 6], id="set back, and it has nothing"),
    ],
)
async def test_orders_are_numbered_after_those_the_node_has(
    site: Site, waiting: int, received: int, epoch: int, numbers: list[int]
) -> None:
    for at in range(waiting):
        await site.order("web1", f"order {at}")
    await site.open("web2")
    assert await site.order("web2", "of no concern here")
    await site.begin(hello("a1", epoch=epoch, received=received))
    await site.order("web1", "the last")
    orders = await site.orders.read("web1", received, 10)
    assert [record.number for record in orders] == numbers
    whys = [msgspec.json.decode(record.body)["why"] for record in orders]
    assert whys == [*(f"order {at}" for at in range(waiting)), "the last"][-len(numbers) :]
    await confirm(site.orders, "web1", numbers[-1])
    assert await site.orders.list_nodes_with_orders() == ["web2"]
    assert [record.number for record in await site.orders.read("web2", 0, 10)] == [1]


@pytest.mark.parametrize(
    ("earlier_s", "numbers"), [pytest.param(0, [], id="the same"), pytest.param(60, [3, 4], id="another")]
)
async def test_order_with_a_number_the_node_has_for_another_order_is_not_skipped(
    site: Site, earlier_s: int, numbers: list[int]
) -> None:
    """The database was restored to a time when this session had begun, and has given the numbers again."""
    for at in range(2):
        await site.order("web1", f"order {at}")
    made_at = (await site.orders.read("web1", 1, 1))[0].at
    await site.begin(hello("a1", received=2, received_at=made_at - timedelta(seconds=earlier_s)))
    assert [record.number for record in await site.orders.read("web1", 2, 10)] == numbers


async def test_connection_learns_that_the_database_was_restored(site: Site) -> None:
    for _ in range(2):
        await site.order("web1")
    await confirm(site.orders, "web1", 2)
    assert await site.orders.read("web1", 2, 10, 2) == []
    await site.database.write(site.streams.delete, "agent.web1")
    for _ in range(2):
        await site.order("web1")
        with pytest.raises(StreamRewound):
            await site.orders.read("web1", 2, 10, 2)


async def test_unknown_node_gets_no_order(site: Site) -> None:
    assert not await site.order("nobody")
    assert await site.orders.list_nodes_with_orders() == []


async def test_orders_for_a_node_are_bounded(site: Site) -> None:
    small = Site(site.database)
    small.orders = OrderService(small.nodes, Streams(site.database, 2), small.audit)
    for _ in range(2):
        await small.order("web1")
    with pytest.raises(UnavailableError, match="is full"):
        await small.order("web1")


@pytest.mark.parametrize("seed", range(5))
async def test_whatever_gets_lost_each_record_is_stored_once_in_order(site: Site, seed: int) -> None:
    """A node keeps unacknowledged records, the network loses frames and acknowledgements, the node reconnects at random."""
    chance = random.Random(seed)
    attempts, epoch, made, acknowledged = ["a0"], 0, 0, 0
    session = await site.begin(hello("a0"))
    for step in range(120):
        move = chance.random()
        if move < 0.4:
            made += 1
        elif move < 0.85:
            upto = chance.randint(acknowledged, made)
            batch = [note(number) for number in range(acknowledged + 1, upto + 1)]
            if batch and chance.random() < 0.2:
                del batch[chance.randrange(len(batch))]
            if batch:
                taken = await site.take(session.epoch, *batch)
                assert taken is not None, "the session is the newest"
                if chance.random() < 0.6:
                    acknowledged = taken[0]
        else:
            attempts.insert(0, f"a{step}")
            session = await site.begin(hello(*attempts, epoch=epoch, last=made))
            if chance.random() < 0.7:
                epoch, acknowledged = session.epoch, session.position.received
                del attempts[1:]
    final = await site.begin(hello("end", *attempts, epoch=epoch, last=made))
    await site.take(final.epoch, *(note(number) for number in range(final.position.received + 1, made + 1)))
    assert await site.seen() == [f"note {number}" for number in range(1, made + 1)]
    assert made > 20
