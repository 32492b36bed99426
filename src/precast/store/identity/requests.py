"""Requests for certificates that wait for an operator.

They come from anyone, so there is a bound on how many may wait, in all and from one address, and each goes by itself. A row is
known by name and key: strangers who ask for the same name do not push each other out, and an operator tells them apart.
"""

from datetime import datetime

import msgspec

from precast.base.clock import from_micros, from_optional_micros, to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction

FIND = Query(
    "requests.find",
    """
    SELECT node, key_digest, request, address, requested_at, expires_at, certificate, rejected_at
    FROM enrolment_request WHERE node = :node AND key_digest = :key_digest AND expires_at > :now
    """,
)
WAITING = Query(
    "requests.waiting",
    """
    SELECT node, key_digest, request, address, requested_at, expires_at, certificate, rejected_at
    FROM enrolment_request
    WHERE (node, key_digest) > (:after_node, :after_digest)
      AND certificate IS NULL AND rejected_at IS NULL AND expires_at > :now
    ORDER BY node, key_digest LIMIT :limit
    """,
)
WAITING_FOR_NAME = Query(
    "requests.waiting_for_name",
    """
    SELECT node, key_digest, request, address, requested_at, expires_at, certificate, rejected_at
    FROM enrolment_request
    WHERE node = :node AND certificate IS NULL AND rejected_at IS NULL AND expires_at > :now
    ORDER BY key_digest LIMIT :limit
    """,
)
COUNT = Query(
    "requests.count",
    """
    -- How many wait, in all and from one address. On PostgreSQL each of those who ask at the same moment may come one beyond
    -- the bound: nobody waits for a lock here.
    SELECT count(*), coalesce(sum(CASE WHEN address = :address THEN 1 ELSE 0 END), 0)
    FROM enrolment_request WHERE certificate IS NULL AND rejected_at IS NULL
    """,
)
FORGET = Query("requests.forget", "DELETE FROM enrolment_request WHERE expires_at <= :now")
FORGET_SIGNED = Query(
    "requests.forget_signed", "DELETE FROM enrolment_request WHERE node = :node AND certificate IS NOT NULL"
)
ADD = Query(
    "requests.add",
    """
    INSERT INTO enrolment_request (node, key_digest, request, address, requested_at, expires_at)
    VALUES (:node, :key_digest, :request, :address, :now, :expires_at)
    ON CONFLICT (node, key_digest) DO NOTHING
    RETURNING node
    """,
)
SIGN = Query(
    "requests.sign",
    """
    UPDATE enrolment_request SET certificate = :certificate, expires_at = :expires_at
    WHERE node = :node AND key_digest = :key_digest AND certificate IS NULL AND rejected_at IS NULL AND expires_at > :now
    RETURNING node
    """,
)
REJECT = Query(
    "requests.reject",
    """
    UPDATE enrolment_request SET rejected_at = :now
    WHERE node = :node AND key_digest = :key_digest AND certificate IS NULL AND rejected_at IS NULL AND expires_at > :now
    RETURNING node
    """,
)
# More for one name than anybody compares by eye.
MAX_FOR_NAME = 20


class EnrolmentRequest(msgspec.Struct, frozen=True):
    """A machine asks to be a node."""

    node: str
    key_digest: str
    request: bytes
    address: str
    requested_at: datetime
    expires_at: datetime
    certificate: bytes | None = None
    rejected_at: datetime | None = None


class Requests:
    """All requests of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def _now(self) -> int:
        return to_micros(self._database.clock.now())

    def forgetting(self) -> Transaction[None]:
        """Remove what is over."""
        yield FORGET(now=self._now)

    def forgetting_signed(self, node: str) -> Transaction[None]:
        """Remove certificates that lie ready for a name."""
        yield FORGET_SIGNED(node=node)

    def counting(self, address: str) -> Transaction[tuple[int, int]]:
        """How many wait: in all, and from this address."""
        ((total, here),) = yield COUNT(address=address)
        return int(total), int(here)

    def adding(self, request: EnrolmentRequest) -> Transaction[bool]:
        """Put it in; False if it is there."""
        rows = yield ADD(
            node=request.node,
            key_digest=request.key_digest,
            request=request.request,
            address=request.address,
            now=to_micros(request.requested_at),
            expires_at=to_micros(request.expires_at),
        )
        return bool(rows)

    def signing(self, node: str, key_digest: str, certificate: bytes, expires_at: datetime) -> Transaction[bool]:
        """Lay the certificate ready until then; False if the request does not wait any more."""
        rows = yield SIGN(
            node=node,
            key_digest=key_digest,
            certificate=certificate,
            expires_at=to_micros(expires_at),
            now=self._now,
        )
        return bool(rows)

    def rejecting(self, node: str, key_digest: str) -> Transaction[bool]:
        return bool((yield REJECT(node=node, key_digest=key_digest, now=self._now)))

    def waiting_for_name(self, node: str) -> Transaction[list[EnrolmentRequest]]:
        rows = yield WAITING_FOR_NAME(node=node, now=self._now, limit=MAX_FOR_NAME)
        return [_request(*row) for row in rows]

    async def find(self, node: str, key_digest: str) -> EnrolmentRequest | None:
        return await self._database.read(_finding, node, key_digest, self._now)

    async def waiting(self, after: tuple[str, str] = ("", ""), limit: int = 100) -> list[EnrolmentRequest]:
        return await self._database.read(_listing, after, limit, self._now)


def _finding(node: str, key_digest: str, now: int) -> Transaction[EnrolmentRequest | None]:
    rows = yield FIND(node=node, key_digest=key_digest, now=now)
    return _request(*rows[0]) if rows else None


def _listing(after: tuple[str, str], limit: int, now: int) -> Transaction[list[EnrolmentRequest]]:
    rows = yield WAITING(after_node=after[0], after_digest=after[1], limit=limit, now=now)
    return [_request(*row) for row in rows]


def _request(
    node: str,
    key_digest: str,
    request: bytes,
    address: str,
    requested: int,
    expires: int,
    certificate: bytes | None,
    rejected: int | None,
) -> EnrolmentRequest:
    return EnrolmentRequest(
        node,
        key_digest,
        bytes(request),
        address,
        from_micros(requested),
        from_micros(expires),
        certificate,
        from_optional_micros(rejected),
    )
