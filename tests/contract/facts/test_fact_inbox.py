"""Facts that nothing can be decided upon now, on both databases: they wait, stop nobody, and never overtake newer ones."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
import pytest

from precast.api.sessions.records import messages_of
from precast.base import digests
from precast.base.clock import ManualClock
from precast.base.errors import NotFoundError
from precast.base.ids import TimeOrderedIds
from precast.services.facts.facts import FACTS, FactService
from precast.services.facts.reads import ReadFacts
from precast.services.reports.reports import ReportService
from precast.services.sessions.sessions import MAX_ORDERS, SessionService, Source, Taken
from precast.services.traces.fact_paths import FactReads
from precast.services.work_kinds import DECIDE
from precast.store.engine import query
from precast.store.engine.database import Database
from precast.store.engine.query import ManyRows, Query, Statement, Transaction
from precast.store.facts.facts import Facts, Received
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import Nodes
from precast.store.queue.kinds import Asked
from precast.store.queue.queue import WorkQueue
from precast.store.reports.reports import Reports
from precast.store.reports.views import reading_latest
from precast.store.sessions.sessions import Arrival, Sessions
from precast.store.sessions.streams import Streams
from precast.wire import sessions as session
from precast.wire.facts import FactsBody, facts_body
from precast.wire.reports import records as wire_reports
from precast.wire.sessions import Hello, Record
from tests.contract.reports.report_site import began, ended

T = TypeVar("T")

NODES = ("web1", "web2", "web3")
AT = datetime(2026, 1, 1, tzinfo=UTC)

LOST = Query("test.lost", "SELECT lost FROM session WHERE node = :node")
SET_STABLE = Query("test.set_stable", "UPDATE fact_set SET stable = :stable WHERE node = :node")


class Server:
    """Facts, reports and sessions of one server."""

    def __init__(self, database: Database, *, decisions: int = 100) -> None:
        self.database = database
        self.work = WorkQueue(database, [FACTS, msgspec.structs.replace(DECIDE, max_items=decisions)])
        self.facts = FactService(database, Facts(database), self.work, ReadFacts(database))
        audit = AuditLog(database, TimeOrderedIds(database.clock))
        streams = Streams(database, MAX_ORDERS)
        self.sessions = SessionService(
            database, Sessions(database), Nodes(database), streams, audit, Facts(database).newest
        )
        self.kinds = messages_of(self.facts, self.sessions, ReportService(database, Reports(database))).kinds

    async def begin(self, node: str) -> int:
        arrival = Arrival(node, "s1", "store", "a1", "192.0.2.1", "boot", "0.1")
        return (await self.sessions.begin(arrival, Hello([1], "store", ["a1"], "boot", "0.1"))).epoch

    async def take(self, node: str, epoch: int, *records: Record) -> int:
        promise: asyncio.Future[Taken | None] = asyncio.get_running_loop().create_future()
        self.sessions.take_in(Source((node, "store"), epoch, None), records, self.kinds, promise)
        taken = await promise
        assert taken is not None, "the session is the newest"
        return taken.stand.received

    async def submit(self, node: str, stable: dict[str, Any]) -> None:
        await self.facts.submit(node, facts_body(stable, {}))

    async def shown(self, node: str) -> dict[str, Any]:
        return (await self.facts.show(node)).facts

    async def waiting(self, kind: str) -> list[str]:
        return [item.key for item in await self.work.waiting() if item.kind == kind]

    async def lost(self, node: str) -> int:
        def unit() -> Transaction[int]:
            ((lost,),) = yield LOST(node=node)
            return int(lost)

        return await self.database.read(unit)

    async def set_stable(self, node: str, stable: bytes) -> None:
        def unit() -> Transaction[None]:
            yield SET_STABLE(node=node, stable=stable)

        await self.database.write(unit)

    async def keep_for_later(self, node: str, stable: dict[str, Any], received_at: datetime) -> None:
        """Acknowledge a set as a server of an older version does."""
        came = self.facts.prepare(node, facts_body(stable, {}))

        def unit() -> Transaction[None]:
            assert came.stable is not None
            received = Received(node, came.digest, came.stable, came.volatile, received_at)
            yield from Facts(self.database).receiving([received])
            yield from self.work.enqueuing_many(FACTS.name, [Asked(node)])

        await self.database.write(unit)


def noting(unit: Transaction[T], seen: list[str]) -> Transaction[T]:
    """The same unit, and the names of its statements in their order."""
    try:
        step = next(unit)
        while True:
            if isinstance(step, Statement | ManyRows):
                seen.append(step.query.name)
            step = unit.send((yield step))
    except StopIteration as end:
        found: T = end.value
        return found


def facts_record(number: int, stable: dict[str, Any]) -> Record:
    return Record(number, session.FACTS, AT, msgspec.Raw(msgspec.json.encode(facts_body(stable, {}))))


def broken_record(number: int, stable: bytes) -> Record:
    facts = FactsBody(digests.of_bytes(stable), msgspec.Raw(b"{}"), msgspec.Raw(stable))
    return Record(number, session.FACTS, AT, msgspec.Raw(msgspec.json.encode(facts)))


def report_record(number: int, run: int = 1) -> Record:
    body = msgspec.Raw(msgspec.json.encode(ended(began(run))))
    return Record(number, wire_reports.ENDED, AT, body)


@pytest.fixture
async def nodes(database: Database) -> Sequence[str]:
    for node in NODES:
        await database.write(Nodes(database).taking, node)
    return NODES


async def test_set_beside_a_damaged_one_waits_and_its_nodes_other_records_get_through(
    database: Database, nodes: Sequence[str], clock: ManualClock
) -> None:
    server = Server(database)
    epochs = {node: await server.begin(node) for node in nodes}
    for node in nodes:
        await server.take(node, epochs[node], facts_record(1, {"os": 1}))
    await server.set_stable("web2", b"damaged")
    records = [(facts_record(2, {"os": 2}), report_record(3, run)) for run in range(len(nodes))]
    taking = [server.take(node, epochs[node], *sent) for node, sent in zip(nodes, records, strict=True)]
    assert await asyncio.gather(*taking) == [3, 3, 3]
    assert (await database.read(reading_latest, nodes)).keys() == set(nodes)
    assert [await server.shown(node) for node in ("web1", "web3")] == [{"os": 2}, {"os": 2}]
    assert await server.waiting("facts") == ["web2"]
    # A set that waits is known, and the next one of its node waits in its place.
    assert not (await server.facts.submit("web2", facts_body({"os": 2}, {}).without_stable())).wants_stable
    await server.submit("web2", {"os": 3})
    while await server.waiting("facts"):
        await server.facts.work_off("worker")
        clock.advance(FACTS.pause_cap_s)
    (letter,) = await server.work.dead()
    assert (letter.kind, letter.key) == ("facts", "web2")
    assert "[FACTS-006]" in letter.last_error
    await server.set_stable("web2", b'{"os":1}')
    assert await server.work.requeue("facts", "web2")
    assert await server.facts.work_off("worker") == 1
    assert [(row.before, row.after) for row in await server.facts.changes("web2")] == [(1, 3)]


async def test_set_whose_trace_cannot_be_read_waits_alone(database: Database, nodes: Sequence[str]) -> None:
    class Damaged:
        def of(self, node: str) -> Transaction[FactReads | None]:
            raise NotImplementedError

        def holding(self, nodes: Sequence[str]) -> Transaction[dict[str, FactReads | None]]:
            found = yield from ReadFacts(database).holding(nodes)
            if "web1" in nodes:
                raise ValueError("no question")
            return found

    server = Server(database)
    for node in nodes:
        await server.submit(node, {"os": 1})
    other = FactService(database, Facts(database), server.work, Damaged())
    await asyncio.gather(*(other.submit(node, facts_body({"os": 2}, {})) for node in nodes))
    assert await server.waiting("facts") == ["web1"]
    assert [await server.shown(node) for node in nodes] == [{"os": 1}, {"os": 2}, {"os": 2}]
    assert await server.facts.work_off("worker") == 1
    assert await server.shown("web1") == {"os": 2}


async def test_set_that_there_is_no_room_to_ask_for_waits_until_there_is(
    database: Database, nodes: Sequence[str], clock: ManualClock
) -> None:
    server = Server(database, decisions=1)
    await server.submit("web3", {"os": 1})
    assert await server.waiting("decide") == ["web3"]
    epoch = await server.begin("web1")
    assert await server.take("web1", epoch, facts_record(1, {"os": 1}), report_record(2)) == 2
    assert "web1" in await database.read(reading_latest, nodes)
    with pytest.raises(NotFoundError):
        await server.shown("web1")
    assert await server.facts.work_off("worker") == 1
    assert (await server.waiting("facts"), await server.waiting("decide")) == (["web1"], ["web3"])
    (claim,) = await server.work.claim("decide", "decider", limit=1, lease_s=60)
    await server.work.complete(claim)
    clock.advance(FACTS.pause_cap_s)
    assert await server.facts.work_off("worker") == 1
    assert (await server.waiting("facts"), await server.waiting("decide")) == ([], ["web1"])
    assert await server.shown("web1") == {"os": 1}


async def test_set_that_asks_for_nothing_is_stored_also_if_there_is_no_room(
    database: Database, nodes: Sequence[str]
) -> None:
    server = Server(database, decisions=1)
    await server.submit("web3", {"os": 1})
    await asyncio.gather(server.submit("web1", {"os": 1}), server.submit("web3", {"os": 1}))
    assert await server.waiting("facts") == ["web1"]
    assert (await server.facts.show("web3")).decision == "nothing changed"


async def test_older_set_that_came_into_the_inbox_late_is_never_stored_over_a_newer_one(
    database: Database, nodes: Sequence[str], clock: ManualClock
) -> None:
    """A server of an older version was about to keep it while the node sent the next one to us."""
    server = Server(database)
    earlier_at = clock.now()
    clock.advance(1)
    await server.submit("web1", {"os": 2})
    await server.keep_for_later("web1", {"os": 1}, earlier_at)
    assert await server.facts.work_off("worker") == 1
    assert await server.shown("web1") == {"os": 2}
    assert await server.waiting("facts") == []
    await server.submit("web1", {"os": 3})
    assert await server.shown("web1") == {"os": 3}
    assert [(row.before, row.after) for row in await server.facts.changes("web1")] == [(2, 3)]


async def test_set_taken_by_a_server_whose_clock_is_behind_is_the_newest_all_the_same(
    database: Database, nodes: Sequence[str], clock: ManualClock
) -> None:
    server = Server(database)
    await server.submit("web1", {"os": 1})
    clock.set_back(60)
    await server.keep_for_later("web1", {"os": 0}, clock.now())
    await server.submit("web1", {"os": 2})
    assert await server.facts.work_off("worker") == 1
    assert await server.shown("web1") == {"os": 2}
    await server.submit("web1", {"os": 3})
    assert await server.shown("web1") == {"os": 3}


async def test_damaged_set_in_the_inbox_fails_alone(database: Database, nodes: Sequence[str]) -> None:
    server = Server(database)
    for node in ("web1", "web2"):
        await server.keep_for_later(node, {"os": 1}, database.clock.now())

    def damage() -> Transaction[None]:
        yield Query("test.damage", "UPDATE fact_inbox SET stable = :stable WHERE node = 'web1'")(stable=b"damaged")

    await database.write(damage)
    assert await server.facts.work_off("worker") == 2
    assert await server.shown("web2") == {"os": 1}
    (left,) = [item for item in await server.work.waiting() if item.kind == "facts"]
    assert left.key == "web1"
    assert "FACTS-006" in (left.last_error or "")


async def test_who_takes_and_who_works_off_lock_in_one_order(
    database: Database, nodes: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So on PostgreSQL they wait for each other, and never in a circle."""
    monkeypatch.setattr(query, "THOUGHTS", 1)
    server = Server(database)
    for node in nodes:
        await server.submit(node, {"os": 1})
    await server.set_stable("web1", b"damaged")
    came = [(node, server.facts.prepare(node, facts_body({"os": 2}, {}))) for node in nodes]
    came += [("web4", server.facts.prepare("web4", facts_body({"os": 1}, {}).without_stable()))]
    await database.write(Nodes(database).taking, "web4")
    await server.keep_for_later("web4", {"os": 1}, database.clock.now())
    locks = ["facts.hold", "catalogs.hold", "facts.store", "facts.store_volatile", "work.enqueue_many"]
    taken: list[str] = []
    await database.write(lambda: noting(server.facts.taking(came), taken))
    writes = [name for name in taken if name in {*locks, "facts.receive"}]
    assert list(dict.fromkeys(writes)) == [*locks, "facts.receive"]
    assert (writes.count("facts.hold"), writes.count("catalogs.hold")) == (1, 1)
    assert writes[-2:] == ["facts.receive", "work.enqueue_many"]

    await server.set_stable("web1", b'{"os":1}')
    claims = await server.work.claim("facts", "worker", limit=10, lease_s=60)
    assert sorted(claim.key for claim in claims) == ["web1", "web4"]
    worked: list[str] = []
    await database.write(lambda: noting(server.facts._persisting(claims), worked))
    writes = [name for name in worked if name in {*locks, "facts.clear"}]
    assert list(dict.fromkeys(writes)) == [*locks, "facts.clear"]


