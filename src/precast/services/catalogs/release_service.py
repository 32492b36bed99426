"""Releases and rollbacks by operators: a compiled catalog stays staged until an operator releases it to the nodes they choose.

A request handles a page of nodes in one transaction, so that no other writer waits long; the client requests the next page. All pages are
one entry of the log, and each node is part of it once: a page that is repeated, or a release that is begun again after the client or the
server was killed, does nothing twice. Where an environment needs approvals, a release only requests them, once for all of its nodes.
Rolling back serves what was served before, which one person may do at any time.
"""

from collections.abc import AsyncIterator, Sequence

import msgspec

from precast.services import texts
from precast.services.approvals.approvals import Participant
from precast.services.catalogs import issues
from precast.services.catalogs.approved_releases import ApprovedReleases
from precast.services.catalogs.releases import ReleaseCause, Releases
from precast.services.catalogs.rollback_selection import group_moves, select_rollback
from precast.services.catalogs.staged_selection import select_staged
from precast.services.query.targets import TargetService
from precast.store.approvals.approvals import ApprovalRequest
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.release_log import RELEASE, ROLLBACK
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.wire.catalogs.bodies import PendingApproval, ReleaseBody, ReleaseDone, RollbackBody
from precast.wire.catalogs.release_points import Point, parse_point
from precast.wire.nodes.bodies import TargetsAnswer, TargetsBody


