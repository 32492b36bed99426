"""The rows of nodes themselves: listed, classified, deactivated, forgotten. Their certificates are in `nodes`."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from precast.base import canonical
from precast.base.clock import from_micros, from_optional_micros, to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Row, Transaction, Wake, json_list
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
SHOW = Query(
    "nodes.show",
    """
    SELECT name, created_at, deactivated_at, environment, role,
        (SELECT max(not_after) FROM certificate WHERE node = node.name AND revoked_at IS NULL),
        (SELECT extensions FROM certificate WHERE node = node.name AND revoked_at IS NULL
         ORDER BY issued_at DESC, serial LIMIT 1)
    FROM node WHERE name = :node
    """,
)
KNOWN = Query(
    "nodes.known_among",
    """
    -- Which of some names are nodes; the names come as a JSON array.
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
    -- What operators and certificates say of some active nodes.
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
FORGET_CERTIFICATES = Query("nodes.forget_certificates", "DELETE FROM certificate WHERE node = :node")
FORGET = Query("nodes.forget", "DELETE FROM node WHERE name = :node RETURNING name")


COUNTS = Query(
    "nodes.counts",
    """
    -- One row for each state that certificates and operators give a node. Reads every node: for people, not often.
    SELECT CASE WHEN deactivated_at IS NOT NULL THEN 'deactivated' WHEN until IS NULL THEN 'revoked'
        WHEN until <= :now THEN 'expired' ELSE 'active' END AS state, count(*)
    FROM (SELECT deactivated_at,
        (SELECT max(not_after) FROM certificate WHERE node = node.name AND revoked_at IS NULL) AS until FROM node) AS known
    GROUP BY 1
    """,
)


class Node(msgspec.Struct, frozen=True):
    """A machine we know."""

    name: str
    created_at: datetime
    deactivated_at: datetime | None
    environment: str | None
    role: str | None
    certified_until: datetime | None
    extensions: dict[str, str]


class Vouched(msgspec.Struct, frozen=True):
    """What a node's catalog is decided with, besides its facts."""

    name: str
    environment: str | None
    role: str | None
    classes: dict[str, dict[str, Any]]
    parameters: dict[str, Any]
    extensions: dict[str, str]


class GivenCertificate(msgspec.Struct, frozen=True):
    """A certificate of a node, as far as people ask."""

    serial: str
    issued_at: datetime
    not_after: datetime
    revoked_at: datetime | None
    revoked_why: str | None


class Said(msgspec.Struct, frozen=True):
    """How a node is classified, whoever said so; `precast.store.nodes.classification` knows who."""

    environment: str | None
    role: str | None
    is_active: bool
    classes: dict[str, dict[str, Any]] = {}
    parameters: dict[str, Any] = {}


class Fleet:
    """All nodes of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def listing(self, after: str, limit: int) -> Transaction[list[Node]]:
        """Nodes by name, from after one on."""
        return [_node(row) for row in (yield LIST(after=after, limit=limit))]

    def showing(self, node: str) -> Transaction[Node | None]:
        rows = yield SHOW(node=node)
        return _node(rows[0]) if rows else None

    def certificates(self, node: str, limit: int) -> Transaction[list[GivenCertificate]]:
        """What was given to a node, the newest first."""
        return [
            GivenCertificate(serial, from_micros(issued), from_micros(until), from_optional_micros(revoked), why)
            for serial, issued, until, revoked, why in (yield CERTIFICATES_OF(node=node, limit=limit))
        ]

    def knowing(self, names: list[str], deactivated: bool) -> Transaction[set[str]]:
        """Which of the names are nodes, only active ones or any."""
        rows = yield KNOWN(names=msgspec.json.encode(names).decode(), is_any=int(deactivated))
        return {row[0] for row in rows}

    def said(self, node: str) -> Transaction[Said | None]:
        rows = yield CLASSIFICATION(node=node)
        return _said(*rows[0]) if rows else None

    def classifying(self, node: str, said: Said) -> Transaction[None]:
        yield CLASSIFY(
            node=node,
            environment=said.environment,
            role=said.role,
            classes=encode_optional(said.classes),
            parameters=encode_optional(said.parameters),
        )

    def in_environment(self, environment: str | None, after: str, limit: int) -> Transaction[list[str]]:
        """Active nodes that are in an environment, or in none, by name, from after one on."""
        if environment is None:
            return [row[0] for row in (yield IN_NO_ENVIRONMENT(after=after, limit=limit))]
        return [row[0] for row in (yield IN_ENVIRONMENT(environment=environment, after=after, limit=limit))]

    def vouched(self, names: Sequence[str]) -> Transaction[list[Vouched]]:
        """What operators and certificates say of the active ones among these, by name."""
        return [
            Vouched(name, environment, role, _decoded(classes), _decoded(parameters), _decoded(extensions))
            for name, environment, role, classes, parameters, extensions in (yield INPUTS(names=json_list(names)))
        ]

    def deactivating(self, node: str) -> Transaction[bool]:
        """The node is no target any more and cannot connect; False if that is so already. Its connection ends."""
        rows = yield DEACTIVATE(node=node, now=to_micros(self._database.clock.now()))
        yield Wake(REVOKED_TOPIC)
        return bool(rows)

    def forgetting(self, node: str) -> Transaction[bool]:
        """Remove the node and its certificates. What other tables know of it must be gone before."""
        yield FORGET_CERTIFICATES(node=node)
        yield Wake(REVOKED_TOPIC)
        return bool((yield FORGET(node=node)))

    async def counts(self) -> dict[str, int]:
        """How many nodes are active, expired, revoked, deactivated."""
        return await self._database.read(self._counting)

    def _counting(self) -> Transaction[dict[str, int]]:
        return dict((yield COUNTS(now=to_micros(self._database.clock.now()))))

    async def list(self, after: str = "", limit: int = 100) -> list[Node]:
        return await self._database.read(self.listing, after, limit)


def encode_optional(values: dict[str, Any]) -> str | None:
    """Data as a column has it: nothing for what is empty."""
    return canonical.encode(values).decode() if values else None


def _said(
    environment: str | None, role: str | None, left: int | None, classes: str | None, parameters: str | None
) -> Said:
    return Said(
        environment,
        role,
        left is None,
        msgspec.json.decode(classes) if classes else {},
        msgspec.json.decode(parameters) if parameters else {},
    )


def _decoded(text: str | bytes | None) -> dict[str, Any]:
    return {} if text is None else msgspec.json.decode(text, type=dict[str, Any])


def _node(row: Row) -> Node:
    name, created, left, environment, role, until, extensions = row
    given = msgspec.json.decode(extensions, type=dict[str, str]) if extensions is not None else {}
    return Node(
        name, from_micros(created), from_optional_micros(left), environment, role, from_optional_micros(until), given
    )
