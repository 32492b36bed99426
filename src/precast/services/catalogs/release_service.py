"""Releases and rollbacks by operators: a compiled catalog stays staged until an operator releases it to the nodes they choose.

Each release is one transaction. Where an environment needs approvals, a release only requests them. Rolling back releases what was
served before, which one person may do at any time.
"""

from collections.abc import Sequence

from precast.services import texts
from precast.services.approvals.approvals import Participant
from precast.services.catalogs.approved_releases import ApprovedReleases
from precast.services.catalogs.releases import ReleaseCause, Releases
from precast.services.catalogs.staged_selection import select_staged
from precast.services.query.targets import TargetService
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.released import Release
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.wire.catalogs.bodies import PendingApproval, ReleaseBody, ReleaseDone
from precast.wire.nodes.bodies import NodesAction

# How far back a rollback looks for another catalog.
MAX_HISTORY = 100


class ReleaseService:
    """Holds no state between calls."""

    def __init__(
        self,
        database: Database,
        catalogs: Catalogs,
        targets: TargetService,
        audit: AuditLog,
        approved: ApprovedReleases,
    ) -> None:
        self._database, self._catalogs, self._targets = database, catalogs, targets
        self._releases, self._approved = Releases(database, catalogs, audit), approved

    async def release(self, body: ReleaseBody, actor: str, token: str = "") -> ReleaseDone:
        """Serve the staged catalogs from now on, or request approval where the environment needs it.

        The answer names the nodes that are left out, and the requests. `token` is the id of the caller's token. Raises what targets
        raise, and LimitedError APPROVAL-006.
        """
        texts.check("the reason", body.why)
        names = (await self._targets.resolve(body.nodes)).names
        requested_by = Participant(actor, "", (), token)
        return await self._database.write_alone(self._release, names, body, requested_by)

    async def rollback(self, body: NodesAction, actor: str) -> ReleaseDone:
        """Serve what was served before. Raises what targets raise."""
        texts.check("the reason", body.why)
        names = (await self._targets.resolve(body.nodes)).names
        return await self._database.write_alone(self._roll_back, names, ReleaseCause(actor, body.why))

    def _release(self, names: Sequence[str], body: ReleaseBody, requested_by: Participant) -> Transaction[ReleaseDone]:
        # The lock keeps decisions and other releases away from these nodes until the commit: what is read here is what will be served.
        yield from self._catalogs.staged.lock_chains(names)
        selection = yield from select_staged(self._catalogs, names, body.version)
        free, bound = yield from self._approved.split_by_approval(selection)
        released = yield from self._releases.release_staged(free, ReleaseCause(requested_by.actor, body.why))
        pending: list[PendingApproval] = []
        for environment, (needed, staged) in bound.items():
            request = yield from self._approved.request(environment, needed, selection, staged, requested_by, body.why)
            pending.append(
                PendingApproval(
                    request.id, environment, request.needed, request.expires_at, len(staged), request.digest
                )
            )
        return ReleaseDone(released, selection.unchanged, selection.left_out, pending)

    def _roll_back(self, names: Sequence[str], cause: ReleaseCause) -> Transaction[ReleaseDone]:
        earlier: list[Release] = []
        left_out: dict[str, str] = {}
        yield from self._catalogs.staged.lock_chains(names)
        for name in names:
            history = yield from self._catalogs.released.list_releases(name, MAX_HISTORY)
            before = yield from self._find_earlier(history)
            if before is None:
                left_out[name] = "nothing was released before" if history else "nothing was released"
            else:
                earlier.append(before)
        released = yield from self._releases.release_again(earlier, cause)
        return ReleaseDone(released, [], left_out)

    def _find_earlier(self, history: Sequence[Release]) -> Transaction[Release | None]:
        """What was served before. Where approvals are needed, it is of the same environment: people approved nothing of another."""
        if not history:
            return None
        served = history[0]
        environment = yield from self._approved.find_environment(served.environment)
        others = [release for release in history if release.digest != served.digest]
        if environment is not None and environment.release_approvals:
            others = [release for release in others if release.environment == served.environment]
        return others[0] if others else None
