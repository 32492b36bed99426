"""Environments and their versions on both databases."""

import asyncio

import pytest

from precast.base import digests
from precast.base.clock import ManualClock
from precast.store.code.blobs import Blobs
from precast.store.code.environments import TOPIC, Environments, NewVersion
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction


@pytest.fixture
def environments(database: Database) -> Environments:
    return Environments(database)


def make_current(environments: Environments, blobs: Blobs, name: str, tree: bytes) -> Transaction[bool]:
    version = digests.of_bytes(tree)
    yield from blobs.put(version, tree)
    locked = yield from environments.lock(name)
    number = locked[1] + 1 if locked else 1
    return (
        yield from environments.make_current(NewVersion(name, version, f"from {tree!r}", None, "person:ann"), number)
    )


async def deploy(database: Database, name: str, tree: bytes) -> bool:
    return await database.write(make_current, Environments(database), Blobs(database), name, tree)


async def test_newest_version_is_current_and_the_others_are_history(
    database: Database, environments: Environments, clock: ManualClock
) -> None:
    assert await environments.find_current("production") is None
    assert await deploy(database, "production", b"1")
    clock.advance(60)
    assert await deploy(database, "production", b"2")
    current = await environments.find_current("production")
    assert current is not None
    assert (current.number, current.version, current.deployed_by) == (2, digests.of_bytes(b"2"), "person:ann")
    history = await database.read(environments.list_history, "production", 1 << 40, 10)
    assert [(version.number, version.version) for version in history] == [
        (2, digests.of_bytes(b"2")),
        (1, digests.of_bytes(b"1")),
    ]
    assert [version.number for version in await database.read(environments.list_history, "production", 2, 10)] == [1]
    assert (await database.read(environments.find_version, "production", 1)) == history[1]
    assert await database.read(environments.find_version, "production", 3) is None


async def test_environments_are_listed_by_name_and_stay_apart(database: Database, environments: Environments) -> None:
    for name in ("production", "development", "testing"):
        await deploy(database, name, name.encode())
    assert [environment.name for environment in await environments.list()] == ["development", "production", "testing"]
    assert [environment.name for environment in await environments.list("development", 1)] == ["production"]
    assert [environment.current.number for environment in await environments.list()] == [1, 1, 1]


async def test_concurrent_deploys_follow_each_other(database: Database, other_database: Database) -> None:
    await deploy(database, "production", b"0")
    await asyncio.gather(
        *(deploy(server, "production", b"%d" % at) for at in range(1, 6) for server in (database, other_database))
    )
    history = await database.read(Environments(database).list_history, "production", 1 << 40, 100)
    assert [version.number for version in history] == list(range(11, 0, -1))


async def test_concurrent_first_deploys_get_each_number_once(database: Database, other_database: Database) -> None:
    """There is no row to lock yet: one transaction learns that the other was first, or follows it."""
    won = await asyncio.gather(deploy(database, "new", b"1"), deploy(other_database, "new", b"2"))
    history = await database.read(Environments(database).list_history, "new", 1 << 40, 100)
    assert len(history) == sum(won) >= 1
    assert len({version.number for version in history}) == len(history)


async def test_new_version_wakes_subscribers(database: Database) -> None:
    with database.wakeups.subscribe(TOPIC) as sleeper:
        await deploy(database, "production", b"1")
        assert await sleeper.wait(10.0)


async def test_policy_is_manual_until_it_is_set(database: Database, environments: Environments) -> None:
    await deploy(database, "production", b"1")
    assert [environment.policy for environment in await environments.list()] == ["manual"]
    assert await database.write(environments.set_policy, "production", "automatic")
    assert not await database.write(environments.set_policy, "production", "automatic")
    await deploy(database, "production", b"2")
    assert [environment.policy for environment in await environments.list()] == ["automatic"]


async def test_old_versions_are_deleted_but_never_the_current_one(
    database: Database, environments: Environments
) -> None:
    for at in range(5):
        await deploy(database, "production", b"%d" % (at % 2))
    assert await database.read(environments.list_oldest, "production", 2, 10) == [1, 2, 3]
    assert await database.write(environments.delete_version, "production", 5) is None
    assert await database.write(environments.delete_version, "production", 1) == digests.of_bytes(b"0")
    assert await database.read(environments.is_retained, digests.of_bytes(b"0"))
    assert not await database.read(environments.is_retained, "0" * 64)
