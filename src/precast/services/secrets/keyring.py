"""The keyring of a server: opens the keys of environments with the site's master keys.

A server without the right master key does not start: its catalogs would have references that no other server can resolve.
"""

import asyncio
import secrets

from precast.base.encryption.keys import Random
from precast.base.encryption.sealing import KEY_BYTES, SealBroken
from precast.services.secrets import issues
from precast.services.secrets.key_source import KeySource
from precast.services.secrets.keys import EnvironmentKeys, MasterKey
from precast.store.engine.database import Database
from precast.store.secrets.keys import SecretKeys, WrappedKey

# The environment of the row that shows which master key the site has.
SITE = ""


class Keyring:
    """The keys of secrets, as one process of a server has them in memory."""

    def __init__(self, database: Database, store: SecretKeys, source: KeySource, random: Random = secrets) -> None:
        self._database, self._store, self._source, self._random = database, store, source, random
        self._masters: tuple[MasterKey, ...] = ()
        self._opened: dict[str, EnvironmentKeys] = {}

    async def open(self) -> None:
        """Read the master keys, and verify that they are those of this site; the first server of a new site creates one.

        Raises UnavailableError SECRET-001 or SECRET-002, ConflictError SECRET-003.
        """
        masters = await asyncio.to_thread(self._source.read)
        if masters is None:
            if await self._database.read(self._store.find, SITE) is not None:
                raise issues.NO_KEYS.error(source=self._source)
            await asyncio.to_thread(self._source.create)
            masters = await asyncio.to_thread(self._source.read)
        if masters is None:
            raise issues.NO_KEYS.error(source=self._source)
        self._masters = masters
        await self._database.write(self._store.find_or_add, self._new_key(SITE))
        for key in await self._database.read(self._store.list):
            self._unwrap(key)

    async def keys(self, environment: str) -> EnvironmentKeys:
        """The keys of an environment, which are made when they are first needed. Raises what `open` raises."""
        keys = self._opened.get(environment)
        if keys is None:
            if not self._masters:
                await self.open()
            wrapped = await self._database.read(self._store.find, environment)
            if wrapped is None:
                wrapped = await self._database.write(self._store.find_or_add, self._new_key(environment))
            keys = EnvironmentKeys.derived(environment, self._unwrap(wrapped))
            self._opened[environment] = keys
        return keys

    async def answer_key(self, environment: str) -> bytes:
        """The key that authenticates answers of traces of an environment. Raises what `open` raises."""
        return (await self.keys(environment)).answer

    def _new_key(self, environment: str) -> WrappedKey:
        current = self._masters[0]
        key = self._random.token_bytes(KEY_BYTES)
        return WrappedKey(environment, current.id, current.wrap(environment, key, self._random))

    def _unwrap(self, wrapped: WrappedKey) -> bytes:
        try:
            for master in self._masters:
                if master.id == wrapped.master:
                    return master.unwrap(wrapped.environment, wrapped.wrapped)
        except SealBroken:
            pass
        found = ", ".join(master.id for master in self._masters)
        raise issues.WRONG_KEYS.error(source=self._source, needed=wrapped.master, found=found)
