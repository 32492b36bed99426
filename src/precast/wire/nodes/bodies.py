"""Bodies of the API about nodes: which are meant, what is known of them, what is done to them."""

from datetime import datetime
from typing import Any

import msgspec

from precast.wire.nodes.presence import SessionView


class TargetsBody(msgspec.Struct, frozen=True):
    """Which nodes are meant: all that one of the targets means. `all` stands for itself, and alone."""

    targets: list[str] = []
    all: bool = False
    deactivated: bool = False  # also those that are no targets any more, to look at them


class NodeRow(msgspec.Struct, frozen=True):
    """A node as lists show it."""

    name: str
    state: str
    environment: str | None
    role: str | None
    created_at: datetime
    deactivated_at: datetime | None
    certified_until: datetime | None
    facts_at: datetime | None
    seen_at: datetime | None  # now, if it is connected


class TargetsAnswer(msgspec.Struct, frozen=True):
    """The nodes that are meant, by name, a page at a time: `after` begins the next, if there is one."""

    nodes: list[NodeRow]
    rests_on_claims: bool  # whether facts, which nodes could invent, decided
    after: str | None


class CertificateView(msgspec.Struct, frozen=True):
    """A certificate of a node."""

    serial: str
    issued_at: datetime
    not_after: datetime
    revoked_at: datetime | None
    revoked_why: str | None


class SourceView(msgspec.Struct, frozen=True):
    """What one source says about a node, the first that counts first; and why it could not be asked anew, if that is so."""

    source: str  # operator, rules, enc
    detail: str
    environment: str | None
    role: str | None
    classes: dict[str, dict[str, Any]]
    parameters: dict[str, Any]
    said_at: datetime
    problem: str | None
    problem_at: datetime | None


class NodeView(msgspec.Struct, frozen=True):
    """Everything about a node but its facts."""

    node: NodeRow
    trusted: dict[str, Any]
    certificates: list[CertificateView]
    session: SessionView | None
    decision: str | None  # what came of its last facts
    classes: dict[str, dict[str, Any]] = {}
    parameters: dict[str, Any] = {}
    sources: list[SourceView] = []  # who says what of environment, role, classes and parameters


class Classification(msgspec.Struct, frozen=True):
    """What an operator says about nodes. What is absent stays as it is; null takes it away."""

    environment: str | msgspec.UnsetType | None = msgspec.UNSET
    role: str | msgspec.UnsetType | None = msgspec.UNSET
    classes: dict[str, dict[str, Any]] | msgspec.UnsetType | None = msgspec.UNSET  # their parameters by name
    parameters: dict[str, Any] | msgspec.UnsetType | None = msgspec.UNSET


class NodesDeed(msgspec.Struct, frozen=True):
    """Which nodes something is done to, and why, for the audit log."""

    nodes: TargetsBody
    why: str = ""


class NodesClassification(msgspec.Struct, frozen=True):
    """What is said about which nodes."""

    nodes: TargetsBody
    values: Classification


class NodesPurge(msgspec.Struct, frozen=True):
    """Which nodes are forgotten. One that is not deactivated only by `force`."""

    nodes: TargetsBody
    why: str = ""
    force: bool = False


class NodesDone(msgspec.Struct, frozen=True):
    """What a deed touched: only nodes that it changed."""

    touched: list[str]
    rests_on_claims: bool


class RuleBody(msgspec.Struct, frozen=True):
    """What is said of nodes whose name and certificate fit. A pattern as web*, or an expression between slashes."""

    name: str | None = None
    extensions: dict[str, str] = {}
    environment: str | None = None
    role: str | None = None
    classes: dict[str, dict[str, Any]] = {}
    parameters: dict[str, Any] = {}


class RuleRow(msgspec.Struct, frozen=True):
    """A rule with its place."""

    number: int
    rule: RuleBody
    created_by: str
    created_at: datetime | None
