"""Queries over nodes and over resources in released catalogs, on both databases: results, access by environment, index usage."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from lab.compile_services import CompileServices
from precast.base.errors import InputError, NotFoundError, UnavailableError
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.queries import QueryService
from precast.services.query.report_search import ReportSearch
from precast.services.query.resource_indexer import ResourceIndexer
from precast.services.query.resource_search import ResourceSearch
from precast.services.query.targets import TargetService
from precast.services.reports.reports import ReportService, prepare_ended
from precast.store.catalogs import released_queries
from precast.store.catalogs.catalogs import Catalogs, delete_node_catalogs
from precast.store.engine.database import Database
from precast.store.engine.query import Dialect, Query, Transaction, json_list
from precast.store.facts import views as fact_views
from precast.store.nodes.nodes import NodeClassification
from precast.store.query import resource_index_queries as queries
from precast.store.query.resource_index import ResourceIndex, index_key
from precast.store.reports import queries as report_queries
from precast.store.reports.reports import Reports
from precast.store.reports.views import ReportReader
from precast.store.schema.tables import TABLES
from precast.store.sessions.sessions import Sessions
from precast.wire.catalogs.bodies import ReleaseBody, RollbackBody
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.query.bodies import QueryAnswer, QueryBody
from tests.contract.engine.test_queries import explain, run
from tests.contract.reports.report_site import began, changed, ended, failed, summary

CODE = {
    "manifests/site.pp": """
class web {
  package { 'nginx': ensure => '1.24', tag => 'edge' }
  service { 'nginx': ensure => running, enable => true }
  file { '/etc/motd': content => "on ${facts['networking']['hostname']}", mode => '0644' }
  file { '/etc/long': content => 'x' }
  exec { 'reload it': command => '/bin/true', path => ['/bin', '/usr/bin'], refreshonly => true }
  notify { 'secret': message => Sensitive('hunter2') }
}
class db { service { 'postgresql': ensure => stopped } package { 'nginx': ensure => absent } }
if $facts['kind'] == 'web' { include web } else { include db }
""",
}
WEB1, WEB2, DB1 = "web1.example.org", "web2.example.org", "db1.example.org"


class Site(CompileServices):
    """Two web servers and a database server in several environments, with queries."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        known = KnownNodes(database, self.fleet, Sessions(database))
        index = ResourceIndex(database)
        self.targets = TargetService(known, database.clock)
        self.indexer = ResourceIndexer(database, Catalogs(database), index)
        reports = ReportSearch(database, ReportReader(database))
        search = ResourceSearch(database, index)
        self.queries = QueryService(database, self.targets, search, Catalogs(database), reports)

    async def fill(self) -> None:
        await self.deploy(CODE)
        await self.deploy(CODE, "test")
        for name, kind in ((WEB1, "web"), (WEB2, "web"), (DB1, "db")):
            await self.introduce(name, kind)
            await self.submit(
                name, {"kind": kind, "networking": {"hostname": name[:4].strip(".")}, "size": len(name)}, {}
            )
        await self.database.write(self.fleet.set_classification, DB1, NodeClassification("test", "db", True, {}, {}))
        await self.settle()

    async def release(self, *names: str) -> None:
        await self.releases.release(ReleaseBody(TargetsBody(list(names), all=not names)), "person:tester")
        while await self.indexer.work_off():
            pass

    async def ask(self, about: str, where: str = "", *, scope: tuple[str, ...] = (), **more: Any) -> QueryAnswer:
        return await self.queries.answer(QueryBody(about, where, **more), scope)

    async def rows(self, about: str, where: str = "", **more: Any) -> list[list[Any]]:
        return (await self.ask(about, where, **more)).rows

    async def names(self, where: str, **more: Any) -> list[str]:
        return [row[0] for row in await self.rows("nodes", where, fields=["name"], **more)]


@pytest.fixture
async def site(database: Database) -> AsyncIterator[Site]:
    made = Site(database)
    await made.fill()
    yield made
    await made.close()


