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
from precast.services.code import content as content_module
from precast.services.code.content import GRACE, Collection, ContentService
from precast.services.code.environments import EnvironmentService
from precast.services.code.trees import File, Tree
from precast.services.work_kinds import REDECIDE
from precast.store.code.blobs import CHUNK_BYTES, Blobs
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.identity.audit import AuditLog
from precast.store.queue.queue import WorkQueue
from precast.wire.code.content_frames import head
from precast.wire.code.environments import DeployBody, RollbackBody

LARGE = b"large " * CHUNK_BYTES


class House:
    """Content and environments on a database."""

    def __init__(self, database: Database, room: Path) -> None:
        self.database = database
        self.blobs, self.environments = Blobs(database), Environments(database)
        self.work = WorkQueue(database, [REDECIDE])
        self.audit = AuditLog(database, CountedIds())
        self.content = ContentService(database, self.blobs, room)
        self.service = EnvironmentService(database, self.environments, self.blobs, self.content, self.work, self.audit)
        self.collection = Collection(database, self.blobs, self.environments)

    async def deploy(self, name: str, **files: str) -> int:
        """Send files and deploy them; the number."""
        tree = tree_of(files)
        await self.content.receive(parts(*(text.encode() for text in files.values()), tree.encode()))
        return (await self.service.deploy(name, DeployBody(tree.version, "test"), "person:ann")).current.number


def tree_of(files: dict[str, str]) -> Tree:
    return Tree(
        {
            f"manifests/{path}.pp": File(digests.of_bytes(text.encode()), len(text.encode()), False)
            for path, text in files.items()
        }
    )


async def parts(*contents: bytes, size: int = 70_000, cut: int = 0) -> AsyncIterator[bytes]:
    """Frames as a socket gives them: in pieces that know nothing of frames."""
    whole = b"".join(head(digests.of_bytes(data), len(data)) + data for data in contents)
    whole = whole[: len(whole) - cut]
    for at in range(0, len(whole), size):
        yield whole[at : at + size]


@pytest.fixture
def house(database: Database, tmp_path: Path) -> House:
    return House(database, tmp_path)


async def code_of(attempt: object) -> str:
    with pytest.raises(PrecastError) as caught:
        await attempt  # type: ignore[misc] # any awaitable
    return caught.value.code


@pytest.mark.parametrize("size", [7, 70_000])
async def test_contents_of_all_sizes_are_kept(house: House, size: int) -> None:
    contents = [b"", b"x", LARGE[:CHUNK_BYTES], LARGE, b"last"]
    small = contents if size > 1000 else [b"", b"x", b"last"]
    assert await house.content.receive(parts(*small, size=size)) == len(small)
    for data in small:
        assert await house.content.read(digests.of_bytes(data)) == data
    assert await house.content.missing([digests.of_bytes(data) for data in small] + ["0" * 64]) == ["0" * 64]


async def test_content_that_has_not_its_digest_is_refused_and_not_kept(house: House) -> None:
    async def lying(data: bytes) -> AsyncIterator[bytes]:
        yield head(digests.of_bytes(b"the truth"), len(data)) + data

    for data in (b"a lie", LARGE):
        assert await code_of(house.content.receive(lying(data))) == "ENV-010"
    assert await house.content.missing([digests.of_bytes(b"the truth")]) == [digests.of_bytes(b"the truth")]


@pytest.mark.parametrize("cut", [1, len(b"second") + 3])
async def test_body_that_is_cut_off_is_refused(house: House, cut: int) -> None:
    assert await code_of(house.content.receive(parts(b"first", b"second", cut=cut))) == "ENV-012"


async def test_content_beyond_the_limit_is_refused_by_its_head(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content_module, "MAX_BYTES", 10)
    assert await code_of(house.content.receive(parts(b"x" * 11))) == "ENV-011"


async def test_large_content_without_room_is_said(database: Database, tmp_path: Path) -> None:
    house = House(database, tmp_path / "gone")
    assert await code_of(house.content.receive(parts(LARGE))) == "ENV-015"
    assert await house.content.receive(parts(b"small")) == 1


async def test_deploy_is_one_transaction_with_its_deed_and_its_work(house: House) -> None:
    assert await house.deploy("production", site="notify { 'x': }") == 1
    assert [(one.kind, one.key) for one in await house.work.waiting()] == [("redecide", "production")]
    (entry,) = await house.audit.latest()
    assert (entry.actor, entry.action, entry.target) == ("person:ann", "environment.deploy", "production")
    assert await house.deploy("production", site="notify { 'x': }") == 1
    assert len(await house.audit.latest()) == 1
    assert await house.deploy("production", site="notify { 'y': }") == 2


