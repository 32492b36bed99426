"""Releases that more than one person must want: what a request proposes, and what happens when it is granted.

The digest of a request covers each node with the catalog that it is served, and the catalog and version of the code that it would be
served. If one of them is another by the time of the last approval, people approved something else, and nothing is released.
"""

from collections.abc import Sequence

import msgspec

from precast.base import digests
from precast.services.approvals.approvals import Participant, Proposal, RequestBook
from precast.services.catalogs.release_guards import find_guards
from precast.services.catalogs.releases import NAMES_SHOWN, ReleaseCause, Releases
from precast.services.catalogs.staged_selection import StagedSelection, select_staged
from precast.store.approvals.approvals import ApprovalRequest
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.staged import StagedCatalog
from precast.store.code.environments import Environments
from precast.store.engine.query import Transaction
from precast.wire.nodes.bodies import TargetsBody

RELEASE = "release"


class _Payload(msgspec.Struct, frozen=True):
    nodes: list[str] = []


class ApprovedReleases:
    """Requests releases of environments that need approvals, and carries out those that are granted."""

    role = "operator"

    def __init__(
        self, catalogs: Catalogs, environments: Environments, releases: Releases, requests: RequestBook
    ) -> None:
        self._catalogs, self._environments = catalogs, environments
        self._releases, self._requests = releases, requests

    def split_by_approval(
        self, selection: StagedSelection
    ) -> Transaction[tuple[list[StagedCatalog], dict[str, tuple[int, list[StagedCatalog]]]]]:
        """Split what would be released: what needs no approval, and by environment what does, with how many people it needs."""
        guards = yield from find_guards(self._environments, selection.fresh, selection.served)
        bound: dict[str, tuple[int, list[StagedCatalog]]] = {}
        for name, needed in sorted(set(guards.values())):
            own = [catalog for catalog in selection.fresh if guards.get(catalog.node) == (name, needed)]
            bound[name] = needed, own
        return [catalog for catalog in selection.fresh if catalog.node not in guards], bound

    def request(
        self,
        environment: str,
        needed: int,
        selection: StagedSelection,
        staged: Sequence[StagedCatalog],
        requested_by: Participant,
        why: str,
    ) -> Transaction[ApprovalRequest]:
        """Request the release of these staged catalogs."""
        nodes = [catalog.node for catalog in staged]
        count = nodes[0] if len(nodes) == 1 else f"{len(nodes)} nodes"
        versions = sorted({catalog.version[:12] for catalog in staged})
        subject = f"release of {count} with version {', '.join(versions[:3])} of the code"
        payload = msgspec.json.encode(_Payload(nodes))
        proposal = Proposal(RELEASE, environment, subject, _digest(selection, staged), payload, needed)
        return (yield from self._requests.add(proposal, requested_by, why))

    def perform(self, request: ApprovalRequest, approved_by: Sequence[str]) -> Transaction[str | None]:
        nodes = self.concerned_nodes(request)
        # The lock keeps decisions and other releases away from these nodes until the commit.
        yield from self._catalogs.staged.lock_chains(nodes)
        selection = yield from select_staged(self._catalogs, nodes, None)
        _, bound = yield from self.split_by_approval(selection)
        _, own = bound.get(request.environment, (0, selection.fresh))
        if _digest(selection, own) != request.digest:
            return None
        cause = ReleaseCause(request.requested_by, request.why, request.id, tuple(approved_by), _encode_targets(nodes))
        released = yield from self._releases.release_staged(own, cause)
        yield from self._releases.finish(released.number)
        return f"released to {len(released.nodes)} node{'' if len(released.nodes) == 1 else 's'}"

    def count_needed(self, request: ApprovalRequest) -> Transaction[int]:
        environment = yield from self._environments.find(request.environment)
        return max(request.needed, environment.release_approvals if environment is not None else 0)

    def concerned_nodes(self, request: ApprovalRequest) -> Sequence[str]:
        return msgspec.json.decode(request.payload, type=_Payload).nodes


def _encode_targets(nodes: Sequence[str]) -> str:
    """The first nodes of a request, as the log has them."""
    return msgspec.json.encode(TargetsBody(list(nodes[:NAMES_SHOWN]))).decode()


def _digest(selection: StagedSelection, staged: Sequence[StagedCatalog]) -> str:
    """The digest of the change: for each node the catalog that it is served, and the one that it would be served, of which code."""
    return digests.of_value(
        [
            [
                catalog.node,
                selection.served[catalog.node].digest if catalog.node in selection.served else None,
                catalog.digest,
                catalog.environment,
                catalog.version,
            ]
            for catalog in sorted(staged, key=lambda catalog: catalog.node)
        ]
    )
