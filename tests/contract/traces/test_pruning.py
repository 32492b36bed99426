"""Pruning on both databases: what nobody needs goes, what somebody has or takes at that moment stays whole."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from lab.compiling import Compiling
from precast.base.clock import ManualClock
from precast.base.errors import ConflictError
from precast.services.catalogs.pruning import Pruned, Pruning, Retention
from precast.store.catalogs import Catalogs, Release
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction
from precast.wire.catalogs.bodies import ReleaseBody
from precast.wire.nodes.bodies import NodesDeed, TargetsBody

DAY_S = 86_400
CODE = {
    "manifests/site.pp": "include profile\n",
    "modules/profile/manifests/init.pp": """
class profile {
  file { '/etc/motd': content => "${facts['colour']} on ${facts['networking']['hostname']}\\n" }
  file { '/etc/issue': source => "puppet:///modules/profile/${facts['colour']}" }
}
""",
    **{f"modules/profile/files/{colour}": f"{colour}\n" for colour in ("red", "green", "blue")},
}
EVERYONE = TargetsBody([], all=True)

# What must never be: something that names what is gone.
LOOSE = {
    "a node staged with a chain that is gone": Query(
        "test.loose_nodes", "SELECT count(*) FROM node_catalog WHERE chain NOT IN (SELECT id FROM trace_chain)"
    ),
    "a chain that hangs at one that is gone": Query(
        "test.loose_chains",
        "SELECT count(*) FROM trace_chain WHERE parent <> '' AND parent NOT IN (SELECT id FROM trace_chain)",
    ),
    "a leaf whose catalog is gone": Query(
        "test.loose_leaves", "SELECT count(*) FROM trace_chain WHERE catalog NOT IN (SELECT digest FROM document)"
    ),
    "a leaf whose source map is gone": Query(
        "test.loose_maps", "SELECT count(*) FROM trace_chain WHERE source_map NOT IN (SELECT digest FROM document)"
    ),
    "a release whose catalog is gone": Query(
        "test.loose_releases", "SELECT count(*) FROM node_release WHERE skeleton NOT IN (SELECT digest FROM document)"
    ),
    "a node staged with a catalog that is gone": Query(
        "test.loose_staged", "SELECT count(*) FROM node_catalog WHERE skeleton NOT IN (SELECT digest FROM document)"
    ),
    "a catalog without the content it names": Query(
        "test.loose_content",
        """
        SELECT count(*) FROM document WHERE digest IN (SELECT catalog FROM trace_chain UNION SELECT skeleton FROM node_release)
        AND 'catalog:' || digest NOT IN (SELECT owner FROM blob_reference)
        """,
    ),
}
COUNT = {table: Query(f"test.count_{table}", f"SELECT count(*) FROM {table}") for table in ("trace_chain", "document")}


class Site(Compiling):
    """Nodes whose catalogs differ by colour."""

    def __init__(self, database: Database, clock: ManualClock, retention: Retention | None = None) -> None:
        super().__init__(database)
        self.clock = clock
        self.pruning = Pruning(database, self.traces, self.catalogs, self.blobs, retention)

    async def paint(self, node: str, colour: str) -> None:
        await self.introduce(node)
        await self.submit(node, {"colour": colour, "networking": {"hostname": node}}, {})
        await self.facts.work_off("f")
        self.clock.advance(3600)

    async def rows(self, table: str) -> int:
        def counting() -> Transaction[int]:
            ((count,),) = yield COUNT[table]()
            return int(count)

        return await self.database.read(counting)

    async def loose(self) -> list[str]:
        def looking() -> Transaction[list[str]]:
            found = []
            for what, query in LOOSE.items():
                ((count,),) = yield query()
                if count:
                    found.append(what)
            return found

        return await self.database.read(looking)


@pytest.fixture
async def site(database: Database, clock: ManualClock) -> AsyncIterator[Site]:
    made = Site(database, clock)
    await made.deploy(CODE)
    yield made
    await made.workers.close()


async def test_branch_that_nobody_walks_goes_with_its_documents_and_comes_back_by_a_compile(site: Site) -> None:
    await site.paint("a", "red")
    await site.settle()
    red = await site.staged("a")
    await site.paint("a", "green")
    assert await site.settle() == 1
    assert await site.rows("trace_chain") == 2
    site.clock.advance(20 * DAY_S)
    assert await site.pruning.prune() == Pruned(0, 0, 0)
    site.clock.advance(20 * DAY_S)
    # The branch it hangs at is older, and stays because something hangs there.
    assert await site.pruning.prune() == Pruned(0, 0, 0)
    await site.paint("a", "blue")
    await site.settle()
    site.clock.advance(31 * DAY_S)
    assert await site.pruning.prune() == Pruned(0, 1, 1)
    assert await site.loose() == []
    # Somebody is green again: memory remembers the way, the database does not.
    await site.paint("a", "green")
    assert await site.settle() == 1
    await site.paint("a", "red")
    assert await site.settle() == 0
    assert (await site.staged("a")).digest == red.digest
    assert await site.loose() == []


async def test_what_is_served_or_could_be_served_again_stays(site: Site) -> None:
    for colour in ("red", "green", "blue"):
        await site.paint("a", colour)
        await site.settle()
        if colour != "blue":
            await site.releases.release(ReleaseBody(EVERYONE), "person:a")
    site.clock.advance(400 * DAY_S)
    assert await site.pruning.prune() == Pruned(0, 0, 0)
    assert (await site.releases.rollback(NodesDeed(EVERYONE, ""), "person:a")).released == ["a"]
    assert b"red on a" in ((await site.releases.fetch("a", "")).body or b"")
    assert await site.loose() == []


async def test_old_releases_go_but_never_the_one_that_rollback_needs(
    site: Site, database: Database, clock: ManualClock
) -> None:
    pruning = Pruning(database, site.traces, site.catalogs, site.blobs, Retention(releases=2))
    for colour in ("red", "green", "blue", "red", "green"):
        await site.paint("a", colour)
        await site.settle()
        await site.releases.release(ReleaseBody(EVERYONE), "person:a")
    assert (await pruning.prune()).releases == 3
    served = await database.read(site.catalogs.releases, "a", 10)
    assert [one.number for one in served] == [5, 4]

    # The same one several times over, as two who release at once may do: what was before them stays.
    again = [served[0]] * 3
    await database.write(Catalogs(database).releasing, again)
    assert (await pruning.prune()).releases == 2
    assert [one.number for one in await database.read(site.catalogs.releases, "a", 10)] == [8, 7, 4]
    assert (await site.releases.rollback(NodesDeed(EVERYONE, ""), "person:a")).released == ["a"]
    assert b"red on a" in ((await site.releases.fetch("a", "")).body or b"")


async def test_compile_and_decision_that_meet_pruning_leave_a_whole_tree(
    database: Database, other_database: Database, clock: ManualClock
) -> None:
    """A branch is pruned on one server while another hangs something to it, or stages its leaf."""
    site, other = Site(database, clock), Site(other_database, clock, Retention(timedelta(days=1), 2))
    await site.deploy(CODE)
    try:
        for number in range(12):
            await site.paint("a", ("red", "green", "blue")[number % 3])
            clock.advance(5 * DAY_S)

            async def settle() -> Any:
                return await site.settle()

            async def prune() -> Any:
                gone = Pruned(0, 0, 0)
                for _ in range(4):
                    gone = Pruned(*map(sum, zip(gone, await other.pruning.prune(), strict=True)))
                return gone

            await asyncio.gather(settle(), prune())
            assert await site.loose() == [], number
            staged = await site.staged("a")
            assert staged.skeleton is not None
            document = await site.catalogs.read_document(staged.skeleton)
            assert document is not None
    finally:
        await site.workers.close()
        await other.workers.close()


async def test_of_a_release_and_a_collection_that_race_one_wins(
    database: Database, other_database: Database, clock: ManualClock
) -> None:
    """A document that nothing names, released by somebody who has read of it before."""
    site, other = Site(database, clock), Site(other_database, clock)
    await site.introduce("a")
    won = []
    for number in range(20):
        digest = f"{number:064x}"
        await database.write(site.catalogs.storing, [(digest, b"{}")])
        clock.advance(2 * DAY_S)
        release = Release("a", 0, digest, digest, "[]", "production", "v", clock.now(), "person:a")
        results = await asyncio.gather(
            database.write(site.catalogs.releasing, [release]),
            other.pruning._collect(digest, clock.now() - timedelta(days=1)),
            return_exceptions=True,
        )
        is_refused = isinstance(results[0], ConflictError)
        assert is_refused or results[0] is None, results
        assert results[1] is is_refused, results
        won.append(is_refused)
        assert (await site.loose()) in ([], ["a catalog without the content it names"])


async def test_document_that_is_stored_again_while_it_is_collected_is_there(
    database: Database, other_database: Database, clock: ManualClock
) -> None:
    site, other = Site(database, clock), Site(other_database, clock)
    for number in range(20):
        digest = f"{number:064x}"
        await database.write(site.catalogs.storing, [(digest, b"{}")])
        clock.advance(2 * DAY_S)
        await asyncio.gather(
            database.write(site.catalogs.storing, [(digest, b"{}")]),
            other.pruning._collect(digest, clock.now() - timedelta(days=1)),
        )
        assert await site.catalogs.read_document(digest) == b"{}"


async def test_chains_of_an_earlier_program_are_looked_at_before_their_documents_go(site: Site) -> None:
    await site.paint("a", "red")
    await site.settle()

    def forget() -> Transaction[None]:
        yield Query("test.old_rows", "UPDATE trace_chain SET catalog = NULL, source_map = NULL, value = NULL")()
        yield Query("test.unstage", "DELETE FROM node_catalog")()

    await site.database.write(forget)
    site.clock.advance(5 * DAY_S)
    assert await site.pruning.prune() == Pruned(0, 0, 0)
    assert await site.rows("document") == 2
    assert await site.loose() == []
