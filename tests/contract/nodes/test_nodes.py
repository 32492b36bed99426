"""Targets, classification, deactivation and purge on both databases."""

from datetime import UTC, datetime
from typing import Any

import pytest

from precast.base.clock import ManualClock
from precast.base.errors import PrecastError
from precast.base.ids import CountedIds
from precast.services.facts.facts import FACTS, FactService
from precast.services.facts.reads import ReadFacts
from precast.services.identity.issuance import GRACE_S
from precast.services.identity.recognition import is_accepted
from precast.services.nodes import nodes as node_service
from precast.services.nodes.classification import Classifier
from precast.services.nodes.nodes import NodeService
from precast.services.query import targets as target_service
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.targets import TargetService
from precast.services.sessions.sessions import PREFIX, SessionService
from precast.services.work_kinds import DECIDE
from precast.store.catalogs import Catalogs, Change, Release, Staged
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Row, Transaction
from precast.store.facts import views as fact_views
from precast.store.facts.facts import Decided, Facts, Received
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import Certificate, Nodes
from precast.store.nodes.classification import Classifications
from precast.store.nodes.nodes import Fleet
from precast.store.nodes.policies import Policies
from precast.store.queue.queue import WorkQueue
from precast.store.reports.reports import EventIndex, EventPage, Reports, Told
from precast.store.schema.tables import TABLES
from precast.store.sessions.sessions import Arrival, Sessions
from precast.store.sessions.streams import Streams
from precast.store.traces import Traces
from precast.wire.facts import facts_body
from precast.wire.nodes.bodies import Classification, NodesClassification, NodesDeed, NodesPurge, TargetsBody
from precast.wire.reports.records import RunBegan

# Of programs before `fact_history`: nobody fills it any more.
OLD = {"fact_change"}
REFERRING = {
    "certificate",
    "fact_inbox",
    "fact_set",
    "fact_brief",
    "fact_volatile",
    "fact_history",
    "session",
    "session_stream",
    "node_said",
    "compile_waiter",
    "node_catalog",
    "node_release",
    "report",
    "node_change",
    "fact_flap",
    "node_policy",
    *OLD,
}


