"""Releases and rollbacks by operators: a compiled catalog stays staged until an operator releases it to the nodes they choose.

Each release is one transaction. Rolling back releases what was served before.
"""

from collections.abc import Sequence

from precast.services import texts
from precast.services.catalogs.releases import ReleaseCause, Releases
from precast.services.catalogs.staged_selection import select_staged
from precast.services.query.targets import TargetService
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.released import Release
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.wire.catalogs.bodies import ReleaseBody, ReleaseDone
from precast.wire.nodes.bodies import NodesAction

# How far back a rollback looks for another catalog.
MAX_HISTORY = 100


class ReleaseService:
    """Holds no state between calls."""

    def __init__(self, database: Database, catalogs: Catalogs, targets: TargetService, audit: AuditLog) -> None:
        self._database, self._catalogs, self._targets = database, catalogs, targets
        self._releases = Releases(database, catalogs, audit)

    async def release(self, body: ReleaseBody, actor: str) -> ReleaseDone:
        """Serve the staged catalogs from now on. The answer names the nodes that are left out. Raises what targets raise."""
        texts.check("the reason", body.why)
        names = (await self._targets.resolve(body.nodes)).names
        return await self._database.write_alone(self._release, names, body.version, ReleaseCause(actor, body.why))

    async def rollback(self, body: NodesAction, actor: str) -> ReleaseDone:
        """Serve what was served before. Raises what targets raise."""
        texts.check("the reason", body.why)
        names = (await self._targets.resolve(body.nodes)).names
        return await self._database.write_alone(self._roll_back, names, ReleaseCause(actor, body.why))

    def _release(self, names: Sequence[str], version: str | None, cause: ReleaseCause) -> Transaction[ReleaseDone]:
        # The lock keeps decisions and other releases away from these nodes until the commit: what is read here is what will be served.
        yield from self._catalogs.staged.lock_chains(names)
        selection = yield from select_staged(self._catalogs, names, version)
        released = yield from self._releases.release_staged(selection.fresh, cause)
        return ReleaseDone(released, selection.unchanged, selection.left_out)

    def _roll_back(self, names: Sequence[str], cause: ReleaseCause) -> Transaction[ReleaseDone]:
        earlier: list[Release] = []
        left_out: dict[str, str] = {}
        yield from self._catalogs.staged.lock_chains(names)
        for name in names:
            history = yield from self._catalogs.released.list_releases(name, MAX_HISTORY)
            before = next((release for release in history if release.digest != history[0].digest), None)
            if before is None:
                left_out[name] = "nothing was released before" if history else "nothing was released"
            else:
                earlier.append(before)
        released = yield from self._releases.release_again(earlier, cause)
        return ReleaseDone(released, [], left_out)
