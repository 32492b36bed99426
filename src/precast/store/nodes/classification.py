"""What each source says about a node, and the rules that one of the sources is made of.

What follows from all sources together stands in the node's own row (`fleet`): whoever reads a node needs no more than that.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from precast.base.clock import from_micros, from_optional_micros, to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Row, Transaction, json_list
from precast.store.nodes.nodes import encode_optional

SAY = Query(
    "classification.say",
    """
    INSERT INTO node_said (node, source, detail, environment, role, classes, parameters, said_at)
    VALUES (:node, :source, :which, :environment, :role, :classes, :parameters, :now)
    ON CONFLICT (node, source) DO UPDATE SET detail = excluded.detail, environment = excluded.environment,
        role = excluded.role, classes = excluded.classes, parameters = excluded.parameters, said_at = excluded.said_at,
        problem = NULL, problem_at = NULL
    """,
)
FAIL = Query(
    "classification.fail",
    """
    -- The last answer stays, beside why there is no newer one.
    INSERT INTO node_said (node, source, detail, said_at, problem, problem_at)
    VALUES (:node, :source, :which, :now, :problem, :now)
    ON CONFLICT (node, source) DO UPDATE SET problem = excluded.problem, problem_at = excluded.problem_at
    """,
)
UNSAY = Query("classification.unsay", "DELETE FROM node_said WHERE node = :node AND source = :source RETURNING node")
FORGET = Query("classification.forget", "DELETE FROM node_said WHERE node = :node")
SAID = Query(
    "classification.said",
    """
    SELECT source, detail, environment, role, classes, parameters, said_at, problem, problem_at FROM node_said
    WHERE node = :node ORDER BY source
    """,
)
PROBLEMS = Query("classification.problems", "SELECT count(*) FROM node_said WHERE problem_at IS NOT NULL")
STALE = Query(
    "classification.stale",
    """
    -- Nodes that a source was asked about last before a moment. Reads all that it said: now and then.
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


class Saying(msgspec.Struct, frozen=True):
    """What one source says about a node. Nothing is None, or empty."""

    environment: str | None = None
    role: str | None = None
    classes: dict[str, dict[str, Any]] = {}
    parameters: dict[str, Any] = {}

    @property
    def is_empty(self) -> bool:
        return self == Saying()


class Said(msgspec.Struct, frozen=True):
    """A saying with its source, since when it is so, and why it could not be asked anew, if that is so."""

    source: str
    detail: str
    saying: Saying
    said_at: datetime
    problem: str | None = None
    problem_at: datetime | None = None


class Rule(msgspec.Struct, frozen=True):
    """What is said of nodes whose certificate is like this. `name` is a pattern, or an expression between slashes."""

    number: int
    name: str | None
    extensions: dict[str, str]
    saying: Saying
    created_by: str = ""
    created_at: datetime | None = None


class Classifications:
    """All sayings and rules of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def said(self, node: str) -> Transaction[list[Said]]:
        """What each source says, by the name of the source."""
        return [_said(row) for row in (yield SAID(node=node))]

    def saying(self, node: str, source: str, detail: str, saying: Saying) -> Transaction[None]:
        """What a source says from now on. One that says nothing is forgotten."""
        if saying.is_empty and not detail:
            yield UNSAY(node=node, source=source)
            return
        yield SAY(
            node=node,
            source=source,
            which=detail,
            environment=saying.environment,
            role=saying.role,
            classes=encode_optional(saying.classes),
            parameters=encode_optional(saying.parameters),
            now=self._now(),
        )

    def failing(self, node: str, source: str, detail: str, problem: str) -> Transaction[None]:
        """A source could not be asked: what it said last stays."""
        yield FAIL(node=node, source=source, which=detail, problem=problem, now=self._now())

    def forgetting(self, node: str) -> Transaction[None]:
        yield FORGET(node=node)

    def problems(self) -> Transaction[int]:
        """Of how many nodes a source could not be asked the last time."""
        ((count,),) = yield PROBLEMS()
        return int(count)

    def stale(self, before: datetime, limit: int) -> Transaction[list[str]]:
        """Nodes that the external classifier was asked about last before a moment, the oldest first."""
        return [row[0] for row in (yield STALE(source=ENC, before_at=to_micros(before), limit=limit))]

    def answered(self, nodes: Sequence[str]) -> Transaction[set[str]]:
        """Which of these the external classifier was ever asked about."""
        return {row[0] for row in (yield ANSWERED(source=ENC, nodes=json_list(nodes)))}

    def rules(self, limit: int) -> Transaction[list[Rule]]:
        """The rules in the order in which they are tried."""
        return [_rule(row) for row in (yield RULES(limit=limit))]

    def putting(self, rule: Rule) -> Transaction[None]:
        """A rule in the place of its number."""
        yield PUT_RULE(
            number=rule.number,
            name=rule.name,
            marks=msgspec.json.encode(rule.extensions, order="sorted").decode(),
            environment=rule.saying.environment,
            role=rule.saying.role,
            classes=encode_optional(rule.saying.classes),
            parameters=encode_optional(rule.saying.parameters),
            created_by=rule.created_by,
            now=self._now(),
        )

    def removing(self, number: int) -> Transaction[bool]:
        return bool((yield REMOVE_RULE(number=number)))

    def _now(self) -> int:
        return to_micros(self._database.clock.now())


def _saying(environment: str | None, role: str | None, classes: str | None, parameters: str | None) -> Saying:
    return Saying(
        environment,
        role,
        msgspec.json.decode(classes) if classes else {},
        msgspec.json.decode(parameters) if parameters else {},
    )


def _said(row: Row) -> Said:
    source, detail, environment, role, classes, parameters, said_at, problem, problem_at = row
    saying = _saying(environment, role, classes, parameters)
    return Said(source, detail, saying, from_micros(said_at), problem, from_optional_micros(problem_at))


def _rule(row: Row) -> Rule:
    number, name, extensions, environment, role, classes, parameters, by, at = row
    given = msgspec.json.decode(extensions, type=dict[str, str])
    saying = _saying(environment, role, classes, parameters)
    return Rule(number, name, given, saying, by, from_micros(at))
