"""Staging and release: what was compiled is held back until somebody releases it, to the nodes they choose, in one transaction.

A node is served the newest of its releases and nothing else. Rolling back releases what was served before. What would change is shown
first, grouped over the fleet: the same change on four hundred nodes is one line.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from precast.base import canonical, digests
from precast.catalog import body as bodies
from precast.catalog.diff import CatalogDiff, differ
from precast.catalog.skeleton import Hole, Skeleton
from precast.services import issues, texts
from precast.services.catalogs.skeletons import Skeletons
from precast.services.code import issues as more_issues
from precast.services.query.targets import TargetService
from precast.store.catalogs import SERVING, Catalogs, Release, Staged, content_owner
from precast.store.code.blobs import Blobs
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.wire.catalogs.bodies import ChangeView, ParameterView, PreviewView, RefreshView, ReleaseBody, ReleaseDone
from precast.wire.nodes.bodies import NodesDeed

# Names of nodes listed with a change; how many it is is always said.
NAMES_SHOWN = 20
CHANGES_SHOWN = 500


class _Sorted(NamedTuple):
    """Staged catalogs by what a release would do with them."""

    fresh: list[Staged]
    served: dict[str, Release]
    unchanged: list[str]
    left_out: dict[str, str]


class Fetched(NamedTuple):
    """What a node is served. The body has the node's own values in it; none if the node has it already."""

    release: Release
    body: bytes | None


class ReleaseService:
    """Holds no state between calls."""

    def __init__(
        self, database: Database, catalogs: Catalogs, blobs: Blobs, targets: TargetService, audit: AuditLog
    ) -> None:
        self._database, self._catalogs, self._blobs = database, catalogs, blobs
        self._targets, self._audit = targets, audit
        self._skeletons = Skeletons(catalogs)

    async def release(self, body: ReleaseBody, actor: str) -> ReleaseDone:
        """Serve what is staged from now on. Raises what targets raise; nodes with nothing to release are left out and said."""
        texts.check("the reason", body.why)
        names = (await self._targets.names(body.nodes)).names
        return await self._database.write_apart(self._releasing, names, body, actor)

    async def rollback(self, body: NodesDeed, actor: str) -> ReleaseDone:
        """Serve what was served before. Raises what targets raise."""
        texts.check("the reason", body.why)
        names = (await self._targets.names(body.nodes)).names
        return await self._database.write_apart(self._rolling_back, names, body.why, actor)

    async def preview(self, body: ReleaseBody) -> PreviewView:
        """What a release would change. Changes nothing."""
        names = (await self._targets.names(body.nodes)).names
        found = await self._database.read(self._sorting, names, body.version)
        gathered = _Gathered()
        common: dict[tuple[str, str], CatalogDiff] = {}
        for staged in found.fresh:
            served = found.served.get(staged.node)
            if served is not None and not _fills_agree(served.fill, staged.fill):
                gathered.add(staged.node, await self._difference(staged, served))
                continue
            # Like nodes differ alike: told with the places of their own values, once for all of them.
            assert staged.skeleton is not None, "those without are left out"
            pair = ("" if served is None else served.skeleton, staged.skeleton)
            if pair not in common:
                common[pair] = await self._common_difference(*pair)
            gathered.add(staged.node, common[pair])
        return gathered.view(len(names), len(found.unchanged), found.left_out)

    async def difference(self, node: str) -> CatalogDiff:
        """How what is staged for a node differs from what it is served. Raises NotFoundError RELEASE-001."""
        found = await self._database.read(self._sorting, [node], None)
        if found.fresh:
            return await self._difference(found.fresh[0], found.served.get(node))
        if node in found.left_out:
            raise issues.NO_CATALOG.error(node=node, reason=found.left_out[node])
        return CatalogDiff((), ())

    async def fetch(self, node: str, known: str) -> Fetched:
        """What a node is served: the release, and its body unless the node knows it. Raises NotFoundError RELEASE-001."""
        release = await self._catalogs.read_served(node)
        if release is None:
            raise issues.NO_CATALOG.error(node=node, reason="nothing was released to it")
        if release.digest == known:
            return Fetched(release, None)
        return Fetched(release, await self._filled(release.skeleton, release.fill))

    async def size_of_content(self, node: str, digest: str) -> int:
        """The size of a content that the node's released catalog names. Raises NotFoundError ENV-013 for any other."""
        found = await self._database.read(self._naming, node, digest) if digests.is_digest(digest) else None
        if found is None:
            raise more_issues.NO_CONTENT.error()
        return found

    def _naming(self, node: str, digest: str) -> Transaction[int | None]:
        served = yield from self._catalogs.served(node)
        if served is None or not (yield from self._blobs.refers(content_owner(served.skeleton), digest)):
            return None
        return (yield from self._blobs.sizes([digest])).get(digest)

    async def _difference(self, staged: Staged, served: Release | None) -> CatalogDiff:
        assert staged.skeleton is not None, "only those are compared"
        after = await self._filled(staged.skeleton, staged.fill)
        before = await self._filled(served.skeleton, served.fill) if served else None
        return differ(None if before is None else bodies.decode(before), bodies.decode(after))

    async def _common_difference(self, before: str, after: str) -> CatalogDiff:
        old = _with_places(await self._skeletons.read(before)) if before else None
        return differ(old, _with_places(await self._skeletons.read(after)))

    async def _filled(self, skeleton: str, fill: str) -> bytes:
        """A document with the values of its holes."""
        values: dict[Hole, Any] = {tuple(hole): value for hole, value in msgspec.json.decode(fill)}
        return (await self._skeletons.read(skeleton)).filled(values)

    def _sorting(self, names: Sequence[str], version: str | None) -> Transaction[_Sorted]:
        staged = yield from self._catalogs.staged(names)
        served = {one.node: one for one in (yield from SERVING.finding_each(names)) if one is not None}
        found = _Sorted([], served, [], {})
        for name in names:
            one = staged.get(name)
            if one is None:
                found.left_out[name] = "nothing is staged"
            elif version is not None and not one.version.startswith(version):
                found.left_out[name] = f"version {one.version[:12]} is staged"
            elif one.digest is None:
                found.left_out[name] = "its code gives an error"
            else:
                is_served = name in served and served[name].digest == one.digest
                if is_served:
                    found.unchanged.append(name)
                else:
                    found.fresh.append(one)
        return found

    def _releasing(self, names: Sequence[str], body: ReleaseBody, actor: str) -> Transaction[ReleaseDone]:
        # Nobody decides for these, or releases them, until the commit: what is read here is what will be served.
        yield from self._catalogs.holding(names)
        found = yield from self._sorting(names, body.version)
        yield from self.releasing(found.fresh, actor)
        released = [one.node for one in found.fresh]
        if released:
            yield from self._noting(actor, "catalog.release", released, body.why)
        return ReleaseDone(released, found.unchanged, found.left_out)

    def releasing(self, staged: Sequence[Staged], actor: str) -> Transaction[None]:
        """Release what is staged, as part of a transaction."""
        now = self._database.clock.now()
        releases = [
            Release(one.node, 0, one.digest, one.skeleton, one.fill, one.environment, one.version, now, actor)
            for one in staged
            if one.digest is not None and one.skeleton is not None
        ]
        if releases:
            yield from self._catalogs.releasing(releases)

    def _rolling_back(self, names: Sequence[str], why: str, actor: str) -> Transaction[ReleaseDone]:
        now = self._database.clock.now()
        earlier: list[Release] = []
        left_out: dict[str, str] = {}
        yield from self._catalogs.holding(names)
        for name in names:
            history = yield from self._catalogs.releases(name, 100)
            before = next((one for one in history if one.digest != history[0].digest), None)
            if before is None:
                left_out[name] = "nothing was released before" if history else "nothing was released"
            else:
                earlier.append(msgspec.structs.replace(before, released_at=now, released_by=actor))
        if earlier:
            yield from self._catalogs.releasing(earlier)
            yield from self._noting(actor, "catalog.rollback", [one.node for one in earlier], why)
        return ReleaseDone([one.node for one in earlier], [], left_out)

    def _noting(self, actor: str, action: str, nodes: Sequence[str], why: str) -> Transaction[None]:
        target = nodes[0] if len(nodes) == 1 else f"{len(nodes)} nodes"
        yield from self._audit.adding(actor, action, target, why=why, nodes=list(nodes[:NAMES_SHOWN]), count=len(nodes))


