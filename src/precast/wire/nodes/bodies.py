"""Bodies of the API about nodes: targets, views, and actions on nodes."""

from datetime import datetime
from typing import Any

import msgspec

from precast.wire.nodes.presence import MachineView, SessionView


class TargetsBody(msgspec.Struct, frozen=True):
    """Selects nodes: all that match one of the targets. `all` selects every node and excludes targets."""

    targets: list[str] = []
    all: bool = False
    deactivated: bool = False  # includes deactivated nodes, for reading only


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
    seen_at: datetime | None  # the current time if it is connected


class TargetsAnswer(msgspec.Struct, frozen=True):
    """The selected nodes by name, a page at a time; `after` begins the next page, if there is one."""

    nodes: list[NodeRow]
    rests_on_claims: bool  # whether the selection depends on facts, which a node could forge
    after: str | None


class CertificateView(msgspec.Struct, frozen=True):
    """A certificate of a node."""

    serial: str
    issued_at: datetime
    not_after: datetime
    revoked_at: datetime | None
    revoked_why: str | None


class SourceView(msgspec.Struct, frozen=True):
    """The classification of a node by one source, in order of precedence, and why the source could not be asked again, if it could not."""

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
    """Everything about a node except its facts."""

    node: NodeRow
    trusted: dict[str, Any]
    certificates: list[CertificateView]
    session: SessionView | None
    decision: str | None  # about its last facts
    classes: dict[str, dict[str, Any]] = {}
    parameters: dict[str, Any] = {}
    sources: list[SourceView] = []  # of environment, role, classes and parameters
    machines: list[MachineView] = []  # that use its certificate and are not the node


class Classification(msgspec.Struct, frozen=True):
    """The classification that an operator gives to nodes. An absent field stays unchanged; null removes the value."""

    environment: str | msgspec.UnsetType | None = msgspec.UNSET
    role: str | msgspec.UnsetType | None = msgspec.UNSET
    classes: dict[str, dict[str, Any]] | msgspec.UnsetType | None = msgspec.UNSET  # their parameters by name
    parameters: dict[str, Any] | msgspec.UnsetType | None = msgspec.UNSET


class NodesAction(msgspec.Struct, frozen=True):
    """The nodes of an action, and its reason for the audit log."""

    nodes: TargetsBody
    why: str = ""


class NodesClassification(msgspec.Struct, frozen=True):
    """The classification of some nodes."""

    nodes: TargetsBody
    values: Classification


class NodesPurge(msgspec.Struct, frozen=True):
    """The nodes to delete. `force` also deletes nodes that are not deactivated."""

    nodes: TargetsBody
    why: str = ""
    force: bool = False


class NodesActionResult(msgspec.Struct, frozen=True):
    """The nodes that an action changed."""

    touched: list[str]
    rests_on_claims: bool


class RuleBody(msgspec.Struct, frozen=True):
    """A rule that classifies nodes whose name and certificate match. `name` is a glob, such as web*, or an expression between slashes."""

    name: str | None = None
    extensions: dict[str, str] = {}
    environment: str | None = None
    role: str | None = None
    classes: dict[str, dict[str, Any]] = {}
    parameters: dict[str, Any] = {}


class RuleRow(msgspec.Struct, frozen=True):
    """A rule with its number."""

    number: int
    rule: RuleBody
    created_by: str
    created_at: datetime | None