RESOURCES: list[tuple[str, list[str]]] = [
    ("Package[nginx]", ["db1 nginx", "web1 nginx", "web2 nginx"]),
    ("package[nginx] and parameters.ensure != absent", ["web1 nginx", "web2 nginx"]),
    ("type = Service and parameters.ensure = stopped", ["db1 postgresql"]),
    ("parameters.ensure = stopped", ["db1 postgresql"]),
    ("parameters.ensure in (stopped, absent)", ["db1 nginx", "db1 postgresql"]),
    ("title = nginx and type = service", ["web1 nginx", "web2 nginx"]),
    ("File[/etc/m*]", ["web1 /etc/motd", "web2 /etc/motd"]),
    ("type = file and title ~ '^/etc/m'", ["web1 /etc/motd", "web2 /etc/motd"]),
    ("Class[web]", ["web1 Web", "web2 Web"]),
    ("title = web", ["web1 Web", "web2 Web"]),
    ("tag = edge", ["web1 nginx", "web2 nginx"]),
    ("type = Exec and parameters.path = '/usr/bin'", ["web1 reload it", "web2 reload it"]),
    ("'Exec[reload it]'", ["web1 reload it", "web2 reload it"]),
    ("parameters.mode = '0644'", ["web1 /etc/motd", "web2 /etc/motd"]),
    ("parameters.enable = true", ["web1 nginx", "web2 nginx"]),
    # A value that differs between nodes is compared with the value of each node.
    ("parameters.content = 'on web2'", ["web2 /etc/motd"]),
    ("type = File and parameters.content ~ 'web1$'", ["web1 /etc/motd"]),
    (
        "Package[nginx] or Service[*] and not parameters.ensure = running",
        ["db1 nginx", "db1 postgresql", "web1 nginx", "web2 nginx"],
    ),
    ("parameters.message = hunter2", []),
    ("Package[no]", []),
]


async def test_resources_are_found_by_their_properties(site: Site) -> None:
    await site.release()
    for where, expected in RESOURCES:
        rows = await site.rows("resources", where, fields=["node", "title"])
        assert sorted(f"{node.partition('.')[0]} {title}" for node, title in rows) == expected, where


async def test_only_currently_released_resources_are_found(site: Site) -> None:
    assert await site.rows("resources", "Package[nginx]") == []
    await site.release(WEB1)
    assert await site.rows("resources", "Package[nginx]") == [[WEB1, "Package", "nginx"]]
    await site.deploy({"manifests/site.pp": "package { 'lighttpd': }"})
    await site.settle()
    assert await site.names("has Package[nginx]") == [WEB1]
    await site.release(WEB1)
    assert await site.rows("resources", "Package[nginx]") == []
    assert await site.names("has Package[lighttpd]") == [WEB1]
    await site.releases.rollback(RollbackBody(TargetsBody([WEB1])), "person:tester")
    assert await site.names("has Package[nginx]") == [WEB1]


async def test_query_before_a_release_is_indexed_is_refused(site: Site) -> None:
    await site.releases.release(ReleaseBody(TargetsBody(all=True)), "person:tester")
    with pytest.raises(UnavailableError, match="2 released catalogs are not indexed yet"):
        await site.ask("resources", "Package[nginx]")
    with pytest.raises(UnavailableError):
        await site.targets.resolve(TargetsBody(["has Package[nginx]"]))
    assert await site.indexer.work_off() == 2
    assert (await site.targets.resolve(TargetsBody(["has Package[nginx]"]))).names == [DB1, WEB1, WEB2]


NODES: list[tuple[str, list[str]]] = [
    ("has Class[web]", [WEB1, WEB2]),
    ("not has Class[web]", [DB1]),
    ("has (type = Service and parameters.ensure = stopped)", [DB1]),
    ("has Package[nginx] and facts.kind = web", [WEB1, WEB2]),
    ("has (parameters.content = 'on web2')", [WEB2]),
    ("has Package[nginx] and not has (Package[nginx] and parameters.ensure = absent)", [WEB1, WEB2]),
    ("has File[/no]", []),
    ("facts.size > 15", [WEB1, WEB2]),
    ("facts.kind ~ '^d'", [DB1]),
]


async def test_nodes_are_found_by_the_resources_of_their_catalogs(site: Site) -> None:
    await site.release()
    for where, expected in NODES:
        assert await site.names(where) == expected, where


async def test_pages_continue_where_the_previous_one_ended(site: Site) -> None:
    await site.release()
    whole = await site.rows("resources")
    for limit in (1, 2, 7):
        rows: list[list[Any]] = []
        after: str | None = ""
        while after is not None:
            page = await site.ask("resources", limit=limit, after=after)
            assert len(page.rows) <= limit
            rows, after = rows + page.rows, page.after
        assert rows == whole
    union = "Package[nginx] or parameters.ensure = stopped or tag = edge or type = Service"
    pages: list[list[Any]] = []
    after = ""
    while after is not None:
        page = await site.ask("resources", union, limit=1, after=after)
        pages, after = pages + page.rows, page.after
    assert sorted(pages) == sorted(await site.rows("resources", union))
    assert len({tuple(row) for row in pages}) == len(pages) == 6


