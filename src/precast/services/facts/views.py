"""Reads the stored facts of a node and their history, for people and for the API."""

from datetime import datetime
from typing import Any

import msgspec

from precast.base.clock import END_OF_TIME
from precast.services.facts import issues
from precast.services.facts.decisions import is_volatile
from precast.services.facts.reads import CatalogReads
from precast.services.facts.volatility import read_recent
from precast.store.engine.compression import decompress
from precast.store.engine.database import Database
from precast.store.facts.facts import Facts
from precast.wire.facts import FactChangeRow, FactsView, merge


class FactViews:
    """Reads facts; holds no state between calls."""

    def __init__(self, database: Database, facts: Facts, reads: CatalogReads) -> None:
        self._database = database
        self._facts = facts
        self._reads = reads

    async def show(self, node: str) -> FactsView:
        """The stored facts of a node. Raises NotFoundError FACTS-002."""
        shown = await self._facts.read_set(node)
        if shown is None:
            raise issues.NO_FACTS.error(node=node)
        stored, volatile = shown
        facts = merge(_decode(decompress(stored.stable)), _decode(volatile))
        reads = await self._database.read(self._reads.of, node)
        recent = read_recent(decompress(stored.recent))
        unrecorded = [path for path in recent.paths if is_volatile(path, reads, recent)]
        return FactsView(
            node, stored.digest, facts, stored.received_at, stored.decision, stored.decided_at, sorted(unrecorded)
        )

    async def changes(self, node: str, before: datetime | None = None) -> list[FactChangeRow]:
        """How a node's stable facts changed, newest first."""
        steps = await self._facts.list_history(node, before or END_OF_TIME)
        return [
            FactChangeRow(step.at, change.path, _value(change.before), _value(change.after))
            for step in steps
            for change in step.changes
        ]


def _decode(data: bytes) -> dict[str, Any]:
    return msgspec.json.decode(data, type=dict[str, Any])


def _value(data: bytes | None) -> Any:
    return msgspec.UNSET if data is None else msgspec.json.decode(data)
