"""Which exports the nodes of an environment collect: a setting of the environment.

Nodes see what other nodes of their environment export with their served catalogs. With `staged` they see the exports of staged catalogs, so
that everything can be released in one consistent round; with `everywhere`, as in Puppet, the exports of all environments.
"""

from precast.services.code.environments import require_environment
from precast.services.exports import issues
from precast.services.work_kinds import REDECIDE
from precast.store.code.environments import EVERYWHERE, RELEASED, STAGED, Environments
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.queue.queue import WorkQueue
from precast.wire.exports import ExportsSetting

SETTINGS = (RELEASED, STAGED, EVERYWHERE)


class ExportSettings:
    """Holds no state between calls."""

    def __init__(self, database: Database, environments: Environments, work: WorkQueue, audit: AuditLog) -> None:
        self._database, self._environments, self._work, self._audit = database, environments, work, audit

    async def show(self, name: str) -> ExportsSetting:
        """Raises NotFoundError ENV-005."""
        return ExportsSetting(await self._database.read(self._find, name))

    async def set(self, name: str, setting: str, actor: str) -> ExportsSetting:
        """Set it, and decide again about all nodes of the environment. Raises InputError EXPORT-002, NotFoundError ENV-005."""
        if setting not in SETTINGS:
            raise issues.BAD_SETTING.error(setting=repr(setting[:40]))
        await self._database.write(self._set, name, setting, actor)
        return ExportsSetting(setting)

    def _find(self, name: str) -> Transaction[str]:
        return (yield from require_environment(self._environments, name)).exports

    def _set(self, name: str, setting: str, actor: str) -> Transaction[None]:
        before = yield from self._find(name)
        if (yield from self._environments.set_exports(name, setting)):
            yield from self._work.enqueue_item(REDECIDE.name, name, b"")
            yield from self._audit.add(actor, "environment.exports", name, before=before, after=setting)
