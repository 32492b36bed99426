"""The audit log: each action with its actor, written in the transaction of the action itself.

Entries are added and never changed; triggers of the database refuse everything else. Each process that writes has a chain, so that
servers do not wait for each other: an entry contains the hash of the entry before it (see `wire/identity/audit`). One statement reads the
head of the chain, locks it until the commit, computes the hash and adds the entry; a trigger moves the head.

What machines do by themselves could fill the log. Of the entries of one machine in an hour, and of all strangers together, the first are
written, the others counted, and the count becomes an entry when the hour is over. What people do is always written.
"""

from datetime import datetime
from typing import Any

import msgspec

from precast.base import canonical
from precast.base.clock import from_micros, to_micros
from precast.base.ids import Ids
from precast.store.engine.database import Database
from precast.store.engine.query import Notice, Query, Row, Transaction
from precast.wire.identity.audit import BEGINNING, ChainedEntry, ChainHead, ChainPage, digest_columns

APPEND = Query(
    "audit.append",
    """
    -- Adds an entry after the head of the chain; no row if the chain does not exist yet.
    INSERT INTO audit (id, at, actor, action, target, detail, chain, sequence, previous, hash)
    SELECT :id, :now, :actor, :action, :target, :detail, chain, sequence + 1, hash,
        sha256_hex(hash || ' ' || (sequence + 1) || ' ' || :digest)
    FROM audit_chain WHERE chain = :chain
    RETURNING sequence
    """,
    postgresql="""
    INSERT INTO audit (id, at, actor, action, target, detail, chain, sequence, previous, hash)
    SELECT CAST(:id AS TEXT), CAST(:now AS BIGINT), CAST(:actor AS TEXT), CAST(:action AS TEXT), CAST(:target AS TEXT),
        CAST(:detail AS BYTEA), head.chain, head.sequence + 1, head.hash,
        encode(sha256(convert_to(
            head.hash || ' ' || CAST(head.sequence + 1 AS TEXT) || ' ' || CAST(:digest AS TEXT), 'UTF8'
        )), 'hex')
    FROM (SELECT chain, sequence, hash FROM audit_chain WHERE chain = :chain FOR UPDATE) AS head
    RETURNING sequence
    """,
)
BEGIN_CHAIN = Query(
    "audit.begin_chain",
    "INSERT INTO audit_chain (chain, sequence, hash) VALUES (:chain, 0, :beginning) ON CONFLICT (chain) DO NOTHING",
)
COUNT = Query(
    "audit.count",
    """
    INSERT INTO audit_rate (actor, hour, count) VALUES (:actor, :hour, 1)
    ON CONFLICT (actor) DO UPDATE SET count = audit_rate.count + 1
    RETURNING hour, count
    """,
)
COUNT_ANEW = Query("audit.count_anew", "UPDATE audit_rate SET hour = :hour, count = 1 WHERE actor = :actor")
DROP_COUNTS = Query(
    "audit.drop_counts",
    """
    -- Ends the counts of past hours, a few at a time.
    DELETE FROM audit_rate WHERE actor IN (
        SELECT actor FROM audit_rate WHERE hour < :hour ORDER BY hour, actor LIMIT :limit
    )
    RETURNING actor, hour, count
    """,
    postgresql="""
    DELETE FROM audit_rate WHERE actor IN (
        SELECT actor FROM audit_rate WHERE hour < :hour ORDER BY hour, actor LIMIT :limit FOR UPDATE SKIP LOCKED
    )
    RETURNING actor, hour, count
    """,
)
LATEST = Query(
    "audit.latest",
    """
    -- The newest first, below an id.
    SELECT id, at, actor, action, target, detail FROM audit WHERE id < :before ORDER BY id DESC LIMIT :limit
    """,
)
HEADS = Query(
    "audit.heads",
    """
    -- The chains of entries without a head come too: somebody has removed it. (The query that finds them walks over an index.)
    SELECT chain, sequence, hash FROM audit_chain
    UNION ALL
    SELECT DISTINCT chain, 0, '' FROM audit WHERE chain NOT IN (SELECT chain FROM audit_chain)
    ORDER BY chain LIMIT :limit
    """,
)
HEAD = Query("audit.head", "SELECT chain, sequence, hash FROM audit_chain WHERE chain = :chain")
CHAIN = Query(
    "audit.chain",
    """
    SELECT id, at, actor, action, target, detail, chain, sequence, previous, hash FROM audit
    WHERE chain = :chain AND sequence > :after ORDER BY sequence LIMIT :limit
    """,
)
# Sorts after every id.
END = "~"
HOUR_S = 3600
# Entries in an hour: of one node, and of all addresses together that have no certificate yet.
MAX_OF_NODE = 20
MAX_OF_STRANGERS = 200
STRANGERS = "strangers"
# Past counts that one entry ends; a process has few nodes that begin to be counted at the same time.
DROPPED_AT_ONCE = 20
MAX_CHAINS = 10_000
# Of an entry in the server's log; the audit log has all of it.
NOTICE_CHARACTERS = 500


