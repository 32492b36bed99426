"""The classification of nodes by source, and the rules that one of the sources consists of.

The classification that results from all sources is stored in the node's own row (`nodes`), so reading a node needs only that row.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from precast.base.clock import from_micros, from_optional_micros, to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Row, Transaction, json_list
from precast.store.nodes.nodes import encode_optional

SET_SOURCE = Query(
    "classification.set_source",
    """
    INSERT INTO node_said (node, source, detail, environment, role, classes, parameters, said_at)
    VALUES (:node, :source, :which, :environment, :role, :classes, :parameters, :now)
    ON CONFLICT (node, source) DO UPDATE SET detail = excluded.detail, environment = excluded.environment,
        role = excluded.role, classes = excluded.classes, parameters = excluded.parameters, said_at = excluded.said_at,
        problem = NULL, problem_at = NULL
    """,
)
SET_PROBLEM = Query(
    "classification.set_problem",
    """
    -- Keeps the last answer, and stores why there is no newer one.
    INSERT INTO node_said (node, source, detail, said_at, problem, problem_at)
    VALUES (:node, :source, :which, :now, :problem, :now)
    ON CONFLICT (node, source) DO UPDATE SET problem = excluded.problem, problem_at = excluded.problem_at
    """,
)
DELETE_SOURCE = Query(
    "classification.delete_source", "DELETE FROM node_said WHERE node = :node AND source = :source RETURNING node"
)
DELETE = Query("classification.delete", "DELETE FROM node_said WHERE node = :node")
SOURCES = Query(
    "classification.sources",
    """
    SELECT source, detail, environment, role, classes, parameters, said_at, problem, problem_at FROM node_said
    WHERE node = :node ORDER BY source
    """,
)
PROBLEMS = Query("classification.problems", "SELECT count(*) FROM node_said WHERE problem_at IS NOT NULL")
STALE = Query(
    "classification.stale",
    """
    -- Nodes that a source was last asked about before a time. Reads all rows of the source, so it runs rarely.
    SELECT node FROM node_said WHERE source = :source AND said_at < :before_at
        AND (problem_at IS NULL OR problem_at < :before_at)
    ORDER BY said_at, node LIMIT :limit
    """,
)
ANSWERED = Query(
    "classification.answered",
    """
    SELECT node FROM node_said WHERE source = :source AND node IN (SELECT value FROM json_each(:nodes))
    """,
    postgresql="""
    SELECT node FROM node_said
    WHERE source = :source AND node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB))))
    """,
)
RULES = Query(
    "classification.rules",
    """
    SELECT number, name, extensions, environment, role, classes, parameters, created_by, created_at FROM node_rule
    ORDER BY number LIMIT :limit
    """,
)
PUT_RULE = Query(
    "classification.put_rule",
    """
    INSERT INTO node_rule (number, name, extensions, environment, role, classes, parameters, created_by, created_at)
    VALUES (:number, :name, :marks, :environment, :role, :classes, :parameters, :created_by, :now)
    ON CONFLICT (number) DO UPDATE SET name = excluded.name, extensions = excluded.extensions,
        environment = excluded.environment, role = excluded.role, classes = excluded.classes,
        parameters = excluded.parameters, created_by = excluded.created_by, created_at = excluded.created_at
    """,
)
REMOVE_RULE = Query("classification.remove_rule", "DELETE FROM node_rule WHERE number = :number RETURNING number")

OPERATOR, RULES_SOURCE, ENC = "operator", "rules", "enc"


class ClassificationValues(msgspec.Struct, frozen=True):
    """The classification of a node by one source. A value that the source does not set is None or empty."""

    environment: str | None = None
    role: str | None = None
    classes: dict[str, dict[str, Any]] = {}
    parameters: dict[str, Any] = {}

    @property
    def is_empty(self) -> bool:
        return self == ClassificationValues()


class SourceClassification(msgspec.Struct, frozen=True):
    """The values of one source, since when they apply, and why the source could not be asked again, if it could not."""

    source: str
    detail: str
    values: ClassificationValues
    said_at: datetime
    problem: str | None = None
    problem_at: datetime | None = None


class Rule(msgspec.Struct, frozen=True):
    """A rule that classifies the nodes whose certificate matches. `name` is a glob, or a regular expression between slashes."""

    number: int
    name: str | None
    extensions: dict[str, str]
    values: ClassificationValues
    created_by: str = ""
    created_at: datetime | None = None


class Classifications:
    """The classifications and rules of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list_sources(self, node: str) -> Transaction[list[SourceClassification]]:
        """List the classification of a node by each source, by the name of the source."""
        return [_source_classification(row) for row in (yield SOURCES(node=node))]

    def set_source(self, node: str, source: str, detail: str, values: ClassificationValues) -> Transaction[None]:
        """Set the values of a source. The row of a source without values and detail is deleted."""
        if values.is_empty and not detail:
            yield DELETE_SOURCE(node=node, source=source)
            return
        yield SET_SOURCE(
            node=node,
            source=source,
            which=detail,
            environment=values.environment,
            role=values.role,
            classes=encode_optional(values.classes),
            parameters=encode_optional(values.parameters),
            now=self._now(),
        )

    def set_source_problem(self, node: str, source: str, detail: str, problem: str) -> Transaction[None]:
        """Store why a source could not be asked; its last values stay."""
        yield SET_PROBLEM(node=node, source=source, which=detail, problem=problem, now=self._now())

    def delete_node(self, node: str) -> Transaction[None]:
        yield DELETE(node=node)

    def count_problems(self) -> Transaction[int]:
        """Count the nodes about which a source could not be asked the last time."""
        ((count,),) = yield PROBLEMS()
        return int(count)

    def list_stale(self, before: datetime, limit: int) -> Transaction[list[str]]:
        """List nodes that the external classifier was last asked about before a time, the oldest first."""
        return [row[0] for row in (yield STALE(source=ENC, before_at=to_micros(before), limit=limit))]

    def filter_answered(self, nodes: Sequence[str]) -> Transaction[set[str]]:
        """Return those of the nodes that the external classifier was ever asked about."""
        return {row[0] for row in (yield ANSWERED(source=ENC, nodes=json_list(nodes)))}

    def list_rules(self, limit: int) -> Transaction[list[Rule]]:
        """List the rules in the order in which they are tried."""
        return [_rule(row) for row in (yield RULES(limit=limit))]

    def put_rule(self, rule: Rule) -> Transaction[None]:
        """Create a rule, or replace the one with its number."""
        yield PUT_RULE(
            number=rule.number,
            name=rule.name,
            marks=msgspec.json.encode(rule.extensions, order="sorted").decode(),
            environment=rule.values.environment,
            role=rule.values.role,
            classes=encode_optional(rule.values.classes),
            parameters=encode_optional(rule.values.parameters),
            created_by=rule.created_by,
            now=self._now(),
        )

    def delete_rule(self, number: int) -> Transaction[bool]:
        return bool((yield REMOVE_RULE(number=number)))

    def _now(self) -> int:
        return to_micros(self._database.clock.now())


def _values(
    environment: str | None, role: str | None, classes: str | None, parameters: str | None
) -> ClassificationValues:
    return ClassificationValues(
        environment,
        role,
        msgspec.json.decode(classes) if classes else {},
        msgspec.json.decode(parameters) if parameters else {},
    )


def _source_classification(row: Row) -> SourceClassification:
    source, detail, environment, role, classes, parameters, said_at, problem, problem_at = row
    values = _values(environment, role, classes, parameters)
    return SourceClassification(source, detail, values, from_micros(said_at), problem, from_optional_micros(problem_at))


def _rule(row: Row) -> Rule:
    number, name, extensions, environment, role, classes, parameters, by, at = row
    decoded = msgspec.json.decode(extensions, type=dict[str, str])
    values = _values(environment, role, classes, parameters)
    return Rule(number, name, decoded, values, by, from_micros(at))
