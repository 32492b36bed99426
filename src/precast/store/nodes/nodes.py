"""The rows of nodes themselves. Their certificates are in `store.identity.certificates`."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from precast.base import canonical
from precast.base.clock import from_micros, from_optional_micros, to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Row, Transaction, Wake, batch, json_list
from precast.store.identity.certificates import REVOKED_TOPIC

LIST = Query(
    "nodes.list",
    """
    -- Each with its newest certificate that is not revoked, if any.
    SELECT name, created_at, deactivated_at, environment, role,
        (SELECT max(not_after) FROM certificate WHERE node = node.name AND revoked_at IS NULL),
        (SELECT extensions FROM certificate WHERE node = node.name AND revoked_at IS NULL
         ORDER BY issued_at DESC, serial LIMIT 1)
    FROM node WHERE name > :after ORDER BY name LIMIT :limit
    """,
)
SHOW = batch(
    "nodes.show",
    "node text",
    """
    SELECT name, created_at, deactivated_at, environment, role,
        (SELECT max(not_after) FROM certificate WHERE node = node.name AND revoked_at IS NULL),
        (SELECT extensions FROM certificate WHERE node = node.name AND revoked_at IS NULL
         ORDER BY issued_at DESC, serial LIMIT 1)
    FROM input CROSS JOIN node WHERE node.name = input.node
    """,
    key=("node",),
)
KNOWN = Query(
    "nodes.known_among",
    """
    -- Those of the names that are nodes.
    SELECT name FROM node WHERE name IN (SELECT value FROM json_each(:names)) AND (deactivated_at IS NULL OR :is_any = 1)
    """,
    postgresql="""
    SELECT name FROM node WHERE name IN (SELECT json_array_elements_text(CAST(:names AS json)))
    AND (deactivated_at IS NULL OR :is_any = 1)
    """,
)
CLASSIFY = Query(
    "nodes.classify",
    """
    UPDATE node SET environment = :environment, role = :role, classes = :classes, parameters = :parameters
    WHERE name = :node
    """,
)
CLASSIFICATION = Query(
    "nodes.classification",
    "SELECT environment, role, deactivated_at, classes, parameters FROM node WHERE name = :node",
)
IN_ENVIRONMENT = Query(
    "nodes.in_environment",
    """
    SELECT name FROM node WHERE environment = :environment AND name > :after AND deactivated_at IS NULL
    ORDER BY name LIMIT :limit
    """,
)
IN_NO_ENVIRONMENT = Query(
    "nodes.in_no_environment",
    """
    SELECT name FROM node WHERE environment IS NULL AND name > :after AND deactivated_at IS NULL
    ORDER BY name LIMIT :limit
    """,
)
INPUTS = Query(
    "nodes.inputs",
    """
    -- The classification and the certificate extensions of some active nodes.
    SELECT name, environment, role, classes, parameters,
        (SELECT extensions FROM certificate WHERE node = node.name AND revoked_at IS NULL
         ORDER BY issued_at DESC, serial LIMIT 1)
    FROM node WHERE name IN (SELECT value FROM json_each(:names)) AND deactivated_at IS NULL ORDER BY name
    """,
    postgresql="""
    SELECT name, environment, role, classes, parameters,
        (SELECT extensions FROM certificate WHERE node = node.name AND revoked_at IS NULL
         ORDER BY issued_at DESC, serial LIMIT 1)
    FROM node WHERE name = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:names AS JSONB)))) AND deactivated_at IS NULL
    ORDER BY name
    """,
)
DEACTIVATE = Query(
    "nodes.deactivate",
    "UPDATE node SET deactivated_at = :now WHERE name = :node AND deactivated_at IS NULL RETURNING name",
)
CERTIFICATES_OF = Query(
    "nodes.certificates_of",
    """
    SELECT serial, issued_at, not_after, revoked_at, revoked_why FROM certificate WHERE node = :node
    ORDER BY issued_at DESC, serial LIMIT :limit
    """,
)
DELETE_CERTIFICATES = Query("nodes.delete_certificates", "DELETE FROM certificate WHERE node = :node")
DELETE = Query("nodes.delete", "DELETE FROM node WHERE name = :node RETURNING name")


COUNTS = Query(
    "nodes.counts",
    """
    -- One row for each state that results from certificates and deactivation. Reads every node, so it runs rarely.
    SELECT CASE WHEN deactivated_at IS NOT NULL THEN 'deactivated' WHEN until IS NULL THEN 'revoked'
        WHEN until <= :now THEN 'expired' ELSE 'active' END AS state, count(*)
    FROM (SELECT deactivated_at,
        (SELECT max(not_after) FROM certificate WHERE node = node.name AND revoked_at IS NULL) AS until FROM node) AS known
    GROUP BY 1
    """,
)


# The environment of a node that is classified without one, and the extension that is its role then.
DEFAULT_ENVIRONMENT, ROLE_EXTENSION = "production", "pp_role"


class Node(msgspec.Struct, frozen=True):
    """A node as lists show it."""

    name: str
    created_at: datetime
    deactivated_at: datetime | None
    environment: str | None
    role: str | None
    certified_until: datetime | None
    extensions: dict[str, str]


class CompileInputs(msgspec.Struct, frozen=True):
    """The inputs of a node's catalog besides its facts."""

    name: str
    environment: str | None
    role: str | None
    classes: dict[str, dict[str, Any]]
    parameters: dict[str, Any]
    extensions: dict[str, str]


