"""Environments that release by themselves, on both databases: in the transaction that stages, audited, never what gives an error."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from lab.compiling import Compiling
from precast.base import digests
from precast.base.ids import CountedIds
from precast.store.catalogs import Release, content_owner
from precast.store.engine.database import Database
from precast.store.engine.query import Dialect, Query, Transaction
from precast.store.identity.audit import AuditLog, Entry
from precast.wire.catalogs.bodies import ReleaseBody
from precast.wire.nodes.bodies import NodesDeed, TargetsBody

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


class Site(Compiling):
    async def served(self, node: str) -> str | None:
        found = await self.database.read(self.catalogs.served, node)
        return None if found is None else found.digest

    async def set_policy(self, policy: str) -> None:
        await self.database.write(self.environments.setting_policy, "production", policy)

    async def audited(self) -> list[Entry]:
        return await AuditLog(self.database, CountedIds()).latest()


@pytest.fixture
async def site(database: Database) -> AsyncIterator[Site]:
    made = Site(database)
    await made.deploy(code("one"))
    for name in ("web1", "web2"):
        await made.introduce(name)
        await made.submit(name, {"os": {"family": "Debian"}}, {})
    yield made
    await made.workers.close()


async def test_nothing_is_released_by_itself_unless_the_policy_says_so(site: Site) -> None:
    await site.settle()
    assert (await site.staged("web1")).digest is not None
    assert await site.served("web1") is None
    await site.set_policy("automatic")
    await site.settle()
    # What somebody holds back stays held back.
    assert await site.served("web1") is None


async def test_what_is_decided_without_error_is_released_with_it_and_audited_as_the_policys(site: Site) -> None:
    await site.set_policy("automatic")
    await site.settle()
    staged = await site.staged("web1")
    assert await site.served("web1") == staged.digest
    release = await site.database.read(site.catalogs.served, "web1")
    assert release is not None
    assert (release.number, release.released_by, release.released_at) == (1, "policy:production", staged.decided_at)
    released = [entry for entry in await site.audited() if entry.action == "catalog.release"]
    assert {(entry.actor, entry.detail["why"]) for entry in released} == {
        ("policy:production", "the policy of production is automatic")
    }
    assert sum(entry.detail["count"] for entry in released) == 2
    # Deciding again what is there already releases nothing.
    await site.submit("web1", {"os": {"family": "Debian"}, "unread": 1}, {})
    await site.settle()
    release = await site.database.read(site.catalogs.served, "web1")
    assert release is not None
    assert release.number == 1


async def test_code_with_an_error_is_not_released_and_what_is_served_stays(site: Site) -> None:
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


async def test_rollback_stays_until_there_is_something_new(site: Site) -> None:
    await site.set_policy("automatic")
    await site.settle()
    first = await site.served("web1")
    await site.deploy(code("two"))
    await site.settle()
    await site.releases.rollback(NodesDeed(TargetsBody(["web1"])), "person:ann")
    await site.submit("web1", {"os": {"family": "Debian"}, "unread": 2}, {})
    await site.settle()
    assert await site.served("web1") == first
    await site.deploy(code("three"))
    await site.settle()
    assert await site.served("web1") == (await site.staged("web1")).digest != first


def keep_releasing(site: Site, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Let each release of this site last until another transaction waits for it; set when one has begun."""
    loop, has_begun = asyncio.get_running_loop(), asyncio.Event()
    released = site.catalogs.releasing

    def released_meanwhile(releases: Sequence[Release]) -> Transaction[None]:
        yield from released(releases)
        loop.call_soon_threadsafe(has_begun.set)
        if site.database.dialect is Dialect.POSTGRESQL:
            while not (yield WAITING())[0][0]:
                pass

    monkeypatch.setattr(site.catalogs, "releasing", released_meanwhile)
    return has_begun


async def test_release_by_hand_waits_for_one_by_the_policy(
    site: Site, other_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both would give the node its next release: they come one after the other, and the second sees what the first has done."""
    await site.settle()
    await site.releases.release(ReleaseBody(TargetsBody(["web1"])), "person:ann")
    await site.deploy(code("two"))
    await site.settle()
    await site.set_policy("automatic")
    await site.deploy(code("three"))
    other = Site(other_database)
    by_hand = keep_releasing(site, monkeypatch)
    settling = asyncio.create_task(site.settle())
    await by_hand.wait()
    done = await other.releases.release(ReleaseBody(TargetsBody(["web1"])), "person:bob")
    await settling
    assert (done.released, done.unchanged, done.left_out) == ([], ["web1"], {})
    history = await site.database.read(site.catalogs.releases, "web1", 10)
    assert [(one.number, one.released_by) for one in history] == [(2, "policy:production"), (1, "person:ann")]
    assert history[0].digest == (await site.staged("web1")).digest


async def test_two_releases_by_hand_at_once_are_one(
    site: Site, other_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await site.settle()
    body = ReleaseBody(TargetsBody(["web1", "web2"]))
    other = Site(other_database)
    by_ann = keep_releasing(site, monkeypatch)
    releasing = asyncio.create_task(site.releases.release(body, "person:ann"))
    await by_ann.wait()
    done = await other.releases.release(body, "person:bob")
    assert (done.released, done.unchanged) == ([], ["web1", "web2"])
    assert (await releasing).released == ["web1", "web2"]
    for node in ("web1", "web2"):
        assert len(await site.database.read(site.catalogs.releases, node, 10)) == 1


async def test_content_of_what_is_released_by_itself_is_there(site: Site) -> None:
    await site.set_policy("automatic")
    await site.deploy(code("one", "file { '/etc/issue': source => 'puppet:///modules/m/issue' }\n"))
    await site.settle()
    release = await site.database.read(site.catalogs.served, "web1")
    assert release is not None
    content = digests.of_bytes(b"only for those who may\n")
    assert await site.database.read(site.blobs.refers, content_owner(release.skeleton), content)
    assert await site.releases.size_of_content("web1", content) == 23
