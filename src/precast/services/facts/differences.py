"""How facts differ: of a node since a moment, or between two nodes. Only stable facts: what changes by nature always differs.

What a node's facts were is found by taking back, from what they are, the steps of its history since then. Paths that change
all the time have no history, and count as unchanged.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from precast.base import canonical
from precast.services import issues
from precast.services.facts.changes import compare
from precast.store.engine.compression import unpack
from precast.store.facts.facts import FactChange, Facts, FactSet
from precast.wire.facts import FactDifference, FactsDifference
from precast.wire.identity.names import is_name

# How far back a history is followed.
MAX_CHANGES = 100_000


class FactDifferences:
    """Holds no state between calls."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    async def between(self, node: str, other: str) -> FactsDifference:
        """From one node to another. Raises NotFoundError FACTS-002 for one that has sent none."""
        left, right = await self._stored(node), await self._stored(other)
        return _difference(node, other, unpack(left.stable), unpack(right.stable))

    async def since(self, node: str, moment: datetime, now: datetime) -> FactsDifference:
        """From then to now. Raises NotFoundError FACTS-002, InputError FACTS-004 if too much has changed."""
        stable = unpack((await self._stored(node)).stable)
        facts: dict[str, Any] = msgspec.json.decode(stable)
        cursor, seen = now.replace(year=now.year + 1), 0
        while steps := await self._facts.history(node, cursor):
            for step in steps:
                if step.at <= moment:
                    steps = []
                    break
                take_back(facts, step.changes)
                seen += len(step.changes)
            if seen > MAX_CHANGES:
                raise issues.TOO_MUCH_CHANGED.error(node=node, limit=MAX_CHANGES)
            if not steps:
                break
            cursor = steps[-1].at
        return _difference(f"{moment:%Y-%m-%d %H:%M:%SZ}", "now", canonical.encode(facts), stable)

    async def _stored(self, node: str) -> FactSet:
        found = await self._facts.show(node) if is_name(node) else None
        if found is None:
            raise issues.NO_FACTS.error(node=node[:80])
        return found[0]


def take_back(facts: dict[str, Any], changes: Iterable[FactChange]) -> None:
    """Undo one step."""
    for change in changes:
        *parents, name = [part.replace("~1", "/").replace("~0", "~") for part in change.path.split("/")[1:]]
        place: Any = facts
        for parent in parents:
            place = place.get(parent) if isinstance(place, dict) else None
        # A path that is not there has become one that changes all the time, and left the stable facts.
        if not isinstance(place, dict):
            continue
        if change.before is None:
            place.pop(name, None)
        else:
            place[name] = msgspec.json.decode(change.before)


def _difference(left: str, right: str, before: bytes, after: bytes) -> FactsDifference:
    rows = [FactDifference(one.path, _value(one.before), _value(one.after)) for one in compare(before, after)]
    return FactsDifference(left, right, rows)


def _value(data: bytes | None) -> Any:
    return msgspec.UNSET if data is None else msgspec.json.decode(data)