async def test_values_are_counted_by_group(site: Site) -> None:
    await site.release()
    assert await site.rows("resources", "Package[nginx]", by=["parameters.ensure"]) == [["1.24", 2], ["absent", 1]]
    assert await site.rows("resources", "type = Service", by=["node"]) == [[DB1, 1], [WEB1, 1], [WEB2, 1]]
    assert await site.rows("resources", "File[/etc/motd]", by=["parameters.content"]) == [
        ["on web1", 1],
        ["on web2", 1],
    ]
    assert await site.rows("nodes", by=["facts.kind"]) == [["web", 2], ["db", 1]]
    assert await site.rows("nodes", by=["role", "environment"]) == [["web", "production", 2], ["db", "test", 1]]


async def test_nodes_are_found_by_their_last_run_and_their_catalog(site: Site) -> None:
    await site.release(WEB1)
    start = began(1)
    first, second = began(2, began_at=site.database.clock.now()), began(3, mode="noop")
    reports = ReportService(site.database, Reports(site.database))
    updates = [
        (WEB1, prepare_ended(WEB1, ended(start, failed("x"), events=1, summary=summary(failed=1)))),
        (WEB1, prepare_ended(WEB1, ended(first, changed("/a"), events=1, summary=summary(changed=1)))),
        (WEB2, prepare_ended(WEB2, ended(second, summary=summary(noop=2)))),
    ]
    for update in updates:
        await site.database.write(reports.store, [update])
    assert await site.rows("nodes", fields=["name", "outcome", "catalog", "report.mode", "report.pending"]) == [
        [DB1, "none", "staged", None, None],
        [WEB1, "changed", "released", "enforce", 0],
        [WEB2, "pending", "staged", "noop", 2],
    ]
    assert await site.names("report.pending > 0") == [WEB2]
    assert await site.names("report.age < 1h") == [WEB1]
    assert await site.names("not report.age < 1h") == [DB1, WEB2]
    assert await site.rows("nodes", by=["outcome"]) == [["changed", 1], ["none", 1], ["pending", 1]]
    assert await site.names("catalog = staged and not outcome = none") == [WEB2]
    rows = await site.rows("reports", fields=["node", "outcome"])
    assert sorted(rows) == [[WEB1, "changed"], [WEB1, "failed"], [WEB2, "pending"]]
    assert await site.rows("reports", "outcome = failed", fields=["node"]) == [[WEB1]]
    assert await site.rows("reports", f"{WEB1} and age < 1h", fields=["node", "outcome"]) == [[WEB1, "changed"]]
    assert await site.rows("reports", "web* and mode = noop", by=["outcome"]) == [["pending", 1]]
    assert await site.rows("reports", nodes=TargetsBody([WEB1]), by=["outcome"]) == [["changed", 1], ["failed", 1]]
    assert await site.rows("reports", scope=("test",)) == []
    page = await site.ask("reports", fields=["node", "outcome"], limit=1)
    assert page.after is not None
    assert page.rows + await site.rows("reports", fields=["node", "outcome"], after=page.after) == rows


async def test_briefs_of_facts_are_used_until_the_facts_change(site: Site) -> None:
    big = {f"package{number}": "1.0" for number in range(300)}
    facts = {"kind": "web", "networking": {"hostname": "web1", "interfaces": big}, "packages": big, "size": 3}
    await site.submit(WEB1, facts, {"uptime": 5})
    await site.settle()
    for _ in range(2):
        assert await site.names("facts.size = 3 and facts.uptime = 5") == [WEB1]
        # A fact that the brief leaves out is read from the whole fact set.
        assert await site.names("facts.packages.package7 = '1.0'") == [WEB1]
        assert await site.names("exists facts.networking.interfaces") == [WEB1]
        assert await site.rows("nodes", WEB1, fields=["facts.networking"]) == [[facts["networking"]]]
    assert await site.database.read(_briefs) == 3
    await site.submit(WEB1, {**facts, "size": 4}, {"uptime": 6})
    await site.settle()
    assert await site.names("facts.size = 3") == []
    assert await site.names("facts.size = 4 and facts.uptime = 6") == [WEB1]
    await site.database.write(fact_views.delete_node_facts, WEB1)
    assert await site.database.read(_briefs) == 2


def _briefs() -> Transaction[int]:
    ((count,),) = yield Query("test.briefs", "SELECT count(*) FROM fact_brief")()
    return int(count)


async def test_secrets_are_neither_found_nor_shown(site: Site) -> None:
    await site.release()
    assert await site.rows("resources", "Notify[secret]", fields=["parameters"], nodes=TargetsBody([WEB1])) == [
        [{"message": "(sensitive)"}]
    ]
    stored = await site.database.read(_all_bodies)
    assert b"hunter2" not in stored


