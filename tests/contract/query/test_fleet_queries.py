"""Queries of `puppetdb_query` over nodes, facts and released resources, on both databases."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from lab.compile_services import CompileServices
from precast.base.errors import UnavailableError
from precast.lang.puppetdb.answers import FleetAnswer, decode_answer
from precast.lang.puppetdb.ast_reader import read_ast
from precast.lang.puppetdb.pql import parse_pql
from precast.lang.puppetdb.queries import encode_query
from precast.services.query.fleet import conditions, evaluation
from precast.services.query.fleet.evaluation import FleetQueries
from precast.services.query.fleet.rows import FleetRows
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.resource_indexer import ResourceIndexer
from precast.services.query.resource_search import ResourceSearch
from precast.store.catalogs.catalogs import Catalogs
from precast.store.engine.database import Database
from precast.store.nodes.nodes import NodeClassification
from precast.store.query.resource_index import ResourceIndex
from precast.store.sessions.sessions import Sessions
from precast.wire.catalogs.bodies import ReleaseBody
from precast.wire.nodes.bodies import TargetsBody

CODE = {
    "manifests/site.pp": """
class web { package { 'nginx': ensure => '1.24', tag => 'edge' } file { '/etc/motd': content => "on ${facts['networking']['hostname']}" } }
class db { package { 'nginx': ensure => absent } @@notify { 'db': } notify { 'secret': message => Sensitive('hunter2') } }
if $facts['kind'] == 'web' { include web } else { include db }
""",
}
WEB1, WEB2, DB1, OTHER = "web1.example.org", "web2.example.org", "db1.example.org", "other.example.org"
PRODUCTION = "production"


class Site(CompileServices):
    """Two web servers and a database server in one environment, and a node in another one."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        index = ResourceIndex(database)
        self.indexer = ResourceIndexer(database, Catalogs(database), index)
        nodes = KnownNodes(database, self.fleet, Sessions(database))
        self.queries = FleetQueries(database, FleetRows(database, nodes, ResourceSearch(database, index)))

    async def fill(self) -> None:
        await self.deploy(CODE)
        await self.deploy(CODE, "test")
        for number, (name, kind) in enumerate(((WEB1, "web"), (WEB2, "web"), (DB1, "db"), (OTHER, "web"))):
            await self.introduce(name, kind)
            facts = {
                "kind": kind,
                "networking": {"hostname": name.partition(".")[0]},
                "size": number,
                "disks": [{"gb": 10 * number}, {"gb": 5}],
                "big": {f"key{index}": "x" * 50 for index in range(60)},
            }
            await self.submit(name, facts, {"load": number})
        test = NodeClassification("test", "db", True, {}, {})
        await self.database.write(self.fleet.set_classification, OTHER, test)
        await self.settle()
        await self.release()

    async def release(self) -> None:
        await self.releases.release(ReleaseBody(TargetsBody([], all=True)), "person:tester")
        while await self.indexer.work_off():
            pass

    async def answer(self, pql: str, environment: str = PRODUCTION) -> FleetAnswer:
        encoded = await self.queries.evaluate(encode_query(read_ast(parse_pql(pql))), environment)
        assert encoded == await self.queries.evaluate(encode_query(read_ast(parse_pql(pql))), environment)
        return decode_answer(encoded.data)

    async def ask(self, pql: str, environment: str = PRODUCTION) -> list[Any]:
        """The rows of an answer; of one column its values."""
        answer = await self.answer(pql, environment)
        assert answer.error == ""
        return [next(iter(row.values())) if len(row) == 1 else row for row in answer.rows]


@pytest.fixture
async def site(database: Database) -> AsyncIterator[Site]:
    made = Site(database)
    await made.fill()
    yield made
    await made.close()


