"""Pruning on both databases: unused rows are deleted, rows in use or about to be used stay consistent."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from lab.compile_services import CompileServices
from precast.base.clock import ManualClock
from precast.base.errors import ConflictError
from precast.services.catalogs.pruning import CatalogPruner, PruneCounts, Retention
from precast.services.clocks.guard import ClockGuard
from precast.store.catalogs.release_log import NewLogEntry
from precast.store.catalogs.released import Release
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction
from precast.wire.catalogs.bodies import ReleaseBody, RollbackBody
from precast.wire.nodes.bodies import TargetsBody

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
    "a chain whose parent no longer exists": Query(
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
COUNT = {
    table: Query(f"test.count_{table}", f"SELECT count(*) FROM {table}")
    for table in ("trace_chain", "document", "catalog_export")
}


class Site(CompileServices):
    """Nodes whose catalogs differ by colour."""

    def __init__(self, database: Database, clock: ManualClock, retention: Retention | None = None) -> None:
        super().__init__(database)
        self.clock = clock
        self.pruning = CatalogPruner(
            database, self.traces, self.catalogs, self.blobs, self.secrets, ClockGuard(database, "boot"), retention
        )

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
            broken = []
            for what, query in LOOSE.items():
                ((count,),) = yield query()
                if count:
                    broken.append(what)
            return broken

        return await self.database.read(looking)


@pytest.fixture
async def site(database: Database, clock: ManualClock) -> AsyncIterator[Site]:
    made = Site(database, clock)
    await made.deploy(CODE)
    yield made
    await made.close()


async def test_unused_branch_is_deleted_with_its_documents_and_compiled_again(site: Site) -> None:
    await site.paint("a", "red")
    await site.settle()
    red = await site.staged("a")
    await site.paint("a", "green")
    assert await site.settle() == 1
    assert await site.rows("trace_chain") == 2
    site.clock.advance(20 * DAY_S)
    assert await site.pruning.prune() == PruneCounts(0, 0, 0)
    site.clock.advance(20 * DAY_S)
    # The parent branch is older, and stays because a chain is attached to it.
    assert await site.pruning.prune() == PruneCounts(0, 0, 0)
    await site.paint("a", "blue")
    await site.settle()
    site.clock.advance(31 * DAY_S)
    assert await site.pruning.prune() == PruneCounts(0, 1, 1)
    assert await site.loose() == []
    # A node is green again: the cache still has the path, the database does not.
    await site.paint("a", "green")
    assert await site.settle() == 1
    await site.paint("a", "red")
    assert await site.settle() == 0
    assert (await site.staged("a")).digest == red.digest
    assert await site.loose() == []


async def test_served_and_retained_catalogs_are_not_deleted(site: Site) -> None:
    for colour in ("red", "green", "blue"):
        await site.paint("a", colour)
        await site.settle()
        if colour != "blue":
            await site.releases.release(ReleaseBody(EVERYONE), "person:a")
    site.clock.advance(400 * DAY_S)
    assert await site.pruning.prune() == PruneCounts(0, 0, 0)
    assert (await site.releases.rollback(RollbackBody(EVERYONE, ""), "person:a")).released == ["a"]
    assert b"red on a" in ((await site.downloads.fetch("a", "")).body or b"")
    assert await site.loose() == []


async def test_exports_are_deleted_with_their_document(site: Site) -> None:
    await site.deploy({"manifests/site.pp": "@@notify { $facts['colour']: }"})
    for colour in ("red", "green", "blue"):
        await site.paint("a", colour)
        await site.settle()
    assert await site.rows("catalog_export") == 3
    site.clock.advance(31 * DAY_S)
    await site.pruning.prune()
    assert await site.rows("catalog_export") == await site.rows("trace_chain") < 3


async def test_old_releases_are_deleted_except_the_one_that_a_rollback_needs(
    site: Site, database: Database, clock: ManualClock
) -> None:
    pruning = CatalogPruner(
        database,
        site.traces,
        site.catalogs,
        site.blobs,
        site.secrets,
        ClockGuard(database, "boot"),
        Retention(releases=2),
    )
    for colour in ("red", "green", "blue", "red", "green"):
        await site.paint("a", colour)
        await site.settle()
        await site.releases.release(ReleaseBody(EVERYONE), "person:a")
    assert (await pruning.prune()).releases == 3
    served = await database.read(site.catalogs.released.list_releases, "a", 10)
    assert [release.number for release in served] == [5, 4]

    # Rollbacks and releases on the restored one: what it was released on stays, however many rows follow.
    for _ in range(4):
        assert (await site.releases.rollback(RollbackBody(EVERYONE), "person:a")).released == ["a"]
        assert (await site.releases.release(ReleaseBody(EVERYONE), "person:a")).released == ["a"]
        await pruning.prune()
    kept = await database.read(site.catalogs.released.list_releases, "a", 10)
    assert [(release.number, release.parent) for release in kept] == [(13, 4), (12, 3), (4, 3)]
    assert (await site.releases.rollback(RollbackBody(EVERYONE), "person:a")).released == ["a"]
    assert b"red on a" in ((await site.downloads.fetch("a", "")).body or b"")

    # One step further is no longer kept, and the answer says so.
    done = await site.releases.rollback(RollbackBody(EVERYONE), "person:a")
    assert done.left_out == {"a": "what was released before is no longer kept (`keep_releases`)"}


async def test_compile_and_decision_during_pruning_leave_a_consistent_tree(
    database: Database, other_database: Database, clock: ManualClock
) -> None:
    """One server prunes a branch while another attaches a chain to it, or stages its leaf."""
    site, other = Site(database, clock), Site(other_database, clock, Retention(timedelta(days=1), 2))
    await site.deploy(CODE)
    try:
        for number in range(12):
            await site.paint("a", ("red", "green", "blue")[number % 3])
            clock.advance(5 * DAY_S)

            async def settle() -> Any:
                return await site.settle()

            async def prune() -> Any:
                gone = PruneCounts(0, 0, 0)
                for _ in range(4):
                    gone = PruneCounts(*map(sum, zip(gone, await other.pruning.prune(), strict=True)))
                return gone

            await asyncio.gather(settle(), prune())
            assert await site.loose() == [], number
            staged = await site.staged("a")
            assert staged.skeleton is not None
            document = await site.catalogs.documents.read(staged.skeleton)
            assert document is not None
    finally:
        await site.close()
        await other.close()


async def test_release_that_races_with_a_deletion_wins_or_loses_whole(
    database: Database, other_database: Database, clock: ManualClock
) -> None:
    """A document without a reference is released by a transaction that read its digest before."""
    site, other = Site(database, clock), Site(other_database, clock)
    await site.introduce("a")
    won = []
    for number in range(20):
        digest = f"{number:064x}"
        await database.write(site.catalogs.documents.store, [(digest, b"{}")])
        clock.advance(2 * DAY_S)
        entry = await database.write(site.catalogs.log.add, NewLogEntry("release", "person:a", ""))
        release = Release("a", 0, digest, digest, "[]", "production", "v", clock.now(), "person:a", entry)
        results = await asyncio.gather(
            database.write(site.catalogs.released.release, [release]),
            other.pruning._collect(digest, clock.now() - timedelta(days=1)),
            return_exceptions=True,
        )
        is_refused = isinstance(results[0], ConflictError)
        assert is_refused or results[0] is None, results
        assert results[1] is is_refused, results
        won.append(is_refused)
        assert (await site.loose()) in ([], ["a catalog without the content it names"])


async def test_document_that_is_stored_again_during_its_deletion_exists(
    database: Database, other_database: Database, clock: ManualClock
) -> None:
    site, other = Site(database, clock), Site(other_database, clock)
    for number in range(20):
        digest = f"{number:064x}"
        await database.write(site.catalogs.documents.store, [(digest, b"{}")])
        clock.advance(2 * DAY_S)
        await asyncio.gather(
            database.write(site.catalogs.documents.store, [(digest, b"{}")]),
            other.pruning._collect(digest, clock.now() - timedelta(days=1)),
        )
        assert await site.catalogs.documents.read(digest) == b"{}"


async def test_chains_of_an_earlier_program_are_looked_at_before_their_documents_go(site: Site) -> None:
    await site.paint("a", "red")
    await site.settle()

    def forget() -> Transaction[None]:
        yield Query("test.old_rows", "UPDATE trace_chain SET catalog = NULL, source_map = NULL, value = NULL")()
        yield Query("test.unstage", "DELETE FROM node_catalog")()

    await site.database.write(forget)
    site.clock.advance(5 * DAY_S)
    assert await site.pruning.prune() == PruneCounts(0, 0, 0)
    assert await site.rows("document") == 2
    assert await site.loose() == []
