"""Catalogs that rest on queries over the fleet are compiled again exactly when a result has changed, on both databases."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from lab.compile_services import CompileServices
from precast.app.exports import build_fleet_queries
from precast.base.clock import ManualClock
from precast.catalog import body as bodies
from precast.lang.puppetdb.answers import decode_answer
from precast.lang.puppetdb.ast_reader import read_ast
from precast.lang.puppetdb.pql import parse_pql
from precast.lang.puppetdb.queries import encode_query
from precast.services.facts.decisions import COMPILE_BURST, COMPILE_EVERY
from precast.services.query.fleet.answering import EVERY, FleetReads
from precast.services.query.fleet.watching import LEASE_S, UNREAD
from precast.services.query.resource_indexer import ResourceIndexer
from precast.services.work_kinds import REEVALUATE
from precast.store.catalogs.catalogs import Catalogs
from precast.store.code.environments import EVERYWHERE
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction
from precast.store.nodes.nodes import NodeClassification
from precast.store.query import fleet_answers
from precast.store.query.resource_index import ResourceIndex
from precast.wire.catalogs.bodies import ReleaseBody
from precast.wire.nodes.bodies import TargetsBody
from tests.contract.sessions.test_streams import until_blocked

MONITOR, WEB1, WEB2 = "monitor.example.org", "web1.example.org", "web2.example.org"
CODE = {
    "manifests/site.pp": """
if $facts['kind'] == 'monitor' {
  puppetdb_query("facts[certname, value] { name = 'port' }").each |$row| { notify { "${row['certname']}:${row['value']}": } }
  puppetdb_query("resources[certname] { type = 'Service' and title = 'web' }").each |$row| { notify { "serves ${row['certname']}": } }
} else { service { 'web': } }
""",
}


class Site(CompileServices):
    """A monitor that asks about web servers."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.indexer = ResourceIndexer(database, Catalogs(database), ResourceIndex(database))

    async def fill(self) -> None:
        await self.deploy(CODE)
        for name, kind in ((MONITOR, "monitor"), (WEB1, "web")):
            await self.add(name, kind)
        await self.settle()
        await self.release()
        await self.later()

    async def add(self, name: str, kind: str, **facts: Any) -> None:
        await self.introduce(name, kind)
        await self.set_facts(name, kind=kind, **facts)

    async def set_facts(self, name: str, kind: str = "web", port: int = 80, **others: Any) -> None:
        await self.submit(name, {"kind": kind, "port": port, **others}, {})

    async def release(self) -> None:
        await self.releases.release(ReleaseBody(TargetsBody([], all=True)), "person:tester")
        while await self.indexer.work_off():
            pass

    async def later(self, pause: timedelta = EVERY) -> int:
        """Let the time of an evaluation pass; returns the number of compiles."""
        clock = self.database.clock
        assert isinstance(clock, ManualClock)
        clock.advance(pause.total_seconds())
        return await self.settle()

    async def notices(self, node: str = MONITOR) -> list[str]:
        staged = await self.staged(node)
        assert staged.skeleton is not None
        document = await self.catalogs.documents.read(staged.skeleton)
        assert document is not None
        return [each.title for each in bodies.decode(document).resources if each.type == "Notify"]


@pytest.fixture
async def site(database: Database) -> AsyncIterator[Site]:
    made = Site(database)
    await made.fill()
    yield made
    await made.close()


BEFORE = [f"{MONITOR}:80", f"{WEB1}:80", f"serves {WEB1}"]


async def test_result_is_in_the_catalog_and_its_change_compiles_once(site: Site) -> None:
    assert await site.notices() == BEFORE
    assert await site.later() == 0
    await site.set_facts(WEB1, port=8080)
    assert await site.settle() == 0
    assert await site.later() == 1
    assert await site.notices() == [f"{MONITOR}:80", f"{WEB1}:8080", f"serves {WEB1}"]
    assert await site.later() == 0


async def test_reason_of_the_change_is_the_query(site: Site) -> None:
    await site.set_facts(WEB1, port=8080)
    await site.later()
    change = await site.database.read(site.catalogs.staged.find_change, MONITOR)
    assert change is not None
    assert msgspec.json.decode(change.differing_read)["question"]["ask"] == "fleet"


