"""Certificates of nodes.

A certificate is found by its fingerprint, the digest of all its bytes, so it is the one that was issued: its key, name, issuer and
serial are those of the row. A serial alone identifies nothing, because every authority has its own serials.

Every change of a node's certificates locks the node's row first, so two requests for one name cannot both be granted, even on two
servers.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache

import msgspec

from precast.base import canonical
from precast.base.clock import from_micros, from_optional_micros, to_micros
from precast.store.engine.database import Database
from precast.store.engine.lookup import Lookup
from precast.store.engine.query import Query, Transaction, Wake, json_list

# Woken when certificates are revoked: servers close the connections that use them.
REVOKED_TOPIC = "revoked"

LOCK_OR_CREATE = Query(
    "nodes.lock_or_create",
    """
    -- Creates the node's row if it does not exist, and locks it until the commit.
    INSERT INTO node (name, created_at) VALUES (:node, :now) ON CONFLICT (name) DO UPDATE SET name = excluded.name
    RETURNING created_at
    """,
)
KNOWN = Query("nodes.known", "SELECT 1 FROM node WHERE name = :node AND deactivated_at IS NULL")
LIVE = Query(
    "nodes.live",
    """
    -- The newest certificate that is valid, or expired so recently that it can be renewed.
    SELECT key_digest, extensions FROM certificate WHERE node = :node AND revoked_at IS NULL AND not_after > :since
    ORDER BY issued_at DESC, fingerprint LIMIT 1
    """,
)
ADD_CERTIFICATE = Query(
    "nodes.add_certificate",
    """
    INSERT INTO certificate (fingerprint, serial, node, key_digest, extensions, issued_at, not_after, authority)
    VALUES (:fingerprint, :serial, :node, :key_digest, :extensions, :issued_at, :not_after, :authority)
    """,
)
_CERTIFICATE = """
    SELECT fingerprint, serial, node, key_digest, extensions, issued_at, not_after, revoked_at, revoked_why,
        authority, seen_at, superseded_at, (SELECT deactivated_at FROM node WHERE name = certificate.node)
    FROM certificate"""
CERTIFICATE = Query("nodes.certificate", f"{_CERTIFICATE} WHERE fingerprint = :fingerprint")
CERTIFICATES_BY_FINGERPRINT = Query(
    "nodes.certificates_by_fingerprint",
    f"{_CERTIFICATE} WHERE fingerprint IN (SELECT value FROM json_each(:fingerprints))",  # noqa: S608 - made of constants
    postgresql=f"""
    {_CERTIFICATE} WHERE fingerprint = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:fingerprints AS JSONB))))
    """,
)
CERTIFICATES = Query(
    "nodes.certificates",
    f"""
    {_CERTIFICATE} WHERE (node, issued_at, fingerprint) > (:after_node, :after_at, :after_fingerprint)
    ORDER BY node, issued_at, fingerprint LIMIT :limit
    """,
)
COUNT_ISSUED = Query("nodes.count_issued", "SELECT count(*) FROM certificate WHERE node = :node AND issued_at > :since")
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
    -- Certificates that were revoked since a time, and those of nodes that were deactivated since then.
    SELECT fingerprint FROM certificate WHERE revoked_at >= :since
    UNION
    SELECT fingerprint FROM certificate JOIN node ON node.name = certificate.node WHERE deactivated_at >= :since
    ORDER BY fingerprint LIMIT :limit
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
TAKEN = Query(
    "nodes.taken",
    """
    -- A node of a list with a certificate that can still be renewed and is not in the list.
    SELECT node FROM certificate
    WHERE node IN (SELECT value FROM json_each(:nodes)) AND revoked_at IS NULL AND not_after > :since
        AND fingerprint NOT IN (SELECT value FROM json_each(:fingerprints))
    ORDER BY node LIMIT 1
    """,
    postgresql="""
    SELECT node FROM certificate
    WHERE node IN (SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB))) AND revoked_at IS NULL AND not_after > :since
        AND fingerprint NOT IN (SELECT jsonb_array_elements_text(CAST(:fingerprints AS JSONB)))
    ORDER BY node LIMIT 1
    """,
)
IMPORT_CERTIFICATE = Query(
    "nodes.import_certificate",
    """
    -- Issued by another authority. An interrupted import can be repeated.
    INSERT INTO certificate
        (fingerprint, serial, node, key_digest, extensions, issued_at, not_after, authority, revoked_at, revoked_why)
    VALUES
        (:fingerprint, :serial, :node, :key_digest, :extensions, :issued_at, :not_after, :authority, :revoked_at, :why)
    ON CONFLICT (fingerprint) DO NOTHING
    """,
)
LOCK = Query(
    "nodes.lock",
    """
    -- Locks the row of a known node until the commit, without changing it.
    UPDATE node SET name = name WHERE name = :node RETURNING name
    """,
)
SEE = Query(
    "nodes.see",
    """
    UPDATE certificate SET seen_at = :now
    WHERE fingerprint = :fingerprint AND seen_at IS NULL AND superseded_at IS NULL AND revoked_at IS NULL
    RETURNING fingerprint
    """,
)
SUPERSEDE = Query(
    "nodes.supersede",
    """
    -- Includes certificates that were issued and never presented: of several renewals of one certificate, the first one used stays.
    UPDATE certificate SET superseded_at = :now
    WHERE node = :node AND fingerprint <> :fingerprint AND superseded_at IS NULL AND revoked_at IS NULL
    RETURNING serial
    """,
)
NAME_AUTHORITY = Query(
    "nodes.name_authority",
    """
    -- Certificates without an authority get the name of the only one, before there is a second.
    UPDATE certificate SET authority = :authority WHERE authority = ''
    """,
)
LIVE_OF_OTHERS = Query(
    "nodes.live_of_others",
    """
    -- Nodes with a valid certificate of another authority. Reads all certificates; operators ask for it rarely.
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
    """A certificate that was issued to a node."""

    fingerprint: str
    serial: str
    node: str
    key_digest: str
    extensions: dict[str, str]
    issued_at: datetime
    not_after: datetime
    revoked_at: datetime | None = None
    revoked_why: str | None = None
    authority: str = ""  # its fingerprint; empty if it was issued when there was only one
    seen_at: datetime | None = None
    superseded_at: datetime | None = None
    deactivated_at: datetime | None = None  # of its node: the certificate is refused until the node is reactivated


