"""Documents by digest: bodies of catalogs, and source maps.

A document is never changed, and stays as long as a staged catalog, a release, a hold or a trace refers to it.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from precast.base.clock import to_micros
from precast.store.engine.compression import compress, decompress
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction, json_list

ADD = Query(
    "catalogs.add_document",
    """
    -- A document that is stored already counts as stored now: a garbage collection that would delete it waits, and then spares it.
    INSERT INTO document (digest, body, size, stored_at) VALUES (:digest, :body, :size, :now)
    ON CONFLICT (digest) DO UPDATE SET stored_at = excluded.stored_at
    """,
)
FIND = Query("catalogs.document", "SELECT body FROM document WHERE digest = :digest")
USED = Query(
    "catalogs.named",
    """
    SELECT skeleton FROM node_catalog WHERE skeleton IN (SELECT value FROM json_each(:digests))
    UNION SELECT skeleton FROM node_release WHERE skeleton IN (SELECT value FROM json_each(:digests))
    UNION SELECT skeleton FROM entry_catalog WHERE skeleton IN (SELECT value FROM json_each(:digests))
    UNION SELECT skeleton FROM entry_hold WHERE skeleton IN (SELECT value FROM json_each(:digests))
    """,
    postgresql="""
    SELECT skeleton FROM node_catalog
    WHERE skeleton = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:digests AS JSONB))))
    UNION SELECT skeleton FROM node_release
    WHERE skeleton = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:digests AS JSONB))))
    UNION SELECT skeleton FROM entry_catalog
    WHERE skeleton = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:digests AS JSONB))))
    UNION SELECT skeleton FROM entry_hold
    WHERE skeleton = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:digests AS JSONB))))
    """,
)
UNUSED = Query(
    "catalogs.unnamed",
    """
    -- Old documents that no staged catalog, release or hold refers to; the leaf of a trace may still refer to them.
    SELECT digest FROM document WHERE digest > :after_digest AND stored_at < :before_at
        AND NOT EXISTS (SELECT 1 FROM node_catalog WHERE skeleton = document.digest)
        AND NOT EXISTS (SELECT 1 FROM node_release WHERE skeleton = document.digest)
        AND NOT EXISTS (SELECT 1 FROM entry_catalog WHERE skeleton = document.digest)
        AND NOT EXISTS (SELECT 1 FROM entry_hold WHERE skeleton = document.digest)
    ORDER BY digest LIMIT :limit
    """,
)
DELETE_UNUSED = Query(
    "catalogs.remove_document",
    """
    DELETE FROM document WHERE digest = :digest AND stored_at < :before_at
        AND NOT EXISTS (SELECT 1 FROM node_catalog WHERE skeleton = :digest)
        AND NOT EXISTS (SELECT 1 FROM node_release WHERE skeleton = :digest)
        AND NOT EXISTS (SELECT 1 FROM entry_catalog WHERE skeleton = :digest)
        AND NOT EXISTS (SELECT 1 FROM entry_hold WHERE skeleton = :digest)
    RETURNING digest
    """,
)
USERS = Query(
    "catalogs.document_users",
    """
    SELECT node, 'staged' AS state, '' AS entry FROM node_catalog
    WHERE skeleton IN (SELECT value FROM json_each(:digests))
    UNION SELECT node, 'served', '' FROM node_release AS r WHERE skeleton IN (SELECT value FROM json_each(:digests))
        AND number = (SELECT max(number) FROM node_release WHERE node = r.node)
    UNION SELECT node, 'entry', entry FROM entry_catalog WHERE skeleton IN (SELECT value FROM json_each(:digests))
    ORDER BY node, state, entry LIMIT :limit
    """,
    postgresql="""
    SELECT node, 'staged' AS state, '' AS entry FROM node_catalog
    WHERE skeleton = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:digests AS JSONB))))
    UNION SELECT node, 'served', '' FROM node_release AS r
    WHERE skeleton = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:digests AS JSONB))))
        AND number = (SELECT max(number) FROM node_release WHERE node = r.node)
    UNION SELECT node, 'entry', entry FROM entry_catalog
    WHERE skeleton = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:digests AS JSONB))))
    ORDER BY node, state, entry LIMIT :limit
    """,
)


class DocumentUser(NamedTuple):
    """A node whose catalog is staged or served, or the one of an entry point."""

    node: str
    state: str
    entry: str


def content_owner(catalog: str) -> str:
    """The owner under which the content that a catalog refers to is kept."""
    return f"catalog:{catalog}"


class Documents:
    """The documents of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def store(self, documents: Iterable[tuple[str, bytes]]) -> Transaction[None]:
        """Store documents under their digests; one that is stored already stays."""
        now = to_micros(self._database.clock.now())
        yield ADD.many(
            {"digest": digest, "body": compress(body), "size": len(body), "now": now}
            for digest, body in sorted(documents)
        )

    def find(self, digest: str) -> Transaction[bytes | None]:
        rows = yield FIND(digest=digest)
        return decompress(rows[0][0]) if rows else None

    async def read(self, digest: str) -> bytes | None:
        """Find a document in a transaction of its own."""
        return await self._database.read(self.find, digest)

    def filter_used(self, digests: Sequence[str]) -> Transaction[set[str]]:
        """Return those of the digests that a staged catalog, a release or a hold refers to."""
        return {row[0] for row in (yield USED(digests=json_list(digests)))}

    def list_users(self, digests: Sequence[str], limit: int) -> Transaction[list[DocumentUser]]:
        """List the nodes that have one of these catalogs staged, served or for an entry point, by name."""
        return [DocumentUser(*row) for row in (yield USERS(digests=json_list(digests), limit=limit))]

    def list_unused(self, before: datetime, after: str, limit: int) -> Transaction[list[str]]:
        """List documents older than `before` that only a trace may still refer to, by digest."""
        return [row[0] for row in (yield UNUSED(before_at=to_micros(before), after_digest=after, limit=limit))]

    def delete_unused(self, digest: str, before: datetime) -> Transaction[bool]:
        """Delete a document older than `before` if it is still unused. Raises ConflictError STORE-009 if it was just released."""
        return bool((yield DELETE_UNUSED(digest=digest, before_at=to_micros(before))))
