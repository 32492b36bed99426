"""The audit log: each action with its actor, written in the transaction of the action itself. Rows are added, never changed."""

from datetime import datetime
from typing import Any

import msgspec

from precast.base import canonical
from precast.base.clock import from_micros, to_micros
from precast.base.ids import Ids
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction

ADD = Query(
    "audit.add",
    """
    INSERT INTO audit (id, at, actor, action, target, detail) VALUES (:id, :now, :actor, :action, :target, :detail)
    """,
)
LATEST = Query(
    "audit.latest",
    """
    -- The newest first, below an id.
    SELECT id, at, actor, action, target, detail FROM audit WHERE id < :before ORDER BY id DESC LIMIT :limit
    """,
)
# Sorts after every id.
END = "~"


class AuditEntry(msgspec.Struct, frozen=True):
    """One action."""

    id: str
    at: datetime
    actor: str
    action: str
    target: str
    detail: dict[str, Any]


class AuditLog:
    """The log of one database."""

    def __init__(self, database: Database, ids: Ids) -> None:
        self._database = database
        self._ids = ids

    def add(self, actor: str, action: str, target: str, **detail: object) -> Transaction[None]:
        """Record an action in the transaction that performs it. The caller makes sure that the detail contains no secret."""
        yield ADD(
            id=self._ids.new(),
            now=to_micros(self._database.clock.now()),
            actor=actor,
            action=action,
            target=target,
            detail=canonical.encode(detail),
        )

    async def read_latest(self, before: str = END, limit: int = 100) -> list[AuditEntry]:
        return await self._database.read(_read_latest, before, limit)


def _read_latest(before: str, limit: int) -> Transaction[list[AuditEntry]]:
    rows = yield LATEST(before=before, limit=limit)
    return [
        AuditEntry(id_, from_micros(at), actor, action, target, msgspec.json.decode(detail))
        for id_, at, actor, action, target, detail in rows
    ]
