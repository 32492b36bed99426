"""What people ask about catalogs: what is staged and served, and why it is this one.

Why a node has its catalog is in the trace tree: the reads on the way to its leaf are all it depends on.
"""

import msgspec

from precast.services import issues
from precast.services.catalogs.texts import answer_words, question_words, read_view
from precast.services.traces.chains import Leaf
from precast.services.traces.differences import Told
from precast.services.traces.groves import chain_of
from precast.services.traces.ways import way
from precast.store.catalogs import Catalogs
from precast.store.code.environments import Environments, EnvironmentVersion
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.traces import Traces
from precast.wire.catalogs.bodies import LastChange, StagedView, VersionView, WhyView
from precast.wire.identity.names import is_name


class CatalogViews:
    """Holds no state between calls."""

    def __init__(self, database: Database, catalogs: Catalogs, traces: Traces, environments: Environments) -> None:
        self._database, self._catalogs, self._traces = database, catalogs, traces
        self._environments = environments

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

    def _showing(self, node: str) -> Transaction[StagedView | None]:
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

    def _explaining(self, node: str) -> Transaction[WhyView | None]:
        staged = (yield from self._catalogs.staged([node])).get(node)
        if staged is None:
            return None
        links = yield from way(self._traces, staged.chain)
        reads = [read_view(link) for link in links or ()]
        change = yield from self._changed(node)
        return WhyView(node, staged.environment, staged.version, staged.digest, reads, change)

    def _changed(self, node: str) -> Transaction[LastChange | None]:
        found = yield from self._catalogs.changed(node)
        if found is None:
            return None
        told = msgspec.json.decode(found.told, type=Told)
        version = None
        if found.number is not None:
            version = yield from self._environments.numbered(found.environment, found.number)
        return LastChange(
            found.at,
            found.old_digest,
            found.digest,
            *question_words(told.question),
            answer_words(told.before),
            answer_words(told.after),
            None if version is None else _version(version),
        )


def _version(one: EnvironmentVersion) -> VersionView:
    return VersionView(one.number, one.version, one.source, one.commit_id, one.deployed_by, one.deployed_at)


def _state(staged: str | None, served: str | None) -> str:
    if staged is None:
        return "error"
    if served is None:
        return "staged, nothing released"
    return "released" if staged == served else "staged, another one is released"
