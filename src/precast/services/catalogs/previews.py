"""Shows what a release would change: for one node, or grouped over the fleet, where one change on four hundred nodes is one line."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, NamedTuple

import msgspec

from precast.base import canonical
from precast.catalog import body as bodies
from precast.catalog.diff import CatalogDiff, compare_catalogs
from precast.catalog.skeleton import Skeleton
from precast.services.catalogs import issues
from precast.services.catalogs.leaf_problems import group_problems
from precast.services.catalogs.releases import NAMES_SHOWN
from precast.services.catalogs.rollback_selection import RollbackSelection, group_moves, select_rollback
from precast.services.catalogs.skeletons import Skeletons
from precast.services.catalogs.staged_selection import select_staged
from precast.services.exports.decisions import publication_of
from precast.services.exports.followers import FollowingRound
from precast.services.exports.publishing import Publication
from precast.services.query.targets import TargetService
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.released import Release, ReleaseStep
from precast.store.catalogs.staged import StagedCatalog
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.traces import Traces
from precast.wire.catalogs.bodies import (
    ChangeView,
    ParameterView,
    PreviewView,
    RefreshView,
    ReleaseBody,
    RollbackBody,
)
from precast.wire.catalogs.release_points import Point, parse_point
from precast.wire.nodes.bodies import TargetsBody

CHANGES_SHOWN = 500


class FilledCatalog(NamedTuple):
    """A catalog as a node would be served it."""

    skeleton: str
    fill: str


class ReleasePreviews:
    """Compares staged or earlier catalogs with served ones; holds only a cache of documents."""

    def __init__(
        self,
        database: Database,
        catalogs: Catalogs,
        environments: Environments,
        traces: Traces,
        targets: TargetService,
        skeletons: Skeletons,
    ) -> None:
        self._database, self._catalogs, self._targets = database, catalogs, targets
        self._environments, self._traces, self._skeletons = environments, traces, skeletons

    async def preview(self, body: ReleaseBody) -> PreviewView:
        """What a release would change. Changes nothing."""
        grouped, following = _GroupedChanges(), FollowingRound()
        flawed: list[StagedCatalog] = []
        async for names in self._read_pages(body.nodes):
            selection = await self._database.read(select_staged, self._catalogs, names, body.version)
            grouped.count(names, selection.unchanged, selection.left_out)
            for staged in selection.fresh:
                assert staged.skeleton is not None, "a catalog without a skeleton is left out"
                served = selection.served.get(staged.node)
                await self._add(grouped, staged.node, served, FilledCatalog(staged.skeleton, staged.fill))
            flawed += [staged for staged in selection.fresh if staged.problems]
            await self._database.read(following.add, [publication_of(staged) for staged in selection.fresh])
        problems = await self._database.read(group_problems, self._traces, flawed)
        collectors = await self._database.read(following.view)
        return msgspec.structs.replace(grouped.view(), problems=problems, collectors=collectors)

    async def preview_rollback(self, body: RollbackBody) -> PreviewView:
        """What a rollback would change, and where it would take the nodes. Changes nothing.

        Raises InputError RELEASE-003, NotFoundError RELEASE-005.
        """
        point = parse_point(body.to) if body.to else None
        grouped, following = _GroupedChanges(), FollowingRound()
        moved: dict[str, ReleaseStep] = {}
        left: dict[str, Release] = {}
        async for names in self._read_pages(body.nodes):
            selection = await self._database.read(self._select_rollback, names, point)
            grouped.count(names, selection.unchanged, selection.left_out)
            moved |= selection.steps
            left |= selection.served
            fills = await self._database.read(self._catalogs.released.find_fills, selection.steps.values())
            page: list[Publication] = []
            for name, step in selection.steps.items():
                if name in fills:
                    page.append(Publication(name, step.environment, step.skeleton, fills[name]))
                    await self._add(grouped, name, selection.served[name], FilledCatalog(step.skeleton, fills[name]))
            await self._database.read(following.add, page)
        collectors = await self._database.read(following.view)
        moves = group_moves(RollbackSelection(moved, left, [], {}))
        return msgspec.structs.replace(grouped.view(), moves=moves, collectors=collectors)

    def _select_rollback(self, names: Sequence[str], point: Point | None) -> Transaction[RollbackSelection]:
        return (yield from select_rollback(self._catalogs, self._environments, names, point))

    async def _read_pages(self, targets: TargetsBody) -> AsyncIterator[list[str]]:
        """Yield the names of the targets, a page at a time: no read grows with the fleet."""
        after: str | None = ""
        while after is not None:
            page = await self._targets.resolve_page(targets, after)
            yield [row.name for row in page.nodes]
            after = page.after

    async def _add(self, grouped: "_GroupedChanges", node: str, served: Release | None, next_: FilledCatalog) -> None:
        """Add the changes of a node."""
        if served is not None and not _is_same_fill(served.fill, next_.fill):
            grouped.add(node, await self._difference(next_, served))
            return
        # Nodes with the same two skeletons have the same difference: it is computed once, with the names of the holes as values.
        pair = ("" if served is None else served.skeleton, next_.skeleton)
        if pair not in grouped.shared:
            grouped.shared[pair] = await self._skeleton_difference(*pair)
        grouped.add(node, grouped.shared[pair])

    async def difference(self, node: str) -> CatalogDiff:
        """How the staged catalog of a node differs from the served one. Raises NotFoundError RELEASE-001."""
        selection = await self._database.read(select_staged, self._catalogs, [node], None)
        if selection.fresh:
            staged = selection.fresh[0]
            assert staged.skeleton is not None, "a catalog without a skeleton is left out"
            return await self._difference(FilledCatalog(staged.skeleton, staged.fill), selection.served.get(node))
        if node in selection.left_out:
            raise issues.NO_CATALOG.error(node=node, reason=selection.left_out[node])
        return CatalogDiff((), ())

    async def _difference(self, next_: FilledCatalog, served: Release | None) -> CatalogDiff:
        after = await self._skeletons.fill(next_.skeleton, next_.fill)
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
        self.shared: dict[tuple[str, str], CatalogDiff] = {}  # by the skeletons before and after
        self._nodes = self._unchanged = 0
        self._left_out: dict[str, str] = {}
        self._changes: dict[bytes, tuple[Any, list[str]]] = {}
        self._refreshed: dict[str, int] = {}

    def count(self, names: Sequence[str], unchanged: Sequence[str], left_out: dict[str, str]) -> None:
        """Count a page of nodes."""
        self._nodes += len(names)
        self._unchanged += len(unchanged)
        self._left_out |= left_out

    def add(self, node: str, difference: CatalogDiff) -> None:
        for change in difference.changes:
            self._changes.setdefault(canonical.encode(change), (change, []))[1].append(node)
        for ref in difference.refreshed:
            self._refreshed[ref] = self._refreshed.get(ref, 0) + 1

    def view(self) -> PreviewView:
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
        views = [RefreshView(ref, count) for ref, count in refreshed]
        return PreviewView(self._nodes, self._unchanged, self._left_out, changes, views)
