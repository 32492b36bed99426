"""The sealed values of secrets by reference, and which stored catalogs refer to them.

A value is stored in the transaction that stores a catalog with its reference, and deleted some time after the last such catalog was. The
database never sees a value: what it stores is sealed with a key that it does not have.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from precast.base.clock import from_micros, to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Row, Transaction, json_list

ADD = Query(
    "secrets.add",
    """
    -- A value that is stored already counts as stored now: a garbage collection that would delete it waits, and then spares it. It is
    -- stored again all the same, so that a deploy heals a damaged one.
    INSERT INTO secret (environment, ref, sealed, stored_at) VALUES (:environment, :ref, :sealed, :now)
    ON CONFLICT (environment, ref) DO UPDATE SET sealed = excluded.sealed, stored_at = excluded.stored_at
    """,
)
REFER = Query(
    "secrets.refer",
    """
    INSERT INTO secret_use (document, environment, ref) VALUES (:document, :environment, :ref)
    ON CONFLICT (document, environment, ref) DO NOTHING
    """,
)
FIND = Query(
    "secrets.find",
    """
    SELECT ref, sealed FROM secret
    WHERE environment = :environment AND ref IN (SELECT value FROM json_each(:refs))
    """,
    postgresql="""
    SELECT ref, sealed FROM secret
    WHERE environment = :environment AND ref = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:refs AS JSONB))))
    """,
)
REFERRED = Query(
    "secrets.referred",
    """
    SELECT environment, ref FROM secret_use
    WHERE document = :document AND ref IN (SELECT value FROM json_each(:refs))
    """,
    postgresql="""
    SELECT environment, ref FROM secret_use
    WHERE document = :document AND ref = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:refs AS JSONB))))
    """,
)
LIST = Query(
    "secrets.list",
    """
    SELECT environment, ref, stored_at, (
        SELECT count(*) FROM secret_use WHERE secret_use.environment = secret.environment AND secret_use.ref = secret.ref
    ) FROM secret WHERE environment = :environment AND ref > :after ORDER BY ref LIMIT :limit
    """,
)
WITH_PREFIX = Query(
    "secrets.with_prefix",
    """
    SELECT environment, ref, stored_at, 0 FROM secret
    WHERE environment = :environment AND ref >= :beginning AND ref < :beginning || 'g' ORDER BY ref LIMIT 2
    """,
)
DOCUMENTS = Query(
    "secrets.documents",
    "SELECT document FROM secret_use WHERE environment = :environment AND ref = :ref ORDER BY document LIMIT :limit",
)
COUNT = Query(
    "secrets.count",
    "SELECT environment, count(*) FROM secret GROUP BY environment ORDER BY environment LIMIT :limit",
)
DELETE_UNUSED = Query(
    "secrets.delete_unused",
    """
    -- A page at a time, so that no writer waits long.
    DELETE FROM secret WHERE (environment, ref) IN (
        SELECT environment, ref FROM secret WHERE stored_at < :before_at AND NOT EXISTS (
            SELECT 1 FROM secret_use WHERE secret_use.environment = secret.environment AND secret_use.ref = secret.ref)
        LIMIT :limit
    ) AND stored_at < :before_at AND NOT EXISTS (
        SELECT 1 FROM secret_use WHERE secret_use.environment = secret.environment AND secret_use.ref = secret.ref)
    RETURNING ref
    """,
)
DELETE_USES = Query("secrets.delete_uses", "DELETE FROM secret_use")
DELETE_VALUES = Query("secrets.delete_values", "DELETE FROM secret")


class SealedSecret(NamedTuple):
    """A sealed value with its reference."""

    ref: str
    sealed: bytes


class SecretRow(NamedTuple):
    """A secret without its value, with the number of stored catalogs that refer to it."""

    environment: str
    ref: str
    stored_at: datetime
    catalogs: int


class SecretUse(NamedTuple):
    """A secret that a catalog refers to."""

    environment: str
    ref: str


class Secrets:
    """The sealed values of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def store(self, environment: str, document: str, secrets: Iterable[SealedSecret]) -> Transaction[None]:
        """Store the secrets that a stored catalog refers to; a value that is stored already stays as it was sealed."""
        rows = sorted(secrets)
        if not rows:
            return
        now = to_micros(self._database.clock.now())
        yield ADD.many({"environment": environment, "ref": row.ref, "sealed": row.sealed, "now": now} for row in rows)
        yield REFER.many({"document": document, "environment": environment, "ref": row.ref} for row in rows)

    def find(self, environment: str, refs: Sequence[str]) -> Transaction[list[SealedSecret]]:
        """Find those of the secrets that are stored."""
        return [
            SealedSecret(ref, bytes(sealed))
            for ref, sealed in (yield FIND(environment=environment, refs=json_list(refs)))
        ]

    def list_page(self, environment: str, after: str, limit: int) -> Transaction[list[SecretRow]]:
        """List a page of the secrets of an environment, by reference."""
        return list(map(_row, (yield LIST(environment=environment, after=after, limit=limit))))

    def find_by_prefix(self, environment: str, beginning: str) -> Transaction[list[SecretRow]]:
        """Find the secrets whose reference begins so, at most two; `catalogs` is not counted."""
        return list(map(_row, (yield WITH_PREFIX(environment=environment, beginning=beginning))))

    def list_documents(self, secret: SecretUse, limit: int) -> Transaction[list[str]]:
        """List stored catalogs that refer to a secret."""
        return [row[0] for row in (yield DOCUMENTS(environment=secret.environment, ref=secret.ref, limit=limit))]

    def count(self, limit: int) -> Transaction[dict[str, int]]:
        """Count the secrets of each environment that has some."""
        return dict((yield COUNT(limit=limit)))

    def filter_referred(self, document: str, refs: Sequence[str]) -> Transaction[list[SecretUse]]:
        """Return those of the references that a stored catalog contains, with their environment."""
        return [SecretUse(*row) for row in (yield REFERRED(document=document, refs=json_list(refs)))]

    def delete_unused(self, before: datetime, limit: int) -> Transaction[int]:
        """Delete a page of the secrets that no catalog refers to and none was stored with since `before`; returns how many."""
        return len((yield DELETE_UNUSED(before_at=to_micros(before), limit=limit)))

    def delete_all(self) -> Transaction[None]:
        """Delete all values. Catalogs keep their references to them."""
        yield DELETE_USES()
        yield DELETE_VALUES()


def _row(row: Row) -> SecretRow:
    environment, ref, stored_at, catalogs = row
    return SecretRow(environment, ref, from_micros(stored_at), catalogs)
