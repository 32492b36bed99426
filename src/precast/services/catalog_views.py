"""What people ask about catalogs: what is staged and served, why it is this one, and who gets none.

Why a node has its catalog is in the trace tree: the reads on the way to its leaf are all it depends on.
"""

import msgspec

from precast.services import issues
from precast.services.catalog_texts import read_view
from precast.services.compiling.groves import chain_of
from precast.services.tracing.chains import Chain, Leaf, Link
from precast.store.catalogs import Catalogs
from precast.store.database import Database
from precast.store.query import Unit
from precast.store.traces import Traces
from precast.store.work import WorkQueue
from precast.wire.catalogs import CatalogError, StagedView, WhyView
from precast.wire.names import is_name

LISTED = 500


class CatalogViews:
    """Holds no state between calls."""

    def __init__(self, database: Database, catalogs: Catalogs, traces: Traces, work: WorkQueue) -> None:
        self._database, self._catalogs, self._traces, self._work = database, catalogs, traces, work

    async def show(self, node: str) -> StagedView:
        """What is staged for a node and what it is served. Raises NotFoundError RELEASE-001."""
        found = await self._database.read(self._showing, node) if is_name(node) else None
        if found is None:
            raise issues.NO_CATALOG.error(node=node[:80], reason="nothing was decided for it")
        return found

    async def why(self, node: str) -> WhyView:
        """The reads that decided a node's catalog, in order. Raises NotFoundError RELEASE-001."""
        found = await self._database.read(self._explaining, node) if is_name(node) else None
        if found is None:
            raise issues.NO_CATALOG.error(node=node[:80], reason="nothing was decided for it")
        return found

    async def errors(self, after: str) -> list[CatalogError]:
        """Nodes whose code gives an error, by name; a page of them."""
        return await self._database.read(self._listing_errors, after)

    def _showing(self, node: str) -> Unit[StagedView | None]:
        staged = (yield from self._catalogs.staged([node])).get(node)
        if staged is None:
            return None
        served = yield from self._catalogs.served(node)
        hung = yield from self._traces.finding_by_id(staged.chain)
        leaf = Leaf() if hung is None else chain_of(hung.chain).leaf
        return StagedView(
            node=node,
            environment=staged.environment,
            version=staged.version,
            state=_state(staged.digest, served.digest if served else None),
            staged=staged.digest,
            released=served.digest if served else None,
            decided_at=staged.decided_at,
            changed_at=staged.changed_at,
            released_at=served.released_at if served else None,
            released_by=served.released_by if served else None,
            error=leaf.error,
            logs=list(leaf.logs),
        )

    def _explaining(self, node: str) -> Unit[WhyView | None]:
        staged = (yield from self._catalogs.staged([node])).get(node)
        if staged is None:
            return None
        links = yield from self._way(staged.chain)
        reads = [read_view(link) for link in links]
        return WhyView(node, staged.environment, staged.version, staged.digest, reads)

    def _way(self, chain: str) -> Unit[list[Link]]:
        """All reads from the root to the leaf of a chain."""
        found: list[Link] = []
        hung = yield from self._traces.finding_by_id(chain)
        if hung is None:
            return found
        here: Chain = chain_of(hung.chain)
        found = list(here.links)
        while hung.parent:
            position, below = hung.position, hung
            hung = yield from self._traces.finding_by_id(hung.parent)
            if hung is None:
                return found
            parent = chain_of(hung.chain)
            question = parent.links[position].question
            # The tree keeps the digest of an answer that led away, not the answer itself.
            answer = msgspec.UNSET if below.answer == "absent" else f"another value, {below.answer[:12]}"
            found = [*parent.links[:position], Link(question, answer), *found]
        return found

    def _listing_errors(self, after: str) -> Unit[list[CatalogError]]:
        broken = yield from self._catalogs.broken(after, LISTED)
        errors: dict[str, str] = {}
        for chain in dict.fromkeys(one.chain for one in broken):
            hung = yield from self._traces.finding_by_id(chain)
            errors[chain] = "" if hung is None else chain_of(hung.chain).leaf.error or ""
        return [
            CatalogError(one.node, one.environment, one.version, errors[one.chain], one.decided_at) for one in broken
        ]


def _state(staged: str | None, served: str | None) -> str:
    if staged is None:
        return "error"
    if served is None:
        return "staged, nothing released"
    return "released" if staged == served else "staged, another one is released"
