"""Queries over nodes and over resources in released catalogs, on both databases: what is found, by whom, and through which index."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from lab.compiling import Compiling
from precast.base.errors import InputError, NotFoundError, UnavailableError
from precast.services.query.indexing import Indexing
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.reports import ReportSearch
from precast.services.query.resources import ResourceSearch
from precast.services.query.service import QueryService
from precast.services.query.targets import TargetService
from precast.services.reports.reports import ReportService, prepare_ended
from precast.store import catalogs as catalog_queries
from precast.store.catalogs import Catalogs
from precast.store.engine.database import Database
from precast.store.engine.query import Dialect, Query, Transaction, json_list
from precast.store.facts import views as fact_views
from precast.store.nodes.nodes import Said
from precast.store.query import resource_index_queries as queries
from precast.store.query.resource_index import CatalogIndex, key
from precast.store.reports import queries as report_queries
from precast.store.reports.reports import Reports
from precast.store.reports.views import ReportReader
from precast.store.schema.tables import TABLES
from precast.store.sessions.sessions import Sessions
from precast.wire.catalogs.bodies import ReleaseBody
from precast.wire.nodes.bodies import NodesDeed, TargetsBody
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


class Site(Compiling):
    """Two web servers and a database server in three environments' reach, with queries."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        known = KnownNodes(database, self.fleet, Sessions(database))
        index = CatalogIndex(database)
        self.targets = TargetService(known, database.clock)
        self.indexing = Indexing(database, Catalogs(database), index)
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
        await self.database.write(self.fleet.classifying, DB1, Said("test", "db", True, {}, {}))
        await self.settle()

    async def release(self, *names: str) -> None:
        await self.releases.release(ReleaseBody(TargetsBody(list(names), all=not names)), "person:tester")
        while await self.indexing.work_off():
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
    await made.workers.close()


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
    # A value that is another one on each node is found with the node's own.
    ("parameters.content = 'on web2'", ["web2 /etc/motd"]),
    ("type = File and parameters.content ~ 'web1$'", ["web1 /etc/motd"]),
    (
        "Package[nginx] or Service[*] and not parameters.ensure = running",
        ["db1 nginx", "db1 postgresql", "web1 nginx", "web2 nginx"],
    ),
    ("parameters.message = hunter2", []),
    ("Package[no]", []),
]


async def test_resources_are_found_by_what_they_are(site: Site) -> None:
    await site.release()
    for where, expected in RESOURCES:
        rows = await site.rows("resources", where, fields=["node", "title"])
        assert sorted(f"{node.partition('.')[0]} {title}" for node, title in rows) == expected, where


async def test_only_what_is_released_now_is_found(site: Site) -> None:
    assert await site.rows("resources", "Package[nginx]") == []
    await site.release(WEB1)
    assert await site.rows("resources", "Package[nginx]") == [[WEB1, "Package", "nginx"]]
    await site.deploy({"manifests/site.pp": "package { 'lighttpd': }"})
    await site.settle()
    assert await site.names("has Package[nginx]") == [WEB1]
    await site.release(WEB1)
    assert await site.rows("resources", "Package[nginx]") == []
    assert await site.names("has Package[lighttpd]") == [WEB1]
    await site.releases.rollback(NodesDeed(TargetsBody([WEB1])), "person:tester")
    assert await site.names("has Package[nginx]") == [WEB1]


async def test_question_before_a_release_is_looked_through_is_refused(site: Site) -> None:
    await site.releases.release(ReleaseBody(TargetsBody(all=True)), "person:tester")
    with pytest.raises(UnavailableError, match="2 released catalogs are not looked through yet"):
        await site.ask("resources", "Package[nginx]")
    with pytest.raises(UnavailableError):
        await site.targets.names(TargetsBody(["has Package[nginx]"]))
    assert await site.indexing.work_off() == 2
    assert (await site.targets.names(TargetsBody(["has Package[nginx]"]))).names == [DB1, WEB1, WEB2]


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


async def test_nodes_are_found_by_what_they_have(site: Site) -> None:
    await site.release()
    for where, expected in NODES:
        assert await site.names(where) == expected, where


async def test_pages_go_on_where_the_one_before_ended(site: Site) -> None:
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
    assert await site.rows("nodes", by=["role", "environment"]) == [["web", None, 2], ["db", "test", 1]]


async def test_nodes_are_found_by_their_last_run_and_their_catalog(site: Site) -> None:
    await site.release(WEB1)
    start = began(1)
    first, second = began(2, began_at=site.database.clock.now()), began(3, mode="noop")
    reports = ReportService(site.database, Reports(site.database))
    told = [
        (WEB1, prepare_ended(WEB1, ended(start, failed("x"), events=1, summary=summary(failed=1)))),
        (WEB1, prepare_ended(WEB1, ended(first, changed("/a"), events=1, summary=summary(changed=1)))),
        (WEB2, prepare_ended(WEB2, ended(second, summary=summary(noop=2)))),
    ]
    for one in told:
        await site.database.write(reports.taking, [one])
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


