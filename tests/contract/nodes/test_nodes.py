"""Targets, classification, deactivation and purge on both databases."""

from datetime import UTC, datetime
from typing import Any

import pytest

from precast.app.exports import build_node_exports
from precast.base.clock import ManualClock
from precast.base.errors import PrecastError
from precast.base.ids import CountedIds
from precast.catalog.exports import ExportedResource
from precast.services.facts.intake import FACTS
from precast.services.facts.reads import TracedReads
from precast.services.facts.service import FactService
from precast.services.identity.recognition import is_accepted
from precast.services.nodes import nodes as node_service
from precast.services.nodes.classification import Classifier
from precast.services.nodes.nodes import NodeService
from precast.services.query import targets as target_service
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.targets import TargetService
from precast.services.sessions.orders import STREAM_PREFIX, OrderService
from precast.services.work_kinds import DECIDE
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.entries import StagedEntry
from precast.store.catalogs.entry_holds import EntryPin
from precast.store.catalogs.release_log import NewLogEntry
from precast.store.catalogs.released import Release
from precast.store.catalogs.staged import CatalogChange, StagedCatalog
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Row, Transaction
from precast.store.exports import resources as exports
from precast.store.exports import rounds as export_rounds
from precast.store.exports.resources import make_row
from precast.store.exports.rounds import Cause, Collector
from precast.store.facts import views as fact_views
from precast.store.facts.facts import Facts, FactSet, ReceivedFacts
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import Certificate, NodeCertificates
from precast.store.nodes.classification import Classifications
from precast.store.nodes.nodes import Fleet
from precast.store.nodes.policies import Policies
from precast.store.query import fleet_answers
from precast.store.query.fleet_answers import Reader
from precast.store.queue.queue import WorkQueue
from precast.store.reports.reports import EventPage, IndexedEvent, Reports, ReportUpdate
from precast.store.schema.tables import TABLES
from precast.store.sessions.machines import Machine, put_machine
from precast.store.sessions.sessions import Sessions, SessionStart
from precast.store.sessions.streams import Streams
from precast.store.traces import Traces
from precast.wire.facts import make_upload
from precast.wire.identity.bodies import RENEWAL_GRACE
from precast.wire.nodes.bodies import Classification, NodesAction, NodesClassification, NodesPurge, TargetsBody
from precast.wire.reports.records import RunBegan

# Tables that no code writes any more.
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
    "session_machine",
    "node_said",
    "compile_waiter",
    "entry_catalog",
    "export_collector",
    "export_round",
    "exported_resource",
    "fleet_reader",
    "entry_hold",
    "node_catalog",
    "node_release",
    "report",
    "node_change",
    "fact_flap",
    "node_policy",
    *OLD,
}