async def test_fact_that_no_query_reads_decides_nothing(site: Site) -> None:
    decided = (await site.staged(MONITOR)).decided_at
    await site.set_facts(WEB1, other="changed")
    assert await site.later() == 0
    assert (await site.staged(MONITOR)).decided_at == decided


async def test_new_node_is_seen_after_its_facts_and_its_release(site: Site) -> None:
    await site.add(WEB2, "web")
    await site.settle()
    await site.later()
    assert await site.notices() == [f"{MONITOR}:80", f"{WEB1}:80", f"{WEB2}:80", f"serves {WEB1}"]
    await site.release()
    await site.later()
    assert f"serves {WEB2}" in await site.notices()


async def test_deactivated_node_leaves_the_results(site: Site) -> None:
    await site.database.write(site.fleet.deactivate, WEB1)
    await site.later()
    assert await site.notices() == [f"{MONITOR}:80"]


async def test_result_that_changes_all_the_time_compiles_as_rarely_as_facts_may(site: Site) -> None:
    compiles = 0
    for port in range(1, 20):
        await site.set_facts(WEB1, port=port)
        compiles += await site.later()
    assert compiles == COMPILE_BURST
    assert await site.later(COMPILE_EVERY * COMPILE_BURST) == 1
    assert f"{WEB1}:19" in await site.notices()


async def test_answer_that_nobody_reads_any_more_is_deleted(site: Site) -> None:
    await site.deploy({"manifests/site.pp": "notify { 'plain': }"})
    await site.settle()
    assert len(await site.database.read(fleet_answers.list_states, "production", "", 10)) == 2
    await site.later(UNREAD + EVERY)
    await site.later(UNREAD + EVERY)
    assert await site.database.read(fleet_answers.list_states, "production", "", 10) == []
    assert await site.database.read(fleet_answers.find_reads, [MONITOR]) == set()


async def test_error_of_a_query_is_a_language_error(site: Site) -> None:
    await site.deploy({"manifests/site.pp": "puppetdb_query('reports {}')"})
    await site.settle()
    staged = await site.staged(MONITOR)
    chain = await site.database.read(site.traces.find_by_id, staged.chain)
    assert staged.digest is None
    assert chain is not None
    assert "LANG-783" in chain.chain.leaf


async def test_compile_and_walk_see_the_same_answer_while_facts_change(site: Site) -> None:
    """The answer is that of the last evaluation until the next one, so a catalog is compiled once and not once for each change."""
    await site.deploy({**CODE, "manifests/more.pp": "notify { 'more': }"})
    compiles = 0
    for port in range(1, 5):
        await site.set_facts(WEB1, port=port)
        compiles += await site.settle()
    assert compiles == 2
    assert f"{WEB1}:80" in await site.notices()


async def test_query_sees_the_nodes_whose_exports_are_seen(site: Site) -> None:
    """A setting of the environment decides for both: by default its own nodes, or those of all environments."""
    await site.add(WEB2, "web")
    await site.database.write(site.fleet.set_classification, WEB2, NodeClassification("test", None, True, {}, {}))
    query = encode_query(read_ast(parse_pql("nodes[certname] { certname ~ 'web' }")))

    async def find() -> list[Any]:
        return [
            row["certname"] for row in decode_answer((await site.others.fleet.answer("production", query)).data).rows
        ]

    assert await find() == [WEB1]
    assert await site.database.write(site.environments.set_exports, "production", EVERYWHERE)
    assert await find() == [WEB1, WEB2]


async def test_first_answer_waits_for_the_index(site: Site) -> None:
    """A query that is asked for the first time while a released catalog is not indexed waits for it."""
    await site.add(WEB2, "web")
    await site.settle()
    await site.releases.release(ReleaseBody(TargetsBody([], all=True)), "person:tester")
    query = encode_query(read_ast(parse_pql("resources[certname] { type = 'Service' }")))
    asked = asyncio.create_task(site.others.fleet.answer("production", query))
    while await site.indexer.work_off():
        pass
    answer = decode_answer((await asked).data)
    assert answer.rows == [{"certname": WEB1}, {"certname": WEB2}]


