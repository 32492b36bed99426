"""Finds resources in released catalogs, and the nodes that are served them.

The index finds candidates; each is checked against the query, once for all nodes that share the resource. A parameter with a hole has
another value on each node: then the resource is checked again with the values of each node. Searches are bounded in rows and time.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from precast.catalog import unknown
from precast.services.query import issues
from precast.services.query.predicates import Predicate, compile_predicate
from precast.services.query.resource_lookups import IndexLookup, ResourceFieldReader, plan_lookups
from precast.store.catalogs.released import Release
from precast.store.engine.database import Database
from precast.store.query.resource_index import Cursor, Holder, Resource, ResourceIndex, index_key
from precast.wire.query.targets import Term

# Resources in one read. The first read is small: a page of a result may end with the nodes of one resource.
FIRST_READ = 16
PAGE = 500
TIME_S = 20.0


class ServedResource(NamedTuple):
    """A resource as one node is served it."""

    node: str
    environment: str
    resource: Resource


class ResourceCursor(msgspec.Struct, frozen=True, array_like=True):
    """Where a page ended: in which lookup, after which resource, and after which node of which catalog with the resource that follows."""

    lookup: int = 0
    after: Cursor = Cursor()
    resource: str = ""
    catalog: str = ""
    node: str = ""


FIRST_PAGE = ResourceCursor()


class ResourceCandidate(NamedTuple):
    """A resource that matches; if it has holes, whether it matches depends on the values of the node."""

    resource: Resource
    has_holes: bool
    cursor: ResourceCursor


class ResourceSearch:
    """Searches the resource index; holds no state between calls."""

    def __init__(self, database: Database, index: ResourceIndex) -> None:
        self._database, self._index = database, index

    async def check_complete(self) -> None:
        """Raises UnavailableError QUERY-001 while a released catalog is not indexed."""
        if count := await self._index.count_unindexed():
            raise issues.NOT_INDEXED.error(count=count)

    async def find_candidates(
        self,
        term: Term | None,
        cursor: ResourceCursor = FIRST_PAGE,
        within: Sequence[str] = (),
    ) -> AsyncIterator[ResourceCandidate]:
        """Yield candidates in a stable order, from a cursor on; only those of some catalogs, if these are given. Raises QUERY-005."""
        lookups = [IndexLookup(catalogs=tuple(within))] if within else plan_lookups(term)
        test = compile_predicate(term, ResourceFieldReader()) if term is not None else _always
        started_s = self._database.clock.monotonic_s()
        for number in range(cursor.lookup, len(lookups)):
            after = cursor.after if number == cursor.lookup else Cursor()
            limit = FIRST_READ
            while page := await self._database.read(lookups[number].read, self._index, after, limit):
                limit = min(2 * limit, PAGE)
                for resource in page:
                    here = ResourceCursor(number, after, resource.id)
                    after = _cursor(resource)
                    is_known = any(lookup.covers(resource) for lookup in lookups[:number])
                    if not is_known and (resource.has_holes or test(resource)):
                        yield ResourceCandidate(resource, resource.has_holes, here)
                if self._database.clock.monotonic_s() - started_s > TIME_S:
                    raise issues.TOO_SLOW.error(seconds=TIME_S)

    async def compile_has(self, term: Term) -> Predicate:
        """Compile a term into a predicate: whether a node's released catalog contains a matching resource.

        Raises QUERY-001, QUERY-005.
        """
        await self.check_complete()
        certain: set[str] = set()
        with_holes: dict[str, list[Resource]] = {}
        batch: dict[str, ResourceCandidate] = {}
        async for candidate in self.find_candidates(term):
            batch[candidate.resource.id] = candidate
            if len(batch) == PAGE:
                await self._add_skeletons(batch, certain, with_holes)
                batch = {}
        await self._add_skeletons(batch, certain, with_holes)
        test = compile_predicate(term, ResourceFieldReader())

        def has_resource(node: Any) -> bool:
            served: Release | None = node.served
            if served is None:
                return False
            return served.skeleton in certain or any(
                test(fill_holes(resource, served.fill)) for resource in with_holes.get(served.skeleton, ())
            )

        return has_resource

    async def find(
        self,
        term: Term | None,
        cursor: ResourceCursor = FIRST_PAGE,
        within: Sequence[str] = (),
    ) -> AsyncIterator[tuple[ServedResource, ResourceCursor]]:
        """Yield matching resources, one for each node that is served them, each with the cursor after it."""
        test = compile_predicate(term, ResourceFieldReader()) if term is not None else _always
        async for candidate in self.find_candidates(term, cursor, within):
            after = candidate.cursor
            if candidate.resource.id == cursor.resource:
                after = msgspec.structs.replace(after, catalog=cursor.catalog, node=cursor.node)
            async for holder in self._find_holders(candidate, after):
                resource = fill_holes(candidate.resource, holder.fill) if candidate.has_holes else candidate.resource
                if not candidate.has_holes or test(resource):
                    yield (
                        ServedResource(holder.node, holder.environment, resource),
                        msgspec.structs.replace(candidate.cursor, catalog=holder.catalog, node=holder.node),
                    )

    async def count(
        self, term: Term | None, group: Callable[[Resource, str], tuple[Any, ...]], environments: Sequence[str]
    ) -> AsyncIterator[tuple[tuple[Any, ...], int]]:
        """Count the nodes that are served each matching resource, by the group of the resource. A group may be yielded repeatedly."""
        batch: dict[str, Resource] = {}
        async for candidate in self.find_candidates(term):
            if candidate.has_holes:
                async for pair in self._count_filled(candidate, term, group, environments):
                    yield pair
                continue
            batch[candidate.resource.id] = candidate.resource
            if len(batch) == PAGE:
                for resource, environment, count in await self._database.read(self._index.count_holders, list(batch)):
                    if not environments or environment in environments:
                        yield group(batch[resource], environment), count
                batch = {}
        for resource, environment, count in await self._database.read(self._index.count_holders, list(batch)):
            if not environments or environment in environments:
                yield group(batch[resource], environment), count

    async def _count_filled(
        self,
        candidate: ResourceCandidate,
        term: Term | None,
        group: Callable[[Resource, str], tuple[Any, ...]],
        environments: Sequence[str],
    ) -> AsyncIterator[tuple[tuple[Any, ...], int]]:
        test = compile_predicate(term, ResourceFieldReader()) if term is not None else _always
        async for holder in self._find_holders(candidate, candidate.cursor):
            resource = fill_holes(candidate.resource, holder.fill)
            if test(resource) and (not environments or holder.environment in environments):
                yield group(resource, holder.environment), 1

    async def _find_holders(self, candidate: ResourceCandidate, after: ResourceCursor) -> AsyncIterator[Holder]:
        """Yield the nodes that are served a resource, from a cursor on, a page at a time."""
        id_, catalog, node = candidate.resource.id, after.catalog, after.node
        while page := await self._database.read(self._index.list_holders, id_, catalog, node, PAGE):
            for holder in page:
                yield holder
            if len(page) < PAGE:
                return
            catalog, node = page[-1].catalog, page[-1].node

    async def _add_skeletons(
        self, candidates: dict[str, ResourceCandidate], certain: set[str], with_holes: dict[str, list[Resource]]
    ) -> None:
        for resource, skeleton in await self._database.read(self._index.list_skeletons, list(candidates)):
            candidate = candidates[resource]
            if candidate.has_holes:
                with_holes.setdefault(skeleton, []).append(candidate.resource)
            else:
                certain.add(skeleton)


def fill_holes(resource: Resource, fill: str) -> Resource:
    """Fill the holes of a resource with the values of a node."""
    values = {tuple(hole): value for hole, value in msgspec.json.decode(fill)}
    parameters = unknown.fill(resource.parameters, lambda root, path: values.get((root, *path)))
    return msgspec.structs.replace(resource, parameters=parameters)


def _cursor(resource: Resource) -> Cursor:
    return Cursor(resource.type, index_key(resource.title), resource.id)


def _always(item: Any) -> bool:
    return True
