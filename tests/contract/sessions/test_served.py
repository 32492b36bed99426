"""Changes of the served state since a time, on both databases: releases and policies."""

from datetime import timedelta

from precast.base.clock import ManualClock, to_micros
from precast.services.sessions.served_state import NOTHING_SERVED, ServedState, ServedStates
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.release_log import NewLogEntry
from precast.store.catalogs.released import Release
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.certificates import NodeCertificates
from precast.store.nodes.policies import Policies, delete_policy


class Site:
    def __init__(self, database: Database) -> None:
        self.database = database
        self.catalogs, self.policies = Catalogs(database), Policies(database)
        self.served = ServedStates(database, self.catalogs, self.policies)

    async def know(self, *nodes: str) -> None:
        for node in nodes:
            await self.database.write(NodeCertificates(self.database).lock_or_create, node)

    async def release(self, node: str, digest: str) -> None:
        def unit() -> Transaction[None]:
            yield from self.catalogs.documents.store([("s1", b"{}")])
            now = self.database.clock.now()
            number = yield from self.catalogs.log.add(NewLogEntry("release", "person:ann", ""))
            release = Release(node, 0, digest, "s1", "[]", "production", "v1", now, "person:ann", number)
            yield from self.catalogs.released.release([release])

        await self.database.write(unit)

    async def set_policy(self, node: str, enforce: str, *windows: str) -> bool:
        serial = max(to_micros(self.database.clock.now()), await self.serial(node) + 1)
        set_policy = self.policies.set_policy
        return await self.database.write(set_policy, node, serial, enforce, list(windows), b"seal", "person:ann")

    async def of(self, node: str) -> ServedState:
        return await self.database.read(self.served.read, node)

    async def serial(self, node: str) -> int:
        return (await self.of(node)).policy


async def test_only_changes_since_a_time_are_found(database: Database, clock: ManualClock) -> None:
    site = Site(database)
    await site.know("web1", "web2", "web3")
    await site.release("web1", "d1")
    assert await site.of("web1") == ServedState("d1")
    assert await site.of("web2") == NOTHING_SERVED
    clock.advance(60)
    moment = clock.now()
    await site.release("web2", "d2")
    await site.release("web2", "d3")
    await site.set_policy("web2", "always")
    await site.set_policy("web3", "never")
    web2, web3 = await site.serial("web2"), await site.serial("web3")
    assert await site.served.find_changed(moment) == {"web2": ServedState("d3", web2), "web3": ServedState("", web3)}
    assert set(await site.served.find_changed(moment - timedelta(minutes=5))) == {"web1", "web2", "web3"}
    assert await site.served.find_changed(moment + timedelta(seconds=1)) == {}


async def test_serial_of_a_policy_only_grows_also_after_the_node_was_purged(
    database: Database, clock: ManualClock
) -> None:
    site = Site(database)
    await site.know("web1")
    assert await site.set_policy("web1", "window", "Sun 02:00 4h")
    serials = [await site.serial("web1")]
    assert not await site.set_policy("web1", "window", "Sun 02:00 4h")  # unchanged
    assert await site.serial("web1") == serials[0]
    await site.set_policy("web1", "always")  # at the same time
    serials.append(await site.serial("web1"))
    clock.set_back(3600)
    await site.set_policy("web1", "never")
    serials.append(await site.serial("web1"))
    clock.advance(7200)
    await database.write(delete_policy, "web1")
    assert await site.serial("web1") == 0
    await site.set_policy("web1", "triggered")
    serials.append(await site.serial("web1"))
    assert serials == sorted(set(serials))