@pytest.mark.parametrize("is_known", [True, False])
async def test_record_that_is_no_facts_is_lost_and_the_one_before_it_kept(
    database: Database, nodes: Sequence[str], *, is_known: bool
) -> None:
    """Also if that is only found out when they are taken, and of those who share the transaction nobody notices."""
    server = Server(database)
    epochs = {node: await server.begin(node) for node in nodes}
    if is_known:
        for node in nodes:
            await server.submit(node, {"os": 0})
    broken = [b'{"os":1e998}', b'{"os":1e999}', b'{"os":']
    records = [facts_record(1, {"os": 1}), *(broken_record(number, text) for number, text in enumerate(broken, 2))]
    others = [server.take(node, epochs[node], facts_record(1, {"os": 3})) for node in nodes[1:]]
    assert await asyncio.gather(server.take(nodes[0], epochs[nodes[0]], *records), *others) == [4] + [1] * len(others)
    assert [await server.shown(node) for node in nodes] == [{"os": 1}] + [{"os": 3}] * len(others)
    assert await server.waiting("facts") == []
    assert await server.lost(nodes[0]) == 3
    assert await server.take(nodes[0], epochs[nodes[0]], facts_record(5, {"os": 4})) == 5
    assert await server.shown(nodes[0]) == {"os": 4}


async def test_what_is_no_facts_replaces_nothing_that_waits(database: Database, nodes: Sequence[str]) -> None:
    server = Server(database)
    epoch = await server.begin("web1")
    await server.keep_for_later("web1", {"os": 1}, database.clock.now())
    records = [facts_record(1, {"os": 2}), broken_record(2, b'{"os":1e999}')]
    assert await server.take("web1", epoch, *records) == 2
    assert await server.lost("web1") == 1
    assert await server.facts.work_off("worker") == 1
    assert await server.shown("web1") == {"os": 2}
    assert await server.waiting("facts") == []
