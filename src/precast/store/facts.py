"""Facts of nodes: an inbox for what was acknowledged, the stored set, its volatile part apart, and the history of the rest."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from precast.base.clock import from_micros, to_micros
from precast.store.database import Database
from precast.store.query import Query, Unit

RECEIVE = Query(
    "facts.receive",
    """
    -- A newer set replaces one that nobody has looked at yet.
    INSERT INTO fact_inbox (node, digest, stable, volatile, received_at)
    VALUES (:node, :digest, :stable, :volatile, :now)
    ON CONFLICT (node) DO UPDATE SET
        digest = excluded.digest, stable = excluded.stable, volatile = excluded.volatile, received_at = excluded.received_at
    """,
)
NEWEST = Query(
    "facts.newest",
    """
    -- The digest of the newest set: the one that waits, else the one that is stored.
    SELECT digest FROM fact_inbox WHERE node = :node
    UNION ALL
    SELECT digest FROM fact_set WHERE node = :node AND NOT EXISTS (SELECT 1 FROM fact_inbox WHERE node = :node)
    """,
)
INBOX = Query("facts.inbox", "SELECT digest, stable, volatile, received_at FROM fact_inbox WHERE node = :node")
CLEAR = Query(
    "facts.clear", "DELETE FROM fact_inbox WHERE node = :node AND digest = :digest AND received_at = :received_at"
)
STORED = Query(
    "facts.stored",
    "SELECT digest, stable, received_at, decision, decided_at, allowed_at FROM fact_set WHERE node = :node",
)
STORE = Query(
    "facts.store",
    """
    INSERT INTO fact_set (node, digest, stable, received_at, decision, decided_at, allowed_at)
    VALUES (:node, :digest, :stable, :received_at, :decision, :now, :allowed_at)
    ON CONFLICT (node) DO UPDATE SET
        digest = excluded.digest, stable = excluded.stable, received_at = excluded.received_at,
        decision = excluded.decision, decided_at = excluded.decided_at, allowed_at = excluded.allowed_at
    """,
)
STORE_VOLATILE = Query(
    "facts.store_volatile",
    """
    INSERT INTO fact_volatile (node, body, received_at) VALUES (:node, :body, :received_at)
    ON CONFLICT (node) DO UPDATE SET body = excluded.body, received_at = excluded.received_at
    """,
)
VOLATILE = Query("facts.volatile", "SELECT body, received_at FROM fact_volatile WHERE node = :node")
CHANGE = Query(
    "facts.change",
    "INSERT INTO fact_change (node, at, path, before, after) VALUES (:node, :now, :path, :before, :after)",
)
CHANGES = Query(
    "facts.changes",
    """
    SELECT at, path, before, after FROM fact_change WHERE node = :node AND at < :before_at
    ORDER BY at DESC, path LIMIT :limit
    """,
)


class Inbox(msgspec.Struct, frozen=True):
    """A set that was acknowledged."""

    digest: str
    stable: bytes
    volatile: bytes
    received_at: datetime


class FactSet(msgspec.Struct, frozen=True):
    """A set that was looked at, and what came of it."""

    digest: str
    stable: bytes
    received_at: datetime
    decision: str
    decided_at: datetime
    allowed_at: datetime


class FactChange(msgspec.Struct, frozen=True):
    """How one path changed; None where there is nothing."""

    path: str
    before: bytes | None
    after: bytes | None


class DatedChange(msgspec.Struct, frozen=True):
    """A change in the history."""

    at: datetime
    change: FactChange


class Facts:
    """The facts of all nodes of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def receiving(self, node: str, digest: str, stable: bytes, volatile: bytes) -> Unit[None]:
        """Keep a set until it is looked at."""
        now = to_micros(self._database.clock.now())
        yield RECEIVE(node=node, digest=digest, stable=stable, volatile=volatile, now=now)

    def storing_volatile(self, node: str, body: bytes, received_at: datetime) -> Unit[None]:
        yield STORE_VOLATILE(node=node, body=body, received_at=to_micros(received_at))

    def inbox(self, node: str) -> Unit[Inbox | None]:
        rows = yield INBOX(node=node)
        if not rows:
            return None
        ((digest, stable, volatile, received),) = rows
        return Inbox(digest, bytes(stable), bytes(volatile), from_micros(received))

    def stored(self, node: str) -> Unit[FactSet | None]:
        rows = yield STORED(node=node)
        if not rows:
            return None
        ((digest, stable, received, decision, decided, allowed),) = rows
        return FactSet(
            digest, bytes(stable), from_micros(received), decision, from_micros(decided), from_micros(allowed)
        )

    def storing(
        self, node: str, inbox: Inbox, decision: str, allowed_at: datetime, changes: Sequence[FactChange]
    ) -> Unit[None]:
        """Store a set with what came of it, note how it differs, and take it out of the inbox unless a newer one came."""
        now = to_micros(self._database.clock.now())
        yield STORE(
            node=node,
            digest=inbox.digest,
            stable=inbox.stable,
            received_at=to_micros(inbox.received_at),
            decision=decision,
            now=now,
            allowed_at=to_micros(allowed_at),
        )
        yield from self.storing_volatile(node, inbox.volatile, inbox.received_at)
        if changes:
            yield CHANGE.many(
                {"node": node, "now": now, "path": one.path, "before": one.before, "after": one.after}
                for one in changes
            )
        yield CLEAR(node=node, digest=inbox.digest, received_at=to_micros(inbox.received_at))

    async def newest_digest(self, node: str) -> str | None:
        return await self._database.read(self.newest, node)

    def newest(self, node: str) -> Unit[str | None]:
        """The digest of the newest set, looked at or not."""
        rows = yield NEWEST(node=node)
        return str(rows[0][0]) if rows else None

    async def show(self, node: str) -> tuple[FactSet, bytes] | None:
        """The stored set and its volatile part."""
        return await self._database.read(self._showing, node)

    async def changes(self, node: str, before: datetime, limit: int = 100) -> list[DatedChange]:
        """How the stable facts changed, newest first, before a moment."""
        return await self._database.read(_reading_changes, node, before, limit)

    def _showing(self, node: str) -> Unit[tuple[FactSet, bytes] | None]:
        stored = yield from self.stored(node)
        if stored is None:
            return None
        rows = yield VOLATILE(node=node)
        return stored, bytes(rows[0][0]) if rows else b"{}"


def _reading_changes(node: str, before: datetime, limit: int) -> Unit[list[DatedChange]]:
    rows = yield CHANGES(node=node, before_at=to_micros(before), limit=limit)
    return [DatedChange(from_micros(at), FactChange(path, before, after)) for at, path, before, after in rows]