class Site:
    """The services of nodes on a database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.nodes, self.sessions, self.streams = NodeCertificates(database), Sessions(database), Streams(database)
        self.work = WorkQueue(database, [FACTS, DECIDE])
        self.audit = AuditLog(database, CountedIds())
        self.facts = FactService(database, Facts(database), self.work, TracedReads(database))
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
            OrderService(self.nodes, self.streams, self.audit),
            self.work,
            self.audit,
            Classifier(fleet, Classifications(database), self.work),
            build_node_exports(database),
        )

    async def add(self, name: str, facts: dict[str, Any] | None = None, **extensions: str) -> None:
        await self.database.write(self._add, name, extensions)
        if facts is not None:
            await self.facts.submit(name, make_upload(facts, {"uptime": 5}))
            await self.facts.work_off("worker")

    def _add(self, name: str, extensions: dict[str, str]) -> Transaction[None]:
        now = self.database.clock.now()
        yield from self.nodes.lock_or_create(name)
        until = now.replace(year=now.year + 1)
        yield from self.nodes.add(Certificate(f"f{name}", f"5e{name}", name, f"key {name}", extensions, now, until))

    async def connect(self, name: str) -> None:
        await self.sessions.renew_lease("s1", "host:8140", 30, 1)
        await self.database.write(self._connect, name)

    def _connect(self, name: str) -> Transaction[None]:
        yield from self.sessions.lock(name)
        yield from self.sessions.open_stream(name, "instance")
        yield from self.sessions.begin(
            SessionStart(name, "s1", "instance", ["1"], "", "192.0.2.1", "boot", "0.1"), 1, 0
        )

    async def resolve(self, *texts: str, deactivated: bool = False) -> list[str]:
        return (await self.targets.resolve(TargetsBody(list(texts), all=not texts, deactivated=deactivated))).names

    async def audit_entries(self) -> list[tuple[str, str, str]]:
        return [(entry.actor, entry.action, entry.target) for entry in reversed(await self.audit.read_latest())]


@pytest.fixture
def site(database: Database) -> Site:
    return Site(database)


async def code_of(attempt: object) -> str:
    with pytest.raises(PrecastError) as caught:
        await attempt  # type: ignore[misc] # any awaitable
    return caught.value.code


def some(*texts: str) -> TargetsBody:
    return TargetsBody(list(texts))


# targets


async def test_targets_select_nodes_by_name_trusted_data_classification_state_and_facts(site: Site) -> None:
    await site.add("db1", {"os": {"family": "RedHat"}}, pp_role="db")
    await site.add("web1", {"os": {"family": "Debian"}}, pp_role="web")
    await site.add("web2", None, pp_role="web")
    await site.service.classify(NodesClassification(some("web2"), Classification(environment="test")), "person:ann")
    await site.connect("web1")
    assert await site.resolve() == ["db1", "web1", "web2"]
    assert await site.resolve("web*") == ["web1", "web2"]
    assert await site.resolve("web2", "db1") == ["db1", "web2"]
    assert await site.resolve("trusted.extensions.pp_role = db") == ["db1"]
    # Nobody has classified them: the certificate gives the role, and they are in the default environment.
    assert await site.resolve("role = web") == ["web1", "web2"]
    assert await site.resolve("environment = production and role = 'db'") == ["db1"]
    assert await site.resolve("environment = test") == ["web2"]
    assert await site.resolve("state = connected") == ["web1"]
    assert await site.resolve("state = new") == ["db1", "web2"]
    assert await site.resolve("facts.os.family = Debian", "web2") == ["web1", "web2"]
    assert await site.resolve("facts.uptime = 5") == ["db1", "web1"]


async def test_only_a_query_over_facts_rests_on_claims(site: Site) -> None:
    await site.add("web1", {"x": 1})
    assert (await site.targets.resolve_page(some("facts.x = 1"))).rests_on_claims
    assert not (await site.targets.resolve_page(some("web1", "state = new"))).rests_on_claims


async def test_node_is_connected_as_long_as_its_server_lives_then_away(site: Site, clock: ManualClock) -> None:
    await site.add("web1")
    await site.connect("web1")
    assert await site.resolve("state = connected") == ["web1"]
    clock.advance(31)
    assert await site.resolve("state = away") == ["web1"]


@pytest.mark.parametrize("texts", [["web*"], ["state = connected"], ["facts.x = 2"], ["name in (x)"]])
async def test_targets_that_match_no_node_are_an_error(site: Site, texts: list[str]) -> None:
    await site.add("db1", {"x": 1})
    assert await code_of(site.resolve(*texts)) == "TARGET-007"


async def test_empty_targets_are_an_error_and_never_all_nodes(site: Site) -> None:
    await site.add("db1")
    assert await code_of(site.targets.resolve_page(TargetsBody())) == "TARGET-005"
    assert await code_of(site.targets.resolve_page(TargetsBody(["db1"], all=True))) == "TARGET-006"
    assert await code_of(site.targets.resolve_page(TargetsBody([" "]))) == "TARGET-005"


@pytest.mark.parametrize("name", ["web9", "'a\0b'", "'WEB1'", "'../x'"])
async def test_unknown_name_is_an_error_also_among_others(site: Site, name: str) -> None:
    await site.add("web1")
    assert await code_of(site.resolve("web1", name)) == "NODE-001"


async def test_many_nodes_come_in_pages_each_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_service, "MAX_ANSWER", 4)
    monkeypatch.setattr(target_service, "PAGE", 3)
    monkeypatch.setattr(target_service, "PAGE_WITH_FACTS", 2)
    names = [f"n{number:02}" for number in range(10)]
    for name in names:
        await site.add(name, {"x": 1})
    assert await site.resolve() == names
    assert await site.resolve("facts.x = 1") == names
    first = await site.targets.resolve_page(TargetsBody(all=True))
    assert ([row.name for row in first.nodes], first.after) == (names[:4], "n03")
    # The page is exactly full: the next one is empty, which is no error.
    assert (await site.targets.resolve_page(some("n0*"), "n09")).nodes == []


# classification


async def test_classification_is_stored_and_audited_only_if_it_changes(site: Site) -> None:
    await site.add("web1")
    done = await site.service.classify(
        NodesClassification(some("web1"), Classification(environment="test", role="web::front")), "person:ann"
    )
    assert done.touched == ["web1"]
    again = await site.service.classify(
        NodesClassification(some("web1"), Classification(role="web::front")), "person:ann"
    )
    assert again.touched == []
    row = (await site.service.show("web1")).node
    assert (row.environment, row.role) == ("test", "web::front")
    await site.service.classify(NodesClassification(some("web1"), Classification(role=None)), "person:ann")
    row = (await site.service.show("web1")).node
    assert (row.environment, row.role) == ("test", None)
    entries = [entry.detail for entry in await site.audit.read_latest() if entry.action == "node.classify"]
    assert entries == [
        {"before": {"role": "web::front"}, "after": {"role": None}},
        {"before": {"environment": None, "role": None}, "after": {"environment": "test", "role": "web::front"}},
    ]


@pytest.mark.parametrize("value", ["", "Test", "a b", "a\0", "../x", "a" * 300, "9a"])
async def test_classification_with_an_invalid_name_is_refused(site: Site, value: str) -> None:
    await site.add("web1")
    for values in (Classification(environment=value), Classification(role=value)):
        assert (
            await code_of(site.service.classify(NodesClassification(some("web1"), values), "person:ann")) == "NODE-002"
        )
    assert await site.audit_entries() == []


# deactivation


async def test_deactivated_node_is_no_target_and_its_certificate_is_refused(site: Site, clock: ManualClock) -> None:
    await site.add("web1", {"x": 1})
    await site.add("web2")
    since = clock.now()
    done = await site.service.deactivate(NodesAction(some("web1"), "sold"), "person:ann")
    assert done.touched == ["web1"]
    assert await site.resolve() == ["web2"]
    assert await code_of(site.resolve("web1")) == "NODE-001"
    assert await site.resolve(deactivated=True) == ["web1", "web2"]
    assert await site.resolve("state = deactivated", deactivated=True) == ["web1"]
    certificate = await site.nodes.find("fweb1")
    assert certificate is not None
    assert not is_accepted(certificate, clock.now())
    assert not await site.database.read(site.nodes.is_valid, "fweb1")
    # Connections with the certificate are found and ended.
    assert await site.nodes.list_revoked(since) == ["fweb1"]
    assert (await site.facts.show("web1")).facts["x"] == 1
    assert await site.audit_entries() == [("person:ann", "node.deactivate", "web1")]


async def test_reactivated_node_is_as_before(site: Site, clock: ManualClock) -> None:
    await site.add("web1")
    await site.service.deactivate(NodesAction(some("web1")), "person:ann")
    assert (await site.service.reactivate(NodesAction(some("web1")), "person:ann")).touched == ["web1"]
    assert await site.resolve() == ["web1"]
    certificate = await site.nodes.find("fweb1")
    assert certificate is not None
    assert is_accepted(certificate, clock.now())


async def test_operation_on_a_node_in_the_desired_state_changes_nothing(site: Site) -> None:
    await site.add("web1")
    assert (await site.service.reactivate(NodesAction(some("web1")), "person:ann")).touched == []
    assert await site.audit_entries() == []


# purge


async def test_purge_of_an_active_node_needs_force(site: Site) -> None:
    await site.add("web1")
    assert await code_of(site.service.purge(NodesPurge(some("web1")), "person:ann")) == "NODE-003"
    assert await site.audit_entries() == []
    assert (await site.service.purge(NodesPurge(some("web1"), force=True), "person:ann")).touched == ["web1"]


async def test_purged_node_is_in_no_table_but_the_audit_log(site: Site) -> None:
    for name in ("web1", "web10"):
        await site.add(name, {"x": 1}, pp_role="web")
        await site.add(name + "x", None)
        await site.facts.submit(name, make_upload({"x": 2}, {}))
        await site.facts.work_off("worker")
        await site.connect(name)
        await site.streams.append(STREAM_PREFIX + name, [b"order"])
        await site.service.classify(NodesClassification(some(name), Classification(role="web")), "person:ann")
    for name in ("web1", "web10"):
        later = ReceivedFacts(name, "0" * 64, b"{}", b"{}", site.database.clock.now())
        await site.database.write(Facts(site.database).receive, [later])
        await site.database.write(_fill_tables, site.database, name)
        await site.database.write(Reports(site.database).store, [_report(name)])
    before = await rows_with(site.database, "web1")
    assert set(before) >= {*REFERRING - OLD, "node", "work_item", "stream", "stream_record", "report_event"}
    others = await rows_with(site.database, "web10")
    await site.service.deactivate(NodesAction(some("web1")), "person:ann")
    await site.sessions.end("s1", [("web1", 1)])
    await site.service.purge(NodesPurge(some("web1")), "person:ann")
    assert set(await rows_with(site.database, "web1")) == {"audit"}
    assert await rows_with(site.database, "web10") == others
    assert await site.audit_entries() == [
        ("person:ann", "node.classify", "web1"),
        ("person:ann", "node.classify", "web10"),
        ("person:ann", "node.deactivate", "web1"),
        ("person:ann", "node.purge", "web1"),
    ]


async def test_connected_node_is_not_purged(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_service, "DISCONNECT_S", -1.0)
    await site.add("web1")
    await site.connect("web1")
    assert await code_of(site.service.purge(NodesPurge(some("web1"), force=True), "person:ann")) == "NODE-004"
    # The node is already deactivated, which ends its connection, so the purge can be repeated.
    assert await site.audit_entries() == [("person:ann", "node.deactivate", "web1")]
    await site.sessions.end("s1", [("web1", 1)])
    assert (await site.service.purge(NodesPurge(some("web1")), "person:ann")).touched == ["web1"]


async def test_purge_handles_every_table_that_refers_to_nodes(database: Database) -> None:
    """A table that is added later, and not handled by purge, would make every purge fail."""

    def read() -> Transaction[set[str]]:
        referring = set()
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
                referring.add(table.name)
        return referring

    assert await database.read(read) == REFERRING


def _fill_tables(database: Database, name: str) -> Transaction[None]:
    """Add rows of the node to all tables: staged and released catalogs, a policy, a waiting compile, a flapping fact, a brief."""
    now, catalogs = database.clock.now(), Catalogs(database)
    yield from catalogs.staged.record_changes([CatalogChange(name, now, "production", "u", "v", "c", "d", "{}", None)])
    yield from Facts(database).store([FactSet(name, "x", b"{}", now, "", now, now, b"{}", flapping=["/x"])])
    yield from fact_views.store_briefs([(name, "x", b"{}")])
    yield from catalogs.documents.store([("d", b"{}")])
    yield from catalogs.staged.stage([StagedCatalog(name, "production", "v", "f", "c", "d", "d", "[]", now, now)])
    yield from exports.replace("released", (), [make_row("production", ExportedResource(name, "Notify", "x"))])
    yield from export_rounds.replace_collectors((), [Collector(name, "Notify", "production", "released")])
    yield from fleet_answers.replace_reads((), [Reader(name, "production", "q")])
    yield from export_rounds.put_cause(name, "released", Cause(1, name, "Notify", "x"))
    yield from catalogs.entries.want([name], ["first.pp"], now)
    yield from catalogs.entries.stage([StagedEntry(name, "first.pp", "production", "v", "c", "d", "d", "[]", now)])
    yield from catalogs.holds.hold("job", [EntryPin(name, "first.pp", "d")], now)
    number = yield from catalogs.log.add(NewLogEntry("release", "person:ann", ""))
    release = Release(name, 0, "d", "d", "[]", "production", "v", now, "person:ann", number)
    yield from catalogs.released.release([release])
    yield from Policies(database).set_policy(name, 1, "always", [], b"seal", "person:ann")
    yield from Traces(database).add_waiter("branch", name)
    yield from put_machine(name, Machine("m1", "instance", ["2"], "", "boot", "192.0.2.2", "0.1", 0, now, now))


def _report(name: str) -> ReportUpdate:
    """A report of a run that has begun, with one event."""
    report = f"01890000-0000-7000-8000-{len(name):012x}"
    began = RunBegan(report, "enforce", "hand", datetime(2026, 1, 1, tzinfo=UTC))
    page = EventPage(1, b"[]", [IndexedEvent(1, "File[/a]", "changed", False, "")])
    return ReportUpdate(name, report, began, pages=[page])


async def rows_with(database: Database, name: str) -> dict[str, list[Row]]:
    """Find the rows that contain a name, by table."""

    def read() -> Transaction[dict[str, list[Row]]]:
        by_table: dict[str, list[Row]] = {}
        for table in TABLES:
            rows = [tuple(row) for row in (yield table.first_page(1000))]
            matching = [row for row in rows if name in row or STREAM_PREFIX + name in row]
            if matching:
                by_table[table.name] = matching
        return by_table

    return await database.read(read)


async def test_deactivated_node_cannot_renew_even_in_the_grace_period(site: Site) -> None:
    await site.add("web1")
    await site.service.deactivate(NodesAction(some("web1")), "person:ann")
    live = await site.database.read(site.nodes.find_live_key, "web1", site.database.clock.now() - RENEWAL_GRACE)
    assert live is not None, "the name is still in use, so no other machine gets it"
    assert not await site.database.read(site.nodes.is_valid, "fweb1")


async def test_collect_orders_active_nodes_only_and_is_audited(site: Site) -> None:
    for name in ("web1", "web2", "db1"):
        await site.add(name)
    await site.service.deactivate(NodesAction(TargetsBody(["web2"])), "person:ann")
    done = await site.service.collect(NodesAction(TargetsBody(["web*"]), "new facts"), "person:ann")
    assert done.touched == ["web1"]
    assert [record.number for record in (await site.streams.read("agent.web1", 0)).records] == [1]
    assert (await site.streams.read("agent.db1", 0)).records == []
    assert ("facts.collect", "web1") in [(entry.action, entry.target) for entry in await site.audit.read_latest()]