def _fills_agree(before: str, after: str) -> bool:
    """Whether no value of the node itself has changed."""
    old = {tuple(hole): value for hole, value in msgspec.json.decode(before)}
    return all(old.get(tuple(hole), value) == value for hole, value in msgspec.json.decode(after))


def _with_places(skeleton: Skeleton) -> bodies.Body:
    """A document with the name of each open place instead of a value."""
    return bodies.decode(skeleton.filled({hole: f"<{'.'.join(map(str, hole))}>" for hole in skeleton.holes}))


class _Gathered:
    """Changes over the fleet, equal ones together."""

    def __init__(self) -> None:
        self._changes: dict[bytes, tuple[Any, list[str]]] = {}
        self._refreshed: dict[str, int] = {}

    def add(self, node: str, difference: CatalogDiff) -> None:
        for change in difference.changes:
            self._changes.setdefault(canonical.encode(change), (change, []))[1].append(node)
        for ref in difference.refreshed:
            self._refreshed[ref] = self._refreshed.get(ref, 0) + 1

    def view(self, nodes: int, unchanged: int, left_out: dict[str, str]) -> PreviewView:
        common = sorted(self._changes.values(), key=lambda pair: (-len(pair[1]), pair[0].ref))
        changes = [
            ChangeView(
                change.ref,
                change.kind,
                [ParameterView(one.name, one.before, one.after) for one in change.parameters],
                names[:NAMES_SHOWN],
                len(names),
            )
            for change, names in common[:CHANGES_SHOWN]
        ]
        refreshed = sorted(self._refreshed.items(), key=lambda pair: (-pair[1], pair[0]))
        return PreviewView(nodes, unchanged, left_out, changes, [RefreshView(ref, count) for ref, count in refreshed])
