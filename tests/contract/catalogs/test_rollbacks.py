"""Rollbacks on both databases: each step goes further back along the history of a node, and says where to."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from datetime import datetime

import msgspec
import pytest

from lab.compile_services import CompileServices
from precast.base import digests
from precast.base.clock import ManualClock, SystemClock
from precast.base.errors import ConflictError, InputError, NotFoundError, UnavailableError
from precast.base.ids import TimeOrderedIds
from precast.services.catalogs.release_service import ReleaseService
from precast.services.catalogs.release_views import ReleaseViews
from precast.services.catalogs.releases import Releases
from precast.services.code.file_trees import FileTree, TreeFile
from precast.services.query import targets
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.resource_indexer import ResourceIndexer
from precast.services.query.targets import TargetService
from precast.store.engine.database import Database
from precast.store.identity.audit import AuditLog
from precast.store.query.resource_index import ResourceIndex
from precast.store.sessions.sessions import Sessions
from precast.wire.catalogs.bodies import MoveView, ReleaseBody, ReleaseDone, ReleasePoint, RollbackBody
from precast.wire.nodes.bodies import TargetsBody

ANN = "person:ann"
WEB1 = TargetsBody(["web1"])
EVERYONE = TargetsBody(all=True)


class Site(CompileServices):
    """Nodes whose catalog is a word in a file. Ids in the audit log are unique, also those of two servers."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        audit = AuditLog(database, TimeOrderedIds(SystemClock()))
        stored = Releases(database, self.catalogs, self.environments, audit, self.publisher)
        known = TargetService(KnownNodes(database, self.fleet, Sessions(database)), database.clock)
        self.releases = ReleaseService(
            database, self.catalogs, self.environments, known, stored, self.approved_releases
        )

    def version_of(self, word: str) -> str:
        """The version of the code with the word."""
        code = code_of(word).encode()
        return FileTree({"manifests/site.pp": TreeFile(digests.of_bytes(code), len(code), False)}).version

    async def put(self, word: str) -> str:
        """Deploy the word, and stage the catalogs."""
        version = await self.deploy({"manifests/site.pp": code_of(word)})
        await self.settle()
        return version

    async def release(self, word: str, *names: str) -> ReleaseDone:
        """Deploy the word and release it to these nodes."""
        await self.put(word)
        return await self.releases.release(ReleaseBody(TargetsBody(list(names))), ANN)

    async def back(self, *names: str, to: str = "") -> ReleaseDone:
        return await self.releases.rollback(RollbackBody(TargetsBody(list(names)), "", to), ANN)

    async def served(self, node: str) -> str:
        body = (await self.downloads.fetch(node, "")).body
        assert body is not None
        return body.split(b'"content":"')[1].split(b'"')[0].decode()

    async def states(self, node: str) -> list[tuple[int, str, int | None]]:
        history = await ReleaseViews(self.database, self.catalogs, self.fleet).list_of_node(node)
        return [(release.release, release.state, release.restores) for release in history]


def code_of(word: str) -> str:
    return f"file {{ '/etc/motd': content => '{word}' }}\n"


@pytest.fixture
async def site(database: Database) -> AsyncIterator[Site]:
    made = Site(database)
    for name in ("web1", "web2"):
        await made.introduce(name)
        await made.submit(name, {"os": {"family": "Debian"}}, {})
    yield made
    await made.close()


async def test_second_rollback_goes_further_back_and_says_where_to(site: Site) -> None:
    versions = []
    for word in ("one", "two", "three"):
        await site.release(word, "web1")
        versions.append((await site.staged("web1")).version)
    done = await site.back("web1")
    assert await site.served("web1") == "two"
    points = [ReleasePoint(number, version, None) for number, version in enumerate(versions, start=1)]
    assert done.moves == [MoveView(points[2], points[1], ["web1"], 1)]
    done = await site.back("web1")
    assert await site.served("web1") == "one"
    assert done.moves == [MoveView(points[1], points[0], ["web1"], 1)]
    done = await site.back("web1")
    assert (done.released, done.left_out) == ([], {"web1": "nothing was released before"})
    assert await site.states("web1") == [
        (5, "", 1),
        (4, "", 2),
        (3, "rolled back", None),
        (2, "rolled back", None),
        (1, "served", None),
    ]