NODE = {"catalog_environment": PRODUCTION, "facts_environment": PRODUCTION, "deactivated": None, "expired": None}
CASES: list[tuple[str, list[Any]]] = [
    ("nodes {}", [{"certname": name, **NODE} for name in (DB1, WEB1, WEB2)]),
    ("nodes[certname] { certname ~ '^web' }", [WEB1, WEB2]),
    ("nodes[certname] { certname !~ '^web' }", [DB1]),
    ("nodes[certname] { certname in ['web1.example.org', 'none'] }", [WEB1]),
    ("nodes[certname] { deactivated is null and expired is null }", [DB1, WEB1, WEB2]),
    ("nodes[certname] { deactivated is not null }", []),
    ("nodes[certname] { facts { name = 'kind' and value = 'web' } }", [WEB1, WEB2]),
    ("nodes[certname] { ! facts { name = 'kind' and value = 'web' } }", [DB1]),
    ("nodes[certname] { resources { type = 'Class' and title = 'Web' } }", [WEB1, WEB2]),
    ("nodes[certname] { resources { type = 'Package' and parameters.ensure = 'absent' } }", [DB1]),
    ("nodes[certname] { certname in resources[certname] { tag = 'edge' } }", [WEB1, WEB2]),
    ("nodes[certname] { order by certname desc limit 2 }", [WEB2, WEB1]),
    ("nodes[certname] { limit 1 offset 1 }", [WEB1]),
    ("nodes[count()] {}", [3]),
    ("nodes[count()] { certname = 'none' }", [0]),
    ("facts[certname, value] { name = 'size' and value >= 1 }", [{"certname": WEB2, "value": 1}, {"certname": DB1, "value": 2}][::-1]),
    ("facts[value, count()] { name = 'kind' group by value }", [{"value": "db", "count": 1}, {"value": "web", "count": 2}]),
    ("facts[max(value), avg(value)] { name = 'size' }", [{"max": 2, "avg": 1.0}]),
    ("facts { name = 'kind' and certname = 'db1.example.org' }",
     [{"certname": DB1, "environment": PRODUCTION, "name": "kind", "value": "db"}]),
    ("facts[name] { certname = 'db1.example.org' and name ~ '^(kind|load)' }", ["kind", "load"]),
    ("facts[value.gb] { name = 'none' }", []),
    ("fact_contents[path, value] { name = 'disks' and certname = 'web2.example.org' and value = 10 }",
     [{"path": ["disks", 0, "gb"], "value": 10}]),
    ("inventory[certname] { facts.networking.hostname = 'db1' }", [DB1]),
    ("inventory[certname] { facts.disks[0].gb > 5 }", [DB1, WEB2]),
    ("inventory[certname, facts.kind] { trusted.certname = 'db1.example.org' }", [{"certname": DB1, "facts.kind": "db"}]),
    ("inventory[certname] { facts.kind != 'web' }", [DB1]),
    ("inventory[certname] { facts.none is null and facts.big.key3 is not null }", [DB1, WEB1, WEB2]),
    ("inventory[certname] { facts.load = 2 }", [DB1]),
    ("resources[certname, parameters] { type = 'Package' and title = 'nginx' and certname = 'web1.example.org' }",
     [{"certname": WEB1, "parameters": {"ensure": "1.24", "tag": "edge"}}]),
    ("resources[parameters.content] { type = 'File' }", ["on web1", "on web2"]),
    ("resources[certname] { type = 'File' and parameters.content = 'on web2' }", [WEB2]),
    ("resources[title] { exported = true }", ["db"]),
    ("resources[type, count()] { type in ['Package', 'File'] group by type }",
     [{"type": "File", "count": 2}, {"type": "Package", "count": 3}]),
    ("resources[certname] { (type = 'File' or type = 'Notify') and tag = 'db' and exported = false }", [DB1]),
    ("resources[parameters] { title = 'secret' }", [{}]),
    ("resources[title] { parameters.message = 'hunter2' }", []),
    ("resources[certname] { type = 'package' }", []),
]  # fmt: skip


async def test_rows_of_each_entity(site: Site) -> None:
    for pql, expected in CASES:
        assert await site.ask(pql) == expected, pql


async def test_secrets_are_neither_found_nor_shown(site: Site) -> None:
    assert await site.ask("resources[title, parameters] { title = 'secret' }") == [
        {"title": "secret", "parameters": {}}
    ]
    for condition in ("parameters.message = 'hunter2'", "parameters.message ~ '^h'", "parameters.message is not null"):
        assert await site.ask(f"resources[title] {{ {condition} and title = 'secret' }}") == []
    assert "hunter2" not in str(await site.answer("resources {}"))


async def test_only_the_environment_is_seen(site: Site) -> None:
    assert await site.ask("nodes[certname] {}", "test") == [OTHER]
    assert await site.ask("resources[certname] { type = 'Package' }", "test") == [OTHER]
    assert await site.ask("nodes[certname] {}", "") == [DB1, OTHER, WEB1, WEB2]


async def test_deactivated_node_is_not_seen(site: Site) -> None:
    await site.database.write(site.fleet.deactivate, WEB1)
    assert await site.ask("nodes[certname] {}") == [DB1, WEB2]
    assert await site.ask("facts[value] { name = 'kind' }") == ["db", "web"]
    assert await site.ask("resources[certname] { type = 'File' }") == [WEB2]


async def test_only_released_resources_are_seen(site: Site) -> None:
    await site.deploy({"manifests/site.pp": "notify { 'staged': }"})
    await site.settle()
    assert await site.ask("resources[title] { type = 'Notify' and title = 'staged' }") == []
    await site.releases.release(ReleaseBody(TargetsBody([], all=True)), "person:tester")
    with pytest.raises(UnavailableError, match="not indexed"):
        await site.ask("resources[title] { type = 'Notify' }")
    while await site.indexer.work_off():
        pass
    assert await site.ask("resources[count()] { title = 'staged' }") == [3]


async def test_limits_are_answers(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "MAX_RESULT_ROWS", 2)
    assert "the result has 3 rows" in (await site.answer("nodes {}")).error
    monkeypatch.setattr(evaluation, "MAX_MATCH_BYTES", 100)
    assert "rows match" in (await site.answer("nodes[count()] {}")).error
    monkeypatch.setattr(evaluation, "TIME_S", -1)
    assert "took longer" in (await site.answer("nodes[count()] { certname = 'none' }")).error


async def test_pattern_that_takes_long_is_an_answer(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions, "MAX_PATTERN_STEPS", 20)
    answer = await site.answer("facts[count()] { value ~ '(a|w|e|x)*z' }")
    assert "the pattern (a|w|e|x)*z takes too long" in answer.error
