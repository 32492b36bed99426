"""Enrolment requests that wait for an operator.

Anyone can send them, so the number of waiting requests is bounded, in total, for each address and for each network, and each request
expires. A row is identified by name and key: two machines that ask for the same name do not displace each other, and an operator can
compare their keys.
"""

from datetime import datetime

import msgspec

from precast.base.clock import from_micros, from_optional_micros, to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction

FIND = Query(
    "requests.find",
    """
    SELECT node, key_digest, request, address, network, requested_at, expires_at, certificate, rejected_at
    FROM enrolment_request WHERE node = :node AND key_digest = :key_digest AND expires_at > :now
    """,
)
WAITING = Query(
    "requests.waiting",
    """
    SELECT node, key_digest, request, address, network, requested_at, expires_at, certificate, rejected_at
    FROM enrolment_request
    WHERE (node, key_digest) > (:after_node, :after_digest)
      AND certificate IS NULL AND rejected_at IS NULL AND expires_at > :now
    ORDER BY node, key_digest LIMIT :limit
    """,
)
WAITING_FOR_NAME = Query(
    "requests.waiting_for_name",
    """
    SELECT node, key_digest, request, address, network, requested_at, expires_at, certificate, rejected_at
    FROM enrolment_request
    WHERE node = :node AND certificate IS NULL AND rejected_at IS NULL AND expires_at > :now
    ORDER BY key_digest LIMIT :limit
    """,
)
COUNT = Query(
    "requests.count",
    """
    -- How many wait, in total, from one address and from one network. On PostgreSQL concurrent requests may exceed the bound by one
    -- each, because this takes no lock.
    SELECT count(*), coalesce(sum(CASE WHEN address = :address THEN 1 ELSE 0 END), 0),
        coalesce(sum(CASE WHEN network = :network THEN 1 ELSE 0 END), 0)
    FROM enrolment_request WHERE certificate IS NULL AND rejected_at IS NULL
    """,
)
LARGEST = Query(
    "requests.largest",
    """
    -- The network with the most waiting requests.
    SELECT network, count(*) FROM enrolment_request WHERE certificate IS NULL AND rejected_at IS NULL
    GROUP BY network ORDER BY count(*) DESC, network LIMIT 1
    """,
)
DISPLACE = Query(
    "requests.displace",
    """
    -- Of a network: the newest request of the address that has the most.
    DELETE FROM enrolment_request WHERE (node, key_digest) IN (
        SELECT request.node, request.key_digest FROM enrolment_request AS request
        JOIN (
            SELECT address, count(*) AS count FROM enrolment_request
            WHERE network = :network AND certificate IS NULL AND rejected_at IS NULL GROUP BY address
        ) AS sender ON sender.address = request.address
        WHERE request.network = :network AND request.certificate IS NULL AND request.rejected_at IS NULL
        ORDER BY sender.count DESC, request.requested_at DESC, request.node DESC, request.key_digest DESC LIMIT 1
    )
    RETURNING node
    """,
)
DELETE = Query("requests.delete", "DELETE FROM enrolment_request WHERE expires_at <= :now")
DELETE_SIGNED = Query(
    "requests.delete_signed", "DELETE FROM enrolment_request WHERE node = :node AND certificate IS NOT NULL"
)
ADD = Query(
    "requests.add",
    """
    INSERT INTO enrolment_request (node, key_digest, request, address, network, requested_at, expires_at)
    VALUES (:node, :key_digest, :request, :address, :network, :now, :expires_at)
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
# More requests for one name than an operator would compare by eye.
MAX_FOR_NAME = 20


class EnrolmentRequest(msgspec.Struct, frozen=True):
    """A machine's request for a certificate."""

    node: str
    key_digest: str
    request: bytes
    address: str
    network: str
    requested_at: datetime
    expires_at: datetime
    certificate: bytes | None = None
    rejected_at: datetime | None = None


class EnrolmentRequests:
    """All enrolment requests of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def _now(self) -> int:
        return to_micros(self._database.clock.now())

    def delete_expired(self) -> Transaction[None]:
        """Delete the requests that have expired."""
        yield DELETE(now=self._now)

    def delete_signed(self, node: str) -> Transaction[None]:
        """Delete the requests for a name whose certificate is ready but was not fetched."""
        yield DELETE_SIGNED(node=node)

    def count_waiting(self, address: str, network: str) -> Transaction[tuple[int, int, int]]:
        """Count the waiting requests: in total, from this address, and from this network."""
        ((total, from_address, from_network),) = yield COUNT(address=address, network=network)
        return int(total), int(from_address), int(from_network)

    def displace(self, at_least: int) -> Transaction[str | None]:
        """Delete the newest request of the network that has the most, if these are at least so many. Returns its name."""
        rows = yield LARGEST()
        if not rows or rows[0][1] < at_least:
            return None
        displaced = yield DISPLACE(network=rows[0][0])
        return displaced[0][0] if displaced else None

    def add(self, request: EnrolmentRequest) -> Transaction[bool]:
        """Add a request; False if it exists already."""
        rows = yield ADD(
            node=request.node,
            key_digest=request.key_digest,
            request=request.request,
            address=request.address,
            network=request.network,
            now=to_micros(request.requested_at),
            expires_at=to_micros(request.expires_at),
        )
        return bool(rows)

    def mark_signed(self, node: str, key_digest: str, certificate: bytes, expires_at: datetime) -> Transaction[bool]:
        """Store the certificate for the machine to fetch until `expires_at`; False if the request does not wait any longer."""
        rows = yield SIGN(
            node=node,
            key_digest=key_digest,
            certificate=certificate,
            expires_at=to_micros(expires_at),
            now=self._now,
        )
        return bool(rows)

    def mark_rejected(self, node: str, key_digest: str) -> Transaction[bool]:
        return bool((yield REJECT(node=node, key_digest=key_digest, now=self._now)))

    def list_waiting_for_name(self, node: str) -> Transaction[list[EnrolmentRequest]]:
        rows = yield WAITING_FOR_NAME(node=node, now=self._now, limit=MAX_FOR_NAME)
        return [_request(*row) for row in rows]

    async def find(self, node: str, key_digest: str) -> EnrolmentRequest | None:
        return await self._database.read(_find, node, key_digest, self._now)

    async def list_waiting(self, after: tuple[str, str] = ("", ""), limit: int = 100) -> list[EnrolmentRequest]:
        return await self._database.read(_list_waiting, after, limit, self._now)


def _find(node: str, key_digest: str, now: int) -> Transaction[EnrolmentRequest | None]:
    rows = yield FIND(node=node, key_digest=key_digest, now=now)
    return _request(*rows[0]) if rows else None


def _list_waiting(after: tuple[str, str], limit: int, now: int) -> Transaction[list[EnrolmentRequest]]:
    rows = yield WAITING(after_node=after[0], after_digest=after[1], limit=limit, now=now)
    return [_request(*row) for row in rows]


def _request(
    node: str,
    key_digest: str,
    request: bytes,
    address: str,
    network: str,
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
        network,
        from_micros(requested),
        from_micros(expires),
        certificate,
        from_optional_micros(rejected),
    )