class LiveKey(msgspec.Struct, frozen=True):
    """The key that owns a node's name now: its digest, and the extensions certified with it."""

    digest: str
    extensions: dict[str, str]


class NodeCertificates:
    """The certificates of all nodes of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def lock_or_create(self, node: str) -> Transaction[None]:
        """Create the node if it does not exist, and lock its row until the commit."""
        yield LOCK_OR_CREATE(node=node, now=to_micros(self._database.clock.now()))

    def lock(self, node: str) -> Transaction[None]:
        """Lock the node's row until the commit, if it exists."""
        yield LOCK(node=node)

    def reactivate(self, node: str) -> Transaction[bool]:
        """Make the node a target again; False if it is one already."""
        return bool((yield REACTIVATE(node=node)))

    def is_active(self, node: str) -> Transaction[bool]:
        """Whether an active node of this name exists."""
        return bool((yield KNOWN(node=node)))

    def find_live_key(self, node: str, since: datetime) -> Transaction[LiveKey | None]:
        """Find the key of the newest certificate that is valid, or has expired `since` a time, so that it can be renewed."""
        rows = yield LIVE(node=node, since=to_micros(since))
        return LiveKey(rows[0][0], msgspec.json.decode(rows[0][1], type=dict[str, str])) if rows else None

    def count_issued(self, node: str, since: datetime) -> Transaction[int]:
        """Count the certificates that were issued to a node since a time, whatever became of them."""
        return int((yield COUNT_ISSUED(node=node, since=to_micros(since)))[0][0])

    def is_valid(self, fingerprint: str) -> Transaction[bool]:
        """Whether a certificate exists, is neither revoked nor superseded, and its node is active. Its age does not matter."""
        certificate = yield from BY_FINGERPRINT.find(fingerprint)
        return (
            certificate is not None
            and certificate.revoked_at is None
            and certificate.superseded_at is None
            and certificate.deactivated_at is None
        )

    def mark_seen(self, certificate: Certificate) -> Transaction[list[str] | None]:
        """Record that a certificate is in use, which supersedes all others of its node. Returns their serials; None if this one is
        superseded itself."""
        yield LOCK(node=certificate.node)
        now = to_micros(self._database.clock.now())
        if not (yield SEE(fingerprint=certificate.fingerprint, now=now)):
            # Another request may have recorded it just before.
            known = yield from BY_FINGERPRINT.find(certificate.fingerprint)
            return [] if known is not None and known.seen_at is not None and known.superseded_at is None else None
        rows = yield SUPERSEDE(node=certificate.node, fingerprint=certificate.fingerprint, now=now)
        return [row[0] for row in rows]

    def add(self, certificate: Certificate) -> Transaction[None]:
        yield ADD_CERTIFICATE(
            fingerprint=certificate.fingerprint,
            serial=certificate.serial,
            node=certificate.node,
            key_digest=certificate.key_digest,
            extensions=canonical.encode(certificate.extensions),
            issued_at=to_micros(certificate.issued_at),
            not_after=to_micros(certificate.not_after),
            authority=certificate.authority,
        )

    def revoke(self, node: str, why: str) -> Transaction[list[str]]:
        """Revoke every certificate of a node. Returns their serials."""
        rows = yield REVOKE(node=node, now=to_micros(self._database.clock.now()), why=why)
        yield Wake(REVOKED_TOPIC)
        return [row[0] for row in rows]

    def find_taken(self, certificates: Sequence[Certificate], grace_s: float) -> Transaction[str | None]:
        """Find a name among those of valid certificates to import that belongs to another certificate."""
        valid = [certificate for certificate in certificates if certificate.revoked_at is None]
        since = self._database.clock.now() - timedelta(seconds=grace_s)
        rows = yield TAKEN(
            nodes=json_list([certificate.node for certificate in valid]),
            fingerprints=json_list([certificate.fingerprint for certificate in valid]),
            since=to_micros(since),
        )
        return rows[0][0] if rows else None

    def import_certificates(self, certificates: Sequence[Certificate]) -> Transaction[None]:
        """Add certificates that another authority has issued; known ones stay as they are."""
        now = to_micros(self._database.clock.now())
        nodes = sorted({certificate.node for certificate in certificates})
        yield IMPORT_NODE.many({"node": node, "now": now} for node in nodes)
        yield IMPORT_CERTIFICATE.many(
            {
                "fingerprint": certificate.fingerprint,
                "serial": certificate.serial,
                "node": certificate.node,
                "key_digest": certificate.key_digest,
                "extensions": canonical.encode(certificate.extensions),
                "issued_at": to_micros(certificate.issued_at),
                "not_after": to_micros(certificate.not_after),
                "authority": certificate.authority,
                "revoked_at": None if certificate.revoked_at is None else to_micros(certificate.revoked_at),
                "why": certificate.revoked_why,
            }
            for certificate in certificates
        )

    def set_missing_authority(self, authority: str) -> Transaction[None]:
        """Set the authority of the certificates that have none."""
        yield NAME_AUTHORITY(authority=authority)

    def list_nodes_of_other_authorities(self, authority: str, limit: int) -> Transaction[list[str]]:
        """List nodes with a certificate of another authority that is still valid."""
        now = to_micros(self._database.clock.now())
        return [row[0] for row in (yield LIVE_OF_OTHERS(authority=authority, now=now, limit=limit))]

    def revoke_other_authorities(self, authority: str, why: str) -> Transaction[list[str]]:
        """Revoke every certificate of other authorities. Returns their serials."""
        rows = yield REVOKE_OTHERS(authority=authority, now=to_micros(self._database.clock.now()), why=why)
        yield Wake(REVOKED_TOPIC)
        return [row[0] for row in rows]

    async def read_nodes_of_other_authorities(self, authority: str, limit: int) -> list[str]:
        return await self._database.read(self.list_nodes_of_other_authorities, authority, limit)

    async def find(self, fingerprint: str) -> Certificate | None:
        return await self._database.find(BY_FINGERPRINT, fingerprint)

    async def list_certificates(self, after: Certificate | None = None, limit: int = 100) -> list[Certificate]:
        return await self._database.read(_list_certificates, after, limit)

    async def list_revoked(self, since: datetime, limit: int = 10_000) -> list[str]:
        """List the fingerprints of certificates that are refused since then: they were revoked, or their node was deactivated."""
        return await self._database.read(_list_revoked, since, limit)


def _list_certificates(after: Certificate | None, limit: int) -> Transaction[list[Certificate]]:
    node, at, fingerprint = (
        ("", 0, "") if after is None else (after.node, to_micros(after.issued_at), after.fingerprint)
    )
    rows = yield CERTIFICATES(after_node=node, after_at=at, after_fingerprint=fingerprint, limit=limit)
    return [_certificate(*row) for row in rows]


def _list_revoked(since: datetime, limit: int) -> Transaction[list[str]]:
    return [row[0] for row in (yield REVOKED(since=to_micros(since), limit=limit))]


# The same row is read for every request of a node.
@lru_cache(maxsize=20_000)
def _certificate(
    fingerprint: str,
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
        fingerprint,
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


# Read for every request of a node.
BY_FINGERPRINT = Lookup(CERTIFICATE, CERTIFICATES_BY_FINGERPRINT, lambda row: _certificate(*row))
