"""The fact service on both databases: the digest comes first, a set is durable before it is acknowledged, and decided upon once."""

import asyncio
import zlib
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from precast.base import canonical, digests
from precast.base.clock import ManualClock
from precast.base.errors import ConflictError, InputError, NotFoundError, PrecastError
from precast.lang.inputs import FactPath, Path
from precast.services.clocks.guard import ClockGuard
from precast.services.facts import retention as fact_retention
from precast.services.facts.intake import FACTS
from precast.services.facts.reads import TracedReads
from precast.services.facts.retention import FactRetention
from precast.services.facts.service import FactService
from precast.services.traces.fact_paths import FactReads, read_facts
from precast.services.work_kinds import DECIDE
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction
from precast.store.facts import views as fact_views
from precast.store.facts.facts import Facts
from precast.store.identity.certificates import NodeCertificates
from precast.store.queue.kinds import ItemRequest
from precast.store.queue.queue import WorkQueue
from precast.store.sessions.sessions import Sessions
from precast.wire.facts import FactsAnswer, FactUpload, make_upload


class FixedReads:
    """Catalogs of all nodes that were compiled from these facts."""

    def __init__(self, *paths: Path) -> None:
        self._reads = read_facts(FactPath(path) for path in paths)

    def of(self, node: str) -> Transaction[FactReads | None]:
        yield from ()
        return self._reads

    def lock_reads(self, nodes: Sequence[str]) -> Transaction[dict[str, FactReads | None]]:
        yield from ()
        return dict.fromkeys(nodes, self._reads)


def body(stable: dict[str, Any], volatile: dict[str, Any] | None = None, *, is_whole: bool = True) -> FactUpload:
    whole = make_upload(stable, volatile or {})
    return whole if is_whole else whole.without_stable()


@pytest.fixture
def work(database: Database) -> WorkQueue:
    return WorkQueue(database, [FACTS, DECIDE])


@pytest.fixture
async def service(database: Database, work: WorkQueue) -> FactService:
    def known() -> Transaction[None]:
        yield from NodeCertificates(database).lock_or_create("web1")

    await database.write(known)
    return FactService(database, Facts(database), work, TracedReads(database))


async def waiting(work: WorkQueue, kind: str) -> list[str]:
    return [item.key for item in await work.list_waiting() if item.kind == kind]


async def test_facts_of_a_node_on_hold_are_not_stored(service: FactService, database: Database) -> None:
    """They would be those of one machine or the other, in turn."""
    sessions = Sessions(database)
    await service.submit("web1", body({"a": 1}))
    await database.write(sessions.lock, "web1")
    await database.write(sessions.hold, "web1", 1)
    with pytest.raises(ConflictError, match="web1 is on hold"):
        await service.submit("web1", body({"a": 2}))
    await service.work_off("worker")
    assert (await service.show("web1")).facts["a"] == 1


async def test_unknown_digest_makes_the_server_ask_for_the_stable_part(service: FactService, work: WorkQueue) -> None:
    assert (await service.submit("web1", body({"os": 1}, is_whole=False))).wants_stable
    assert await work.list_waiting() == []


async def test_whole_set_is_stored_and_leads_to_a_compile(service: FactService, work: WorkQueue) -> None:
    assert not (await service.submit("web1", body({"os": {"name": "Debian"}}, {"uptime": 5}))).wants_stable
    view = await service.show("web1")
    assert (view.facts, view.decision) == ({"os": {"name": "Debian"}, "uptime": 5}, "1 changed: compile")
    assert await waiting(work, "decide") == ["web1"]
    assert await waiting(work, "facts") == []


async def test_known_digest_costs_no_work_and_updates_the_volatile_part(service: FactService, work: WorkQueue) -> None:
    await service.submit("web1", body({"os": 1}, {"uptime": 5}))
    await service.work_off("worker")
    assert not (await service.submit("web1", body({"os": 1}, {"uptime": 6}, is_whole=False))).wants_stable
    assert await waiting(work, "facts") == []
    assert (await service.show("web1")).facts == {"os": 1, "uptime": 6}
    assert await service.changes("web1") == []


