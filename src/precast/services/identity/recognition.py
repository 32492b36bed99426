"""Which node a certificate identifies, and when a newer certificate of the node supersedes it.

A certificate identifies a node if exactly this certificate was issued or imported for it. It is found by the digest of its bytes, so
that a certificate of another authority with the same serial, name or key identifies nobody.

The first use of a certificate supersedes every other certificate of its node. The one that was in use until then is accepted for a
short overlap, for connections and requests that are in flight, but is never renewed. So a key that was copied long ago is useless;
and if a thief and the machine both hold a key, the second to use its renewed certificate is refused, which is noticed.
"""

from datetime import datetime, timedelta

from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import Certificate, NodeCertificates
from precast.wire import issues

# How long a superseded certificate is accepted after the first use of its successor.
OVERLAP = timedelta(minutes=10)


class RecognitionService:
    """Identifies nodes by the fingerprint of a certificate that TLS has verified."""

    def __init__(self, database: Database, nodes: NodeCertificates, audit: AuditLog) -> None:
        self._database = database
        self._nodes = nodes
        self._audit = audit

    async def recognise(self, fingerprint: str) -> Certificate | None:
        """Return the certificate if it is accepted now; None if it is unknown, revoked or superseded.

        Its first use is recorded before any request of the node is handled. Raises UnauthenticatedError WIRE-003 if it has expired: that
        is a matter of clocks, and the node tries again soon.
        """
        known, now = await self._nodes.find(fingerprint), self._database.clock.now()
        if known is None or not is_accepted(known, now):
            if known is not None and known.not_after <= now and is_accepted(known, known.issued_at):
                raise issues.CERTIFICATE_EXPIRED.error(node=known.node, not_after=known.not_after, now=now)
            return None
        if known.seen_at is None and not await self._database.write(self.record_use, known):
            return None
        return known

    def record_use(self, known: Certificate) -> Transaction[bool]:
        """Record the use of a certificate; returns False if it is superseded by another one of the node."""
        others = yield from self._nodes.mark_seen(known)
        if others:
            yield from self._audit.add(
                f"node:{known.node}",
                "certificate.supersede",
                known.node,
                serial=known.serial,
                superseded=sorted(others),
            )
        return others is not None


def is_accepted(certificate: Certificate, now: datetime) -> bool:
    """Whether a node may connect with the certificate."""
    if certificate.revoked_at is not None or certificate.deactivated_at is not None or certificate.not_after <= now:
        return False
    if certificate.superseded_at is None:
        return True
    return certificate.seen_at is not None and now < certificate.superseded_at + OVERLAP
