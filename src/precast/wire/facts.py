"""Facts on their way: a stable part known by its digest, and a volatile part that is sent each time.

A node sends the digest and the volatile part. Only if the server does not have that digest is it told so, and sends the stable
part as well. So an unchanged node costs nearly nothing, and one whose uptime moved costs that.
"""

from datetime import datetime
from typing import Any

import msgspec


class FactsBody(msgspec.Struct, frozen=True):
    """A node's facts; `stable` only if the server asked for it."""

    digest: str
    volatile: dict[str, Any]
    stable: dict[str, Any] | None = None


class FactsAnswer(msgspec.Struct, frozen=True):
    """Whether the stable part is wanted. If not, everything is kept."""

    wants_stable: bool


class FactsView(msgspec.Struct, frozen=True):
    """The facts of a node, and what came of them; `volatile` are paths without history because they change all the time."""

    node: str
    digest: str
    facts: dict[str, Any]
    received_at: datetime
    decision: str
    decided_at: datetime
    volatile: list[str] = []


class FactChangeRow(msgspec.Struct, frozen=True):
    """How a path changed. `before` or `after` is absent if there was nothing."""

    at: datetime
    path: str
    before: Any = msgspec.UNSET
    after: Any = msgspec.UNSET


class FactDifference(msgspec.Struct, frozen=True):
    """A path with two values. `left` or `right` is absent if there is nothing."""

    path: str
    left: Any = msgspec.UNSET
    right: Any = msgspec.UNSET


class FactsDifference(msgspec.Struct, frozen=True):
    """How facts differ, and what the two sides are: nodes, or moments."""

    left: str
    right: str
    differences: list[FactDifference]


def merge(stable: dict[str, Any], volatile: dict[str, Any]) -> dict[str, Any]:
    """Both parts as one."""
    merged = dict(stable)
    for name, value in volatile.items():
        known = merged.get(name)
        merged[name] = merge(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return merged