async def test_digest_that_waits_in_the_inbox_is_known(service: FactService) -> None:
    await service.submit("web1", body({"os": 1}))
    assert not (await service.submit("web1", body({"os": 1}, is_whole=False))).wants_stable
    assert (await service.submit("web1", body({"os": 2}, is_whole=False))).wants_stable


async def test_change_is_in_the_history_path_by_path(service: FactService, clock: ManualClock) -> None:
    await service.submit("web1", body({"os": {"name": "Debian", "release": "12"}, "old": [1, 2], "a/b": 1}))
    await service.work_off("worker")
    clock.advance(60)
    await service.submit("web1", body({"os": {"name": "Debian", "release": "13"}, "new": None, "a/b": 1.0}))
    await service.work_off("worker")
    changes = {row.path: (row.before, row.after) for row in await service.changes("web1")}
    assert changes.keys() == {"/os/release", "/old", "/new", "/a~1b"}
    assert changes["/os/release"] == ("12", "13")
    assert changes["/new"][1] is None
    assert (await service.show("web1")).decision == "4 changed: compile"


@pytest.mark.parametrize("is_overtaken", [False, True])
async def test_comparison_made_beforehand_counts_only_against_the_stored_set(
    service: FactService, database: Database, clock: ManualClock, *, is_overtaken: bool
) -> None:
    await service.submit("web1", body({"os": 1, "disks": {"sda": 1, "sdb": 1}}))
    prepared = "web1", service.prepare("web1", body({"os": 2, "disks": {"sda": 1, "sdb": 2}}))
    clock.advance(1)
    if is_overtaken:
        await service.submit("web1", body({"os": 2, "disks": {"sda": 2, "sdb": 1}}))
        clock.advance(1)
    promise: asyncio.Future[FactsAnswer | PrecastError] = asyncio.get_running_loop().create_future()
    database.write_item(service.take, prepared, promise)
    await promise
    newest = max(row.at for row in await service.changes("web1"))
    steps = [(row.path, row.before, row.after) for row in await service.changes("web1") if row.at == newest]
    other = ("/disks/sda", 2, 1) if is_overtaken else ("/os", 1, 2)
    assert sorted(steps) == sorted([other, ("/disks/sdb", 1, 2)])


async def test_set_that_cannot_be_compared_beforehand_is_still_taken_in(
    service: FactService, database: Database, work: WorkQueue
) -> None:
    await service.submit("web1", body({"os": 1}))

    def damage() -> Transaction[None]:
        yield Query("spoil", "UPDATE fact_set SET stable = :stable")(stable=b"{]")

    await database.write(damage)
    assert not (await service.submit("web1", body({"os": 2}))).wants_stable
    assert await waiting(work, "facts") == ["web1"]


async def test_change_that_does_not_matter_leads_to_no_compile(
    service: FactService, database: Database, work: WorkQueue
) -> None:
    other = FactService(database, Facts(database), work, FixedReads(("kernel",)))
    await other.submit("web1", body({"os": 1}))
    await other.work_off("worker")
    await work.complete((await work.claim("decide", "worker", limit=1, lease_s=60))[0])
    await other.submit("web1", body({"os": 2}))
    await other.work_off("worker")
    assert (await other.show("web1")).decision == "1 changed, none of them matters"
    assert await waiting(work, "decide") == []
    await other.submit("web1", body({"os": 2, "kernel": "6.1"}))
    await other.work_off("worker")
    assert (await other.show("web1")).decision == "1 changed: compile"


async def test_newest_of_two_concurrent_sets_is_stored(service: FactService) -> None:
    await asyncio.gather(*(service.submit("web1", body({"os": number})) for number in (1, 2)))
    assert (await service.show("web1")).facts == {"os": 2}