async def test_release_after_a_rollback_begins_a_new_line(site: Site) -> None:
    for word in ("one", "two"):
        await site.release(word, "web1")
    await site.back("web1")
    await site.release("three", "web1")
    await site.back("web1")
    assert await site.served("web1") == "one", "what was rolled back is not served again"
    assert [state for _, state, _ in await site.states("web1")] == ["", "rolled back", "", "rolled back", "served"]


async def test_rollback_goes_to_a_release_a_version_or_a_time(site: Site, clock: ManualClock) -> None:
    times: list[datetime] = []
    versions: list[str] = []
    for word in ("one", "two", "three"):
        clock.advance(3600)
        await site.release(word, "web1")
        times.append(clock.now())
        versions.append((await site.staged("web1")).version)
    clock.advance(3600)
    await site.release("three", "web2")
    assert (await site.back("web1", to="1")).released == ["web1"]
    assert await site.served("web1") == "one"
    done = await site.back("web1", "web2", to="2")
    assert (done.released, done.left_out) == (
        ["web1"],
        {"web2": "release 2 was not released to it, or is no longer kept"},
    )
    assert await site.served("web1") == "two"
    # One step back from there is the release before it, wherever the node has been since.
    await site.back("web1")
    assert await site.served("web1") == "one"
    assert (await site.back("web1", to=versions[2][:12])).released == ["web1"]
    assert await site.served("web1") == "three"
    done = await site.back("web1", "web2", to=times[1].isoformat())
    assert (done.released, list(done.left_out)) == (["web1"], ["web2"])
    assert await site.served("web1") == "two"
    assert (await site.back("web1", to="2")).unchanged == ["web1"]
    assert (await site.back("web1", to="abcdef0")).left_out == {
        "web1": "commit abcdef0 was not released to it, or is no longer kept"
    }


async def test_wrong_point_is_refused_in_a_line(site: Site) -> None:
    await site.release("one", "web1")
    with pytest.raises(NotFoundError, match="there is no release 99"):
        await site.back("web1", to="99")
    for text in ("yesterday", "abc", "2026-11-16T09:00:00", "\x00", "1" * 13 + "x"):
        with pytest.raises(InputError) as raised:
            await site.back("web1", to=text)
        assert raised.value.code == "RELEASE-003"
    with pytest.raises(NotFoundError):
        await site.previews.preview_rollback(RollbackBody(WEB1, "", "99"))


async def test_preview_shows_the_changes_and_changes_nothing(site: Site) -> None:
    for word in ("one", "two"):
        await site.release(word, "web1", "web2")
    before = await site.states("web1")
    view = await site.previews.preview_rollback(RollbackBody(EVERYONE))
    assert [(change.ref, change.count) for change in view.changes] == [("File[/etc/motd]", 2)]
    (content,) = view.changes[0].parameters
    assert (content.before, content.after) == ("two", "one")
    assert [(move.before.release, move.after.release, move.count) for move in view.moves] == [(2, 1, 2)]
    assert await site.states("web1") == before
    assert await site.served("web1") == "two"


async def test_catalog_that_was_rolled_back_is_not_released_automatically_again(site: Site) -> None:
    await site.put("zero")
    await site.database.write(site.environments.set_policy, "production", "automatic")
    for word in ("one", "two"):
        await site.put(word)
    await site.back("web1")
    assert await site.served("web1") == "one"
    # The same catalog is staged again after an error, and after another catalog.
    await site.deploy({"manifests/site.pp": "fail('not today')\n"})
    await site.settle()
    await site.put("two")
    assert await site.served("web1") == "one"
    assert await site.served("web2") == "two"
    await site.put("three")
    assert await site.served("web1") == "three"
    await site.put("two")
    assert await site.served("web1") == "three"
    # A person may release it.
    assert (await site.releases.release(ReleaseBody(WEB1), ANN)).released == ["web1"]
    await site.put("four")
    await site.put("two")
    assert await site.served("web1") == "two"


async def test_release_and_rollback_at_the_same_time_leave_one_line(site: Site, other_database: Database) -> None:
    other = Site(other_database)
    try:
        for word in ("one", "two"):
            await site.release(word, "web1", "web2")
        for number in range(8):
            await site.put(f"word{number}")
            await asyncio.gather(
                site.releases.release(ReleaseBody(EVERYONE), ANN),
                other.back("web1", "web2"),
                other.back("web2", "web1"),
            )
        for node in ("web1", "web2"):
            history = await site.database.read(site.catalogs.released.list_history, node, 100)
            assert [step.number for step in history] == list(range(len(history), 0, -1))
            known = {step.number: step for step in history}
            for step in history:
                origin = known[step.origin]
                assert (origin.digest, origin.parent) == (step.digest, step.parent)
                assert step.parent is None or step.parent < step.origin
            assert (await site.downloads.fetch(node, "")).release.number == history[0].number
    finally:
        await other.close()


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "MAX_ANSWER", 2)


