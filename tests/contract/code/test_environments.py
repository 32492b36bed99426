"""Content and environments as services, on both databases."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from precast.base import digests
from precast.base.clock import ManualClock
from precast.base.errors import PrecastError
from precast.base.ids import CountedIds
from precast.services.clocks.guard import ClockGuard
from precast.services.code import content as content_module
from precast.services.code import content_collection
from precast.services.code.content import GRACE, ContentScope, ContentService
from precast.services.code.content_collection import ContentCollector
from precast.services.code.environments import EnvironmentService
from precast.services.code.file_trees import FileTree, TreeFile
from precast.services.work_kinds import REDECIDE
from precast.store.code.blobs import CHUNK_BYTES, Blobs
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.identity.audit import AuditLog
from precast.store.queue.queue import WorkQueue
from precast.wire.code.content_frames import encode_header
from precast.wire.code.environments import DeployBody, VersionRollback

LARGE = b"large " * CHUNK_BYTES
# An upload by somebody who may read all environments.
SCOPE = ContentScope("production", ())


class Site:
    """Content and environments on a database."""

    def __init__(self, database: Database, spool: Path) -> None:
        self.database = database
        self.blobs, self.environments = Blobs(database), Environments(database)
        self.work = WorkQueue(database, [REDECIDE])
        self.audit = AuditLog(database, CountedIds())
        self.content = ContentService(database, self.blobs, spool)
        self.service = EnvironmentService(database, self.environments, self.blobs, self.content, self.work, self.audit)
        self.collection = ContentCollector(database, self.blobs, self.environments, ClockGuard(database, "boot"))

    async def deploy(self, name: str, **files: str) -> int:
        """Upload files and deploy them; returns the number of the version."""
        tree = tree_of(files)
        await self.content.receive(parts(*(text.encode() for text in files.values()), tree.encode()), SCOPE)
        return (await self.service.deploy(name, DeployBody(tree.version, "test"), "person:ann", ())).current.number


def tree_of(files: dict[str, str]) -> FileTree:
    return FileTree(
        {
            f"manifests/{path}.pp": TreeFile(digests.of_bytes(text.encode()), len(text.encode()), False)
            for path, text in files.items()
        }
    )


async def parts(*contents: bytes, size: int = 70_000, cut: int = 0) -> AsyncIterator[bytes]:
    """Yield frames as a socket delivers them: in pieces that ignore the bounds of frames."""
    whole = b"".join(encode_header(digests.of_bytes(data), len(data)) + data for data in contents)
    whole = whole[: len(whole) - cut]
    for at in range(0, len(whole), size):
        yield whole[at : at + size]


@pytest.fixture
def site(database: Database, tmp_path: Path) -> Site:
    return Site(database, tmp_path)


async def code_of(attempt: object) -> str:
    with pytest.raises(PrecastError) as caught:
        await attempt  # type: ignore[misc] # any awaitable
    return caught.value.code


@pytest.mark.parametrize("size", [7, 70_000])
async def test_contents_of_all_sizes_are_stored(site: Site, size: int) -> None:
    contents = [b"", b"x", LARGE[:CHUNK_BYTES], LARGE, b"last"]
    small = contents if size > 1000 else [b"", b"x", b"last"]
    assert await site.content.receive(parts(*small, size=size), SCOPE) == len(small)
    for data in small:
        assert await site.content.read(digests.of_bytes(data)) == data
    assert await site.content.find_missing([digests.of_bytes(data) for data in small] + ["0" * 64], SCOPE) == ["0" * 64]


async def test_content_with_another_digest_is_refused_and_not_stored(site: Site) -> None:
    async def wrong_content(data: bytes) -> AsyncIterator[bytes]:
        yield encode_header(digests.of_bytes(b"the truth"), len(data)) + data

    for data in (b"a lie", LARGE):
        assert await code_of(site.content.receive(wrong_content(data), SCOPE)) == "ENV-010"
    assert await site.content.find_missing([digests.of_bytes(b"the truth")], SCOPE) == [digests.of_bytes(b"the truth")]


@pytest.mark.parametrize("cut", [1, len(b"second") + 3])
async def test_truncated_body_is_refused(site: Site, cut: int) -> None:
    assert await code_of(site.content.receive(parts(b"first", b"second", cut=cut), SCOPE)) == "ENV-012"


async def test_content_beyond_the_limit_is_refused_by_its_header(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content_module, "MAX_BYTES", 10)
    assert await code_of(site.content.receive(parts(b"x" * 11), SCOPE)) == "ENV-011"


async def test_missing_disk_space_for_large_content_is_reported(database: Database, tmp_path: Path) -> None:
    site = Site(database, tmp_path / "gone")
    assert await code_of(site.content.receive(parts(LARGE), SCOPE)) == "ENV-015"
    assert await site.content.receive(parts(b"small"), SCOPE) == 1


async def test_deploy_audit_entry_and_work_item_are_one_transaction(site: Site) -> None:
    assert await site.deploy("production", site="notify { 'x': }") == 1
    assert [(item.kind, item.key) for item in await site.work.list_waiting()] == [("redecide", "production")]
    (entry,) = await site.audit.read_latest()
    assert (entry.actor, entry.action, entry.target) == ("person:ann", "environment.deploy", "production")
    assert await site.deploy("production", site="notify { 'x': }") == 1
    assert len(await site.audit.read_latest()) == 1
    assert await site.deploy("production", site="notify { 'y': }") == 2


async def test_deploy_without_its_content_is_refused(site: Site) -> None:
    tree = tree_of({"site": "notify { 'x': }"})
    body = DeployBody(tree.version)
    assert await code_of(site.service.deploy("production", body, "person:ann", ())) == "ENV-007"
    await site.content.receive(parts(tree.encode()), SCOPE)
    assert await code_of(site.service.deploy("production", body, "person:ann", ())) == "ENV-007"
    assert await site.environments.find_current("production") is None


async def test_tree_with_a_wrong_size_is_refused(site: Site) -> None:
    tree = FileTree({"a": TreeFile(digests.of_bytes(b"x"), 2, False)})
    await site.content.receive(parts(b"x", tree.encode()), SCOPE)
    assert await code_of(site.service.deploy("production", DeployBody(tree.version), "person:ann", ())) == "ENV-002"


async def test_invalid_tree_cannot_be_deployed(site: Site) -> None:
    await site.content.receive(parts(b"just a file"), SCOPE)
    body = DeployBody(digests.of_bytes(b"just a file"))
    assert await code_of(site.service.deploy("production", body, "person:ann", ())) == "ENV-002"


async def test_broken_code_is_refused_and_corrected_code_deployed(site: Site) -> None:
    await site.deploy("production", site="notify { 'x': }")
    assert await code_of(site.deploy("production", site="notify { 'x': ")) == "ENV-008"
    current = await site.environments.find_current("production")
    assert current is not None
    assert current.number == 1
    assert await site.deploy("production", site="notify { 'z': }") == 2


async def test_concurrent_deploys_all_happen_in_some_order(site: Site) -> None:
    numbers = await asyncio.gather(*(site.deploy("production", site=f"notify {{ '{at}': }}") for at in range(4)))
    assert sorted(numbers) == [1, 2, 3, 4]


async def test_rollback_goes_to_the_previous_or_the_given_version(site: Site) -> None:
    for text in ("a", "b", "c"):
        await site.deploy("production", site=f"notify {{ '{text}': }}")
    back = await site.service.roll_back("production", VersionRollback(), "person:ann")
    assert (back.current.number, back.current.source) == (4, "back to 2")
    back = await site.service.roll_back("production", VersionRollback(1, "why"), "person:ann")
    assert (back.current.number, back.current.source) == (5, "back to 1: why")
    assert await code_of(site.service.roll_back("production", VersionRollback(9), "person:ann")) == "ENV-006"
    assert await code_of(site.service.roll_back("nowhere", VersionRollback(), "person:ann")) == "ENV-005"


async def test_first_version_has_nothing_before_it(site: Site) -> None:
    await site.deploy("production", site="")
    assert await code_of(site.service.roll_back("production", VersionRollback(), "person:ann")) == "ENV-006"
    assert await code_of(site.service.compare("production", 0, 0)) == "ENV-006"


async def test_collection_keeps_the_content_of_retained_trees(
    site: Site, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content_collection, "KEEP_VERSIONS", 2)
    for at in range(4):
        await site.deploy("production", common="# in all", site=f"# only in {at}")
    await site.deploy("other", site="# only in 0")
    await site.content.receive(parts(b"nobody names this"), SCOPE)
    clock.advance((GRACE + timedelta(hours=1)).total_seconds())
    # Version 2, with its manifest and its own file, and unreferenced content. Version 1's file is in the other environment.
    assert await site.collection.collect() == 4
    texts = ["# in all", *(f"# only in {at}" for at in range(4))]
    missing = await site.content.find_missing([digests.of_bytes(text.encode()) for text in texts], SCOPE)
    assert missing == [digests.of_bytes(b"# only in 1")]
    assert await site.collection.collect() == 0
    view = await site.service.show("production")
    assert [version.number for version in view.versions] == [4, 3]
    await site.service.roll_back("production", VersionRollback(3), "person:ann")


async def test_collection_keeps_content_that_was_just_checked(site: Site, clock: ManualClock) -> None:
    await site.content.receive(parts(b"waits for its tree"), SCOPE)
    clock.advance((GRACE + timedelta(hours=1)).total_seconds())
    assert await site.content.find_missing([digests.of_bytes(b"waits for its tree")], SCOPE) == []
    assert await site.collection.collect() == 0


async def test_invisible_environments_are_not_listed(site: Site) -> None:
    for name in ("a", "b", "c"):
        await site.deploy(name, site="")
    assert [environment.name for environment in await site.service.list_page("", [])] == ["a", "b", "c"]
    assert [environment.name for environment in await site.service.list_page("", ["b", "x"])] == ["b"]
