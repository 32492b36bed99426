"""Finds the origin of a resource: the line that declares it, the version and commit that last changed that file, and the release that
introduced the resource as it is.

Nothing is stored for this. The source map is a document that the leaf of a trace refers to; versions are trees of digests, so the version
that changed a file is the first one that has the file with this digest; and releases are stored with their documents, so the release that
introduced a resource is the first one that has it with these values. Each search back is bounded, and tells whether it reached the bound.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from precast.base.digests import Digest
from precast.base.errors import PrecastError
from precast.catalog import body as bodies
from precast.catalog.skeleton import Hole, Skeleton
from precast.catalog.source_map import SourceLocation, SourceMap
from precast.services.catalogs import issues
from precast.services.code.file_trees import FileTree, TreeFile
from precast.services.traces.versions import Versions
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.released import Release
from precast.store.code.environments import Environments, EnvironmentVersion
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.traces import Traces
from precast.wire.catalogs.origins import IntroducedBy, OriginView
from precast.wire.code.environments import VersionRow
from precast.wire.identity.names import is_name

# How far back the search goes: releases of the node, and versions of its environment.
RELEASES = 30
VERSIONS = 60
NEWEST = 2**31
MAX_SOURCE_BYTES = 1024 * 1024
MAX_TEXT_CHARS = 200


class OriginService:
    """Searches the origins of resources; holds no state between calls."""

    def __init__(
        self, database: Database, catalogs: Catalogs, traces: Traces, environments: Environments, versions: Versions
    ) -> None:
        self._database, self._catalogs, self._traces = database, catalogs, traces
        self._environments, self._versions = environments, versions

    async def find(self, node: str, resource: str, catalog: str = "") -> OriginView:
        """The origin of a resource in a node's served catalog, or in an earlier one. Raises NotFoundError RELEASE-001, ORIGIN-001."""
        history = (
            await self._database.read(self._catalogs.released.list_releases, node, RELEASES) if is_name(node) else []
        )
        at = next((at for at, release in enumerate(history) if catalog in ("", release.digest)), None)
        if at is None:
            raise issues.NO_CATALOG.error(node=node[:80], reason="no such catalog was released to it")
        release = history[at]
        introduced, is_oldest = await self._find_introduction(history[at:], resource)
        numbered = await self._database.read(self._environments.list_history, release.environment, NEWEST, VERSIONS)
        origin = OriginView(
            node,
            resource,
            release.environment,
            IntroducedBy(
                introduced.release,
                introduced.released_at,
                introduced.released_by,
                _row(_version_of(introduced, numbered)),
            ),
            is_oldest,
        )
        location = await self._database.read(self._find_location, release, resource)
        return origin if location is None else await self._with_location(origin, location, release, numbered)

    async def _find_introduction(self, history: Sequence[Release], resource: str) -> tuple[Release, bool]:
        """The earliest of these releases, searched back from the newest, that has the resource as it is; whether only the history ended."""
        present = await self._resource(history[0], resource)
        if present is None:
            raise issues.NO_SUCH_RESOURCE.error(resource=resource[:200], node=history[0].node)
        introduced = history[0]
        for older in history[1:]:
            if older.digest != introduced.digest and await self._resource(older, resource) != present:
                return introduced, False
            introduced = older
        return introduced, introduced.number > 1

    async def _resource(self, release: Release, resource: str) -> Any:
        """A resource of a released catalog as plain data; None if the catalog does not have it."""
        document = await self._catalogs.documents.read(release.skeleton)
        if document is None:
            return None
        body = await asyncio.to_thread(_fill, document, release.fill)
        return next((msgspec.to_builtins(declared) for declared in body.resources if declared.ref == resource), None)

    def _find_location(self, release: Release, resource: str) -> Transaction[SourceLocation | None]:
        """Where a resource is declared, if a leaf with this catalog still exists: the staged one, or the newest."""
        staged = (yield from self._catalogs.staged.find([release.node])).get(release.node)
        source_map = None
        if staged is not None and staged.skeleton == release.skeleton:
            attached = yield from self._traces.find_by_id(staged.chain)
            source_map = attached.chain.source_map if attached is not None else None
        if source_map is None:
            source_map = yield from self._traces.find_source_map(release.skeleton)
        document = (yield from self._catalogs.documents.find(source_map)) if source_map is not None else None
        if document is None:
            return None
        return msgspec.json.decode(document, type=SourceMap).places.get(resource)

    async def _with_location(
        self, origin: OriginView, location: SourceLocation, release: Release, numbered: Sequence[EnvironmentVersion]
    ) -> OriginView:
        origin = msgspec.structs.replace(origin, file=location.file, line=location.line)
        released = _version_of(release, numbered)
        file = await self._file(release.version, location.file)
        if file is None:
            return origin
        text = await self._text(file, location.line)
        changed, is_older = (None, False)
        if released is not None:
            changed, is_older = await self._find_change(location.file, file, numbered[numbered.index(released) :])
        return msgspec.structs.replace(origin, text=text, changed=_row(changed), is_file_older=is_older)

    async def _find_change(
        self, path: str, file: TreeFile, older: Sequence[EnvironmentVersion]
    ) -> tuple[EnvironmentVersion, bool]:
        """The earliest of these versions, searching back from the newest, that has this file; whether only the history ended."""
        changed = older[0]
        for version in older[1:]:
            if version.version != changed.version and await self._file(version.version, path) != file:
                return changed, False
            changed = version
        return changed, changed.number > 1

    async def _file(self, version: str, path: str) -> TreeFile | None:
        try:
            data = await self._versions.content(Digest(version))
        except PrecastError:
            return None  # it was deleted
        # A large tree takes a good part of a second: the server answers other requests meanwhile.
        return (await asyncio.to_thread(FileTree.decode, data)).files.get(path)

    async def _text(self, file: TreeFile, line: int) -> str | None:
        if file.size > MAX_SOURCE_BYTES:
            return None
        try:
            lines = (await self._versions.content(file.digest)).decode(errors="replace").splitlines()
        except PrecastError:
            return None
        return lines[line - 1].strip()[:MAX_TEXT_CHARS] if 0 < line <= len(lines) else None


def _fill(document: bytes, fill: str) -> bodies.Body:
    values: dict[Hole, Any] = {tuple(hole): value for hole, value in msgspec.json.decode(fill)}
    return bodies.decode(Skeleton(document).fill(values))


def _version_of(release: Release, numbered: Sequence[EnvironmentVersion]) -> EnvironmentVersion | None:
    """The version that was current at the release, or the newest before it with the same tree."""
    same = [version for version in numbered if version.version == release.version]
    return next((version for version in same if version.deployed_at <= release.released_at), same[0] if same else None)


def _row(version: EnvironmentVersion | None) -> VersionRow | None:
    return None if version is None else msgspec.convert(version, VersionRow, from_attributes=True)
