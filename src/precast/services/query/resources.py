"""Finds resources in released catalogs, and the nodes that are served them.

The index leads to what can fit; here it is held against the query, once for all who share a resource. Where a parameter has a hole, the
answer is another one on each node: then it is asked again with the node's own values. What comes is bounded: a page of rows, a time.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from precast.catalog import unknown
from precast.services.query import issues
from precast.services.query.matching import Test, matcher
from precast.services.query.resource_terms import ResourceReading, Way, ways
from precast.store.catalogs import Release
from precast.store.engine.database import Database
from precast.store.query.resource_index import CatalogIndex, Cursor, Resource, key
from precast.wire.query.targets import Term

# Resources read at once.
PAGE = 500
TIME_S = 20.0


class Held(NamedTuple):
    """A resource as one node is served it."""

    node: str
    environment: str
    resource: Resource


class Place(msgspec.Struct, frozen=True, array_like=True):
    """Where a page ended: on which way, after which resource, and after which node of the one that follows it."""

    way: int = 0
    after: Cursor = Cursor()
    resource: str = ""
    node: str = ""


START = Place()


class Candidate(NamedTuple):
    """A resource that fits, or fits where its holes are filled so."""

    resource: Resource
    is_open: bool
    place: Place


class ResourceSearch:
    """Holds no state between calls."""

    def __init__(self, database: Database, index: CatalogIndex) -> None:
        self._database, self._index = database, index

    async def check_whole(self) -> None:
        """Raises UnavailableError QUERY-001 while something that was released is not looked through."""
        if count := await self._index.count_waiting():
            raise issues.NOT_INDEXED.error(count=count)

    async def candidates(
        self,
        term: Term | None,
        place: Place = START,
        within: Sequence[str] = (),
    ) -> AsyncIterator[Candidate]:
        """What can fit, in a lasting order, from a place on; only of some catalogs, if they are given. Raises QUERY-005."""
        routes = [Way(catalogs=tuple(within))] if within else ways(term)
        test = matcher(term, ResourceReading()) if term is not None else _always
        started_s = self._database.clock.monotonic_s()
        for number in range(place.way, len(routes)):
            after = place.after if number == place.way else Cursor()
            while page := await self._database.read(routes[number].reading, self._index, after, PAGE):
                for one in page:
                    here = Place(number, after, one.id)
                    after = _cursor(one)
                    is_known = any(way.covers(one) for way in routes[:number])
                    if not is_known and (one.has_holes or test(one)):
                        yield Candidate(one, one.has_holes, here)
                if self._database.clock.monotonic_s() - started_s > TIME_S:
                    raise issues.TOO_SLOW.error(seconds=TIME_S)

    async def holding(self, term: Term) -> Test:
        """What decides whether a node's released catalog holds a resource that fits. Raises QUERY-001, QUERY-005."""
        await self.check_whole()
        certain: set[str] = set()
        open_ones: dict[str, list[Resource]] = {}
        found: dict[str, Candidate] = {}
        async for one in self.candidates(term):
            found[one.resource.id] = one
            if len(found) == PAGE:
                await self._add_skeletons(found, certain, open_ones)
                found = {}
        await self._add_skeletons(found, certain, open_ones)
        test = matcher(term, ResourceReading())

        def holds(node: Any) -> bool:
            served: Release | None = node.served
            if served is None:
                return False
            return served.skeleton in certain or any(
                test(filled(one, served.fill)) for one in open_ones.get(served.skeleton, ())
            )

        return holds

    async def held(
        self,
        term: Term | None,
        place: Place = START,
        within: Sequence[str] = (),
    ) -> AsyncIterator[tuple[Held, Place]]:
        """Resources that fit, node by node, each with the place to go on from after it."""
        test = matcher(term, ResourceReading()) if term is not None else _always
        async for one in self.candidates(term, place, within):
            after = place.node if one.resource.id == place.resource else ""
            while page := await self._database.read(self._index.holders, one.resource.id, after, PAGE):
                for holder in page:
                    resource = filled(one.resource, holder.fill) if one.is_open else one.resource
                    after = holder.node
                    if not one.is_open or test(resource):
                        yield (
                            Held(holder.node, holder.environment, resource),
                            msgspec.structs.replace(one.place, node=after),
                        )
                if len(page) < PAGE:
                    break

    async def count(
        self, term: Term | None, group: Callable[[Resource, str], tuple[Any, ...]], environments: Sequence[str]
    ) -> AsyncIterator[tuple[tuple[Any, ...], int]]:
        """How many nodes are served each resource that fits, as the group it belongs to. Groups come more than once."""
        batch: dict[str, Resource] = {}
        async for one in self.candidates(term):
            if one.is_open:
                async for pair in self._count_open(one, term, group, environments):
                    yield pair
                continue
            batch[one.resource.id] = one.resource
            if len(batch) == PAGE:
                for resource, environment, count in await self._database.read(self._index.counting, list(batch)):
                    if not environments or environment in environments:
                        yield group(batch[resource], environment), count
                batch = {}
        for resource, environment, count in await self._database.read(self._index.counting, list(batch)):
            if not environments or environment in environments:
                yield group(batch[resource], environment), count

    async def _count_open(
        self,
        one: Candidate,
        term: Term | None,
        group: Callable[[Resource, str], tuple[Any, ...]],
        environments: Sequence[str],
    ) -> AsyncIterator[tuple[tuple[Any, ...], int]]:
        test = matcher(term, ResourceReading()) if term is not None else _always
        after = ""
        while page := await self._database.read(self._index.holders, one.resource.id, after, PAGE):
            for holder in page:
                after = holder.node
                resource = filled(one.resource, holder.fill)
                if test(resource) and (not environments or holder.environment in environments):
                    yield group(resource, holder.environment), 1

    async def _add_skeletons(
        self, found: dict[str, Candidate], certain: set[str], open_ones: dict[str, list[Resource]]
    ) -> None:
        for resource, skeleton in await self._database.read(self._index.skeletons, list(found)):
            one = found[resource]
            if one.is_open:
                open_ones.setdefault(skeleton, []).append(one.resource)
            else:
                certain.add(skeleton)


def filled(one: Resource, fill: str) -> Resource:
    """A resource with a node's own values in its holes."""
    values = {tuple(hole): value for hole, value in msgspec.json.decode(fill)}
    parameters = unknown.fill(one.parameters, lambda root, path: values.get((root, *path)))
    return msgspec.structs.replace(one, parameters=parameters)


def _cursor(one: Resource) -> Cursor:
    return Cursor(one.type, key(one.title), one.id)


def _always(thing: Any) -> bool:
    return True
