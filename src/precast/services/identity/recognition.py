"""Which node a certificate stands for, and when an earlier one of it gives way.

The first use of a certificate supersedes every other one of its node. What was in use until then is accepted for a short overlap,
for connections and requests that are under way; it is never renewed again. So a key that was copied long ago opens nothing, and
of two holders of one key, a thief and the machine, the second to use what it was given is refused and noticed.
"""

from datetime import datetime, timedelta

from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import Certificate, Nodes

# How long what was in use goes on after its successor was seen.
OVERLAP = timedelta(minutes=10)


class RecognitionService:
    """Knows nodes by the serial of a certificate that TLS has checked."""

    def __init__(self, database: Database, nodes: Nodes, audit: AuditLog) -> None:
        self._database = database
        self._nodes = nodes
        self._audit = audit

    async def recognise(self, serial: str) -> Certificate | None:
        """The certificate, if it is good now; None for one that is unknown, over, taken back or superseded.

        Its first use is written down before anything is done on its behalf.
        """
        known = await self._nodes.certificate(serial)
        if known is None or not is_accepted(known, self._database.clock.now()):
            return None
        if known.seen_at is None and not await self._database.write(self.seeing, known):
            return None
        return known

    def seeing(self, known: Certificate) -> Transaction[bool]:
        """Note the use of a certificate, in the caller's transaction; False if another of the node is in use."""
        others = yield from self._nodes.seeing(known)
        if others:
            yield from self._audit.adding(
                f"node:{known.node}",
                "certificate.supersede",
                known.node,
                serial=known.serial,
                superseded=sorted(others),
            )
        return others is not None


def is_accepted(certificate: Certificate, now: datetime) -> bool:
    """Whether it opens a connection."""
    if certificate.revoked_at is not None or certificate.deactivated_at is not None or certificate.not_after <= now:
        return False
    if certificate.superseded_at is None:
        return True
    return certificate.seen_at is not None and now < certificate.superseded_at + OVERLAP
