"""The index of the resources in released catalogs, and of the nodes that are served them.

A resource is stored once, by its digest; a catalog is a list of resources. Ten thousand nodes with the same catalog cost one such list,
and a changed catalog costs only its new resources. Titles and values are indexed by their beginning, the key: the caller compares the
resources that a key finds with the full condition. Values that differ between nodes are not indexed: a parameter with a hole has a
key of its own.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from precast.base import canonical, digests
from precast.base.clock import to_micros
from precast.catalog import unknown
from precast.catalog.body import ResourceData
from precast.catalog.sensitive import sensitive_parameters
from precast.store.engine.compression import compress, decompress
from precast.store.engine.database import Database
from precast.store.engine.query import Row, Transaction, json_list
from precast.store.query import resource_index_queries as queries
from precast.store.query.resource_index_queries import ID_CHARS

KEY_CHARS = 200
# How many elements of a list are indexed.
MAX_ELEMENTS = 100
# The key of a value that differs between nodes, or is known only on the node.
OPEN = "\x01"
TAG = "\x01tag"


class Resource(msgspec.Struct, frozen=True):
    """A resource as catalogs share it, possibly with holes. `sensitive` holds only the names of sensitive parameters."""

    id: str
    type: str
    title: str
    parameters: dict[str, Any]
    tags: list[str]
    exported: bool = False
    sensitive: list[str] = []

    @property
    def has_holes(self) -> bool:
        return any(True for _ in unknown.holes(self.parameters))


class Holder(msgspec.Struct, frozen=True):
    """A node that is served a resource, as part of a catalog."""

    catalog: str
    node: str
    environment: str
    fill: str


class Cursor(msgspec.Struct, frozen=True):
    """The resource after which a page begins."""

    type: str = ""
    title_key: str = ""
    id: str = ""


class _Stored(msgspec.Struct, frozen=True, omit_defaults=True):
    title: str
    parameters: dict[str, Any]
    tags: list[str]
    exported: bool = False
    sensitive: list[str] = []


class ResourceIndex:
    """The index of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list_unindexed(self, limit: int) -> Transaction[list[str]]:
        """List catalogs that are not indexed yet."""
        return [row[0] for row in (yield queries.WAITING(limit=limit))]

    async def count_unindexed(self) -> int:
        return await self._database.read(_count_unindexed)

    async def add_missing_catalogs(self) -> None:
        """Add released catalogs that are missing in the index, so that they get indexed."""
        await self._database.write(_add_missing_catalogs)

    def add_resources(self, skeleton: str, resources: Sequence[ResourceData]) -> Transaction[None]:
        """Add some of the resources of a catalog; known ones stay."""
        by_id = {resource.id: resource for resource in map(to_indexed_resource, resources)}
        known = {row[0] for row in (yield queries.KNOWN(ids=json_list(sorted(by_id))))}
        new = [resource for id_, resource in sorted(by_id.items()) if id_ not in known]
        yield queries.ADD.many(_row(resource) for resource in new)
        yield queries.ADD_VALUE.many(
            {"name": name, "value_key": value, "type": resource.type, "resource": resource.id}
            for resource in new
            for name, value in sorted(_values(resource))
        )
        yield queries.ADD_MEMBER.many({"resource": id_, "catalog": skeleton[:ID_CHARS]} for id_ in sorted(by_id))

    def mark_indexed(self, skeleton: str) -> Transaction[None]:
        """Mark a catalog as indexed after all of its resources were added."""
        yield queries.FINISH(skeleton=skeleton, now=to_micros(self._database.clock.now()))

    def find_by_reference(self, type_name: str, title: str, after: Cursor, limit: int) -> Transaction[list[Resource]]:
        rows = yield queries.BY_REFERENCE(type=type_name, title_key=index_key(title), after_id=after.id, limit=limit)
        return [_resource(row) for row in rows]

    def find_by_title(self, title: str, after: Cursor, limit: int) -> Transaction[list[Resource]]:
        rows = yield queries.BY_TITLE(title_key=index_key(title), after_type=after.type, after_id=after.id, limit=limit)
        return [_resource(row) for row in rows]

    def find_by_value(
        self, name: str, value_key: str, type_name: str | None, after: Cursor, limit: int
    ) -> Transaction[list[Resource]]:
        """Find resources by a parameter's value or a tag, of one type or of any."""
        if type_name is not None:
            rows = yield queries.BY_VALUE_AND_TYPE(
                name=name, value_key=value_key, type=type_name, after_id=after.id, limit=limit
            )
        else:
            rows = yield queries.BY_VALUE(
                name=name, value_key=value_key, after_type=after.type, after_id=after.id, limit=limit
            )
        return [_resource(row) for row in rows]

    def find_by_type(self, type_name: str, after: Cursor, limit: int) -> Transaction[list[Resource]]:
        rows = yield queries.BY_TYPE(type=type_name, after_key=after.title_key, after_id=after.id, limit=limit)
        return [_resource(row) for row in rows]

    def list_all(self, after: Cursor, limit: int) -> Transaction[list[Resource]]:
        rows = yield queries.EVERYTHING(
            after_type=after.type, after_key=after.title_key, after_id=after.id, limit=limit
        )
        return [_resource(row) for row in rows]

    def list_in_catalogs(self, skeletons: Iterable[str], after: Cursor, limit: int) -> Transaction[list[Resource]]:
        """List the resources of a few catalogs."""
        rows = yield queries.OF_CATALOGS(
            ids=json_list(sorted(skeleton[:ID_CHARS] for skeleton in skeletons)),
            after_type=after.type,
            after_key=after.title_key,
            after_id=after.id,
            limit=limit,
        )
        return [_resource(row) for row in rows]

    def list_holders(self, resource: str, catalog: str, node: str, limit: int) -> Transaction[list[Holder]]:
        """List the nodes that are served a resource, after a node of a catalog: by catalog, then by name."""
        rows = yield queries.HOLDERS(resource=resource, catalog=catalog, after_node=node, limit=limit)
        holders = [Holder(catalog, *row) for row in rows]
        if (room := limit - len(holders)) > 0:
            rows = yield queries.HOLDERS_OF_NEXT(resource=resource, after_catalog=catalog, limit=room)
            holders += [Holder(*row) for row in rows]
        return holders

    def count_holders(self, resources: Iterable[str]) -> Transaction[list[tuple[str, str, int]]]:
        """Count the nodes that are served each resource, by environment."""
        rows = yield queries.COUNT_HOLDERS(ids=json_list(sorted(resources)))
        return [(resource, environment, int(count)) for resource, environment, count in rows]

    def list_skeletons(self, resources: Iterable[str]) -> Transaction[list[tuple[str, str]]]:
        """List the catalogs that contain these resources, as pairs of resource and skeleton."""
        rows = yield queries.SKELETONS(ids=json_list(sorted(resources)))
        return [(resource, skeleton) for resource, skeleton in rows]

    async def delete_unused(self, limit: int) -> int:
        """Delete up to `limit` members of a catalog that no release refers to, finally the catalog itself. Returns the number of rows."""
        return await self._database.write(_delete_unused, limit)

    async def delete_orphans(self, after: str, limit: int) -> str | None:
        """Delete up to `limit` resources after an id that no catalog contains. Returns the last id if there may be more."""
        return await self._database.write(_delete_orphans, after, limit)