async def fill(site: Site, count: int) -> None:
    for number in range(count):
        await site.introduce(f"n{number}")
        await site.submit(f"n{number}", {"os": {"family": "Debian"}}, {})


async def release_all(site: Site, body: ReleaseBody) -> list[ReleaseDone]:
    pages = [await site.releases.release(body, ANN)]
    while pages[-1].after is not None:
        body = msgspec.structs.replace(body, release=pages[-1].release, after=pages[-1].after)
        pages.append(await site.releases.release(body, ANN))
    return pages


@pytest.mark.usefixtures("small_pages")
async def test_release_over_many_nodes_is_paged_and_one_entry_of_the_log(site: Site) -> None:
    await fill(site, 3)
    await site.put("one")
    pages = await release_all(site, ReleaseBody(EVERYONE, None, "all of them"))
    assert [(page.released, page.targets) for page in pages] == [(["n0", "n1"], 5), (["n2", "web1"], 0), (["web2"], 0)]
    (entry,) = await site.database.read(site.catalogs.log.list_entries, 99, 10)
    assert (entry.number, entry.kind, entry.nodes, entry.why, entry.actor) == (1, "release", 5, "all of them", ANN)
    assert entry.finished_at is not None
    with pytest.raises(ConflictError, match="release 1 cannot be continued: it is finished"):
        await site.releases.release(ReleaseBody(EVERYONE, release=1), ANN)


@pytest.mark.usefixtures("small_pages")
async def test_interrupted_rollback_is_continued_and_takes_no_node_back_twice(site: Site) -> None:
    await fill(site, 3)
    for word in ("one", "two", "three"):
        await site.put(word)
        await release_all(site, ReleaseBody(EVERYONE))
    first = await site.releases.rollback(RollbackBody(EVERYONE), ANN)
    assert (first.released, first.after, first.release) == (["n0", "n1"], "n1", 4)
    # The client is killed here. Whoever continues begins with the first node again.
    body = RollbackBody(EVERYONE, release=first.release)
    names: list[str] = []
    while True:
        page = await site.releases.rollback(body, "person:bob")
        names += page.released
        if page.after is None:
            break
        body = msgspec.structs.replace(body, after=page.after)
    assert names == ["n0", "n1", "n2", "web1", "web2"]
    assert {await site.served(name) for name in names} == {"two"}
    entry = await site.database.read(site.catalogs.log.find, 4)
    assert entry is not None
    assert (entry.nodes, entry.finished_at is None) == (5, False)


async def test_only_the_same_request_continues_a_release(site: Site) -> None:
    await site.release("one", "web1")
    await site.put("two")
    with pytest.raises(NotFoundError):
        await site.releases.release(ReleaseBody(WEB1, release=99), ANN)
    with pytest.raises(ConflictError, match="it is another request"):
        await site.releases.release(ReleaseBody(EVERYONE, release=1), ANN)
    with pytest.raises(ConflictError, match="it is another request"):
        await site.releases.rollback(RollbackBody(WEB1, release=1), ANN)
    assert await site.served("web1") == "one"


@pytest.mark.usefixtures("small_pages")
async def test_one_request_for_approval_covers_all_pages(site: Site) -> None:
    await fill(site, 3)
    await site.put("one")
    await site.database.write(site.environments.set_release_approvals, "production", 1)
    pages = await release_all(site, ReleaseBody(EVERYONE))
    assert [page.released for page in pages] == [[], [], []]
    assert [len(page.pending) for page in pages] == [0, 0, 1]
    assert pages[-1].pending[0].nodes == 5


@pytest.mark.usefixtures("small_pages")
async def test_targets_are_counted_before_a_page_changes_them(site: Site) -> None:
    await fill(site, 3)
    await site.put("one")
    pages = await release_all(site, ReleaseBody(TargetsBody(["catalog = staged"])))
    assert [(len(page.released), page.targets) for page in pages] == [(2, 5), (2, 0), (1, 0)]


