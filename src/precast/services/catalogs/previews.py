"""Shows what a release would change: for one node, or grouped over the fleet, where one change on four hundred nodes is one line."""

from typing import Any

import msgspec

from precast.base import canonical
from precast.catalog import body as bodies
from precast.catalog.diff import CatalogDiff, compare_catalogs
from precast.catalog.skeleton import Skeleton
from precast.services.catalogs import issues
from precast.services.catalogs.leaf_problems import group_problems
from precast.services.catalogs.releases import NAMES_SHOWN
from precast.services.catalogs.skeletons import Skeletons
from precast.services.catalogs.staged_selection import select_staged
from precast.services.query.targets import TargetService
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.released import Release
from precast.store.catalogs.staged import StagedCatalog
from precast.store.engine.database import Database
from precast.store.traces import Traces
from precast.wire.catalogs.bodies import ChangeView, ParameterView, PreviewView, RefreshView, ReleaseBody

CHANGES_SHOWN = 500


class ReleasePreviews:
    """Compares staged with served catalogs; holds only a cache of documents."""

    def __init__(
        self, database: Database, catalogs: Catalogs, traces: Traces, targets: TargetService, skeletons: Skeletons
    ) -> None:
        self._database, self._catalogs, self._targets = database, catalogs, targets
        self._traces, self._skeletons = traces, skeletons

    async def preview(self, body: ReleaseBody) -> PreviewView:
        """What a release would change. Changes nothing."""
        names = (await self._targets.resolve(body.nodes)).names
        selection = await self._database.read(select_staged, self._catalogs, names, body.version)
        grouped = _GroupedChanges()
        shared: dict[tuple[str, str], CatalogDiff] = {}
        for staged in selection.fresh:
            served = selection.served.get(staged.node)
            if served is not None and not _is_same_fill(served.fill, staged.fill):
                grouped.add(staged.node, await self._difference(staged, served))
                continue
            # Nodes with the same two skeletons have the same difference: it is computed once, with the names of the holes as values.
            assert staged.skeleton is not None, "a catalog without a skeleton is left out"
            pair = ("" if served is None else served.skeleton, staged.skeleton)
            if pair not in shared:
                shared[pair] = await self._skeleton_difference(*pair)
            grouped.add(staged.node, shared[pair])
        view = grouped.view(len(names), len(selection.unchanged), selection.left_out)
        problems = await self._database.read(group_problems, self._traces, selection.fresh)
        return msgspec.structs.replace(view, problems=problems)

    async def difference(self, node: str) -> CatalogDiff:
        """How the staged catalog of a node differs from the served one. Raises NotFoundError RELEASE-001."""
        selection = await self._database.read(select_staged, self._catalogs, [node], None)
        if selection.fresh:
            return await self._difference(selection.fresh[0], selection.served.get(node))
        if node in selection.left_out:
            raise issues.NO_CATALOG.error(node=node, reason=selection.left_out[node])
        return CatalogDiff((), ())

    async def _difference(self, staged: StagedCatalog, served: Release | None) -> CatalogDiff:
        assert staged.skeleton is not None, "a catalog without a skeleton is left out"
        after = await self._skeletons.fill(staged.skeleton, staged.fill)
        before = await self._skeletons.fill(served.skeleton, served.fill) if served else None
        return compare_catalogs(None if before is None else bodies.decode(before), bodies.decode(after))

    async def _skeleton_difference(self, before: str, after: str) -> CatalogDiff:
        old = _with_hole_names(await self._skeletons.read(before)) if before else None
        return compare_catalogs(old, _with_hole_names(await self._skeletons.read(after)))


def _is_same_fill(before: str, after: str) -> bool:
    """Whether each hole that both fills have has the same value."""
    old = {tuple(hole): value for hole, value in msgspec.json.decode(before)}
    return all(old.get(tuple(hole), value) == value for hole, value in msgspec.json.decode(after))


def _with_hole_names(skeleton: Skeleton) -> bodies.Body:
    """A document with the name of each hole as its value."""
    return bodies.decode(skeleton.fill({hole: f"<{'.'.join(map(str, hole))}>" for hole in skeleton.holes}))


class _GroupedChanges:
    """The changes over the fleet, equal ones grouped."""

    def __init__(self) -> None:
        self._changes: dict[bytes, tuple[Any, list[str]]] = {}
        self._refreshed: dict[str, int] = {}

    def add(self, node: str, difference: CatalogDiff) -> None:
        for change in difference.changes:
            self._changes.setdefault(canonical.encode(change), (change, []))[1].append(node)
        for ref in difference.refreshed:
            self._refreshed[ref] = self._refreshed.get(ref, 0) + 1

    def view(self, nodes: int, unchanged: int, left_out: dict[str, str]) -> PreviewView:
        most_common = sorted(self._changes.values(), key=lambda pair: (-len(pair[1]), pair[0].ref))
        changes = [
            ChangeView(
                change.ref,
                change.kind,
                [ParameterView(parameter.name, parameter.before, parameter.after) for parameter in change.parameters],
                names[:NAMES_SHOWN],
                len(names),
            )
            for change, names in most_common[:CHANGES_SHOWN]
        ]
        refreshed = sorted(self._refreshed.items(), key=lambda pair: (-pair[1], pair[0]))
        return PreviewView(nodes, unchanged, left_out, changes, [RefreshView(ref, count) for ref, count in refreshed])
