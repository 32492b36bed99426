"""Gives up the secrets of a site whose master key is lost.

The values are of no use without it. They are deleted with the wrapped keys, so that a server starts with a new master key; every catalog is
then compiled again, because the answers of its trace depend on the key of its environment. What sources have answered is sealed too, and
is asked for again. Nodes go on with what they have.
"""

from precast.services.secrets import issues
from precast.services.work_kinds import REDECIDE
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.queue.queue import WorkQueue
from precast.store.secrets.keys import SecretKeys
from precast.store.secrets.secrets import Secrets
from precast.store.secrets.source_documents import delete_all_documents

PAGE = 500


class LostKeys:
    """Discards what a lost key has sealed; holds no state."""

    def __init__(
        self,
        database: Database,
        secrets: Secrets,
        keys: SecretKeys,
        environments: Environments,
        work: WorkQueue,
        audit: AuditLog,
    ) -> None:
        self._database, self._secrets, self._keys = database, secrets, keys
        self._environments, self._work, self._audit = environments, work, audit

    async def discard(self) -> dict[str, int]:
        """Delete all secrets and keys, and request a decision about every node; returns how many secrets each environment had.

        Raises ConflictError SECRET-007 while servers run: these have the key.
        """
        return await self._database.write(self._discard)

    def _discard(self) -> Transaction[dict[str, int]]:
        if holders := (yield from self._keys.list_holders()):
            raise issues.KEYS_IN_USE.error(servers=", ".join(sorted({holder.name for holder in holders})))
        counts = yield from self._secrets.count(PAGE)
        yield from self._secrets.delete_all()
        yield from delete_all_documents()
        yield from self._keys.delete_all()
        after = ""
        while page := (yield from self._environments.list_page(after, PAGE)):
            for environment in page:
                yield from self._work.enqueue_item(REDECIDE.name, environment.name, b"")
            after = page[-1].name
        yield from self._audit.add("system", "secrets.discard", "", secrets=counts)
        return counts
