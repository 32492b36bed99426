"""An index of the resources in released catalogs: which there are, and which nodes are served them.

A resource is kept once, by the digest of what it is; a catalog is the list of its resources. Ten thousand like nodes cost one such
list, and a changed catalog only what is new in it. Titles and values are found by their beginnings, as keys: what a key finds is held
against the question by whoever asks. The values of the nodes themselves are no part of it: a parameter with a hole has a key of its own.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from precast.base import canonical, digests
from precast.base.clock import to_micros
from precast.catalog import unknown
from precast.catalog.body import ResourceData
from precast.store.engine.compression import pack, unpack
from precast.store.engine.database import Database
from precast.store.engine.query import Row, Transaction, json_list
from precast.store.query import resource_index_queries as queries
from precast.store.query.resource_index_queries import ID_CHARS

KEY_CHARS = 200
# Elements of one list that have keys.
MAX_ELEMENTS = 100
# The key of a value that is another one on each node, or is known on the node only.
OPEN = "\x01"
TAG = "\x01tag"


class Resource(msgspec.Struct, frozen=True):
    """A resource as catalogs share it, perhaps with holes. Sensitive parameters are only named."""

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
    """A node that is served a resource."""

    resource: str
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


class CatalogIndex:
    """The index of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def waiting(self, limit: int) -> Transaction[list[str]]:
        """Catalogs that are not looked through yet."""
        return [row[0] for row in (yield queries.WAITING(limit=limit))]

    async def count_waiting(self) -> int:
        return await self._database.read(_counting_waiting)

    async def note_unknown(self) -> None:
        """Have catalogs looked through that were released before there was an index, or by a server that knows none."""
        await self._database.write(_noting_unknown)

    def adding(self, skeleton: str, resources: Sequence[ResourceData]) -> Transaction[None]:
        """Some of the resources of a catalog. What is there stays."""
        found = {one.id: one for one in map(shared, resources)}
        known = {row[0] for row in (yield queries.KNOWN(ids=json_list(sorted(found))))}
        fresh = [one for name, one in sorted(found.items()) if name not in known]
        yield queries.ADD.many(_row(one) for one in fresh)
        yield queries.ADD_VALUE.many(
            {"name": name, "value_key": value, "type": one.type, "resource": one.id}
            for one in fresh
            for name, value in sorted(_values(one))
        )
        yield queries.ADD_MEMBER.many({"resource": name, "catalog": skeleton[:ID_CHARS]} for name in sorted(found))

    def finishing(self, skeleton: str) -> Transaction[None]:
        """All of a catalog's resources are there."""
        yield queries.FINISH(skeleton=skeleton, now=to_micros(self._database.clock.now()))

    def by_reference(self, type_name: str, title: str, after: Cursor, limit: int) -> Transaction[list[Resource]]:
        rows = yield queries.BY_REFERENCE(type=type_name, title_key=key(title), after_id=after.id, limit=limit)
        return [_resource(row) for row in rows]

    def by_title(self, title: str, after: Cursor, limit: int) -> Transaction[list[Resource]]:
        rows = yield queries.BY_TITLE(title_key=key(title), after_type=after.type, after_id=after.id, limit=limit)
        return [_resource(row) for row in rows]

    def by_value(
        self, name: str, value_key: str, type_name: str | None, after: Cursor, limit: int
    ) -> Transaction[list[Resource]]:
        """By a parameter's value or a tag, of one type or of any."""
        if type_name is not None:
            rows = yield queries.BY_VALUE_AND_TYPE(
                name=name, value_key=value_key, type=type_name, after_id=after.id, limit=limit
            )
        else:
            rows = yield queries.BY_VALUE(
                name=name, value_key=value_key, after_type=after.type, after_id=after.id, limit=limit
            )
        return [_resource(row) for row in rows]

    def by_type(self, type_name: str, after: Cursor, limit: int) -> Transaction[list[Resource]]:
        rows = yield queries.BY_TYPE(type=type_name, after_key=after.title_key, after_id=after.id, limit=limit)
        return [_resource(row) for row in rows]

    def everything(self, after: Cursor, limit: int) -> Transaction[list[Resource]]:
        rows = yield queries.EVERYTHING(
            after_type=after.type, after_key=after.title_key, after_id=after.id, limit=limit
        )
        return [_resource(row) for row in rows]

    def of_catalogs(self, skeletons: Iterable[str], after: Cursor, limit: int) -> Transaction[list[Resource]]:
        """The resources of a few catalogs."""
        rows = yield queries.OF_CATALOGS(
            ids=json_list(sorted(one[:ID_CHARS] for one in skeletons)),
            after_type=after.type,
            after_key=after.title_key,
            after_id=after.id,
            limit=limit,
        )
        return [_resource(row) for row in rows]

    def holders(self, resource: str, after: str, limit: int) -> Transaction[list[Holder]]:
        """Nodes that are served a resource, by name."""
        rows = yield queries.HOLDERS(resource=resource, after_node=after, limit=limit)
        return [Holder(resource, node, environment, fill) for node, environment, fill in rows]

    def counting(self, resources: Iterable[str]) -> Transaction[list[tuple[str, str, int]]]:
        """To how many nodes each is served, by environment."""
        rows = yield queries.COUNT_HOLDERS(ids=json_list(sorted(resources)))
        return [(resource, environment, int(count)) for resource, environment, count in rows]

    def skeletons(self, resources: Iterable[str]) -> Transaction[list[tuple[str, str]]]:
        """The catalogs that hold resources: pairs of both."""
        rows = yield queries.SKELETONS(ids=json_list(sorted(resources)))
        return [(resource, skeleton) for resource, skeleton in rows]

    async def forget_unused(self, limit: int) -> int:
        """Remove some members of a catalog that no release names any more, in the end itself; how many rows."""
        return await self._database.write(_forgetting_unused, limit)

    async def forget_orphans(self, after: str, limit: int) -> str | None:
        """Remove some resources that no catalog holds, from after one on; the last of them, if there may be more."""
        return await self._database.write(_forgetting_orphans, after, limit)