def _all_bodies() -> Transaction[bytes]:
    from precast.store.engine.compression import decompress

    rows = yield Query("test.bodies", "SELECT body FROM catalog_resource")()
    values = yield Query("test.values", "SELECT value_key FROM catalog_value")()
    return b"".join(decompress(row[0]) for row in rows) + "".join(row[0] for row in values).encode()


async def test_person_limited_to_environments_sees_only_these(site: Site) -> None:
    await site.release()
    assert await site.rows("resources", "Package[nginx]", scope=("test",)) == [[DB1, "Package", "nginx"]]
    assert await site.rows("resources", "Package[nginx]", by=["type"], scope=("test",)) == [["Package", 1]]
    assert await site.names("has Package[nginx]", scope=("test",)) == [DB1]
    # A node of another environment counts as nonexistent.
    assert await site.rows("resources", scope=("test",), nodes=TargetsBody([WEB1])) == []
    assert await site.rows("resources", scope=("test",), nodes=TargetsBody(["no.example.org"])) == []
    with pytest.raises(NotFoundError):
        await site.ask("resources", nodes=TargetsBody(["no.example.org"]))


WRONG: list[tuple[QueryBody, str]] = [
    (QueryBody("things"), "QUERY-006"),
    (QueryBody("nodes", limit=0), "QUERY-003"),
    (QueryBody("nodes", limit=1001), "QUERY-003"),
    (QueryBody("resources", after="%%%"), "QUERY-002"),
    (QueryBody("resources", after="e30"), "QUERY-002"),
    (QueryBody("resources", "role = db"), "TARGET-002"),
    (QueryBody("nodes", fields=["facts"]), "TARGET-002"),
    (QueryBody("nodes", by=["name; DROP TABLE node"]), "TARGET-001"),
]


async def test_invalid_query_is_reported(site: Site) -> None:
    for body, code in WRONG:
        with pytest.raises(InputError) as caught:
            await site.queries.answer(body, ())
        assert caught.value.code == code, body


async def test_index_deletes_resources_that_no_node_is_served(site: Site) -> None:
    await site.release()
    for name in (WEB1, WEB2, DB1):
        await site.database.write(delete_node_catalogs, name)
    await site.indexer.clean()
    assert await site.database.read(_sizes) == [0, 0, 0, 0]


def _sizes() -> Transaction[list[int]]:
    counts = []
    for table in ("catalog_index", "catalog_member", "catalog_value", "catalog_resource"):
        ((count,),) = yield Query(f"test.{table}", f"SELECT count(*) FROM {table}")()
        counts.append(int(count))
    return counts


async def test_released_catalog_missing_in_the_index_is_indexed_later(site: Site) -> None:
    await site.release()
    await site.database.write(_drop_index)
    assert await site.rows("resources", "Package[nginx]") == []
    await site.indexer.clean()
    await site.indexer.work_off()
    assert len(await site.rows("resources", "Package[nginx]")) == 3


def _drop_index() -> Transaction[None]:
    for table in ("catalog_member", "catalog_index"):
        yield Query(f"test.drop_{table}", f"DELETE FROM {table}")()


async def test_equal_catalogs_share_their_resources(site: Site) -> None:
    await site.release()
    before = await site.database.read(_sizes)
    await site.deploy({**CODE, "manifests/site.pp": CODE["manifests/site.pp"] + "notify { 'more': }"})
    await site.settle()
    await site.release()
    after = await site.database.read(_sizes)
    assert after[0] == before[0] + 1  # the code of the other environment is unchanged
    assert after[3] - before[3] == 1


def test_keys_of_equal_values_are_equal() -> None:
    assert index_key("0644") == index_key(644) == index_key("644.0")
    assert index_key(True) == "true"
    assert index_key("1.50") == index_key(1.5)
    assert index_key("x" * 500) == "x" * 200
    assert index_key("a\x00b") == "a�b"
    assert index_key("nan") == "nan"


