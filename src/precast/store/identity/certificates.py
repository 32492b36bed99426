"""Nodes and their certificates.

Everything about a node's certificates happens under the node's row, so two requests for one name cannot both be granted, also
on two servers.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache

import msgspec

from precast.base import canonical
from precast.base.clock import from_micros, from_optional_micros, to_micros
from precast.store.engine.database import Database
from precast.store.engine.lookup import Lookup
from precast.store.engine.query import Query, Transaction, Wake

# Woken when certificates were taken back: connections that rest on them end.
REVOKED_TOPIC = "revoked"

TAKE = Query(
    "nodes.take",
    """
    -- The node's row, made if need be, ours until the commit.
    INSERT INTO node (name, created_at) VALUES (:node, :now) ON CONFLICT (name) DO UPDATE SET name = excluded.name
    RETURNING created_at
    """,
)
KNOWN = Query("nodes.known", "SELECT 1 FROM node WHERE name = :node AND deactivated_at IS NULL")
LIVE = Query(
    "nodes.live",
    """
    -- Certificates that are good, or could still be renewed.
    SELECT key_digest, extensions FROM certificate WHERE node = :node AND revoked_at IS NULL AND not_after > :since
    ORDER BY issued_at DESC, serial LIMIT 1
    """,
)
ADD_CERTIFICATE = Query(
    "nodes.add_certificate",
    """
    INSERT INTO certificate (serial, node, key_digest, extensions, issued_at, not_after, authority)
    VALUES (:serial, :node, :key_digest, :extensions, :issued_at, :not_after, :authority)
    """,
)
_CERTIFICATE = """
    SELECT serial, node, key_digest, extensions, issued_at, not_after, revoked_at, revoked_why,
        authority, seen_at, superseded_at, (SELECT deactivated_at FROM node WHERE name = certificate.node)
    FROM certificate"""
CERTIFICATE = Query("nodes.certificate", f"{_CERTIFICATE} WHERE serial = :serial")
CERTIFICATES_BY_SERIAL = Query(
    "nodes.certificates_by_serial",
    f"{_CERTIFICATE} WHERE serial IN (SELECT value FROM json_each(:serials))",  # noqa: S608 - made of our own words
    postgresql=f"{_CERTIFICATE} WHERE serial = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:serials AS JSONB))))",
)
CERTIFICATES = Query(
    "nodes.certificates",
    f"""
    {_CERTIFICATE} WHERE (node, issued_at, serial) > (:after_node, :after_at, :after_serial)
    ORDER BY node, issued_at, serial LIMIT :limit
    """,
)
REVOKE = Query(
    "nodes.revoke",
    """
    UPDATE certificate SET revoked_at = :now, revoked_why = :why WHERE node = :node AND revoked_at IS NULL
    RETURNING serial
    """,
)
REVOKED = Query(
    "nodes.revoked",
    """
    -- Certificates that were taken back since, and those of nodes that were deactivated since.
    SELECT serial FROM certificate WHERE revoked_at >= :since
    UNION
    SELECT serial FROM certificate JOIN node ON node.name = certificate.node WHERE deactivated_at >= :since
    ORDER BY serial LIMIT :limit
    """,
)
REACTIVATE = Query(
    "nodes.reactivate",
    "UPDATE node SET deactivated_at = NULL WHERE name = :node AND deactivated_at IS NOT NULL RETURNING name",
)
IMPORT_NODE = Query(
    "nodes.import_node",
    "INSERT INTO node (name, created_at) VALUES (:node, :now) ON CONFLICT (name) DO NOTHING",
)
IMPORT_CERTIFICATE = Query(
    "nodes.import_certificate",
    """
    -- Of another authority's making. An import that was cut off is done again.
    INSERT INTO certificate
        (serial, node, key_digest, extensions, issued_at, not_after, authority, revoked_at, revoked_why)
    VALUES (:serial, :node, :key_digest, :extensions, :issued_at, :not_after, :authority, :revoked_at, :why)
    ON CONFLICT (serial) DO NOTHING
    """,
)
HOLD = Query(
    "nodes.hold",
    """
    -- The row of a node that is known, ours until the commit; nothing of it changes.
    UPDATE node SET name = name WHERE name = :node RETURNING name
    """,
)
SEE = Query(
    "nodes.see",
    """
    UPDATE certificate SET seen_at = :now
    WHERE serial = :serial AND seen_at IS NULL AND superseded_at IS NULL AND revoked_at IS NULL
    RETURNING serial
    """,
)
SUPERSEDE = Query(
    "nodes.supersede",
    """
    -- Also those that were given and never shown: of several that came from one, the first that is used stays.
    UPDATE certificate SET superseded_at = :now
    WHERE node = :node AND serial <> :serial AND superseded_at IS NULL AND revoked_at IS NULL
    RETURNING serial
    """,
)
NAME_AUTHORITY = Query(
    "nodes.name_authority",
    """
    -- Before there are two, what was given without a name gets that of the one there is.
    UPDATE certificate SET authority = :authority WHERE authority = ''
    """,
)
LIVE_OF_OTHERS = Query(
    "nodes.live_of_others",
    """
    -- Nodes with a certificate of another authority that opens connections: rare, and looked for by hand.
    SELECT DISTINCT node FROM certificate
    WHERE authority NOT IN ('', :authority) AND revoked_at IS NULL AND superseded_at IS NULL AND not_after > :now
    ORDER BY node LIMIT :limit
    """,
)
REVOKE_OTHERS = Query(
    "nodes.revoke_others",
    """
    UPDATE certificate SET revoked_at = :now, revoked_why = :why
    WHERE authority NOT IN ('', :authority) AND revoked_at IS NULL
    RETURNING serial
    """,
)


class Certificate(msgspec.Struct, frozen=True):
    """A certificate that was given to a node."""

    serial: str
    node: str
    key_digest: str
    extensions: dict[str, str]
    issued_at: datetime
    not_after: datetime
    revoked_at: datetime | None = None
    revoked_why: str | None = None
    authority: str = ""  # its fingerprint; empty for what was given when there could be only one
    seen_at: datetime | None = None
    superseded_at: datetime | None = None
    deactivated_at: datetime | None = None  # of its node: then it opens nothing, until that is undone


class LiveKey(msgspec.Struct, frozen=True):
    """Whose a name is now: the digest of its key, and what was certified with it."""

    digest: str
    extensions: dict[str, str]


class Nodes:
    """All nodes of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def taking(self, node: str) -> Transaction[None]:
        """Make the node known and hold its row until the commit."""
        yield TAKE(node=node, now=to_micros(self._database.clock.now()))

    def holding(self, node: str) -> Transaction[None]:
        """Hold the node's row until the commit, if there is one."""
        yield HOLD(node=node)

    def reactivating(self, node: str) -> Transaction[bool]:
        """The node is a target again; False if it was one."""
        return bool((yield REACTIVATE(node=node)))

    def knowing(self, node: str) -> Transaction[bool]:
        """Whether there is an active node of this name."""
        return bool((yield KNOWN(node=node)))

    def live_key(self, node: str, grace_s: float) -> Transaction[LiveKey | None]:
        """The key in the newest certificate that is good, or expired so recently that it can be renewed."""
        since = self._database.clock.now() - timedelta(seconds=grace_s)
        rows = yield LIVE(node=node, since=to_micros(since))
        return LiveKey(rows[0][0], msgspec.json.decode(rows[0][1], type=dict[str, str])) if rows else None

    def is_good(self, serial: str) -> Transaction[bool]:
        """Whether a certificate exists, is not revoked and not superseded, of an active node, whatever its age."""
        found = yield from BY_SERIAL.finding(serial)
        return (
            found is not None
            and found.revoked_at is None
            and found.superseded_at is None
            and found.deactivated_at is None
        )

    def seeing(self, certificate: Certificate) -> Transaction[list[str] | None]:
        """Note that a certificate is in use; the serials of those that give way to it. None if it has given way itself."""
        yield HOLD(node=certificate.node)
        now = to_micros(self._database.clock.now())
        if not (yield SEE(serial=certificate.serial, now=now)):
            # Someone else may have noted it a moment ago.
            known = yield from BY_SERIAL.finding(certificate.serial)
            return [] if known is not None and known.seen_at is not None and known.superseded_at is None else None
        rows = yield SUPERSEDE(node=certificate.node, serial=certificate.serial, now=now)
        return [row[0] for row in rows]

    def adding(self, certificate: Certificate) -> Transaction[None]:
        yield ADD_CERTIFICATE(
            serial=certificate.serial,
            node=certificate.node,
            key_digest=certificate.key_digest,
            extensions=canonical.encode(certificate.extensions),
            issued_at=to_micros(certificate.issued_at),
            not_after=to_micros(certificate.not_after),
            authority=certificate.authority,
        )

    def revoking(self, node: str, why: str) -> Transaction[list[str]]:
        """Revoke every certificate of the name; their serials."""
        rows = yield REVOKE(node=node, now=to_micros(self._database.clock.now()), why=why)
        yield Wake(REVOKED_TOPIC)
        return [row[0] for row in rows]

    def importing(self, found: Sequence[Certificate]) -> Transaction[None]:
        """Put certificates in that another authority has given; what is known stays as it is."""
        now = to_micros(self._database.clock.now())
        yield IMPORT_NODE.many({"node": node, "now": now} for node in sorted({one.node for one in found}))
        yield IMPORT_CERTIFICATE.many(
            {
                "serial": one.serial,
                "node": one.node,
                "key_digest": one.key_digest,
                "extensions": canonical.encode(one.extensions),
                "issued_at": to_micros(one.issued_at),
                "not_after": to_micros(one.not_after),
                "authority": one.authority,
                "revoked_at": None if one.revoked_at is None else to_micros(one.revoked_at),
                "why": one.revoked_why,
            }
            for one in found
        )

    def naming_authority(self, authority: str) -> Transaction[None]:
        """Say of which authority those certificates are that do not say it."""
        yield NAME_AUTHORITY(authority=authority)

    def reading_live_of_others(self, authority: str, limit: int) -> Transaction[list[str]]:
        """Nodes with a certificate of any other authority that is still in use, or could be."""
        now = to_micros(self._database.clock.now())
        return [row[0] for row in (yield LIVE_OF_OTHERS(authority=authority, now=now, limit=limit))]

    def revoking_others(self, authority: str, why: str) -> Transaction[list[str]]:
        """Revoke every certificate of any other authority; their serials."""
        rows = yield REVOKE_OTHERS(authority=authority, now=to_micros(self._database.clock.now()), why=why)
        yield Wake(REVOKED_TOPIC)
        return [row[0] for row in rows]

    async def live_of_others(self, authority: str, limit: int) -> list[str]:
        return await self._database.read(self.reading_live_of_others, authority, limit)

    async def certificate(self, serial: str) -> Certificate | None:
        return await self._database.find(BY_SERIAL, serial)

    async def certificates(self, after: Certificate | None = None, limit: int = 100) -> list[Certificate]:
        return await self._database.read(_listing_certificates, after, limit)

    async def revoked(self, since: datetime, limit: int = 10_000) -> list[str]:
        """Serials of certificates that open nothing any more since: taken back, or of a deactivated node."""
        return await self._database.read(_reading_revoked, since, limit)


