"""The keyring of a server: opens the keys of environments with the site's master keys.

A server without the right master key does not start: its catalogs would have references that no other server can resolve. Master keys can
be replaced while servers run. What is not opened yet is always wrapped by a master key that all servers have (`rotation`).
"""

import asyncio
import secrets
from collections.abc import Iterable

from precast.base.encryption.keys import Random
from precast.base.encryption.sealing import KEY_BYTES, SealBroken
from precast.services.secrets import issues
from precast.services.secrets.key_source import KeySource
from precast.services.secrets.keys import EnvironmentKeys, MasterKey
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.secrets.keys import SecretKeys, WrappedKey

# The environment of the row that shows which master key the site has.
SITE = ""


class Keyring:
    """The keys of secrets, as one process of a server has them in memory."""

    def __init__(self, database: Database, store: SecretKeys, source: KeySource, random: Random = secrets) -> None:
        self._database, self._store, self.source, self._random = database, store, source, random
        self.masters: tuple[MasterKey, ...] = ()
        self._opened: dict[str, EnvironmentKeys] = {}

    async def open(self) -> None:
        """Read the master keys, and verify that they are those of this site; the first server of a new site creates one.

        Raises UnavailableError SECRET-001 or SECRET-002, ConflictError SECRET-003.
        """
        masters = await asyncio.to_thread(self.source.read)
        if masters is None:
            if await self._database.read(self._store.find, SITE) is not None:
                raise issues.NO_KEYS.error(source=self.source)
            await asyncio.to_thread(self.source.create)
            masters = await asyncio.to_thread(self.source.read)
        if masters is None:
            raise issues.NO_KEYS.error(source=self.source)
        if await self._database.read(self._store.find, SITE) is None:
            await self._database.write(self._store.find_or_add, self._new_key(SITE, masters[0]))
        self.replace_masters(masters, await self._database.read(self._store.list_all))

    def replace_masters(self, masters: tuple[MasterKey, ...], wrapped: Iterable[WrappedKey]) -> None:
        """Use other master keys from now on. Raises ConflictError SECRET-003 if they do not open these keys; then nothing changes."""
        for key in wrapped:
            self._unwrap(masters, key)
        self.masters = masters

    async def keys(self, environment: str) -> EnvironmentKeys:
        """The keys of an environment, which are made when they are first needed. Raises what `open` raises."""
        keys = self._opened.get(environment)
        if keys is None:
            if not self.masters:
                await self.open()
            wrapped = await self._database.read(self._store.find, environment) or await self._make_key(environment)
            keys = EnvironmentKeys.derived(environment, self._unwrap(self.masters, wrapped))
            self._opened[environment] = keys
        return keys

    def keys_within(self, environment: str) -> Transaction[EnvironmentKeys]:
        """As `keys`, as part of a transaction. Raises ConflictError SECRET-003.

        Keys that the transaction itself makes are not cached: it may be rolled back.
        """
        keys = self._opened.get(environment)
        if keys is None:
            wrapped = yield from self._store.find(environment)
            if wrapped is None:
                site = yield from self._store.find(SITE)
                wrapped = yield from self._store.find_or_add(self._new_key(environment, self._master_of(site)))
            keys = EnvironmentKeys.derived(environment, self._unwrap(self.masters, wrapped))
        return keys

    async def answer_key(self, environment: str) -> bytes:
        """The key that authenticates answers of traces of an environment. Raises what `open` raises."""
        return (await self.keys(environment)).answer

    def rewrap(self, key: WrappedKey, master: MasterKey) -> WrappedKey:
        """The same key, wrapped by another master key. Raises ConflictError SECRET-003."""
        opened = self._unwrap(self.masters, key)
        return WrappedKey(key.environment, master.id, master.wrap(key.environment, opened, self._random))

    async def _make_key(self, environment: str) -> WrappedKey:
        """A new key, wrapped as the site's own row is: by a master key that every server has."""
        master = self._master_of(await self._database.read(self._store.find, SITE))
        return await self._database.write(self._store.find_or_add, self._new_key(environment, master))

    def _master_of(self, site: WrappedKey | None) -> MasterKey:
        master = next((each for each in self.masters if site is not None and each.id == site.master), None)
        if master is None:
            raise self._missing("" if site is None else site.master, self.masters)
        return master

    def _new_key(self, environment: str, master: MasterKey) -> WrappedKey:
        key = self._random.token_bytes(KEY_BYTES)
        return WrappedKey(environment, master.id, master.wrap(environment, key, self._random))

    def _unwrap(self, masters: tuple[MasterKey, ...], wrapped: WrappedKey) -> bytes:
        try:
            for master in masters:
                if master.id == wrapped.master:
                    return master.unwrap(wrapped.environment, wrapped.wrapped)
        except SealBroken:
            pass
        raise self._missing(wrapped.master, masters)

    def _missing(self, needed: str, masters: tuple[MasterKey, ...]) -> Exception:
        found = ", ".join(master.id for master in masters)
        return issues.WRONG_KEYS.error(source=self.source, needed=needed, found=found)


def rewrap_all(store: SecretKeys, keys: Iterable[tuple[str, WrappedKey]]) -> Transaction[int]:
    """Store keys that were wrapped again, each with the id of the master key before; returns how many of them still had that one."""
    count = 0
    for before, key in keys:
        count += yield from store.rewrap(before, key)
    return count
