"""Shows the staged and the served catalog of a node, or that of an entry point, and why the node has this one.

The trace tree tells why: the catalog depends on the reads of the path to its leaf, and on nothing else.
"""

from functools import partial

import msgspec

from precast.base.errors import PrecastError
from precast.services.catalogs import issues
from precast.services.catalogs.explanations import answer_text, question_texts, read_view
from precast.services.catalogs.leaf_problems import read_leaves, view_problems
from precast.services.traces.chains import Leaf
from precast.services.traces.divergence import Divergence
from precast.services.traces.paths import decode_chain, read_path
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.entries import EntryRow
from precast.store.code.environments import Environments, EnvironmentVersion
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.traces import Traces
from precast.wire.catalogs.bodies import CatalogExplanation, LastChange, StagedView, VersionView
from precast.wire.identity.names import is_name


class CatalogViews:
    """Holds no state between calls."""

    def __init__(self, database: Database, catalogs: Catalogs, traces: Traces, environments: Environments) -> None:
        self._database, self._catalogs, self._traces = database, catalogs, traces
        self._environments = environments

    async def show(self, node: str, entry: str = "") -> StagedView:
        """The staged and the served catalog of a node; or the staged one of an entry point. Raises NotFoundError RELEASE-001."""
        find = partial(self._find_entry, entry=entry) if entry else self._find_staged
        view = await self._database.read(find, node) if is_name(node) else None
        if view is None:
            raise _not_decided(node, entry)
        return view

    async def why(self, node: str, entry: str = "") -> CatalogExplanation:
        """The reads that decided the catalog of a node or of an entry point, in order. Raises NotFoundError RELEASE-001."""
        find = partial(self._explain_entry, entry=entry) if entry else self._explain
        view = await self._database.read(find, node) if is_name(node) else None
        if view is None:
            raise _not_decided(node, entry)
        return view

    def _find_staged(self, node: str) -> Transaction[StagedView | None]:
        staged = (yield from self._catalogs.staged.find([node])).get(node)
        if staged is None:
            return None
        served = yield from self._catalogs.released.find_served(node)
        attached = yield from self._traces.find_by_id(staged.chain)
        leaf = Leaf() if attached is None else decode_chain(attached.chain).leaf
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
            problems=view_problems(leaf),
        )

    def _find_entry(self, node: str, entry: str) -> Transaction[StagedView | None]:
        row = yield from self._find_decided(node, entry)
        if row is None or row.decided_at is None:
            return None
        leaf = (yield from read_leaves(self._traces, [row.chain or ""]))[row.chain or ""]
        return StagedView(
            node=node,
            environment=row.environment or "",
            version=row.version or "",
            state="error" if row.digest is None else "staged",
            staged=row.digest,
            released=None,
            decided_at=row.decided_at,
            changed_at=row.decided_at,
            error=leaf.error,
            logs=list(leaf.logs),
            problems=view_problems(leaf),
            entry=entry,
        )

    def _explain_entry(self, node: str, entry: str) -> Transaction[CatalogExplanation | None]:
        row = yield from self._find_decided(node, entry)
        if row is None:
            return None
        links = yield from read_path(self._traces, row.chain or "")
        reads = [read_view(link) for link in links or ()]
        return CatalogExplanation(node, row.environment or "", row.version or "", row.digest, reads)

    def _find_decided(self, node: str, entry: str) -> Transaction[EntryRow | None]:
        row = (yield from self._catalogs.entries.find([node], [entry])).get((node, entry))
        return None if row is None or row.chain is None else row

    def _explain(self, node: str) -> Transaction[CatalogExplanation | None]:
        staged = (yield from self._catalogs.staged.find([node])).get(node)
        if staged is None:
            return None
        links = yield from read_path(self._traces, staged.chain)
        reads = [read_view(link) for link in links or ()]
        change = yield from self._find_last_change(node)
        return CatalogExplanation(node, staged.environment, staged.version, staged.digest, reads, change)

    def _find_last_change(self, node: str) -> Transaction[LastChange | None]:
        change = yield from self._catalogs.staged.find_change(node)
        if change is None:
            return None
        divergence = msgspec.json.decode(change.differing_read, type=Divergence)
        version = None
        if change.number is not None:
            version = yield from self._environments.find_version(change.environment, change.number)
        return LastChange(
            change.at,
            change.old_digest,
            change.digest,
            *question_texts(divergence.question),
            answer_text(divergence.before),
            answer_text(divergence.after),
            None if version is None else _version_view(version),
        )


def _not_decided(node: str, entry: str) -> PrecastError:
    reason = "nothing was decided for it"
    if entry:
        reason = (
            f"nothing was decided for its entry point {entry[:200]}; `precast catalog compile` with --entry requests it"
        )
    return issues.NO_CATALOG.error(node=node[:80], reason=reason)


def _version_view(version: EnvironmentVersion) -> VersionView:
    return VersionView(
        version.number, version.version, version.source, version.commit_id, version.deployed_by, version.deployed_at
    )


def _state(staged: str | None, served: str | None) -> str:
    if staged is None:
        return "error"
    if served is None:
        return "staged, nothing released"
    return "released" if staged == served else "staged, another one is released"