def _listing_certificates(after: Certificate | None, limit: int) -> Transaction[list[Certificate]]:
    place = ("", 0, "") if after is None else (after.node, to_micros(after.issued_at), after.serial)
    rows = yield CERTIFICATES(after_node=place[0], after_at=place[1], after_serial=place[2], limit=limit)
    return [_certificate(*row) for row in rows]


def _reading_revoked(since: datetime, limit: int) -> Transaction[list[str]]:
    return [row[0] for row in (yield REVOKED(since=to_micros(since), limit=limit))]


# The same row comes with every request of a node.
@lru_cache(maxsize=20_000)
def _certificate(
    serial: str,
    node: str,
    key_digest: str,
    extensions: bytes,
    issued: int,
    until: int,
    revoked: int | None,
    why: str | None,
    authority: str,
    seen: int | None,
    superseded: int | None,
    deactivated: int | None,
) -> Certificate:
    return Certificate(
        serial,
        node,
        key_digest,
        msgspec.json.decode(extensions, type=dict[str, str]),
        from_micros(issued),
        from_micros(until),
        from_optional_micros(revoked),
        why,
        authority,
        from_optional_micros(seen),
        from_optional_micros(superseded),
        from_optional_micros(deactivated),
    )


# Asked for with every request of a node.
BY_SERIAL = Lookup(CERTIFICATE, CERTIFICATES_BY_SERIAL, lambda row: _certificate(*row))
