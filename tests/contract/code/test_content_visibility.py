"""A caller for one environment learns nothing of the content of another: neither its bytes, nor whether it is stored."""

from pathlib import Path

import pytest

from precast.base import digests
from precast.base.errors import PrecastError
from precast.services.code.content import GRACE, ContentScope
from precast.services.code.file_trees import FileTree, TreeFile
from precast.store.code.blobs import CHUNK_BYTES
from precast.store.engine.database import Database
from precast.wire.code.environments import DeployBody
from tests.contract.code.test_environments import Site, code_of, parts

SECRET = b"notify { 'the password of beta is hunter2': }"
ALPHA = ContentScope("alpha", ("alpha",))
LARGE = b"a large secret of beta" * CHUNK_BYTES


@pytest.fixture
async def site(database: Database, tmp_path: Path) -> Site:
    """A site whose environment beta has a secret file."""
    site = Site(database, tmp_path)
    await site.deploy("alpha", site="notify { 'x': }")
    await site.deploy("beta", secret=SECRET.decode())
    return site


def tree_with(data: bytes, path: str = "manifests/stolen.pp") -> FileTree:
    return FileTree({path: TreeFile(digests.of_bytes(data), len(data), False)})


async def deploy(site: Site, tree: FileTree, scope: ContentScope = ALPHA) -> bool:
    body = DeployBody(tree.version, "test")
    return (await site.service.deploy("alpha", body, "person:mallory", scope.readable)).is_new


async def test_content_of_another_environment_cannot_be_named_in_a_tree(site: Site) -> None:
    tree = tree_with(SECRET)
    await site.content.receive(parts(tree.encode()), ALPHA)
    assert await code_of(deploy(site, tree)) == "ENV-007"
    assert not await site.service.has_file("alpha", digests.of_bytes(SECRET))


async def test_whole_tree_of_another_environment_cannot_be_deployed(site: Site) -> None:
    beta = await site.environments.find_current("beta")
    assert beta is not None
    with_version = site.service.deploy("alpha", DeployBody(beta.version), "person:mallory", ALPHA.readable)
    assert await code_of(with_version) == "ENV-007"


async def test_refusal_is_the_same_whether_the_content_is_stored_or_not(site: Site) -> None:
    stored, unknown = tree_with(SECRET), tree_with(SECRET + b"#")
    messages = []
    for tree in (stored, unknown):
        await site.content.receive(parts(tree.encode()), ALPHA)
        with pytest.raises(PrecastError) as caught:
            await deploy(site, tree)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


async def test_size_of_hidden_content_is_not_told_by_a_wrong_size(site: Site) -> None:
    tree = FileTree({"a": TreeFile(digests.of_bytes(SECRET), 1, False)})
    await site.content.receive(parts(tree.encode()), ALPHA)
    assert await code_of(deploy(site, tree)) == "ENV-007"


async def test_missing_tells_nothing_of_content_that_only_another_environment_has(site: Site) -> None:
    mine, hidden, unknown = (digests.of_bytes(data) for data in (b"notify { 'x': }", SECRET, b"never stored"))
    assert set(await site.content.find_missing([mine, hidden, unknown], ALPHA)) == {hidden, unknown}
    assert await site.content.find_missing([mine, hidden], ContentScope("alpha", ())) == []


@pytest.mark.parametrize("data", [SECRET, LARGE])
async def test_owner_of_the_bytes_may_upload_and_deploy_them_and_nothing_is_stored_twice(
    site: Site, data: bytes
) -> None:
    digest = digests.of_bytes(data)
    await site.content.receive(parts(data), ContentScope("beta", ()))
    tree = tree_with(data, "files/f")
    assert await site.content.find_missing([digest], ALPHA) == [digest]
    assert await site.content.receive(parts(data, tree.encode()), ALPHA) == 2
    assert await site.content.find_missing([digest, tree.version], ALPHA) == []
    assert await deploy(site, tree)
    assert await site.content.read(digest) == data


async def test_upload_for_one_environment_is_no_possession_in_another(site: Site) -> None:
    await site.content.receive(parts(b"new"), ContentScope("beta", ()))
    assert await site.content.find_missing([digests.of_bytes(b"new")], ALPHA) == [digests.of_bytes(b"new")]


async def test_token_for_two_environments_uses_the_content_of_both(site: Site) -> None:
    both = ContentScope("alpha", ("alpha", "beta"))
    tree = tree_with(SECRET)
    await site.content.receive(parts(tree.encode()), both)
    assert await site.content.find_missing([digests.of_bytes(SECRET)], both) == []
    assert await deploy(site, tree, both)


async def test_possession_ends_with_the_grace_and_is_renewed_by_asking(site: Site) -> None:
    from precast.base.clock import ManualClock

    clock = site.database.clock
    assert isinstance(clock, ManualClock)
    digest = digests.of_bytes(b"waits")
    await site.content.receive(parts(b"waits"), ALPHA)
    clock.advance(GRACE.total_seconds() * 0.7)
    assert await site.content.find_missing([digest], ALPHA) == []
    clock.advance(GRACE.total_seconds() * 0.7)
    await site.collection.collect()
    assert await site.content.find_missing([digest], ALPHA) == []
    clock.advance(GRACE.total_seconds() * 1.1)
    await site.collection.collect()
    assert await site.content.find_missing([digest], ALPHA) == [digest]