async def test_deploy_without_its_content_is_refused(house: House) -> None:
    tree = tree_of({"site": "notify { 'x': }"})
    body = DeployBody(tree.version)
    assert await code_of(house.service.deploy("production", body, "person:ann")) == "ENV-007"
    await house.content.receive(parts(tree.encode()))
    assert await code_of(house.service.deploy("production", body, "person:ann")) == "ENV-007"
    assert await house.environments.current("production") is None


async def test_tree_that_lies_about_a_size_is_refused(house: House) -> None:
    tree = Tree({"a": File(digests.of_bytes(b"x"), 2, False)})
    await house.content.receive(parts(b"x", tree.encode()))
    assert await code_of(house.service.deploy("production", DeployBody(tree.version), "person:ann")) == "ENV-002"


async def test_what_is_no_tree_cannot_be_deployed(house: House) -> None:
    await house.content.receive(parts(b"just a file"))
    body = DeployBody(digests.of_bytes(b"just a file"))
    assert await code_of(house.service.deploy("production", body, "person:ann")) == "ENV-002"


async def test_broken_code_is_refused_and_corrected_code_taken(house: House) -> None:
    await house.deploy("production", site="notify { 'x': }")
    assert await code_of(house.deploy("production", site="notify { 'x': ")) == "ENV-008"
    current = await house.environments.current("production")
    assert current is not None
    assert current.number == 1
    assert await house.deploy("production", site="notify { 'z': }") == 2


async def test_deploys_at_once_all_happen_in_some_order(house: House) -> None:
    found = await asyncio.gather(*(house.deploy("production", site=f"notify {{ '{at}': }}") for at in range(4)))
    assert sorted(found) == [1, 2, 3, 4]


async def test_rollback_goes_to_the_last_other_version_or_the_one_that_is_named(house: House) -> None:
    for text in ("a", "b", "c"):
        await house.deploy("production", site=f"notify {{ '{text}': }}")
    back = await house.service.roll_back("production", RollbackBody(), "person:ann")
    assert (back.current.number, back.current.source) == (4, "back to 2")
    back = await house.service.roll_back("production", RollbackBody(1, "why"), "person:ann")
    assert (back.current.number, back.current.source) == (5, "back to 1: why")
    assert await code_of(house.service.roll_back("production", RollbackBody(9), "person:ann")) == "ENV-006"
    assert await code_of(house.service.roll_back("nowhere", RollbackBody(), "person:ann")) == "ENV-005"


async def test_first_version_has_nothing_before_it(house: House) -> None:
    await house.deploy("production", site="")
    assert await code_of(house.service.roll_back("production", RollbackBody(), "person:ann")) == "ENV-006"
    assert await code_of(house.service.differ("production", 0, 0)) == "ENV-006"


async def test_collection_keeps_what_retained_trees_name(
    house: House, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content_module, "KEEP_VERSIONS", 2)
    for at in range(4):
        await house.deploy("production", common="# in all", site=f"# only in {at}")
    await house.deploy("other", site="# only in 0")
    await house.content.receive(parts(b"nobody names this"))
    clock.advance((GRACE + timedelta(hours=1)).total_seconds())
    # Version 2, with its manifest and its own file, and what nobody names. Version 1's file is in the other environment.
    assert await house.collection.collect() == 4
    texts = ["# in all", *(f"# only in {at}" for at in range(4))]
    missing = await house.content.missing([digests.of_bytes(text.encode()) for text in texts])
    assert missing == [digests.of_bytes(b"# only in 1")]
    assert await house.collection.collect() == 0
    view = await house.service.show("production")
    assert [one.number for one in view.versions] == [4, 3]
    await house.service.roll_back("production", RollbackBody(3), "person:ann")


async def test_collection_leaves_what_was_just_asked_for(house: House, clock: ManualClock) -> None:
    await house.content.receive(parts(b"waits for its tree"))
    clock.advance((GRACE + timedelta(hours=1)).total_seconds())
    assert await house.content.missing([digests.of_bytes(b"waits for its tree")]) == []
    assert await house.collection.collect() == 0


async def test_environments_that_a_person_may_not_see_are_not_listed(house: House) -> None:
    for name in ("a", "b", "c"):
        await house.deploy(name, site="")
    assert [one.name for one in await house.service.everyone("", [])] == ["a", "b", "c"]
    assert [one.name for one in await house.service.everyone("", ["b", "x"])] == ["b"]
