"""Bodies of the API about exported resources."""

from datetime import datetime
from typing import Any

import msgspec


class ExportsSetting(msgspec.Struct, frozen=True):
    """Which exports the nodes of an environment collect: released, staged, or everywhere."""

    exports: str


class ExportedType(msgspec.Struct, frozen=True):
    """The exports of a type in an environment: how many, of how many nodes, and how many nodes collect them."""

    type: str
    environment: str
    state: str
    resources: int
    nodes: int
    collectors: int


class ExportedRow(msgspec.Struct, frozen=True):
    """A resource that a node exports. Sensitive parameters are hidden."""

    node: str
    type: str
    title: str
    parameters: dict[str, Any]
    tags: list[str]
    environment: str
    state: str
    id: str  # of type and title

    @property
    def position(self) -> str:
        """Where the next page of the list begins."""
        return f"{self.node} {self.id} {self.state}"


class ExportLoop(msgspec.Struct, frozen=True):
    """A node whose changed catalog is not released by itself, because its change is part of a loop of exports."""

    node: str
    state: str
    rounds: int
    since: datetime
    members: list["LoopMemberView"]


class LoopMemberView(msgspec.Struct, frozen=True):
    """A node of a loop, and the resource of it that the next node of the loop collects."""

    node: str
    type: str
    title: str


class CollectorsView(msgspec.Struct, frozen=True):
    """How many nodes collect a type whose exports a release would change; some of their names."""

    type: str
    environment: str
    count: int
    nodes: list[str]
