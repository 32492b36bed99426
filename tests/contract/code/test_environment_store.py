"""Environments and their versions on both databases."""

import asyncio

import pytest

from precast.base import digests
from precast.base.clock import ManualClock
from precast.store.code.blobs import Blobs
from precast.store.code.environments import TOPIC, Arrival, Environments
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction


@pytest.fixture
def environments(database: Database) -> Environments:
    return Environments(database)


def arriving(environments: Environments, blobs: Blobs, name: str, tree: bytes) -> Transaction[bool]:
    version = digests.of_bytes(tree)
    yield from blobs.putting(version, tree)
    taken = yield from environments.taking(name)
    number = taken[1] + 1 if taken else 1
    return (yield from environments.arriving(Arrival(name, version, f"from {tree!r}", None, "person:ann"), number))


async def arrive(database: Database, name: str, tree: bytes) -> bool:
    return await database.write(arriving, Environments(database), Blobs(database), name, tree)


async def test_newest_version_is_current_and_the_others_are_history(
    database: Database, environments: Environments, clock: ManualClock
) -> None:
    assert await environments.current("production") is None
    assert await arrive(database, "production", b"1")
    clock.advance(60)
    assert await arrive(database, "production", b"2")
    current = await environments.current("production")
    assert current is not None
    assert (current.number, current.version, current.deployed_by) == (2, digests.of_bytes(b"2"), "person:ann")
    history = await database.read(environments.history, "production", 1 << 40, 10)
    assert [(one.number, one.version) for one in history] == [
        (2, digests.of_bytes(b"2")),
        (1, digests.of_bytes(b"1")),
    ]
    assert [one.number for one in await database.read(environments.history, "production", 2, 10)] == [1]
    assert (await database.read(environments.numbered, "production", 1)) == history[1]
    assert await database.read(environments.numbered, "production", 3) is None


async def test_environments_are_listed_by_name_and_stay_apart(database: Database, environments: Environments) -> None:
    for name in ("production", "development", "testing"):
        await arrive(database, name, name.encode())
    assert [one.name for one in await environments.list()] == ["development", "production", "testing"]
    assert [one.name for one in await environments.list("development", 1)] == ["production"]
    assert [one.current.number for one in await environments.list()] == [1, 1, 1]


async def test_deploys_that_race_follow_each_other(database: Database, other_database: Database) -> None:
    await arrive(database, "production", b"0")
    await asyncio.gather(
        *(arrive(one, "production", b"%d" % at) for at in range(1, 6) for one in (database, other_database))
    )
    history = await database.read(Environments(database).history, "production", 1 << 40, 100)
    assert [one.number for one in history] == list(range(11, 0, -1))


async def test_first_deploys_that_race_give_one_number_once(database: Database, other_database: Database) -> None:
    """Nobody has a row to take yet: one of them is told that the other was first, or follows it."""
    won = await asyncio.gather(arrive(database, "new", b"1"), arrive(other_database, "new", b"2"))
    history = await database.read(Environments(database).history, "new", 1 << 40, 100)
    assert len(history) == sum(won) >= 1
    assert len({one.number for one in history}) == len(history)


async def test_arrival_wakes_whoever_listens(database: Database) -> None:
    with database.wakeups.subscribe(TOPIC) as sleeper:
        await arrive(database, "production", b"1")
        assert await sleeper.wait(10.0)


async def test_policy_is_manual_until_it_is_set(database: Database, environments: Environments) -> None:
    await arrive(database, "production", b"1")
    assert [one.policy for one in await environments.list()] == ["manual"]
    assert await database.write(environments.setting_policy, "production", "automatic")
    assert not await database.write(environments.setting_policy, "production", "automatic")
    await arrive(database, "production", b"2")
    assert [one.policy for one in await environments.list()] == ["automatic"]


async def test_old_versions_are_forgotten_but_never_the_current_one(
    database: Database, environments: Environments
) -> None:
    for at in range(5):
        await arrive(database, "production", b"%d" % (at % 2))
    assert await database.read(environments.oldest, "production", 2, 10) == [1, 2, 3]
    assert await database.write(environments.forgetting, "production", 5) is None
    assert await database.write(environments.forgetting, "production", 1) == digests.of_bytes(b"0")
    assert await database.read(environments.is_retained, digests.of_bytes(b"0"))
    assert not await database.read(environments.is_retained, "0" * 64)
