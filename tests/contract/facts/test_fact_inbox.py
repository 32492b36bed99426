"""Sets that cannot be decided upon now, on both databases: they wait, delay no other node, and never replace newer sets."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
import pytest

from lab.compile_services import KeyInMemory
from precast.api.sessions.records import declare_messages
from precast.app.jobs import build_attempt_results
from precast.base import digests
from precast.base.clock import ManualClock
from precast.base.errors import NotFoundError
from precast.base.ids import TimeOrderedIds
from precast.services.facts.intake import FACTS, FactIntake
from precast.services.facts.reads import TracedReads
from precast.services.facts.records import FactRecords
from precast.services.facts.service import FactService
from precast.services.futures.records import FutureRecords
from precast.services.futures.sealing import FutureSeals
from precast.services.jobs.records import OrderRecords
from precast.services.reports.reports import ReportService
from precast.services.secrets.keyring import Keyring
from precast.services.sessions.orders import MAX_ORDERS
from precast.services.sessions.record_intake import RecordIntake, RecordSource, StoredRecords
from precast.services.sessions.sessions import SessionService
from precast.services.traces.fact_paths import FactReads
from precast.services.work_kinds import DECIDE
from precast.store.engine import query
from precast.store.engine.database import Database
from precast.store.engine.query import ManyRows, Query, Statement, Transaction
from precast.store.facts.facts import Facts
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import NodeCertificates
from precast.store.jobs.attempts import Attempts
from precast.store.queue.kinds import ItemRequest
from precast.store.queue.queue import WorkQueue
from precast.store.reports.reports import Reports
from precast.store.reports.views import find_latest
from precast.store.secrets.keys import SecretKeys
from precast.store.sessions.sessions import Sessions, SessionStart
from precast.store.sessions.streams import Streams
from precast.wire import sessions as session
from precast.wire.facts import FactUpload, make_upload
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
        self.facts = FactService(database, Facts(database), self.work, TracedReads(database))
        audit = AuditLog(database, TimeOrderedIds(database.clock))
        streams = Streams(database, MAX_ORDERS)
        self.sessions = SessionService(database, Sessions(database), streams, audit, Facts(database).find_newest_digest)
        self.records = RecordIntake(database, Sessions(database))
        self.kinds = declare_messages(
            FactRecords(self.facts),
            self.records,
            ReportService(database, Reports(database)),
            OrderRecords(build_attempt_results(database)),
            FutureRecords(
                database.clock,
                FutureSeals(Keyring(database, SecretKeys(database), KeyInMemory())),
                audit,
                Attempts(database),
            ),
        ).kinds

    async def begin(self, node: str) -> int:
        arrival = SessionStart(node, "s1", "store", ["a1"], "", "192.0.2.1", "boot", "0.1")
        return (await self.sessions.begin(arrival, Hello([1], "store", ["a1"], "boot", "0.1"))).epoch

    async def take(self, node: str, epoch: int, *records: Record) -> int:
        promise: asyncio.Future[StoredRecords | None] = asyncio.get_running_loop().create_future()
        self.records.submit(RecordSource((node, "store"), epoch, None), records, self.kinds, promise)
        taken = await promise
        assert taken is not None, "the session is the newest"
        return taken.position.received

    async def submit(self, node: str, stable: dict[str, Any]) -> None:
        await self.facts.submit(node, make_upload(stable, {}))

    async def shown(self, node: str) -> dict[str, Any]:
        return (await self.facts.show(node)).facts

    async def waiting(self, kind: str) -> list[str]:
        return [item.key for item in await self.work.list_waiting() if item.kind == kind]

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
        """Put a set into the inbox."""
        received = self.facts.prepare(node, make_upload(stable, {}))

        def unit() -> Transaction[None]:
            yield from Facts(self.database).receive([received.stamp(received_at)])
            yield from self.work.enqueue_items(FACTS.name, [ItemRequest(node)])

        await self.database.write(unit)


def record_statements(unit: Transaction[T], seen: list[str]) -> Transaction[T]:
    """Run a transaction and record the names of its statements in their order."""
    try:
        step = next(unit)
        while True:
            if isinstance(step, Statement | ManyRows):
                seen.append(step.query.name)
            step = unit.send((yield step))
    except StopIteration as end:
        result: T = end.value
        return result


def facts_record(number: int, stable: dict[str, Any]) -> Record:
    return Record(number, session.FACTS, AT, msgspec.Raw(msgspec.json.encode(make_upload(stable, {}))))


def broken_record(number: int, stable: bytes) -> Record:
    facts = FactUpload(digests.of_bytes(stable), msgspec.Raw(b"{}"), msgspec.Raw(stable))
    return Record(number, session.FACTS, AT, msgspec.Raw(msgspec.json.encode(facts)))


def report_record(number: int, run: int = 1) -> Record:
    body = msgspec.Raw(msgspec.json.encode(ended(began(run))))
    return Record(number, wire_reports.ENDED, AT, body)


@pytest.fixture
async def nodes(database: Database) -> Sequence[str]:
    for node in NODES:
        await database.write(NodeCertificates(database).lock_or_create, node)
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
    assert (await database.read(find_latest, nodes)).keys() == set(nodes)
    assert [await server.shown(node) for node in ("web1", "web3")] == [{"os": 2}, {"os": 2}]
    assert await server.waiting("facts") == ["web2"]
    # The digest of a waiting set is known, and the next set of the node replaces it in the inbox.
    assert not (await server.facts.submit("web2", make_upload({"os": 2}, {}).without_stable())).wants_stable
    await server.submit("web2", {"os": 3})
    while await server.waiting("facts"):
        await server.facts.work_off("worker")
        clock.advance(FACTS.pause_cap_s)
    (letter,) = await server.work.list_dead()
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

        def lock_reads(self, nodes: Sequence[str]) -> Transaction[dict[str, FactReads | None]]:
            reads = yield from TracedReads(database).lock_reads(nodes)
            if "web1" in nodes:
                raise ValueError("no question")
            return reads

    server = Server(database)
    for node in nodes:
        await server.submit(node, {"os": 1})
    other = FactService(database, Facts(database), server.work, Damaged())
    await asyncio.gather(*(other.submit(node, make_upload({"os": 2}, {})) for node in nodes))
    assert await server.waiting("facts") == ["web1"]
    assert [await server.shown(node) for node in nodes] == [{"os": 1}, {"os": 2}, {"os": 2}]
    assert await server.facts.work_off("worker") == 1
    assert await server.shown("web1") == {"os": 2}


async def test_set_whose_request_has_no_room_waits_until_there_is_room(
    database: Database, nodes: Sequence[str], clock: ManualClock
) -> None:
    server = Server(database, decisions=1)
    await server.submit("web3", {"os": 1})
    assert await server.waiting("decide") == ["web3"]
    epoch = await server.begin("web1")
    assert await server.take("web1", epoch, facts_record(1, {"os": 1}), report_record(2)) == 2
    assert "web1" in await database.read(find_latest, nodes)
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


async def test_set_without_a_request_is_stored_even_if_the_queue_is_full(
    database: Database, nodes: Sequence[str]
) -> None:
    server = Server(database, decisions=1)
    await server.submit("web3", {"os": 1})
    await asyncio.gather(server.submit("web1", {"os": 1}), server.submit("web3", {"os": 1}))
    assert await server.waiting("facts") == ["web1"]
    assert (await server.facts.show("web3")).decision == "nothing changed"


async def test_older_set_that_arrives_late_in_the_inbox_never_replaces_a_newer_one(
    database: Database, nodes: Sequence[str], clock: ManualClock
) -> None:
    """Another server puts it into the inbox while the node sends the next set to this one."""
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


async def test_set_received_by_a_server_whose_clock_is_behind_is_still_the_newest(
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
    (left,) = [item for item in await server.work.list_waiting() if item.kind == "facts"]
    assert left.key == "web1"
    assert "FACTS-006" in (left.last_error or "")


async def test_intake_and_inbox_worker_lock_in_the_same_order(
    database: Database, nodes: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So they cannot deadlock on PostgreSQL."""
    monkeypatch.setattr(query, "COMPUTE_BATCH", 1)
    server = Server(database)
    for node in nodes:
        await server.submit(node, {"os": 1})
    await server.set_stable("web1", b"damaged")
    received = [(node, server.facts.prepare(node, make_upload({"os": 2}, {}))) for node in nodes]
    received += [("web4", server.facts.prepare("web4", make_upload({"os": 1}, {}).without_stable()))]
    await database.write(NodeCertificates(database).lock_or_create, "web4")
    await server.keep_for_later("web4", {"os": 1}, database.clock.now())
    locks = ["facts.lock_stored", "catalogs.lock", "facts.store", "facts.store_volatile", "work.enqueue_many"]
    taken: list[str] = []
    await database.write(lambda: record_statements(server.facts.take(received), taken))
    writes = [name for name in taken if name in {*locks, "facts.receive"}]
    assert list(dict.fromkeys(writes)) == [*locks, "facts.receive"]
    assert (writes.count("facts.lock_stored"), writes.count("catalogs.lock")) == (1, 1)
    assert writes[-2:] == ["facts.receive", "work.enqueue_many"]

    await server.set_stable("web1", b'{"os":1}')
    claims = await server.work.claim("facts", "worker", limit=10, lease_s=60)
    assert sorted(claim.key for claim in claims) == ["web1", "web4"]
    worked: list[str] = []
    intake = FactIntake(database, Facts(database), server.work, TracedReads(database))
    await database.write(lambda: record_statements(intake.work_off(claims), worked))
    writes = [name for name in worked if name in {*locks, "facts.clear"}]
    assert list(dict.fromkeys(writes)) == [*locks, "facts.clear"]


@pytest.mark.parametrize("is_known", [True, False])
async def test_invalid_fact_record_is_lost_and_the_one_before_it_is_stored(
    database: Database, nodes: Sequence[str], *, is_known: bool
) -> None:
    """The same holds if only the transaction finds out, and the other sets of the transaction are not affected."""
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


async def test_invalid_set_does_not_replace_a_waiting_one(database: Database, nodes: Sequence[str]) -> None:
    server = Server(database)
    epoch = await server.begin("web1")
    await server.keep_for_later("web1", {"os": 1}, database.clock.now())
    records = [facts_record(1, {"os": 2}), broken_record(2, b'{"os":1e999}')]
    assert await server.take("web1", epoch, *records) == 2
    assert await server.lost("web1") == 1
    assert await server.facts.work_off("worker") == 1
    assert await server.shown("web1") == {"os": 2}
    assert await server.waiting("facts") == []
