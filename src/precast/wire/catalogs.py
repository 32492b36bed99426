"""What is said about catalogs: staged, released, how they differ, why a node has the one it has."""

from datetime import datetime
from typing import Any

import msgspec

from precast.wire.nodes import TargetsBody


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


class WhyView(msgspec.Struct, frozen=True):
    """What decided a node's catalog."""

    node: str
    environment: str
    version: str
    catalog: str | None
    reads: list[ReadView]


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
