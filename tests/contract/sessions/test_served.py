"""What connected nodes are told about: releases and policies since a moment, on both databases."""

from datetime import timedelta

from precast.base.clock import ManualClock
from precast.services.sessions.served import NOTHING, Served, ServedThings
from precast.store.catalogs import Catalogs, Release
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.certificates import Nodes
from precast.store.nodes.policies import Policies, forgetting


class Site:
    def __init__(self, database: Database) -> None:
        self.database = database
        self.catalogs, self.policies = Catalogs(database), Policies(database)
        self.served = ServedThings(database, self.catalogs, self.policies)

    async def know(self, *nodes: str) -> None:
        for node in nodes:
            await self.database.write(Nodes(self.database).taking, node)

    async def release(self, node: str, digest: str) -> None:
        def unit() -> Transaction[None]:
            yield from self.catalogs.storing([("s1", b"{}")])
            now = self.database.clock.now()
            release = Release(node, 0, digest, "s1", "[]", "production", "v1", now, "person:ann")
            yield from self.catalogs.releasing([release])

        await self.database.write(unit)

    async def set_policy(self, node: str, enforce: str, *windows: str) -> bool:
        return await self.database.write(self.policies.setting, node, enforce, list(windows), "person:ann")

    async def of(self, node: str) -> Served:
        return await self.database.read(self.served.serving, node)

    async def serial(self, node: str) -> int:
        return (await self.of(node)).policy


async def test_what_became_another_since_a_moment_is_told_and_only_that(database: Database, clock: ManualClock) -> None:
    site = Site(database)
    await site.know("web1", "web2", "web3")
    await site.release("web1", "d1")
    assert await site.of("web1") == Served("d1")
    assert await site.of("web2") == NOTHING
    clock.advance(60)
    moment = clock.now()
    await site.release("web2", "d2")
    await site.release("web2", "d3")
    await site.set_policy("web2", "always")
    await site.set_policy("web3", "never")
    web2, web3 = await site.serial("web2"), await site.serial("web3")
    assert await site.served.changed(moment) == {"web2": Served("d3", web2), "web3": Served("", web3)}
    assert set(await site.served.changed(moment - timedelta(minutes=5))) == {"web1", "web2", "web3"}
    assert await site.served.changed(moment + timedelta(seconds=1)) == {}


async def test_serial_of_a_policy_only_grows_also_over_a_node_that_was_forgotten(
    database: Database, clock: ManualClock
) -> None:
    site = Site(database)
    await site.know("web1")
    assert await site.set_policy("web1", "window", "Sun 02:00 4h")
    serials = [await site.serial("web1")]
    assert not await site.set_policy("web1", "window", "Sun 02:00 4h")  # it is so already
    assert await site.serial("web1") == serials[0]
    await site.set_policy("web1", "always")  # in the same moment
    serials.append(await site.serial("web1"))
    clock.set_back(3600)
    await site.set_policy("web1", "never")
    serials.append(await site.serial("web1"))
    clock.advance(7200)
    await database.write(forgetting, "web1")
    assert await site.serial("web1") == 0
    await site.set_policy("web1", "triggered")
    serials.append(await site.serial("web1"))
    assert serials == sorted(set(serials))
