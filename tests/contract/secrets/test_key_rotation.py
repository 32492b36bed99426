"""A new master key replaces the old one while servers run: at no time does one of them meet a key that it cannot open."""

import pytest

from lab.compile_services import KeyInMemory
from precast.base.clock import ManualClock
from precast.base.errors import ConflictError
from precast.base.ids import CountedIds
from precast.services.secrets.keyring import Keyring
from precast.services.secrets.keys import MasterKey
from precast.services.secrets.rotation import KeyRotation
from precast.services.secrets.views import SecretViews
from precast.store.catalogs.documents import Documents
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.identity.audit import AuditLog
from precast.store.secrets.keys import SecretKeys, WrappedKey
from precast.store.secrets.secrets import Secrets

OLD, NEW, THIRD = (MasterKey(bytes([number]) * 32) for number in (1, 2, 3))


class KeyServer:
    """One process of a server, with a key file of its own."""

    def __init__(self, database: Database, name: str, *keys: MasterKey) -> None:
        self.database, self.source, self.store = database, KeyInMemory(), SecretKeys(database)
        self.source.keys = keys
        self.keyring = Keyring(database, self.store, self.source)
        audit = AuditLog(database, CountedIds())
        self.rotation = KeyRotation(database, self.store, self.keyring, audit, name, name)

    async def start(self) -> "KeyServer":
        await self.keyring.open()
        await self.rotation.follow()
        return self

    async def wraps(self) -> set[str]:
        return {key.master for key in await self.database.read(self.store.list_all)}

    async def state(self) -> str:
        stores = Secrets(self.database), self.store, Documents(self.database), Environments(self.database)
        return (await SecretViews(self.database, *stores).show_keys()).state


async def restarted(server: KeyServer) -> Keyring:
    """A keyring of a process that starts now with the same file."""
    keyring = Keyring(server.database, server.store, server.source)
    await keyring.open()
    return keyring


async def test_rotation_on_one_server_needs_no_restart(database: Database) -> None:
    server = await KeyServer(database, "a", OLD).start()
    before = await server.keyring.keys("production")
    assert await server.state() == "current"
    server.source.keys = (NEW, OLD)
    await server.rotation.follow()
    assert await server.wraps() == {NEW.id}
    assert await server.state() == "rotated"
    # The environment keeps its key, so references and sealed values stay; new environments use the new master key.
    assert await (await restarted(server)).keys("production") == before
    await server.keyring.keys("test")
    server.source.keys = (NEW,)
    await server.rotation.follow()
    assert await server.state() == "current"
    assert await (await restarted(server)).keys("production") == before


async def test_keys_are_wrapped_again_only_when_all_servers_have_the_new_one_first(
    database: Database, other_database: Database
) -> None:
    one = await KeyServer(database, "a", OLD).start()
    two = await KeyServer(other_database, "b", OLD).start()
    await one.keyring.keys("production")
    one.source.keys = (NEW, OLD)
    for server in (one, two, one):
        await server.rotation.follow()
    assert await one.wraps() == {OLD.id}
    assert await one.state() == "distributing"
    # Meanwhile new environments are wrapped by the key that both have.
    made = await one.keyring.keys("test")
    assert await two.keyring.keys("test") == made
    two.source.keys = (OLD, NEW)  # it could open both, but does not use the new one yet
    for server in (two, one):
        await server.rotation.follow()
    assert await one.wraps() == {OLD.id}
    two.source.keys = (NEW, OLD)
    await two.rotation.follow()
    assert await one.wraps() == {NEW.id}
    assert await two.keyring.keys("production") == await one.keyring.keys("production")
    assert await (await restarted(two)).keys("test") == made


async def test_server_that_has_ended_delays_no_rotation(
    database: Database, other_database: Database, clock: ManualClock
) -> None:
    one = await KeyServer(database, "a", OLD).start()
    await KeyServer(other_database, "b", OLD).start()
    one.source.keys = (NEW, OLD)
    await one.rotation.follow()
    assert await one.wraps() == {OLD.id}
    clock.advance(61)
    await one.rotation.follow()
    assert await one.wraps() == {NEW.id}


async def test_key_in_use_that_is_removed_from_the_file_stays_in_memory(database: Database) -> None:
    server = await KeyServer(database, "a", OLD).start()
    server.source.keys = (NEW,)
    with pytest.raises(ConflictError, match=f"needs key {OLD.id}"):
        await server.rotation.follow()
    assert server.keyring.masters == (OLD,)
    await server.keyring.keys("production")
    server.source.keys = (NEW, OLD)
    await server.rotation.follow()
    assert await server.wraps() == {NEW.id}


async def test_rotation_in_two_steps_at_once_ends_with_one_key(database: Database, other_database: Database) -> None:
    one = await KeyServer(database, "a", OLD).start()
    two = await KeyServer(other_database, "b", OLD).start()
    for name in ("production", "test"):
        await one.keyring.keys(name)
    for keys in ((NEW, OLD), (THIRD, NEW, OLD)):
        one.source.keys = two.source.keys = keys
        for server in (one, two, one):
            await server.rotation.follow()
        assert await one.wraps() == {keys[0].id}


async def test_key_that_another_server_has_wrapped_already_is_not_wrapped_back(database: Database) -> None:
    server = await KeyServer(database, "a", OLD).start()
    await server.keyring.keys("production")
    (key,) = [each for each in await database.read(server.store.list_all) if each.environment]
    newer = WrappedKey(key.environment, NEW.id, b"wrapped by another server")
    assert await database.write(server.store.rewrap, OLD.id, newer)
    assert not await database.write(server.store.rewrap, OLD.id, WrappedKey(key.environment, THIRD.id, b"late"))