async def keep_for_later(service: FactService, database: Database, work: WorkQueue, facts: FactUpload) -> None:
    """Put a set into the inbox: the worker of the inbox decides upon it."""
    received = service.prepare("web1", facts)
    assert received.stable

    def unit() -> Transaction[None]:
        yield from Facts(database).receive([received.stamp(database.clock.now())])
        yield from work.enqueue_items(FACTS.name, [ItemRequest("web1")])

    await database.write(unit)


async def test_set_in_the_inbox_is_worked_off(service: FactService, database: Database, work: WorkQueue) -> None:
    await keep_for_later(service, database, work, body({"os": 1}, {"uptime": 5}))
    with pytest.raises(NotFoundError):
        await service.show("web1")
    assert await service.work_off("worker") == 1
    view = await service.show("web1")
    assert (view.facts, view.decision) == ({"os": 1, "uptime": 5}, "1 changed: compile")
    assert [item.kind for item in await work.list_waiting()] == ["decide"]
    assert await service.work_off("worker") == 0


async def test_set_that_arrives_while_another_waits_replaces_it_in_the_inbox(
    service: FactService, database: Database, work: WorkQueue
) -> None:
    """A worker that has decided upon the older set must not store it after this one."""
    await keep_for_later(service, database, work, body({"os": 1}))
    await service.submit("web1", body({"os": 2}))
    with pytest.raises(NotFoundError):
        await service.show("web1")
    assert await service.work_off("worker") == 1
    assert (await service.show("web1")).facts == {"os": 2}
    await service.submit("web1", body({"os": 3}))
    assert (await service.show("web1")).facts == {"os": 3}
    assert [(row.before, row.after) for row in await service.changes("web1")] == [(2, 3)]


async def test_set_that_arrives_during_the_work_is_decided_next(
    service: FactService, database: Database, work: WorkQueue
) -> None:
    await keep_for_later(service, database, work, body({"os": 1}))
    (claim,) = await work.claim("facts", "slow", limit=1, lease_s=60)
    await service.submit("web1", body({"os": 2}))
    assert await work.complete(claim)
    assert await service.work_off("worker") == 1
    assert (await service.show("web1")).facts == {"os": 2}


async def test_worker_that_lost_its_claim_stores_nothing(
    service: FactService, database: Database, other_database: Database, work: WorkQueue, clock: ManualClock
) -> None:
    await keep_for_later(service, database, work, body({"os": 1}))
    (lost,) = await work.claim("facts", "slow", limit=1, lease_s=1)
    clock.advance(2)
    other = FactService(
        other_database, Facts(other_database), WorkQueue(other_database, [FACTS, DECIDE]), TracedReads(other_database)
    )
    assert await other.work_off("quick") == 1
    assert not await work.complete(lost)
    assert (await service.show("web1")).facts == {"os": 1}


async def test_flapping_node_delays_only_itself(service: FactService, work: WorkQueue, clock: ManualClock) -> None:
    """A burst of three compiles, then one in five minutes."""
    due: list[float] = []
    for number in range(6):
        await service.submit("web1", body({"os": number}))
        await service.work_off("worker")
        (item,) = [item for item in await work.list_waiting() if item.kind == "decide"]
        due.append((item.ready_at - clock.now()).total_seconds())
        clock.advance(max(due[-1], 0) + 0.001)
        (claim,) = await work.claim("decide", "compiler", limit=1, lease_s=60)
        await work.complete(claim)
    assert due[:3] == [0, 0, 0]
    assert all(250 < seconds <= 300 for seconds in due[3:])


async def test_wrong_digest_is_refused_and_nothing_is_stored(service: FactService, work: WorkQueue) -> None:
    with pytest.raises(InputError) as caught:
        await service.submit("web1", FactUpload("0" * 64, msgspec.Raw(b"{}"), msgspec.Raw(b'{"os":1}')))
    assert caught.value.code == "FACTS-001"
    assert await work.list_waiting() == []


