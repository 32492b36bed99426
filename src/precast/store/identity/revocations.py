"""Revoked certificates as the list of revocations needs them: those that could still be presented or renewed."""

from datetime import datetime
from typing import NamedTuple

from precast.base.clock import from_micros, to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction

STAMP = Query(
    "nodes.revocation_stamp",
    """
    -- Changes whenever a certificate is revoked. The partial index on revoked_at answers it.
    SELECT count(*), coalesce(max(revoked_at), 0) FROM certificate WHERE revoked_at IS NOT NULL
    """,
)
PAGE = Query(
    "nodes.revocation_page",
    """
    SELECT fingerprint, serial, authority, revoked_at, not_after FROM certificate
    WHERE revoked_at IS NOT NULL AND (revoked_at, fingerprint) > (:after_at, :after_fingerprint) AND not_after > :since
    ORDER BY revoked_at, fingerprint LIMIT :limit
    """,
)


class RevokedCertificate(NamedTuple):
    """A certificate that was revoked before its end."""

    fingerprint: str
    serial: str
    authority: str
    revoked_at: datetime
    not_after: datetime


class Revocations:
    """The revoked certificates of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read_stamp(self) -> tuple[int, int]:
        """A value that changes whenever a certificate is revoked."""
        return await self._database.read(_read_stamp)

    async def list_revoked(
        self, after: RevokedCertificate | None, since: datetime, limit: int
    ) -> list[RevokedCertificate]:
        """List the certificates that were valid until after `since`, by the time of their revocation."""
        return await self._database.read(_list_revoked, after, since, limit)


def _read_stamp() -> Transaction[tuple[int, int]]:
    ((count, last),) = yield STAMP()
    return int(count), int(last)


def _list_revoked(
    after: RevokedCertificate | None, since: datetime, limit: int
) -> Transaction[list[RevokedCertificate]]:
    at, fingerprint = (0, "") if after is None else (to_micros(after.revoked_at), after.fingerprint)
    rows = yield PAGE(after_at=at, after_fingerprint=fingerprint, since=to_micros(since), limit=limit)
    return [
        RevokedCertificate(fingerprint, serial, authority, from_micros(revoked), from_micros(until))
        for fingerprint, serial, authority, revoked, until in rows
    ]
