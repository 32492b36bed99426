"""Traces a resource back: to the line that declares it, the version and commit that last changed that file, and the release that
brought the resource as it is.

Nothing is stored for this. The source map is a document that the leaf of a trace names; versions are trees of digests, so the version
that changed a file is the first of those that have it with this digest; and releases are kept with their documents, so the one that
brought a resource is the first of those that have it with these values. Each walk back is bounded, and says where it ended.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from precast.base.digests import Digest
from precast.base.errors import PrecastError
from precast.catalog import body as bodies
from precast.catalog.skeleton import Hole, Skeleton
from precast.catalog.source_map import Place, SourceMap
from precast.services import issues
from precast.services.code.trees import File, Tree
from precast.services.traces.versions import Versions
from precast.store.catalogs import Catalogs, Release
from precast.store.code.environments import Environments, EnvironmentVersion
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.traces import Traces
from precast.wire.catalogs.origins import BroughtBy, OriginView
from precast.wire.code.environments import VersionRow
from precast.wire.identity.names import is_name

# How far back is looked: releases of the node, and versions of its environment.
RELEASES = 30
VERSIONS = 60
NEWEST = 2**31
MAX_SOURCE_BYTES = 1024 * 1024
MAX_TEXT_CHARS = 200


class OriginService:
    """Holds no state between calls."""

    def __init__(
        self, database: Database, catalogs: Catalogs, traces: Traces, environments: Environments, versions: Versions
    ) -> None:
        self._database, self._catalogs, self._traces = database, catalogs, traces
        self._environments, self._versions = environments, versions

    async def find(self, node: str, resource: str, catalog: str = "") -> OriginView:
        """Trace a resource of a node's catalog, of the served one or of an earlier one. Raises NotFoundError RELEASE-001, ORIGIN-001."""
        history = await self._database.read(self._catalogs.releases, node, RELEASES) if is_name(node) else []
        at = next((at for at, one in enumerate(history) if catalog in ("", one.digest)), None)
        if at is None:
            raise issues.NO_CATALOG.error(node=node[:80], reason="no such catalog was released to it")
        release = history[at]
        brought, is_oldest = await self._brought(history[at:], resource)
        numbered = await self._database.read(self._environments.history, release.environment, NEWEST, VERSIONS)
        found = OriginView(
            node,
            resource,
            release.environment,
            BroughtBy(brought.number, brought.released_at, brought.released_by, _row(_version_of(brought, numbered))),
            is_oldest,
        )
        place = await self._database.read(self._placing, release, resource)
        return found if place is None else await self._with_place(found, place, release, numbered)

    async def _brought(self, history: Sequence[Release], resource: str) -> tuple[Release, bool]:
        """The first of these releases, back from the newest, since which the resource is as it is; whether that is only the oldest."""
        wanted = await self._resource(history[0], resource)
        if wanted is None:
            raise issues.NO_SUCH_RESOURCE.error(resource=resource[:200], node=history[0].node)
        brought = history[0]
        for older in history[1:]:
            if older.digest != brought.digest and await self._resource(older, resource) != wanted:
                return brought, False
            brought = older
        return brought, brought.number > 1

    async def _resource(self, release: Release, resource: str) -> Any:
        """A resource of a released catalog as plain data; None if it has none of this name."""
        document = await self._catalogs.read_document(release.skeleton)
        if document is None:
            return None
        body = await asyncio.to_thread(_filled, document, release.fill)
        return next((msgspec.to_builtins(one) for one in body.resources if one.ref == resource), None)

    def _placing(self, release: Release, resource: str) -> Transaction[Place | None]:
        """Where it is declared, if a leaf with this catalog is still there: the one that is staged, or the newest."""
        staged = (yield from self._catalogs.staged([release.node])).get(release.node)
        source_map = None
        if staged is not None and staged.skeleton == release.skeleton:
            hung = yield from self._traces.finding_by_id(staged.chain)
            source_map = hung.chain.source_map if hung is not None else None
        if source_map is None:
            source_map = yield from self._traces.source_map_of(release.skeleton)
        document = (yield from self._catalogs.document(source_map)) if source_map is not None else None
        if document is None:
            return None
        return msgspec.json.decode(document, type=SourceMap).places.get(resource)

    async def _with_place(
        self, found: OriginView, place: Place, release: Release, numbered: Sequence[EnvironmentVersion]
    ) -> OriginView:
        found = msgspec.structs.replace(found, file=place.file, line=place.line)
        released = _version_of(release, numbered)
        file = await self._file(release.version, place.file)
        if file is None:
            return found
        text = await self._text(file, place.line)
        changed, is_older = (None, False)
        if released is not None:
            changed, is_older = await self._changed(place.file, file, numbered[numbered.index(released) :])
        return msgspec.structs.replace(found, text=text, changed=_row(changed), is_file_older=is_older)

    async def _changed(
        self, path: str, file: File, older: Sequence[EnvironmentVersion]
    ) -> tuple[EnvironmentVersion, bool]:
        """The first of these versions, back from the newest, since which the file is this one; whether that is only the oldest."""
        changed = older[0]
        for one in older[1:]:
            if one.version != changed.version and await self._file(one.version, path) != file:
                return changed, False
            changed = one
        return changed, changed.number > 1

    async def _file(self, version: str, path: str) -> File | None:
        try:
            data = await self._versions.content(Digest(version))
        except PrecastError:
            return None  # it was collected
        # Of a large tree that takes a good part of a second: others are served meanwhile.
        return (await asyncio.to_thread(Tree.decode, data)).files.get(path)

    async def _text(self, file: File, line: int) -> str | None:
        if file.size > MAX_SOURCE_BYTES:
            return None
        try:
            lines = (await self._versions.content(file.digest)).decode(errors="replace").splitlines()
        except PrecastError:
            return None
        return lines[line - 1].strip()[:MAX_TEXT_CHARS] if 0 < line <= len(lines) else None


def _filled(document: bytes, fill: str) -> bodies.Body:
    values: dict[Hole, Any] = {tuple(hole): value for hole, value in msgspec.json.decode(fill)}
    return bodies.decode(Skeleton(document).filled(values))


def _version_of(release: Release, numbered: Sequence[EnvironmentVersion]) -> EnvironmentVersion | None:
    """The version that was current when something was released, or the newest before that with the same tree."""
    same = [one for one in numbered if one.version == release.version]
    return next((one for one in same if one.deployed_at <= release.released_at), same[0] if same else None)


def _row(version: EnvironmentVersion | None) -> VersionRow | None:
    return None if version is None else msgspec.convert(version, VersionRow, from_attributes=True)