@pytest.mark.usefixtures("small_pages")
async def test_page_of_nodes_by_their_resources_is_answered_and_the_next_waits_for_the_index(site: Site) -> None:
    index = ResourceIndex(site.database)
    indexer = ResourceIndexer(site.database, site.catalogs, index)
    await fill(site, 3)
    await site.put("one")
    await release_all(site, ReleaseBody(EVERYONE))
    await indexer.work_off()
    await site.put("two")
    body = ReleaseBody(TargetsBody(["has File[/etc/motd]"]))
    first = await site.releases.release(body, ANN)
    assert (first.released, first.release, first.targets) == (["n0", "n1"], 2, 5)
    body = msgspec.structs.replace(body, release=first.release, after=first.after)
    with pytest.raises(UnavailableError) as raised:
        await site.releases.release(body, ANN)
    assert raised.value.code == "QUERY-001"
    await indexer.work_off()
    assert (await site.releases.release(body, ANN)).released == ["n2", "web1"]


@pytest.mark.usefixtures("small_pages")
async def test_interrupted_release_is_continued_as_the_same_entry(site: Site) -> None:
    await fill(site, 3)
    version = await site.put("one")
    body = ReleaseBody(EVERYONE, version[:12])
    first = await site.releases.release(body, ANN)
    assert first.released == ["n0", "n1"]
    with pytest.raises(ConflictError, match="it is another request"):
        await site.releases.release(ReleaseBody(EVERYONE, release=first.release), ANN)
    pages = await release_all(site, msgspec.structs.replace(body, release=first.release))
    assert [page.released for page in pages] == [["n0", "n1"], ["n2", "web1"], ["web2"]]
    (entry,) = await site.database.read(site.catalogs.log.list_entries, 99, 10)
    assert (entry.nodes, entry.finished_at is None, entry.point) == (5, False, version[:12])
    assert [await site.states(name) for name in ("n0", "web2")] == [[(1, "served", None)]] * 2


@pytest.mark.usefixtures("small_pages")
async def test_node_that_is_gone_does_not_prevent_the_end_of_a_rollback(site: Site) -> None:
    await fill(site, 3)
    for word in ("one", "two"):
        await site.put(word)
        await release_all(site, ReleaseBody(EVERYONE))
    names = TargetsBody(["n0", "n1", "n2", "web1"])
    first = await site.releases.rollback(RollbackBody(names), ANN)
    await site.database.write(site.fleet.deactivate, "n2")
    body = RollbackBody(names, release=first.release)
    pages = [await site.releases.rollback(body, ANN)]
    while pages[-1].after is not None:
        pages.append(await site.releases.rollback(msgspec.structs.replace(body, after=pages[-1].after), ANN))
    assert [name for page in pages for name in page.released] == ["n0", "n1", "web1"]
    entry = await site.database.read(site.catalogs.log.find, 3)
    assert entry is not None
    assert (entry.nodes, entry.finished_at is None) == (3, False)
    # A new request names the node that is gone.
    with pytest.raises(NotFoundError, match="n2"):
        await site.releases.rollback(RollbackBody(names), ANN)


@pytest.mark.usefixtures("small_pages")
async def test_release_whose_targets_match_no_node_any_more_is_finished(site: Site) -> None:
    await fill(site, 2)
    await site.put("one")
    body = ReleaseBody(TargetsBody(["catalog = staged"]))
    first = await site.releases.release(body, ANN)
    second = await site.releases.release(
        msgspec.structs.replace(body, release=first.release, after=first.after or ""), ANN
    )
    assert len(first.released) + len(second.released) == 4
    # The client is killed before it requests the end.
    done = await site.releases.release(msgspec.structs.replace(body, release=first.release), ANN)
    assert (done.released, done.after) == ([], None)
    entry = await site.database.read(site.catalogs.log.find, 1)
    assert entry is not None
    assert entry.finished_at is not None


async def test_number_that_no_release_has_is_the_beginning_of_a_commit(site: Site) -> None:
    words = (f"word{number}" for number in itertools.count())
    word = next(word for word in words if site.version_of(word)[:7].isdecimal())
    await site.release(word, "web1")
    await site.release("next", "web1", "web2")
    version = site.version_of(word)
    done = await site.back("web1", "web2", to=version[:7])
    assert done.released == ["web1"]
    assert done.left_out == {"web2": f"commit {version[:7]} was not released to it, or is no longer kept"}
    assert await site.served("web1") == word
    with pytest.raises(NotFoundError, match=f"there is no release {int(version[:6])}"):
        await site.back("web1", to=version[:6])