class ReleaseService:
    """Holds no state between calls."""

    def __init__(
        self,
        database: Database,
        catalogs: Catalogs,
        environments: Environments,
        targets: TargetService,
        releases: Releases,
        approved: ApprovedReleases,
    ) -> None:
        self._database, self._catalogs, self._targets = database, catalogs, targets
        self._environments, self._releases, self._approved = environments, releases, approved

    async def release(self, body: ReleaseBody, actor: str, token: str = "") -> ReleaseDone:
        """Serve a page of staged catalogs from now on, or request approval where the environment needs it.

        The answer names the nodes that are left out, and the requests. `token` is the id of the caller's token. Raises what targets
        raise, LimitedError APPROVAL-006, NotFoundError RELEASE-005, ConflictError RELEASE-004. Cancelling leaves each page released or not.
        """
        texts.check("the reason", body.why)
        requested_by = Participant(actor, "", (), token)
        page, targets = await self._read_page(body)
        names = [row.name for row in page.nodes]
        is_only, is_last = page.after is None and not body.after, page.after is None
        done = await self._database.write_alone(self._release, names, body, requested_by, is_only, is_last)
        if is_last and not is_only:
            waiting = [name async for name in self._find_guarded(body)]
            if waiting:
                pending = await self._database.write_alone(self._request, waiting, body, requested_by)
                done = msgspec.structs.replace(done, pending=pending)
        return msgspec.structs.replace(done, after=page.after, targets=targets)

    async def rollback(self, body: RollbackBody, actor: str) -> ReleaseDone:
        """Serve a page of nodes what they were served before.

        Raises what targets raise, InputError RELEASE-003, NotFoundError RELEASE-005, ConflictError RELEASE-004.
        """
        texts.check("the reason", body.why)
        point = parse_point(body.to) if body.to else None
        page, targets = await self._read_page(body)
        names = [row.name for row in page.nodes]
        is_last = page.after is None
        done = await self._database.write_alone(self._roll_back, names, body, point, actor, is_last)
        return msgspec.structs.replace(done, after=page.after, targets=targets)

    async def _read_page(self, body: ReleaseBody | RollbackBody) -> tuple[TargetsAnswer, int]:
        """The nodes of a page, and with the first page the number of all targets.

        They are counted before the page is changed, because the change may decide which nodes the targets match. Nodes that were purged
        since a release began do not prevent its end.
        """
        is_continued = body.release is not None
        page = next_ = await self._targets.resolve_page(body.nodes, body.after, may_be_gone=is_continued)
        if body.after:
            return page, 0
        count = len(page.nodes)
        while next_.after is not None:
            next_ = await self._targets.resolve_page(body.nodes, next_.after, may_be_gone=True)
            count += len(next_.nodes)
        return page, count

    def _release(
        self, names: Sequence[str], body: ReleaseBody, requested_by: Participant, is_only: bool, is_last: bool
    ) -> Transaction[ReleaseDone]:
        # The lock keeps decisions and other releases away from these nodes until the commit: what is read here is what will be served.
        yield from self._catalogs.staged.lock_chains(names)
        known = yield from self._find_done(RELEASE, body, body.version or "", names)
        selection = yield from select_staged(
            self._catalogs, [name for name in names if name not in known], body.version
        )
        free, bound = yield from self._approved.split_by_approval(selection)
        cause = ReleaseCause(
            requested_by.actor, body.why, targets=_encode(body.nodes), point=body.version or "", number=body.release
        )
        stored = yield from self._releases.release_staged(free, cause)
        pending: list[PendingApproval] = []
        if is_only:
            for environment, (needed, staged) in bound.items():
                request = yield from self._approved.request(
                    environment, needed, selection, staged, requested_by, body.why
                )
                pending.append(_view_pending(request, len(staged)))
        if is_last:
            yield from self._releases.finish(stored.number)
        released = sorted([*known, *stored.nodes])
        return ReleaseDone(released, selection.unchanged, selection.left_out, pending, stored.number)

    async def _find_guarded(self, body: ReleaseBody) -> AsyncIterator[str]:
        """Yield the nodes of all pages whose release needs approval."""
        after: str | None = ""
        while after is not None:
            page = await self._targets.resolve_page(body.nodes, after, may_be_gone=True)
            names = [row.name for row in page.nodes]
            for name in await self._database.read(self._filter_guarded, names, body.version):
                yield name
            after = page.after

    def _filter_guarded(self, names: Sequence[str], version: str | None) -> Transaction[list[str]]:
        selection = yield from select_staged(self._catalogs, names, version)
        _, bound = yield from self._approved.split_by_approval(selection)
        return [catalog.node for _, staged in bound.values() for catalog in staged]

    def _request(
        self, names: Sequence[str], body: ReleaseBody, requested_by: Participant
    ) -> Transaction[list[PendingApproval]]:
        """Request approval for these nodes, once for each environment."""
        yield from self._catalogs.staged.lock_chains(names)
        selection = yield from select_staged(self._catalogs, names, body.version)
        _, bound = yield from self._approved.split_by_approval(selection)
        pending = []
        for environment, (needed, staged) in bound.items():
            request = yield from self._approved.request(environment, needed, selection, staged, requested_by, body.why)
            pending.append(_view_pending(request, len(staged)))
        return pending

    def _roll_back(
        self, names: Sequence[str], body: RollbackBody, point: Point | None, actor: str, is_last: bool
    ) -> Transaction[ReleaseDone]:
        yield from self._catalogs.staged.lock_chains(names)
        known = yield from self._find_done(ROLLBACK, body, body.to, names)
        others = [name for name in names if name not in known]
        selection = yield from select_rollback(self._catalogs, self._environments, others, point)
        cause = ReleaseCause(actor, body.why, targets=_encode(body.nodes), point=body.to, number=body.release)
        stored = yield from self._releases.restore(list(selection.steps.values()), cause)
        if is_last:
            yield from self._releases.finish(stored.number)
        trimmed = dict.fromkeys(sorted(selection.steps.keys() - set(stored.nodes)), "that release was just deleted")
        return ReleaseDone(
            sorted([*known, *stored.nodes]),
            selection.unchanged,
            selection.left_out | trimmed,
            release=stored.number,
            moves=group_moves(selection),
        )

    def _find_done(
        self, kind: str, body: ReleaseBody | RollbackBody, point: str, names: Sequence[str]
    ) -> Transaction[list[str]]:
        """The nodes that are done already, of a release that is continued. Raises NotFoundError RELEASE-005, ConflictError RELEASE-004."""
        if body.release is None:
            return []
        yield from self._catalogs.log.lock(body.release)
        entry = yield from self._catalogs.log.find(body.release)
        if entry is None:
            raise issues.NO_SUCH_RELEASE.error(number=body.release)
        if entry.kind != kind or (entry.targets, entry.point) != (_encode(body.nodes), point):
            raise issues.NOT_CONTINUED.error(kind=entry.kind, number=entry.number, reason="it is another request")
        if entry.finished_at is not None:
            raise issues.NOT_CONTINUED.error(kind=entry.kind, number=entry.number, reason="it is finished")
        return sorted((yield from self._catalogs.released.find_of_release(names, body.release)))


def _view_pending(request: ApprovalRequest, nodes: int) -> PendingApproval:
    return PendingApproval(request.id, request.environment, request.needed, request.expires_at, nodes, request.digest)


def _encode(targets: TargetsBody) -> str:
    return msgspec.json.encode(targets).decode()