async def test_answer_changed_between_walk_and_decision_is_decided_again(site: Site) -> None:
    """A decision whose answer is replaced before it is stored finds itself outdated."""
    state, reads = await read_answer(site, MONITOR)
    nothing = fleet_answers.StoredAnswer("0" * 64, msgspec.json.encode({}))
    now = site.database.clock.now()
    assert await site.database.write(fleet_answers.change, state, nothing, now, now)
    assert await site.database.write(site.watch.record, [reads], [MONITOR]) == [MONITOR]


async def test_readers_are_told_although_the_watch_ended_halfway(site: Site) -> None:
    (state, _) = sorted(
        await site.database.read(fleet_answers.list_states, "production", "", 10), key=lambda state: state.query
    )
    await site.set_facts(WEB1, port=8080)
    await site.settle()
    present = await build_fleet_queries(site.database).evaluate(state.query, "production")
    stored = fleet_answers.StoredAnswer(present.digest, present.data)
    now = site.database.clock.now()
    await site.database.write(fleet_answers.change, state, stored, now, now)
    assert await site.notices() == BEFORE
    assert await site.later() == 1
    assert f"{WEB1}:8080" in await site.notices()


WAIT = Query("test.wait", "SELECT 1")


class Held:
    """A transaction that stays open after its work until it may end."""

    def __init__(self, database: Database, work: Callable[[], Transaction[Any]]) -> None:
        self._loop = asyncio.get_running_loop()
        self._is_done, self._may_end = asyncio.Event(), asyncio.Event()
        self._work = work
        self._task = asyncio.create_task(database.write(self._run))

    def _run(self) -> Transaction[Any]:
        result = yield from self._work()
        self._loop.call_soon_threadsafe(self._is_done.set)
        while not self._may_end.is_set():
            yield WAIT()
        return result

    async def begin(self) -> None:
        await self._is_done.wait()

    async def end(self) -> Any:
        self._may_end.set()
        return await self._task


async def read_answer(site: Site, node: str) -> tuple[fleet_answers.AnswerState, FleetReads]:
    """The reads of a decision about a node that has not read the answer before."""
    (state, _) = sorted(
        await site.database.read(fleet_answers.list_states, "production", "", 10), key=lambda state: state.query
    )
    reads = site.others.fleet.begin("production")
    await reads.load(state.query)
    reads.find(node, state.query)
    return state, reads


def change_and_list(state: fleet_answers.AnswerState, site: Site) -> Transaction[list[str]]:
    now = site.database.clock.now()
    yield from fleet_answers.change(state, fleet_answers.StoredAnswer("0" * 64, b"{}"), now, now)
    return (yield from fleet_answers.list_readers(state.key, "", 10))


async def test_change_waits_for_a_decision_that_is_being_stored_and_tells_its_node(
    site: Site, other_database: Database
) -> None:
    state, reads = await read_answer(site, WEB1)
    decision = Held(site.database, lambda: site.watch.record([reads], [WEB1]))
    await decision.begin()
    change = asyncio.create_task(other_database.write(change_and_list, state, site))
    await until_blocked(site.database, change)
    assert await decision.end() == []
    assert await change == [MONITOR, WEB1]


async def test_decision_waits_for_a_change_that_is_being_stored_and_is_made_again(
    site: Site, other_database: Database
) -> None:
    state, reads = await read_answer(site, WEB1)
    change = Held(other_database, lambda: change_and_list(state, site))
    await change.begin()
    decision = asyncio.create_task(site.database.write(site.watch.record, [reads], [WEB1]))
    await until_blocked(other_database, decision)
    assert await change.end() == [MONITOR]
    assert await decision == [WEB1]


async def test_server_lost_in_an_evaluation_is_replaced_after_its_lease(site: Site) -> None:
    await site.set_facts(WEB1, port=8080)
    await site.settle()
    clock = site.database.clock
    assert isinstance(clock, ManualClock)
    clock.advance(EVERY.total_seconds())
    assert await site.work.claim(REEVALUATE.name, "lost", limit=1, lease_s=LEASE_S)
    assert await site.settle() == 0
    assert await site.later(timedelta(seconds=LEASE_S)) == 1
    assert f"{WEB1}:8080" in await site.notices()
