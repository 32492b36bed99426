"""The audit log: who did what, in the same transaction as the deed. Rows are added, never changed."""

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
    -- The newest first, from below an id on.
    SELECT id, at, actor, action, target, detail FROM audit WHERE id < :before ORDER BY id DESC LIMIT :limit
    """,
)
# Sorts after every id.
END = "~"


class Entry(msgspec.Struct, frozen=True):
    """One deed."""

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

    def adding(self, actor: str, action: str, target: str, **detail: object) -> Transaction[None]:
        """Note a deed; part of the transaction that does it. The detail holds no secret: that is the caller's care."""
        yield ADD(
            id=self._ids.new(),
            now=to_micros(self._database.clock.now()),
            actor=actor,
            action=action,
            target=target,
            detail=canonical.encode(detail),
        )

    async def latest(self, before: str = END, limit: int = 100) -> list[Entry]:
        return await self._database.read(_reading, before, limit)


def _reading(before: str, limit: int) -> Transaction[list[Entry]]:
    rows = yield LATEST(before=before, limit=limit)
    return [
        Entry(id_, from_micros(at), actor, action, target, msgspec.json.decode(detail))
        for id_, at, actor, action, target, detail in rows
    ]
