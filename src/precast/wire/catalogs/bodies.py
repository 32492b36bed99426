"""What is said about catalogs: staged, released, how they differ, why a node has the one it has."""

from datetime import datetime
from typing import Any

import msgspec

from precast.wire.nodes.bodies import TargetsBody
from precast.wire.reports.records import Moment


class StagedView(msgspec.Struct, frozen=True):
    """What a node would get, and what it is served."""

    node: str
    environment: str
    version: str
    state: str
    staged: str | None
    released: str | None
    decided_at: datetime
    changed_at: datetime
    released_at: datetime | None = None
    released_by: str | None = None
    error: str | None = None
    logs: list[tuple[str, str]] = []


class ReadView(msgspec.Struct, frozen=True):
    """One read of a trace."""

    question: str
    about: str
    answer: str


class VersionView(msgspec.Struct, frozen=True):
    """A version of an environment that brought something."""

    number: int
    version: str
    source: str
    commit: str | None
    deployed_by: str
    deployed_at: datetime


class LastChange(msgspec.Struct, frozen=True):
    """When a node's catalog last became another, by which read, and which version of the code brought that, if one did."""

    at: datetime
    before: str | None
    after: str | None
    question: str
    about: str
    old_answer: str
    new_answer: str
    brought_by: VersionView | None = None


class WhyView(msgspec.Struct, frozen=True):
    """What decided a node's catalog."""

    node: str
    environment: str
    version: str
    catalog: str | None
    reads: list[ReadView]
    change: LastChange | None = None


class ProgressView(msgspec.Struct, frozen=True):
    """How far the decision about a node is: queued, deciding, compiling, given up, or done."""

    node: str
    state: str
    error: str = ""
    attempts: int = 0


class ReadinessBody(msgspec.Struct, frozen=True):
    """How far these nodes are, for somebody who began to wait then; without a moment, now."""

    nodes: TargetsBody
    asked_by: Moment | None = None


class ReadinessView(msgspec.Struct, frozen=True):
    """How many nodes have what their newest code gives them, and why how many others are not waited for; `waiting` names the first
    that are.

    Who asks again gives `asked_by` back: a node that was decided upon since then is ready, whatever it has wanted after that, or
    there might be no end to it.
    """

    asked_by: datetime
    nodes: int
    ready: int
    broken: int
    left_out: dict[str, int]
    waiting_count: int
    waiting: list[str]


class ReleaseBody(msgspec.Struct, frozen=True):
    """Release what is staged for these nodes; only those whose environment has this version, if one is given."""

    nodes: TargetsBody
    version: str | None = None
    why: str = ""


class ReleaseDone(msgspec.Struct, frozen=True):
    """What came of a release or rollback, node by node."""

    released: list[str]
    unchanged: list[str]
    left_out: dict[str, str]


class ParameterView(msgspec.Struct, frozen=True):
    name: str
    before: Any = msgspec.UNSET
    after: Any = msgspec.UNSET


class ChangeView(msgspec.Struct, frozen=True):
    """A change that these nodes have in common."""

    ref: str
    kind: str
    parameters: list[ParameterView]
    nodes: list[str]
    count: int


class RefreshView(msgspec.Struct, frozen=True):
    """What is restarted or run, on how many nodes."""

    ref: str
    count: int


class PreviewView(msgspec.Struct, frozen=True):
    """What a release would change, the most common first."""

    nodes: int
    unchanged: int
    left_out: dict[str, str]
    changes: list[ChangeView]
    refreshed: list[RefreshView]


class CatalogError(msgspec.Struct, frozen=True):
    """A node that gets no catalog: the code has an error, or its compile does not come to an end."""

    node: str
    environment: str
    version: str
    error: str
    since: datetime


class DeadCompile(msgspec.Struct, frozen=True):
    """A compile, or a decision, that failed too often by no fault of the code, and who waits for it."""

    kind: str
    environment: str
    error: str
    attempts: int
    since: datetime
    nodes: list[str]
    count: int


class Flapping(msgspec.Struct, frozen=True):
    """A fact that changed so often that its node has to wait for decisions: how often it had to since when."""

    node: str
    path: str
    times: int
    since: datetime
    last_at: datetime