async def test_facts_are_known_in_short_until_they_change(site: Site) -> None:
    big = {f"package{number}": "1.0" for number in range(300)}
    facts = {"kind": "web", "networking": {"hostname": "web1", "interfaces": big}, "packages": big, "size": 3}
    await site.submit(WEB1, facts, {"uptime": 5})
    await site.settle()
    for _ in range(2):
        assert await site.names("facts.size = 3 and facts.uptime = 5") == [WEB1]
        # What is left out is asked of the whole.
        assert await site.names("facts.packages.package7 = '1.0'") == [WEB1]
        assert await site.names("exists facts.networking.interfaces") == [WEB1]
        assert await site.rows("nodes", WEB1, fields=["facts.networking"]) == [[facts["networking"]]]
    assert await site.database.read(_briefs) == 3
    await site.submit(WEB1, {**facts, "size": 4}, {"uptime": 6})
    await site.settle()
    assert await site.names("facts.size = 3") == []
    assert await site.names("facts.size = 4 and facts.uptime = 6") == [WEB1]
    await site.database.write(fact_views.forgetting, WEB1)
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
    from precast.store.engine.compression import unpack

    rows = yield Query("test.bodies", "SELECT body FROM catalog_resource")()
    values = yield Query("test.values", "SELECT value_key FROM catalog_value")()
    return b"".join(unpack(row[0]) for row in rows) + "".join(row[0] for row in values).encode()


async def test_who_may_see_some_environments_sees_what_is_in_them(site: Site) -> None:
    await site.release()
    assert await site.rows("resources", "Package[nginx]", scope=("test",)) == [[DB1, "Package", "nginx"]]
    assert await site.rows("resources", "Package[nginx]", by=["type"], scope=("test",)) == [["Package", 1]]
    assert await site.names("has Package[nginx]", scope=("test",)) == [DB1]
    # A node of another environment looks like none.
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


async def test_wrong_query_is_told(site: Site) -> None:
    for body, code in WRONG:
        with pytest.raises(InputError) as caught:
            await site.queries.answer(body, ())
        assert caught.value.code == code, body


async def test_index_forgets_what_nobody_is_served(site: Site) -> None:
    await site.release()
    for name in (WEB1, WEB2, DB1):
        await site.database.write(catalog_queries.forgetting, name)
    await site.indexing.tidy()
    assert await site.database.read(_sizes) == [0, 0, 0, 0]


def _sizes() -> Transaction[list[int]]:
    counts = []
    for table in ("catalog_index", "catalog_member", "catalog_value", "catalog_resource"):
        ((count,),) = yield Query(f"test.{table}", f"SELECT count(*) FROM {table}")()
        counts.append(int(count))
    return counts


async def test_what_an_older_server_released_is_looked_through_later(site: Site) -> None:
    await site.release()
    await site.database.write(_dropping_index)
    assert await site.rows("resources", "Package[nginx]") == []
    await site.indexing.tidy()
    await site.indexing.work_off()
    assert len(await site.rows("resources", "Package[nginx]")) == 3


def _dropping_index() -> Transaction[None]:
    for table in ("catalog_member", "catalog_index"):
        yield Query(f"test.drop_{table}", f"DELETE FROM {table}")()


async def test_like_catalogs_cost_their_resources_once(site: Site) -> None:
    await site.release()
    before = await site.database.read(_sizes)
    await site.deploy({**CODE, "manifests/site.pp": CODE["manifests/site.pp"] + "notify { 'more': }"})
    await site.settle()
    await site.release()
    after = await site.database.read(_sizes)
    assert after[0] == before[0] + 1  # the other environment's code is as it was
    assert after[3] - before[3] == 1


def test_keys_of_equal_values_are_equal() -> None:
    assert key("0644") == key(644) == key("644.0")
    assert key(True) == "true"
    assert key("1.50") == key(1.5)
    assert key("x" * 500) == "x" * 200
    assert key("a\x00b") == "a�b"
    assert key("nan") == "nan"


ROWS = 16_000
# So many that reading all of them is no choice, however few are wanted.
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
    (queries.HOLDERS, {"resource": "r7", "after_node": "", "limit": 10}),
    (queries.COUNT_HOLDERS, {"ids": json_list(["r7", "r8"])}),
    (queries.SKELETONS, {"ids": json_list(["r7", "r8"])}),
    (queries.FORGET_MEMBERS, {"catalog": "c7", "limit": 10}),
    (catalog_queries.SERVED_TO, {"nodes": json_list(["n1", "n2"])}),
    (fact_views.BRIEFS, {"after_node": "n1", "until_node": "n2", "limit": 10}),
    (report_queries.LATEST, {"nodes": json_list(["n1", "n2"])}),
]


def filling() -> Transaction[None]:
    def insert(name: str, rows: list[tuple[object, ...]]) -> Transaction[None]:
        table = next(table for table in TABLES if table.name == name)
        columns = list(table.columns)
        yield table.insert(columns).many(dict(zip(columns, row, strict=True)) for row in rows)

    yield from insert("node", [(f"n{n}", 0, None, None, None, None, None) for n in range(ROWS)])
    yield from insert("document", [(f"s{n}", b"{}", 1, 1) for n in range(ROWS)])
    yield from insert(
        "node_release",
        [(f"n{n}", number, "d", f"s{n}", "[]", "e", "v", 1, "x") for n in range(ROWS) for number in (1, 2)],
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


async def test_every_kind_of_query_goes_by_index(database: Database) -> None:
    await database.write(filling)
    for query, values in HOT:
        plan = json.dumps([list(row) for row in await database.write(run, explain(query, database.dialect), values)])
        if database.dialect is Dialect.SQLITE:
            scans = [word for word in plan.split('"') if word.startswith("SCAN") and "json_each" not in word]
            assert all("INDEX" in word for word in scans), (query.name, plan)
        else:
            assert "Seq Scan" not in plan, (query.name, plan)
