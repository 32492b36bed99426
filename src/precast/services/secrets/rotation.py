"""Replaces the master key of a running site.

An operator puts a new key first into the key file, and distributes the file. Each process reads the file again when it has changed, and
says in the database which keys it has. When all processes have the same new key first, one of them wraps all keys of environments again;
values stay as they are sealed. From then on the old key opens nothing, and can be removed from the file. At no time does a server meet
a key that it cannot open.
"""

import asyncio
import logging

from precast.base.errors import PrecastError
from precast.services.secrets.key_source import Stamp
from precast.services.secrets.keyring import Keyring, rewrap_all
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.secrets.keys import SEEN_EVERY_S, KeyHolder, SecretKeys, WrappedKey

log = logging.getLogger("precast.secrets")


class KeyRotation:
    """Follows the key source of one process."""

    def __init__(
        self, database: Database, store: SecretKeys, keyring: Keyring, audit: AuditLog, server_id: str, name: str
    ) -> None:
        self._database, self._store, self._keyring, self._audit = database, store, keyring, audit
        self._server_id, self._name = server_id, name
        self._stamp: Stamp | None = None
        self._read_s = float("-inf")
        self._refused = ""

    async def run(self) -> None:
        """Follow the source until cancelled; what fails is repeated. Cancelling ends the announcement; if that fails, it expires."""
        try:
            while True:
                try:
                    await self.follow()
                except PrecastError as error:
                    self._report(error)
                await asyncio.sleep(SEEN_EVERY_S)
        finally:
            await self._let_go()

    async def follow(self) -> None:
        """Read changed keys, announce those that this process has, and wrap keys again if all processes are ready for it."""
        await self._read_changed()
        masters = tuple(master.id for master in self._keyring.masters)
        await self._database.write(self._store.announce, self._server_id, KeyHolder(self._name, masters))
        await self._rewrap_outdated()

    async def _read_changed(self) -> None:
        source, now_s = self._keyring.source, self._database.clock.monotonic_s()
        stamp = await asyncio.to_thread(source.stamp)
        if stamp == self._stamp and now_s - self._read_s < source.read_every_s:
            return
        masters = await asyncio.to_thread(source.read)
        if masters is None:
            return  # the file may be about to be replaced; the keys in memory stay
        if masters != self._keyring.masters:
            self._keyring.replace_masters(masters, await self._database.read(self._store.list_all))
            log.info("the secrets keys are now %s", ", ".join(master.id for master in masters))
        self._stamp, self._read_s, self._refused = stamp, now_s, ""

    async def _rewrap_outdated(self) -> None:
        target = self._keyring.masters[0]
        keys = await self._database.read(self._store.list_all)
        outdated = [(key.master, self._keyring.rewrap(key, target)) for key in keys if key.master != target.id]
        if outdated and (count := await self._database.write(self._rewrap, target.id, outdated)):
            log.info("%d keys of environments are wrapped by the secrets key %s now", count, target.id)

    def _rewrap(self, target: str, outdated: list[tuple[str, WrappedKey]]) -> Transaction[int]:
        holders = yield from self._store.list_holders()
        if any(holder.masters[:1] != (target,) for holder in holders):
            return 0
        count = yield from rewrap_all(self._store, outdated)
        if count:
            yield from self._audit.add("server", "secrets.rewrap", target, keys=count)
        return count

    def _report(self, error: PrecastError) -> None:
        """Log an error once, until the keys could be read again."""
        if error.message != self._refused:
            self._refused = error.message
            log.warning("the secrets keys stay as they are: %s", error.message)

    async def _let_go(self) -> None:
        try:
            await self._database.write(self._store.let_go, self._server_id)
        except PrecastError as error:
            log.warning("this server could not say that it ends: %s", error.message)
