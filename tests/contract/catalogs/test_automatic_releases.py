"""Automatic releases on both databases: in the transaction that stages, audited, and never of a catalog with an error."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from lab.compile_services import CompileServices
from precast.base import digests
from precast.base.ids import CountedIds
from precast.store.catalogs.documents import content_owner
from precast.store.catalogs.released import Release
from precast.store.engine.database import Database
from precast.store.engine.query import Dialect, Query, Transaction
from precast.store.identity.audit import AuditEntry, AuditLog
from precast.wire.catalogs.bodies import ReleaseBody, RollbackBody
from precast.wire.nodes.bodies import TargetsBody

WAITING = Query(
    "test.waiting",
    "SELECT 1",
    postgresql="SELECT count(*) FROM pg_locks WHERE NOT granted",
)


def code(motd: str, more: str = "") -> dict[str, str]:
    return {
        "manifests/site.pp": f"file {{ '/etc/motd': content => '{motd}' }}\n{more}",
        "modules/m/files/issue": "only for those who may\n",
    }


class Site(CompileServices):
    async def served(self, node: str) -> str | None:
        release = await self.database.read(self.catalogs.released.find_served, node)
        return None if release is None else release.digest

    async def set_policy(self, policy: str) -> None:
        await self.database.write(self.environments.set_policy, "production", policy)

    async def audited(self) -> list[AuditEntry]:
        return await AuditLog(self.database, CountedIds()).read_latest()


@pytest.fixture
async def site(database: Database) -> AsyncIterator[Site]:
    made = Site(database)
    await made.deploy(code("one"))
    for name in ("web1", "web2"):
        await made.introduce(name)
        await made.submit(name, {"os": {"family": "Debian"}}, {})
    yield made
    await made.close()


async def test_nothing_is_released_automatically_without_the_policy(site: Site) -> None:
    await site.settle()
    assert (await site.staged("web1")).digest is not None
    assert await site.served("web1") is None
    await site.set_policy("automatic")
    await site.settle()
    # A catalog that an operator holds back stays held back.
    assert await site.served("web1") is None


async def test_decided_catalog_is_released_in_the_same_transaction_and_audited(site: Site) -> None:
    await site.set_policy("automatic")
    await site.settle()
    staged = await site.staged("web1")
    assert await site.served("web1") == staged.digest
    release = await site.database.read(site.catalogs.released.find_served, "web1")
    assert release is not None
    assert (release.number, release.released_by, release.released_at) == (1, "policy:production", staged.decided_at)
    released = [entry for entry in await site.audited() if entry.action == "catalog.release"]
    assert {(entry.actor, entry.detail["why"]) for entry in released} == {
        ("policy:production", "the policy of production is automatic")
    }
    assert sum(entry.detail["count"] for entry in released) == 2
    # Another decision for the same catalog releases nothing.
    await site.submit("web1", {"os": {"family": "Debian"}, "unread": 1}, {})
    await site.settle()
    release = await site.database.read(site.catalogs.released.find_served, "web1")
    assert release is not None
    assert release.number == 1


async def test_catalog_with_an_error_is_not_released_and_the_served_one_stays(site: Site) -> None:
    await site.set_policy("automatic")
    await site.settle()
    before = await site.served("web1")
    await site.deploy(code("two", "fail('not today')\n"))
    await site.settle()
    assert (await site.staged("web1")).digest is None
    assert await site.served("web1") == before
    await site.deploy(code("three"))
    await site.settle()
    assert await site.served("web1") == (await site.staged("web1")).digest != before


async def test_rollback_stays_until_there_is_a_new_catalog(site: Site) -> None:
    await site.set_policy("automatic")
    await site.settle()
    first = await site.served("web1")
    await site.deploy(code("two"))
    await site.settle()
    await site.releases.rollback(RollbackBody(TargetsBody(["web1"])), "person:ann")
    await site.submit("web1", {"os": {"family": "Debian"}, "unread": 2}, {})
    await site.settle()
    assert await site.served("web1") == first
    await site.deploy(code("three"))
    await site.settle()
    assert await site.served("web1") == (await site.staged("web1")).digest != first


def delay_releases(site: Site, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Make each release of this site last until another transaction waits for it; the event is set when one has begun."""
    loop, has_begun = asyncio.get_running_loop(), asyncio.Event()
    release = site.catalogs.released.release

    def release_slowly(releases: Sequence[Release]) -> Transaction[None]:
        yield from release(releases)
        loop.call_soon_threadsafe(has_begun.set)
        if site.database.dialect is Dialect.POSTGRESQL:
            while not (yield WAITING())[0][0]:
                pass

    monkeypatch.setattr(site.catalogs.released, "release", release_slowly)
    return has_begun


async def test_operators_release_waits_for_the_release_of_the_policy(
    site: Site, other_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both would make the next release of the node: a lock serialises them, and the second sees the release of the first."""
    await site.settle()
    await site.releases.release(ReleaseBody(TargetsBody(["web1"])), "person:ann")
    await site.deploy(code("two"))
    await site.settle()
    await site.set_policy("automatic")
    await site.deploy(code("three"))
    other = Site(other_database)
    by_hand = delay_releases(site, monkeypatch)
    settling = asyncio.create_task(site.settle())
    await by_hand.wait()
    done = await other.releases.release(ReleaseBody(TargetsBody(["web1"])), "person:bob")
    await settling
    assert (done.released, done.unchanged, done.left_out) == ([], ["web1"], {})
    history = await site.database.read(site.catalogs.released.list_releases, "web1", 10)
    assert [(release.number, release.released_by) for release in history] == [
        (2, "policy:production"),
        (1, "person:ann"),
    ]
    assert history[0].digest == (await site.staged("web1")).digest


async def test_two_concurrent_releases_of_operators_make_one(
    site: Site, other_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await site.settle()
    body = ReleaseBody(TargetsBody(["web1", "web2"]))
    other = Site(other_database)
    by_ann = delay_releases(site, monkeypatch)
    releasing = asyncio.create_task(site.releases.release(body, "person:ann"))
    await by_ann.wait()
    done = await other.releases.release(body, "person:bob")
    assert (done.released, done.unchanged) == ([], ["web1", "web2"])
    assert (await releasing).released == ["web1", "web2"]
    for node in ("web1", "web2"):
        assert len(await site.database.read(site.catalogs.released.list_releases, node, 10)) == 1


async def test_content_of_an_automatic_release_exists(site: Site) -> None:
    await site.set_policy("automatic")
    await site.deploy(code("one", "file { '/etc/issue': source => 'puppet:///modules/m/issue' }\n"))
    await site.settle()
    release = await site.database.read(site.catalogs.released.find_served, "web1")
    assert release is not None
    content = digests.of_bytes(b"only for those who may\n")
    assert await site.database.read(site.blobs.has_reference, content_owner(release.skeleton), content)
    assert await site.downloads.size_of_content("web1", content) == 23