class IssuedCertificate(msgspec.Struct, frozen=True):
    """A certificate of a node, as operators see it."""

    serial: str
    issued_at: datetime
    not_after: datetime
    revoked_at: datetime | None
    revoked_why: str | None


class NodeClassification(msgspec.Struct, frozen=True):
    """The classification that results from all sources; `precast.store.nodes.classification` has each source."""

    environment: str | None
    role: str | None
    is_active: bool
    classes: dict[str, dict[str, Any]] = {}
    parameters: dict[str, Any] = {}


class Fleet:
    """All nodes of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list_page(self, after: str, limit: int) -> Transaction[list[Node]]:
        """List nodes by name, after a name."""
        return [_node(row) for row in (yield LIST(after=after, limit=limit))]

    def find(self, node: str) -> Transaction[Node | None]:
        rows = yield SHOW(node=node)
        return _node(rows[0]) if rows else None

    def list_certificates(self, node: str, limit: int) -> Transaction[list[IssuedCertificate]]:
        """List the certificates of a node, the newest first."""
        return [
            IssuedCertificate(serial, from_micros(issued), from_micros(until), from_optional_micros(revoked), why)
            for serial, issued, until, revoked, why in (yield CERTIFICATES_OF(node=node, limit=limit))
        ]

    def filter_known(self, names: list[str], deactivated: bool) -> Transaction[set[str]]:
        """Return those of the names that are active nodes; also deactivated nodes if `deactivated` is set."""
        rows = yield KNOWN(names=msgspec.json.encode(names).decode(), is_any=int(deactivated))
        return {row[0] for row in rows}

    def find_classification(self, node: str) -> Transaction[NodeClassification | None]:
        rows = yield CLASSIFICATION(node=node)
        return _classification(*rows[0]) if rows else None

    def set_classification(self, node: str, classification: NodeClassification) -> Transaction[None]:
        yield CLASSIFY(
            node=node,
            environment=classification.environment,
            role=classification.role,
            classes=encode_optional(classification.classes),
            parameters=encode_optional(classification.parameters),
        )

    def list_in_environment(self, environment: str | None, after: str, limit: int) -> Transaction[list[str]]:
        """List active nodes of an environment, or those without one, by name, after a name."""
        if environment is None:
            return [row[0] for row in (yield IN_NO_ENVIRONMENT(after=after, limit=limit))]
        return [row[0] for row in (yield IN_ENVIRONMENT(environment=environment, after=after, limit=limit))]

    def read_compile_inputs(self, names: Sequence[str]) -> Transaction[list[CompileInputs]]:
        """Read the compile inputs of the active ones among these nodes, by name."""
        return [
            CompileInputs(name, environment, role, _decoded(classes), _decoded(parameters), _decoded(extensions))
            for name, environment, role, classes, parameters, extensions in (yield INPUTS(names=json_list(names)))
        ]

    def deactivate(self, node: str) -> Transaction[bool]:
        """Deactivate a node: it is no target and cannot connect, and its connection ends. False if it is deactivated already."""
        rows = yield DEACTIVATE(node=node, now=to_micros(self._database.clock.now()))
        yield Wake(REVOKED_TOPIC)
        return bool(rows)

    def delete(self, node: str) -> Transaction[bool]:
        """Delete the node and its certificates. Its rows in other tables must be deleted before."""
        yield DELETE_CERTIFICATES(node=node)
        yield Wake(REVOKED_TOPIC)
        return bool((yield DELETE(node=node)))

    async def count_by_state(self) -> dict[str, int]:
        """Count the nodes that are active, expired, revoked and deactivated."""
        return await self._database.read(self.count_states)

    def count_states(self) -> Transaction[dict[str, int]]:
        return dict((yield COUNTS(now=to_micros(self._database.clock.now()))))

    async def list(self, after: str = "", limit: int = 100) -> list[Node]:
        return await self._database.read(self.list_page, after, limit)


def encode_optional(values: dict[str, Any]) -> str | None:
    """Encode data for a column; NULL for an empty mapping."""
    return canonical.encode(values).decode() if values else None


def _classification(
    environment: str | None, role: str | None, deactivated: int | None, classes: str | None, parameters: str | None
) -> NodeClassification:
    return NodeClassification(
        environment,
        role,
        deactivated is None,
        msgspec.json.decode(classes) if classes else {},
        msgspec.json.decode(parameters) if parameters else {},
    )


def _decoded(text: str | bytes | None) -> dict[str, Any]:
    return {} if text is None else msgspec.json.decode(text, type=dict[str, Any])


def _node(row: Row) -> Node:
    name, created, deactivated, environment, role, until, extensions = row
    decoded = msgspec.json.decode(extensions, type=dict[str, str]) if extensions is not None else {}
    return Node(
        name,
        from_micros(created),
        from_optional_micros(deactivated),
        environment,
        role,
        from_optional_micros(until),
        decoded,
    )