class AuditEntry(msgspec.Struct, frozen=True):
    """One action."""

    id: str
    at: datetime
    actor: str
    action: str
    target: str
    detail: dict[str, Any]


class AuditLog:
    """The log of one database, and the chain of the process that has opened it."""

    def __init__(self, database: Database, ids: Ids) -> None:
        self._database = database
        self._ids = ids

    def add(self, actor: str, action: str, target: str, **detail: object) -> Transaction[None]:
        """Record an action in the transaction that performs it. The caller makes sure that the detail contains no secret."""
        kind = actor.partition(":")[0]
        if kind in ("node", "address"):
            is_written = yield from (
                self._count(actor, MAX_OF_NODE) if kind == "node" else self._count(STRANGERS, MAX_OF_STRANGERS)
            )
            if not is_written:
                return
        yield from self._append(actor, action, target, detail)

    def _append(self, actor: str, action: str, target: str, detail: dict[str, object]) -> Transaction[None]:
        id_, now, chain = self._ids.new(), to_micros(self._database.clock.now()), self._database.process_name
        encoded = canonical.encode(detail)
        append = APPEND(
            id=id_,
            now=now,
            actor=actor,
            action=action,
            target=target,
            detail=encoded,
            chain=chain,
            digest=digest_columns(id_, now, actor, action, target, encoded, chain),
        )
        if not (yield append):
            yield BEGIN_CHAIN(chain=chain, beginning=BEGINNING)
            yield append
        # Lists and mappings are in the audit log alone: the words of a command and the parameters of classes may contain a secret, and
        # more people read the server's log.
        words = [f"{name}={value}" for name, value in detail.items() if isinstance(value, str | int) and value != ""]
        yield Notice(action, " ".join([actor, action, target, *words])[:NOTICE_CHARACTERS])

    def _count(self, actor: str, most: int) -> Transaction[bool]:
        """Count an entry of a machine; False if it must not be written."""
        hour = int(self._database.clock.now().timestamp()) // HOUR_S
        ((counted_hour, count),) = yield COUNT(actor=actor, hour=hour)
        if counted_hour != hour:
            yield COUNT_ANEW(actor=actor, hour=hour)
            yield from self._write_count(actor, counted_hour, count - 1)
            count = 1
        if count == 1:
            for past in (yield DROP_COUNTS(hour=hour, limit=DROPPED_AT_ONCE)):
                yield from self._write_count(*past)
        return bool(count <= most)

    def _write_count(self, actor: str, hour: int, count: int) -> Transaction[None]:
        most = MAX_OF_STRANGERS if actor == STRANGERS else MAX_OF_NODE
        if count > most:
            begin = from_micros(hour * HOUR_S * 1_000_000)
            yield from self._append(
                "system", "audit.omit", actor, {"count": count - most, "hour": f"{begin:%FT%H:%MZ}"}
            )

    async def read_latest(self, before: str = END, limit: int = 100) -> list[AuditEntry]:
        return await self._database.read(_read_latest, before, limit)

    async def read_heads(self) -> list[ChainHead]:
        """Read the heads of all chains."""
        return await self._database.read(_read_heads)

    async def read_chain(self, chain: str, after: int, limit: int) -> ChainPage:
        """Read the entries of a chain after a place, and its head at the same moment."""
        return await self._database.read(_read_chain, chain, after, limit)


def _read_latest(before: str, limit: int) -> Transaction[list[AuditEntry]]:
    rows = yield LATEST(before=before, limit=limit)
    return [
        AuditEntry(id_, from_micros(at), actor, action, target, _decode(detail))
        for id_, at, actor, action, target, detail in rows
    ]


def _decode(detail: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(detail, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {"damaged": "somebody changed this entry; see `precast audit verify`"}


def _read_heads() -> Transaction[list[ChainHead]]:
    return [ChainHead(*row) for row in (yield HEADS(limit=MAX_CHAINS))]


def _read_chain(chain: str, after: int, limit: int) -> Transaction[ChainPage]:
    rows = yield CHAIN(chain=chain, after=after, limit=limit)
    heads = yield HEAD(chain=chain)
    head = ChainHead(*heads[0]) if heads else ChainHead(chain, 0, BEGINNING)
    return ChainPage(head, [_entry(row) for row in rows], is_last=len(rows) < limit)


def _entry(row: Row) -> ChainedEntry:
    id_, at, actor, action, target, detail, chain, sequence, previous, hash_ = row
    text = bytes(detail).decode(errors="backslashreplace")  # an entry that was changed may be anything
    return ChainedEntry(id_, from_micros(at), actor, action, target, text, chain, sequence, previous, hash_)