async def test_acknowledged_set_is_there_for_another_server(service: FactService, other_database: Database) -> None:
    """The acknowledging server may die at once: the set, its decision and the request are in the database."""
    await service.submit("web1", body({"os": 1}))
    queue = WorkQueue(other_database, [FACTS, DECIDE])
    other = FactService(other_database, Facts(other_database), queue, TracedReads(other_database))
    assert (await other.show("web1")).facts == {"os": 1}
    assert await waiting(queue, "decide") == ["web1"]


async def test_stable_part_in_another_order_is_stored_in_canonical_form(service: FactService) -> None:
    """Clients of the HTTP API may send it in any order."""
    written = b'{"os": {"b": 1, "a": [2.50]}, "kernel": "\\u00e9"}'
    stable = {"kernel": "é", "os": {"a": [2.5], "b": 1}}
    sent = FactUpload(digests.of_value(stable), msgspec.Raw(b"{}"), msgspec.Raw(written))
    assert not (await service.submit("web1", sent)).wants_stable
    await service.submit("web1", body(stable))
    assert (await service.show("web1")).decision == "nothing changed"


@pytest.mark.parametrize(
    ("volatile", "stable"),
    [
        (b"[]", b"{}"),
        (b"{}", b"[1]"),
        (b"{}", b"null"),
        (b"{}", b'{"a":1e999}'),
        (b"{}", b'{"a":"\xff"}'),
        (b"{}", b'{"a":' * 300 + b"1" + b"}" * 300),
        (b"{}", b'{"a":' * 3000 + b"1" + b"}" * 3000),
        (b"{}", b'{"a":1e999,"a":1}'),
        (b"{}", b'{"a":"\xff","a":1}'),
        (b"{}", b'{"os":1,"a":{"b":[1e999]}}'),
        (b"{}", b'{"a":1'),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
async def test_facts_that_are_not_a_mapping_are_refused_even_with_a_matching_digest(
    service: FactService, work: WorkQueue, volatile: bytes, stable: bytes, *, is_first: bool
) -> None:
    if not is_first:
        await service.submit("web1", body({"a": 1, "os": 1}))
    sent = FactUpload(digests.of_bytes(stable), msgspec.Raw(volatile), msgspec.Raw(stable))
    with pytest.raises(InputError) as caught:
        await service.submit("web1", sent)
    assert caught.value.code in {"FACTS-005", "JSON-002"}
    assert await waiting(work, "facts") == []
    if is_first:
        with pytest.raises(NotFoundError):
            await service.show("web1")
    else:
        assert (await service.show("web1")).facts == {"a": 1, "os": 1}


def compressed(stable: bytes, digest: str | None = None) -> FactUpload:
    return FactUpload(digest or digests.of_bytes(stable), msgspec.Raw(b"{}"), packed=zlib.compress(stable))


async def test_compressed_stable_part_is_the_same(service: FactService) -> None:
    stable = {"os": 1, "packages": {f"package{number}": str(number) for number in range(200)}}
    await service.submit("web1", compressed(canonical.encode(stable)))
    assert (await service.show("web1")).facts == stable
    await service.submit("web1", body(stable))
    assert (await service.show("web1")).decision == "nothing changed"
    await service.submit("web1", compressed(canonical.encode(stable | {"os": 2})))
    assert [(row.path, row.before, row.after) for row in await service.changes("web1")] == [("/os", 1, 2)]
    in_another_form = compressed(b'{"packages": {}, "os": 3}', digests.of_value({"os": 3, "packages": {}}))
    assert not (await service.submit("web1", in_another_form)).wants_stable
    assert (await service.show("web1")).facts == {"os": 3, "packages": {}}


@pytest.mark.parametrize(
    "sent",
    [
        compressed(b'{"os":1}', "0" * 64),
        compressed(b'{"os":1e999}'),
        compressed(b"[]"),
        compressed(b'{"zeros":"' + b"0" * 1_000_000 + b'"}'),
        FactUpload(digests.of_bytes(b'{"os":1}'), msgspec.Raw(b"{}"), packed=b""),
        FactUpload(digests.of_bytes(b'{"os":1}'), msgspec.Raw(b"{}"), packed=b'{"os":1}'),
        FactUpload(digests.of_bytes(b'{"os":1}'), msgspec.Raw(b"{}"), packed=zlib.compress(b'{"os":1}')[:-2]),
    ],
)
async def test_invalid_compressed_stable_part_is_refused(service: FactService, sent: FactUpload) -> None:
    with pytest.raises(InputError) as caught:
        await service.submit("web1", sent)
    assert caught.value.code in {"FACTS-001", "FACTS-005"}
    with pytest.raises(NotFoundError):
        await service.show("web1")


def packed_volatile(stream: bytes) -> FactUpload:
    return FactUpload(
        digests.of_bytes(b'{"os":1}'), msgspec.Raw(b"{}"), msgspec.Raw(b'{"os":1}'), packed_volatile=stream
    )


async def test_compressed_volatile_part_is_the_same(service: FactService) -> None:
    volatile = {"mountpoints": {f"/srv/volume{number}": number for number in range(100)}}
    await service.submit("web1", packed_volatile(zlib.compress(canonical.encode(volatile))))
    assert (await service.show("web1")).facts == {"os": 1} | volatile
    changed = packed_volatile(zlib.compress(canonical.encode({"uptime": 5}))).without_stable()
    assert not (await service.submit("web1", changed)).wants_stable
    assert (await service.show("web1")).facts == {"os": 1, "uptime": 5}


NO_STREAMS = [b"", b"x", b'{"os":', b'{"uptime":1e999}', zlib.compress(b"[5]"), zlib.compress(b"{")]


@pytest.mark.parametrize("stream", NO_STREAMS)
async def test_invalid_compressed_volatile_part_is_refused_by_a_request(service: FactService, stream: bytes) -> None:
    with pytest.raises(InputError) as caught:
        await service.submit("web1", packed_volatile(stream))
    assert caught.value.code == "FACTS-005"
    with pytest.raises(NotFoundError):
        await service.show("web1")


@pytest.mark.parametrize("stream", NO_STREAMS)
async def test_invalid_compressed_volatile_part_affects_no_other_node(
    service: FactService, database: Database, stream: bytes
) -> None:
    await database.write(NodeCertificates(database).lock_or_create, "web2")
    for node in ("web1", "web2"):
        await service.submit(node, body({"os": 1}, {"uptime": 5}))
    record = service.prepare("web1", packed_volatile(stream).without_stable())
    assert await database.write(service.take, [("web1", record)]) == [FactsAnswer(wants_stable=False)]
    assert (await service.show("web1")).facts == {"os": 1}
    read = await database.read(fact_views.read_documents, ["web1", "web2"])
    assert {node: documents.volatile for node, documents in read.items()} == {"web1": b"{}", "web2": b'{"uptime":5}'}
    digest = digests.of_bytes(b'{"os":1}')
    await database.write(fact_views.store_briefs, [(node, digest, b"{}") for node in ("web1", "web2")])
    briefs = await database.read(fact_views.read_briefs, "", "x", 10)
    assert briefs == {"web1": (b"{}", b"{}"), "web2": (b"{}", b'{"uptime":5}')}
    await service.submit("web1", body({"os": 1}, {"uptime": 6}))
    assert (await service.show("web1")).facts == {"os": 1, "uptime": 6}


async def send(service: FactService, clock: ManualClock, stable: dict[str, Any]) -> None:
    """Submit like an agent: the digest first, and the stable part only if the server asks for it."""
    clock.advance(60)
    if (await service.submit("web1", body(stable, is_whole=False))).wants_stable:
        await service.submit("web1", body(stable))
        await service.work_off("worker")


async def paths_in_history(service: FactService) -> list[str]:
    return [row.path for row in reversed(await service.changes("web1"))]


async def test_path_that_changes_all_the_time_has_no_history_until_it_is_quiet(
    service: FactService, clock: ManualClock
) -> None:
    for number in range(10):
        await send(service, clock, {"os": 1, "ticks": number})
    # The first set has no history, five changes are half of ten submissions, and from the sixth on the path is volatile.
    assert await paths_in_history(service) == ["/ticks"] * 5
    view = await service.show("web1")
    assert (view.decision, view.volatile) == ("1 changed, all of them volatile", ["/ticks"])
    assert view.facts == {"os": 1, "ticks": 9}
    await send(service, clock, {"os": 2, "ticks": 10})
    assert (await service.show("web1")).decision.startswith("1 changed: compile")
    assert await paths_in_history(service) == ["/ticks"] * 5 + ["/os"]
    for _ in range(10):
        await send(service, clock, {"os": 2, "ticks": 10})
    await send(service, clock, {"os": 2, "ticks": 11})
    assert await paths_in_history(service) == ["/ticks"] * 5 + ["/os", "/ticks"]
    assert (await service.show("web1")).volatile == []


async def test_path_that_changes_rarely_is_stable_however_rarely_others_change(
    service: FactService, clock: ManualClock
) -> None:
    """Submissions without a change count too: a path that changes in every third is not volatile."""
    for number in range(30):
        await send(service, clock, {"kernel": number // 3})
    assert await paths_in_history(service) == ["/kernel"] * 9


async def test_path_that_a_catalog_was_compiled_from_is_never_volatile(
    service: FactService, database: Database, work: WorkQueue, clock: ManualClock
) -> None:
    asked = FactService(database, Facts(database), work, FixedReads(("ticks",)))
    for number in range(12):
        await send(asked, clock, {"ticks": number, "tocks": number})
    paths = await paths_in_history(asked)
    assert (paths.count("/ticks"), paths.count("/tocks")) == (11, 5)
    assert (await asked.show("web1")).volatile == ["/tocks"]


async def test_older_volatile_part_never_replaces_a_newer_one(service: FactService, clock: ManualClock) -> None:
    """A waiting set is worked off after a later submission of the same digest."""
    await service.submit("web1", body({"os": 1}, {"uptime": 5}))
    clock.advance(60)
    await service.submit("web1", body({"os": 1}, {"uptime": 65}, is_whole=False))
    await service.work_off("worker")
    assert (await service.show("web1")).facts == {"os": 1, "uptime": 65}


async def know(database: Database, names: Sequence[str]) -> None:
    def knowing() -> Transaction[None]:
        for name in names:
            yield from NodeCertificates(database).lock_or_create(name)

    await database.write(knowing)


async def test_many_nodes_at_once_are_each_decided_upon(
    service: FactService, database: Database, work: WorkQueue
) -> None:
    names = [f"node{at:03}" for at in range(150)]
    await know(database, names)
    sets = {name: body({"name": name}, {"uptime": at}) for at, name in enumerate(names)}
    await asyncio.gather(*(service.submit(name, upload) for name, upload in sets.items()))
    assert {item.key for item in await work.list_waiting(limit=1000)} == set(names)
    while await service.work_off("worker"):
        pass
    views = await asyncio.gather(*(service.show(name) for name in names))
    assert [view.facts for view in views] == [{"name": name, "uptime": at} for at, name in enumerate(names)]
    assert {item.kind for item in await work.list_waiting(limit=1000)} == {"decide"}


async def test_each_set_of_a_batch_gets_its_own_answer(service: FactService, database: Database) -> None:
    names = [f"node{at}" for at in range(6)]
    await know(database, names)
    for name in names[:4]:
        await service.submit(name, body({"name": name}, {"uptime": 0}))
    uploads = [
        ("node3", body({"name": "node3"}, {"uptime": 1}, is_whole=False)),
        ("node1", body({"name": "another"}, {"uptime": 2})),
        ("node0", body({"name": "node0"}, {"uptime": 3}, is_whole=False)),
        ("node4", body({"name": "node4"}, {"uptime": 4}, is_whole=False)),
        ("node2", body({"name": "another"}, {"uptime": 5}, is_whole=False)),
        ("node3", body({"name": "node3"}, {"uptime": 6}, is_whole=False)),
        ("node5", body({"name": "node5"}, {"uptime": 7})),
        ("node1", body({"name": "another"}, {"uptime": 8}, is_whole=False)),
    ]
    received = [(node, service.prepare(node, upload)) for node, upload in uploads]
    answers = await database.write(service.take, received)
    assert [isinstance(answer, FactsAnswer) and answer.wants_stable for answer in answers] == [
        *(False, False, False, True, True, False, False, False)
    ]
    shown = {name: (await service.show(name)).facts for name in names if name != "node4"}
    assert shown == {
        "node0": {"name": "node0", "uptime": 3},
        "node1": {"name": "another", "uptime": 8},
        "node2": {"name": "node2", "uptime": 0},
        "node3": {"name": "node3", "uptime": 6},
        "node5": {"name": "node5", "uptime": 7},
    }


@pytest.mark.parametrize("digest", ["", "\x00", "a\x00b", "é", "x" * digests.CHARS])
async def test_invalid_digest_is_unknown_and_affects_no_other_node(service: FactService, digest: str) -> None:
    await service.submit("web1", body({"os": 1}, {"uptime": 1}))
    asked = FactUpload(digest, msgspec.Raw(b'{"uptime":2}'))
    assert (await service.submit("web1", asked)).wants_stable
    assert (await service.show("web1")).facts == {"os": 1, "uptime": 1}


async def test_unknown_node_in_a_batch_fails_alone(service: FactService) -> None:
    """A node was purged while its set was on the way."""
    results = await asyncio.gather(
        service.submit("web1", body({"os": 1})),
        service.submit("nobody", body({"os": 2})),
        service.submit("web1", body({"os": 3})),
        return_exceptions=True,
    )
    assert [isinstance(result, Exception) for result in results] == [False, True, False]
    await service.work_off("worker")
    assert (await service.show("web1")).facts == {"os": 3}


async def test_history_is_bounded_by_age_and_by_steps_of_a_node(
    service: FactService, database: Database, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fact_retention, "KEEP_STEPS", 5)
    monkeypatch.setattr(fact_retention, "BATCH", 2)
    monkeypatch.setattr(fact_retention, "PAGE", 1)
    retention = FactRetention(Facts(database), ClockGuard(database, "boot"))
    for name in ("web2", "web3"):
        await database.write(NodeCertificates(database).lock_or_create, name)
    for number in range(9):
        clock.advance(3600)
        for name in ("web1", "web2", "web3") if number < 4 else ("web1", "web2"):
            await service.submit(name, body({f"path{number}": number}))
        await service.work_off("worker")
    # The nodes have eight, eight and three steps; the newest five of each stay.
    assert await retention.trim() == 6
    assert [len(await service.changes(name)) for name in ("web1", "web2", "web3")] == [10, 10, 6]
    assert (await service.changes("web1"))[0].path == "/path7"
    assert await retention.trim() == 0
    clock.advance(fact_retention.KEEP_AGE.total_seconds() - 2 * 3600)
    assert await retention.trim() == 2 + 2 + 3
    clock.advance(3 * 3600)
    assert await retention.trim() == 6
    assert [len(await service.changes(name)) for name in ("web1", "web2", "web3")] == [0, 0, 0]
    assert (await service.show("web1")).facts == {"path8": 8}