def to_indexed_resource(resource: ResourceData) -> Resource:
    """Convert a resource to the form that is indexed. Sensitive values are left out, so that no query can guess them."""
    hidden = sensitive_parameters(resource)
    plain = {name: value for name, value in resource.parameters.items() if name not in hidden}
    stored = _Stored(resource.title, plain, list(resource.tags), resource.exported, sorted(hidden))
    id_ = digests.of_bytes(canonical.encode([resource.type, stored]))[:ID_CHARS]
    return Resource(id_, resource.type, resource.title, plain, stored.tags, stored.exported, stored.sensitive)


def index_key(value: object) -> str:
    """Return the key of a title or value: equal values have equal keys, and so have a number and the text that looks like it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    try:
        number = float(text) if text[:1] in "-0123456789" and len(text) < 40 else None
    except ValueError:
        number = None
    if number is not None and number == number // 1 and abs(number) < 1e15:
        text = str(int(number))
    elif number is not None:
        text = repr(number)
    return text.replace("\x00", "�")[:KEY_CHARS]


def index_keys(value: object) -> set[str]:
    """Return the keys of a value: one for each element of a list, none for a mapping."""
    if isinstance(value, list):
        return {key for element in value[:MAX_ELEMENTS] for key in index_keys(element)}
    if isinstance(value, dict):
        return {OPEN} if "__ptype" in value else set()
    return set() if value is None else {index_key(value)}


def _values(resource: Resource) -> set[tuple[str, str]]:
    values = {(TAG, index_key(tag)) for tag in resource.tags}
    for name, value in resource.parameters.items():
        values |= {(index_key(name), key) for key in index_keys(value)}
    return values


def _row(resource: Resource) -> dict[str, object]:
    stored = _Stored(resource.title, resource.parameters, resource.tags, resource.exported, resource.sensitive)
    body = compress(canonical.encode(stored))
    return {"id": resource.id, "type": resource.type, "title_key": index_key(resource.title), "body": body}


def _resource(row: Row) -> Resource:
    name, type_name, body = row
    stored = msgspec.json.decode(decompress(body), type=_Stored)
    return Resource(name, type_name, stored.title, stored.parameters, stored.tags, stored.exported, stored.sensitive)


def _count_unindexed() -> Transaction[int]:
    ((count,),) = yield queries.COUNT_WAITING()
    return int(count)


def _add_missing_catalogs() -> Transaction[None]:
    yield queries.ADD_MISSING_CATALOGS(chars=ID_CHARS)


def _delete_unused(limit: int) -> Transaction[int]:
    count = 0
    for (skeleton,) in (yield queries.UNUSED(limit=1)):
        removed = yield queries.DELETE_MEMBERS(catalog=skeleton[:ID_CHARS], limit=limit)
        count += len(removed)
        if len(removed) < limit:
            yield queries.DELETE_CATALOG(skeleton=skeleton)
            count += 1
    return count


def _delete_orphans(after: str, limit: int) -> Transaction[str | None]:
    orphans = [row[0] for row in (yield queries.ORPHANS(after_id=after, limit=limit))]
    yield queries.DELETE_VALUES.many({"resource": orphan} for orphan in orphans)
    yield queries.DELETE_RESOURCE.many({"resource": orphan} for orphan in orphans)
    return orphans[-1] if len(orphans) == limit else None
