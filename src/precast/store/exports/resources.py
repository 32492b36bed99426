"""What catalogs export, and what each node exports now.

The exports of a catalog are stored with its document, with holes, and only if there are any: a release of catalogs that export nothing
costs one look-up. Those of a node have its own values, in canonical JSON as they are digested.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import msgspec

from precast.base import canonical, digests
from precast.catalog.exports import ExportedResource
from precast.store.code.environments import RELEASED, STAGED
from precast.store.engine.compression import compress, decompress
from precast.store.engine.query import Query, Row, Transaction, insert, json_list

STATES = (RELEASED, STAGED)
ID_CHARS = 32

ADD_CATALOG = Query(
    "exports.add_catalog",
    """
    INSERT INTO catalog_export (skeleton, resources) VALUES (:skeleton, :body) ON CONFLICT (skeleton) DO NOTHING
    """,
)
OF_CATALOGS = Query(
    "exports.of_catalogs",
    "SELECT skeleton, resources FROM catalog_export WHERE skeleton IN (SELECT value FROM json_each(:digests))",
    postgresql="""
    SELECT skeleton, resources FROM catalog_export
    WHERE skeleton = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:digests AS JSONB))))
    """,
)
DELETE_CATALOG = Query("exports.delete_catalog", "DELETE FROM catalog_export WHERE skeleton = :skeleton")
OF_NODES = Query(
    "exports.of_nodes",
    """
    SELECT node, id, type, environment, body FROM exported_resource
    WHERE node IN (SELECT value FROM json_each(:nodes)) AND state = :state
    """,
    postgresql="""
    SELECT node, id, type, environment, body FROM exported_resource
    WHERE node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB)))) AND state = :state
    """,
)
ENVIRONMENTS_OF = Query(
    "exports.environments_of",
    """
    SELECT DISTINCT node, environment FROM exported_resource
    WHERE node IN (SELECT value FROM json_each(:nodes)) AND state = :state
    """,
    postgresql="""
    SELECT DISTINCT node, environment FROM exported_resource
    WHERE node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB)))) AND state = :state
    """,
)
PUT = insert(
    "exports.put",
    "exported_resource",
    "node text, state text, id text, type text, environment text, body bytes",
    "ON CONFLICT (node, state, id) DO UPDATE SET environment = excluded.environment, body = excluded.body",
)
DELETE = Query("exports.delete", "DELETE FROM exported_resource WHERE node = :node AND state = :state AND id = :id")
OF_TYPE = Query(
    "exports.of_type",
    """
    SELECT node, id, type, environment, body FROM exported_resource
    WHERE type = :type AND state = :state AND environment = :environment LIMIT :limit
    """,
)
OF_TYPE_EVERYWHERE = Query(
    "exports.of_type_everywhere",
    "SELECT node, id, type, environment, body FROM exported_resource WHERE type = :type AND state = :state LIMIT :limit",
)
COUNT = Query(
    "exports.count",
    """
    -- Reads the index, for people.
    SELECT type, state, environment, count(*), count(DISTINCT node) FROM exported_resource
    GROUP BY type, state, environment ORDER BY type, environment, state LIMIT :limit
    """,
)


class ExportRow(msgspec.Struct, frozen=True):
    """A resource that a node exports; `body` is an `ExportedResource` in canonical JSON."""

    node: str
    id: str
    type: str
    environment: str
    body: bytes

    @property
    def key(self) -> tuple[str, str]:
        return self.node, self.id


class TypeCount(NamedTuple):
    """How many resources of a type are exported in an environment, and by how many nodes."""

    type: str
    state: str
    environment: str
    resources: int
    nodes: int


def make_row(environment: str, export: ExportedResource) -> ExportRow:
    """The row of an export that has its node's values."""
    id_ = digests.of_value([export.type, export.title])[:ID_CHARS]
    return ExportRow(export.node, id_, export.type, environment, canonical.encode(export))


_templates = msgspec.json.Decoder(list[ExportedResource])


def add_catalog(skeleton: str, exports: Sequence[ExportedResource]) -> Transaction[None]:
    """Store what a document exports, with holes and without a node."""
    if exports:
        yield ADD_CATALOG(skeleton=skeleton, body=compress(canonical.encode(exports)))


def find_of_catalogs(skeletons: Collection[str]) -> Transaction[dict[str, list[ExportedResource]]]:
    """Find what documents export; one that exports nothing is absent."""
    if not skeletons:
        return {}
    rows = yield OF_CATALOGS(digests=json_list(sorted(skeletons)))
    return {skeleton: _templates.decode(decompress(data)) for skeleton, data in rows}


def delete_catalog(skeleton: str) -> Transaction[None]:
    """Delete what a document exports."""
    yield DELETE_CATALOG(skeleton=skeleton)


def find_of_nodes(nodes: Iterable[str], state: str) -> Transaction[list[ExportRow]]:
    """Find what these nodes export."""
    return [_row(row) for row in (yield OF_NODES(nodes=json_list(sorted(nodes)), state=state))]


def find_environments(nodes: Iterable[str], state: str) -> Transaction[dict[str, str]]:
    """Find the environments in which these nodes export something."""
    return dict((yield ENVIRONMENTS_OF(nodes=json_list(sorted(nodes)), state=state)))


def replace(state: str, gone: Iterable[ExportRow], new: Iterable[ExportRow]) -> Transaction[None]:
    """Delete some rows and write others."""
    yield DELETE.many({"node": row.node, "state": state, "id": row.id} for row in sorted(gone, key=_key))
    yield PUT.many(
        {
            "node": row.node,
            "state": state,
            "id": row.id,
            "type": row.type,
            "environment": row.environment,
            "body": row.body,
        }
        for row in sorted(new, key=_key)
    )


def list_of_type(type_name: str, environment: str, state: str, limit: int) -> Transaction[list[ExportRow]]:
    """List the exports of a type, in no order; of all environments if `environment` is empty."""
    if environment:
        rows = yield OF_TYPE(type=type_name, state=state, environment=environment, limit=limit)
    else:
        rows = yield OF_TYPE_EVERYWHERE(type=type_name, state=state, limit=limit)
    return [_row(row) for row in rows]


def count_types(limit: int) -> Transaction[list[TypeCount]]:
    """Count exports and exporters by type and environment."""
    return [TypeCount(*row) for row in (yield COUNT(limit=limit))]


def _key(row: ExportRow) -> tuple[str, str]:
    return row.key


def _row(row: Row) -> ExportRow:
    node, id_, type_name, environment, body = row
    return ExportRow(node, id_, type_name, environment, bytes(body))