def shared(one: ResourceData) -> Resource:
    """A resource as it is kept. What is sensitive is left out: nobody finds it by guessing values."""
    hidden = set(one.sensitive_parameters)
    parameters = {name: value for name, value in one.parameters.items() if name not in hidden}
    plain = {name: value for name, value in parameters.items() if not _is_sensitive(value)}
    hidden |= parameters.keys() - plain.keys()
    stored = _Stored(one.title, plain, list(one.tags), one.exported, sorted(hidden))
    digest = digests.of_bytes(canonical.encode([one.type, stored]))
    return Resource(digest[:ID_CHARS], one.type, one.title, plain, stored.tags, stored.exported, stored.sensitive)


def key(value: object) -> str:
    """What a title or value is found by: equal values have equal keys, and so have a number and the text that looks like it."""
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


def value_keys(value: object) -> set[str]:
    """The keys of a value: of each element, if it is a list; none of what has a structure."""
    if isinstance(value, list):
        return {found for one in value[:MAX_ELEMENTS] for found in value_keys(one)}
    if isinstance(value, dict):
        return {OPEN} if "__ptype" in value else set()
    return set() if value is None else {key(value)}


def _is_sensitive(value: object) -> bool:
    if isinstance(value, dict):
        return value.get("__ptype") == "Sensitive" or any(map(_is_sensitive, value.values()))
    return isinstance(value, list) and any(map(_is_sensitive, value))


def _values(one: Resource) -> set[tuple[str, str]]:
    found = {(TAG, key(tag)) for tag in one.tags}
    for name, value in one.parameters.items():
        found |= {(key(name), each) for each in value_keys(value)}
    return found


def _row(one: Resource) -> dict[str, object]:
    stored = _Stored(one.title, one.parameters, one.tags, one.exported, one.sensitive)
    return {"id": one.id, "type": one.type, "title_key": key(one.title), "body": pack(canonical.encode(stored))}


def _resource(row: Row) -> Resource:
    name, type_name, body = row
    stored = msgspec.json.decode(unpack(body), type=_Stored)
    return Resource(name, type_name, stored.title, stored.parameters, stored.tags, stored.exported, stored.sensitive)


def _counting_waiting() -> Transaction[int]:
    ((count,),) = yield queries.COUNT_WAITING()
    return int(count)


def _noting_unknown() -> Transaction[None]:
    yield queries.NOTE_UNKNOWN(chars=ID_CHARS)


def _forgetting_unused(limit: int) -> Transaction[int]:
    count = 0
    for (skeleton,) in (yield queries.UNUSED(limit=1)):
        removed = yield queries.FORGET_MEMBERS(catalog=skeleton[:ID_CHARS], limit=limit)
        count += len(removed)
        if len(removed) < limit:
            yield queries.FORGET_CATALOG(skeleton=skeleton)
            count += 1
    return count


def _forgetting_orphans(after: str, limit: int) -> Transaction[str | None]:
    found = [row[0] for row in (yield queries.ORPHANS(after_id=after, limit=limit))]
    yield queries.FORGET_VALUES.many({"resource": one} for one in found)
    yield queries.FORGET_RESOURCE.many({"resource": one} for one in found)
    return found[-1] if len(found) == limit else None