ROWS = 16_000
# So many rows that the planner never reads the whole table, however few are selected.
RESOURCE_ROWS = 40_000
HOT: list[tuple[Query, dict[str, object]]] = [
    (queries.WAITING, {"limit": 10}),
    (queries.COUNT_WAITING, {}),
    (queries.KNOWN, {"ids": json_list(["r1", "r2"])}),
    (queries.BY_REFERENCE, {"type": "T7", "title_key": "t7", "after_id": "", "limit": 10}),
    (queries.BY_TITLE, {"title_key": "t7", "after_type": "", "after_id": "", "limit": 10}),
    (queries.BY_TYPE, {"type": "T7", "after_key": "", "after_id": "", "limit": 10}),
    (queries.BY_VALUE, {"name": "ensure", "value_key": "v7", "after_type": "", "after_id": "", "limit": 10}),
    (queries.BY_VALUE_AND_TYPE, {"name": "ensure", "value_key": "v7", "type": "T7", "after_id": "", "limit": 10}),
    (queries.EVERYTHING, {"after_type": "T2", "after_key": "", "after_id": "", "limit": 10}),
    (queries.OF_CATALOGS, {"ids": json_list(["c1"]), "after_type": "", "after_key": "", "after_id": "", "limit": 10}),
    (queries.HOLDERS, {"resource": "r7", "catalog": "c7", "after_node": "", "limit": 10}),
    (queries.HOLDERS_OF_NEXT, {"resource": "r7", "after_catalog": "", "limit": 10}),
    (queries.COUNT_HOLDERS, {"ids": json_list(["r7", "r8"])}),
    (queries.SKELETONS, {"ids": json_list(["r7", "r8"])}),
    (queries.DELETE_MEMBERS, {"catalog": "c7", "limit": 10}),
    (released_queries.SERVED_TO_EACH, {"nodes": json_list(["n1", "n2"])}),
    (fact_views.BRIEFS, {"after_node": "n1", "until_node": "n2", "limit": 10}),
    (report_queries.LATEST, {"nodes": json_list(["n1", "n2"])}),
]


# A page of these begins where the one before ended: they read no row twice, and sort nothing.
PAGED = [queries.HOLDERS, queries.HOLDERS_OF_NEXT]


def fill() -> Transaction[None]:
    def insert(name: str, rows: list[tuple[object, ...]]) -> Transaction[None]:
        table = next(table for table in TABLES if table.name == name)
        columns = list(table.columns)
        yield table.insert(columns).many(dict(zip(columns, row, strict=True)) for row in rows)

    yield from insert("node", [(f"n{n}", 0, None, None, None, None, None) for n in range(ROWS)])
    yield from insert("document", [(f"s{n}", b"{}", 1, 1) for n in range(ROWS)])
    yield from insert("release_log", [(n, "release", 1, 1, "x", "", "{}", "", "", ROWS, "[]") for n in (1, 2)])
    yield from insert(
        "node_release",
        [
            (f"n{n}", number, "d", f"s{n}", "[]", "e", "v", 1, "x", number, number, number, None, None)
            for n in range(ROWS)
            for number in (1, 2)
        ],
    )
    texts = {"state", "mode", "reason", "order_id", "catalog", "environment", "version", "why"}
    others = [name for name in next(table for table in TABLES if table.name == "report").others if name != "node"]
    rest = ["x" if name in texts else b"{}" if name == "detail" else 1 for name in others]
    yield from insert("report", [(f"p{n}", f"n{n}", *rest) for n in range(ROWS)])
    yield from insert("fact_set", [(f"n{n}", "d", b"{}", 1, "x", 1, 1, None) for n in range(ROWS)])
    yield from insert("fact_brief", [(f"n{n}", "d", b"{}") for n in range(ROWS)])
    yield from insert("fact_volatile", [(f"n{n}", b"{}", 1, 1) for n in range(ROWS)])
    yield from insert("catalog_index", [(f"s{n}", f"c{n}", 1) for n in range(ROWS)])
    yield from insert("catalog_resource", [(f"r{n}", f"T{n % 50}", f"t{n}", b"{}") for n in range(RESOURCE_ROWS)])
    yield from insert("catalog_value", [("ensure", f"v{n % 100}", f"T{n % 50}", f"r{n}") for n in range(ROWS)])
    yield from insert("catalog_member", [(f"r{n}", f"c{m}") for n in range(ROWS) for m in {n, (n * 7) % ROWS}])
    yield Query("test.analyze", "ANALYZE")()


async def test_every_kind_of_query_uses_an_index(database: Database) -> None:
    await database.write(fill)
    for query, values in HOT:
        plan = json.dumps([list(row) for row in await database.write(run, explain(query, database.dialect), values)])
        if database.dialect is Dialect.SQLITE:
            scans = [word for word in plan.split('"') if word.startswith("SCAN") and "json_each" not in word]
            assert all("INDEX" in word for word in scans), (query.name, plan)
            assert "TEMP B-TREE FOR ORDER BY" not in plan or query not in PAGED, (query.name, plan)
        else:
            assert "Seq Scan" not in plan, (query.name, plan)
            assert '"Node Type\\": \\"Sort' not in plan or query not in PAGED, (query.name, plan)