class House:
    """The services of nodes on a database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.nodes, self.sessions, self.streams = Nodes(database), Sessions(database), Streams(database)
        self.work = WorkQueue(database, [FACTS, DECIDE])
        self.audit = AuditLog(database, CountedIds())
        self.facts = FactService(database, Facts(database), self.work, ReadFacts(database))
        fleet = Fleet(database)
        known = KnownNodes(database, fleet, self.sessions)
        self.targets = TargetService(known, database.clock)
        self.service = NodeService(
            database,
            fleet,
            self.nodes,
            known,
            self.targets,
            Facts(database),
            self.sessions,
            self.streams,
            SessionService(database, self.sessions, self.nodes, self.streams, self.audit, Facts(database).newest),
            self.work,
            self.audit,
            Classifier(fleet, Classifications(database), self.work),
        )

    async def add(self, name: str, facts: dict[str, Any] | None = None, **extensions: str) -> None:
        await self.database.write(self._adding, name, extensions)
        if facts is not None:
            await self.facts.submit(name, facts_body(facts, {"uptime": 5}))
            await self.facts.work_off("worker")

    def _adding(self, name: str, extensions: dict[str, str]) -> Transaction[None]:
        now = self.database.clock.now()
        yield from self.nodes.taking(name)
        until = now.replace(year=now.year + 1)
        yield from self.nodes.adding(Certificate(f"5e{name}", name, f"key {name}", extensions, now, until))

    async def connect(self, name: str) -> None:
        await self.sessions.renew_lease("s1", "host:8140", 30, 1)
        await self.database.write(self._connecting, name)

    def _connecting(self, name: str) -> Transaction[None]:
        yield from self.sessions.taking(name)
        yield from self.sessions.opening_stream(name, "instance")
        yield from self.sessions.beginning(Arrival(name, "s1", "instance", "1", "192.0.2.1", "boot", "0.1"), 1, 0)

    async def meant(self, *texts: str, deactivated: bool = False) -> list[str]:
        return (await self.targets.names(TargetsBody(list(texts), all=not texts, deactivated=deactivated))).names

    async def deeds(self) -> list[tuple[str, str, str]]:
        return [(one.actor, one.action, one.target) for one in reversed(await self.audit.latest())]


@pytest.fixture
def house(database: Database) -> House:
    return House(database)


async def code_of(attempt: object) -> str:
    with pytest.raises(PrecastError) as caught:
        await attempt  # type: ignore[misc] # any awaitable
    return caught.value.code


def some(*texts: str) -> TargetsBody:
    return TargetsBody(list(texts))


# targets


async def test_targets_mean_nodes_by_name_trusted_data_classification_state_and_facts(house: House) -> None:
    await house.add("db1", {"os": {"family": "RedHat"}}, pp_role="db")
    await house.add("web1", {"os": {"family": "Debian"}}, pp_role="web")
    await house.add("web2", None, pp_role="web")
    await house.service.classify(NodesClassification(some("web2"), Classification(environment="test")), "person:ann")
    await house.connect("web1")
    assert await house.meant() == ["db1", "web1", "web2"]
    assert await house.meant("web*") == ["web1", "web2"]
    assert await house.meant("web2", "db1") == ["db1", "web2"]
    assert await house.meant("trusted.extensions.pp_role = db") == ["db1"]
    assert await house.meant("environment = test") == ["web2"]
    assert await house.meant("state = connected") == ["web1"]
    assert await house.meant("state = new") == ["db1", "web2"]
    assert await house.meant("facts.os.family = Debian", "web2") == ["web1", "web2"]
    assert await house.meant("facts.uptime = 5") == ["db1", "web1"]


async def test_only_a_query_over_facts_rests_on_claims(house: House) -> None:
    await house.add("web1", {"x": 1})
    assert (await house.targets.page(some("facts.x = 1"))).rests_on_claims
    assert not (await house.targets.page(some("web1", "state = new"))).rests_on_claims


async def test_node_is_connected_as_long_as_its_server_lives_then_away(house: House, clock: ManualClock) -> None:
    await house.add("web1")
    await house.connect("web1")
    assert await house.meant("state = connected") == ["web1"]
    clock.advance(31)
    assert await house.meant("state = away") == ["web1"]


@pytest.mark.parametrize("texts", [["web*"], ["state = connected"], ["facts.x = 2"], ["name in (x)"]])
async def test_targets_that_mean_nobody_are_an_error(house: House, texts: list[str]) -> None:
    await house.add("db1", {"x": 1})
    assert await code_of(house.meant(*texts)) == "TARGET-007"


async def test_nothing_asked_for_is_an_error_and_never_all(house: House) -> None:
    await house.add("db1")
    assert await code_of(house.targets.page(TargetsBody())) == "TARGET-005"
    assert await code_of(house.targets.page(TargetsBody(["db1"], all=True))) == "TARGET-006"
    assert await code_of(house.targets.page(TargetsBody([" "]))) == "TARGET-005"


@pytest.mark.parametrize("name", ["web9", "'a\0b'", "'WEB1'", "'../x'"])
async def test_name_of_no_node_is_an_error_also_beside_others(house: House, name: str) -> None:
    await house.add("web1")
    assert await code_of(house.meant("web1", name)) == "NODE-001"


async def test_many_nodes_come_in_pages_each_once(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_service, "ANSWER", 4)
    monkeypatch.setattr(target_service, "PAGE", 3)
    monkeypatch.setattr(target_service, "PAGE_WITH_FACTS", 2)
    names = [f"n{number:02}" for number in range(10)]
    for name in names:
        await house.add(name, {"x": 1})
    assert await house.meant() == names
    assert await house.meant("facts.x = 1") == names
    first = await house.targets.page(TargetsBody(all=True))
    assert ([row.name for row in first.nodes], first.after) == (names[:4], "n03")
    # Exactly full: the page after it is empty, and no error.
    assert (await house.targets.page(some("n0*"), "n09")).nodes == []


# classification


async def test_classification_is_stored_with_its_deed_and_only_if_it_changes(house: House) -> None:
    await house.add("web1")
    done = await house.service.classify(
        NodesClassification(some("web1"), Classification(environment="test", role="web::front")), "person:ann"
    )
    assert done.touched == ["web1"]
    again = await house.service.classify(
        NodesClassification(some("web1"), Classification(role="web::front")), "person:ann"
    )
    assert again.touched == []
    row = (await house.service.show("web1")).node
    assert (row.environment, row.role) == ("test", "web::front")
    await house.service.classify(NodesClassification(some("web1"), Classification(role=None)), "person:ann")
    row = (await house.service.show("web1")).node
    assert (row.environment, row.role) == ("test", None)
    entries = [one.detail for one in await house.audit.latest() if one.action == "node.classify"]
    assert entries == [
        {"before": {"role": "web::front"}, "after": {"role": None}},
        {"before": {"environment": None, "role": None}, "after": {"environment": "test", "role": "web::front"}},
    ]


@pytest.mark.parametrize("value", ["", "Test", "a b", "a\0", "../x", "a" * 300, "9a"])
async def test_classification_that_is_no_name_is_refused(house: House, value: str) -> None:
    await house.add("web1")
    for values in (Classification(environment=value), Classification(role=value)):
        assert (
            await code_of(house.service.classify(NodesClassification(some("web1"), values), "person:ann")) == "NODE-002"
        )
    assert await house.deeds() == []


# deactivation


async def test_deactivated_node_is_no_target_and_its_certificate_opens_nothing(
    house: House, clock: ManualClock
) -> None:
    await house.add("web1", {"x": 1})
    await house.add("web2")
    since = clock.now()
    done = await house.service.deactivate(NodesDeed(some("web1"), "sold"), "person:ann")
    assert done.touched == ["web1"]
    assert await house.meant() == ["web2"]
    assert await code_of(house.meant("web1")) == "NODE-001"
    assert await house.meant(deactivated=True) == ["web1", "web2"]
    assert await house.meant("state = deactivated", deactivated=True) == ["web1"]
    certificate = await house.nodes.certificate("5eweb1")
    assert certificate is not None
    assert not is_accepted(certificate, clock.now())
    assert not await house.database.read(house.nodes.is_good, "5eweb1")
    # Connections that rest on it are found, and ended.
    assert await house.nodes.revoked(since) == ["5eweb1"]
    assert (await house.facts.show("web1")).facts["x"] == 1
    assert await house.deeds() == [("person:ann", "node.deactivate", "web1")]


async def test_reactivated_node_is_as_before(house: House, clock: ManualClock) -> None:
    await house.add("web1")
    await house.service.deactivate(NodesDeed(some("web1")), "person:ann")
    assert (await house.service.reactivate(NodesDeed(some("web1")), "person:ann")).touched == ["web1"]
    assert await house.meant() == ["web1"]
    certificate = await house.nodes.certificate("5eweb1")
    assert certificate is not None
    assert is_accepted(certificate, clock.now())


async def test_deed_on_a_node_that_is_so_already_touches_nothing(house: House) -> None:
    await house.add("web1")
    assert (await house.service.reactivate(NodesDeed(some("web1")), "person:ann")).touched == []
    assert await house.deeds() == []


# purge


async def test_purge_of_an_active_node_needs_force(house: House) -> None:
    await house.add("web1")
    assert await code_of(house.service.purge(NodesPurge(some("web1")), "person:ann")) == "NODE-003"
    assert await house.deeds() == []
    assert (await house.service.purge(NodesPurge(some("web1"), force=True), "person:ann")).touched == ["web1"]


async def test_purged_node_is_in_no_table_but_the_audit_log(house: House) -> None:
    for name in ("web1", "web10"):
        await house.add(name, {"x": 1}, pp_role="web")
        await house.add(name + "x", None)
        await house.facts.submit(name, facts_body({"x": 2}, {}))
        await house.facts.work_off("worker")
        await house.connect(name)
        await house.streams.append(PREFIX + name, [b"order"])
        await house.service.classify(NodesClassification(some(name), Classification(role="web")), "person:ann")
    for name in ("web1", "web10"):
        # As a server of an older version keeps it.
        later = Received(name, "0" * 64, b"{}", b"{}", house.database.clock.now())
        await house.database.write(Facts(house.database).receiving, [later])
        await house.database.write(_giving_catalogs, house.database, name)
        await house.database.write(Reports(house.database).storing, [_report(name)])
    before = await holding(house.database, "web1")
    assert set(before) >= {*REFERRING - OLD, "node", "work_item", "stream", "stream_record", "report_event"}
    others = await holding(house.database, "web10")
    await house.service.deactivate(NodesDeed(some("web1")), "person:ann")
    await house.sessions.end("s1", [("web1", 1)])
    await house.service.purge(NodesPurge(some("web1")), "person:ann")
    assert set(await holding(house.database, "web1")) == {"audit"}
    assert await holding(house.database, "web10") == others
    assert await house.deeds() == [
        ("person:ann", "node.classify", "web1"),
        ("person:ann", "node.classify", "web10"),
        ("person:ann", "node.deactivate", "web1"),
        ("person:ann", "node.purge", "web1"),
    ]


async def test_node_that_is_still_connected_is_not_forgotten(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_service, "GONE_S", -1.0)
    await house.add("web1")
    await house.connect("web1")
    assert await code_of(house.service.purge(NodesPurge(some("web1"), force=True), "person:ann")) == "NODE-004"
    # It is deactivated by then, which ends its connection; the purge can be repeated.
    assert await house.deeds() == [("person:ann", "node.deactivate", "web1")]
    await house.sessions.end("s1", [("web1", 1)])
    assert (await house.service.purge(NodesPurge(some("web1")), "person:ann")).touched == ["web1"]


async def test_every_table_that_refers_to_nodes_is_one_that_purge_knows(database: Database) -> None:
    """A table that is added later, and forgotten here, would make every purge fail."""

    def reading() -> Transaction[set[str]]:
        found = set()
        for table in TABLES:
            rows = yield Query(
                "test.references",
                f"SELECT \"table\" FROM pragma_foreign_key_list('{table.name}')",
                postgresql=f"""
                SELECT confrelid::regclass::text FROM pg_constraint
                WHERE contype = 'f' AND conrelid = '{table.name}'::regclass
                """,
            )()
            if any(row[0] == "node" for row in rows):
                found.add(table.name)
        return found

    assert await database.read(reading) == REFERRING


def _giving_catalogs(database: Database, name: str) -> Transaction[None]:
    """Something staged, why, something released, a policy, a compile that the node waits for, a fact that flaps, facts in short."""
    now, catalogs = database.clock.now(), Catalogs(database)
    yield from catalogs.changing([Change(name, now, "production", "u", "v", "c", "d", "{}", None)])
    came = Received(name, "x", b"{}", b"{}", now)
    yield from Facts(database).storing([Decided(came, "", now, now, b"{}", [], ["/x"])])
    yield from fact_views.storing_briefs([(name, "x", b"{}")])
    yield from catalogs.storing([("d", b"{}")])
    yield from catalogs.staging([Staged(name, "production", "v", "f", "c", "d", "d", "[]", now, now)])
    yield from catalogs.releasing([Release(name, 0, "d", "d", "[]", "production", "v", now, "person:ann")])
    yield from Policies(database).setting(name, "always", [], "person:ann")
    yield from Traces(database).waiting("branch", name)


def _report(name: str) -> Told:
    """A run that has begun, with something that happened."""
    report = f"01890000-0000-7000-8000-{len(name):012x}"
    began = RunBegan(report, "enforce", "hand", datetime(2026, 1, 1, tzinfo=UTC))
    page = EventPage(1, b"[]", [EventIndex(1, "File[/a]", "changed", False, "")])
    return Told(name, report, began, pages=[page])


async def holding(database: Database, name: str) -> dict[str, list[Row]]:
    """The rows that hold a name, by table."""

    def reading() -> Transaction[dict[str, list[Row]]]:
        found: dict[str, list[Row]] = {}
        for table in TABLES:
            rows = [tuple(row) for row in (yield table.first_page(1000))]
            held = [row for row in rows if name in row or PREFIX + name in row]
            if held:
                found[table.name] = held
        return found

    return await database.read(reading)


async def test_deactivated_node_cannot_renew_and_grace_does_not_help(house: House) -> None:
    await house.add("web1")
    await house.service.deactivate(NodesDeed(some("web1")), "person:ann")
    live = await house.database.read(house.nodes.live_key, "web1", GRACE_S)
    assert live is not None, "the name is still taken: nobody else gets it"
    assert not await house.database.read(house.nodes.is_good, "5eweb1")


async def test_collect_tells_active_nodes_only_and_notes_it(house: House) -> None:
    for name in ("web1", "web2", "db1"):
        await house.add(name)
    await house.service.deactivate(NodesDeed(TargetsBody(["web2"])), "person:ann")
    done = await house.service.collect(NodesDeed(TargetsBody(["web*"]), "new facts"), "person:ann")
    assert done.touched == ["web1"]
    assert [one.number for one in (await house.streams.read("agent.web1", 0)).records] == [1]
    assert (await house.streams.read("agent.db1", 0)).records == []
    assert ("facts.collect", "web1") in [(one.action, one.target) for one in await house.audit.latest()]
