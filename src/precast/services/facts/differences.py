"""Shows how facts differ: those of a node since a time, or those of two nodes. Only stable facts are compared: volatile ones always differ.

The earlier facts of a node are found by reverting the steps of its history since then, beginning with its present facts. Paths that change
all the time have no history, and count as unchanged.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from precast.base import canonical
from precast.services.facts import issues
from precast.services.facts.changes import compare
from precast.store.engine.compression import decompress
from precast.store.facts.facts import FactChange, Facts, FactSet
from precast.wire.facts import FactDifference, FactsDifference
from precast.wire.identity.names import is_name

# How many changes are reverted at most.
MAX_CHANGES = 100_000


class FactDifferences:
    """Compares stored facts; holds no state between calls."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    async def between(self, left: str, right: str) -> FactsDifference:
        """The difference from one node to another. Raises NotFoundError FACTS-002 for a node that has sent no facts."""
        before, after = await self._stored(left), await self._stored(right)
        return _difference(left, right, decompress(before.stable), decompress(after.stable))

    async def since(self, node: str, since: datetime, now: datetime) -> FactsDifference:
        """The difference from a time to now. Raises NotFoundError FACTS-002, InputError FACTS-004 if too much has changed."""
        stable = decompress((await self._stored(node)).stable)
        facts: dict[str, Any] = msgspec.json.decode(stable)
        cursor, reverted = now.replace(year=now.year + 1), 0
        while steps := await self._facts.list_history(node, cursor):
            for step in steps:
                if step.at <= since:
                    steps = []
                    break
                revert_step(facts, step.changes)
                reverted += len(step.changes)
            if reverted > MAX_CHANGES:
                raise issues.TOO_MUCH_CHANGED.error(node=node, limit=MAX_CHANGES)
            if not steps:
                break
            cursor = steps[-1].at
        return _difference(f"{since:%Y-%m-%d %H:%M:%SZ}", "now", canonical.encode(facts), stable)

    async def _stored(self, node: str) -> FactSet:
        shown = await self._facts.read_set(node) if is_name(node) else None
        if shown is None:
            raise issues.NO_FACTS.error(node=node[:80])
        return shown[0]


def revert_step(facts: dict[str, Any], changes: Iterable[FactChange]) -> None:
    """Revert one step of a history in place."""
    for change in changes:
        *parents, name = [part.replace("~1", "/").replace("~0", "~") for part in change.path.split("/")[1:]]
        mapping: Any = facts
        for parent in parents:
            mapping = mapping.get(parent) if isinstance(mapping, dict) else None
        # A path without its parents has become volatile, and is no longer part of the stable facts.
        if not isinstance(mapping, dict):
            continue
        if change.before is None:
            mapping.pop(name, None)
        else:
            mapping[name] = msgspec.json.decode(change.before)


def _difference(left: str, right: str, before: bytes, after: bytes) -> FactsDifference:
    rows = [
        FactDifference(change.path, _value(change.before), _value(change.after)) for change in compare(before, after)
    ]
    return FactsDifference(left, right, rows)


def _value(data: bytes | None) -> Any:
    return msgspec.UNSET if data is None else msgspec.json.decode(data)
