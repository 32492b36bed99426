"""The authorities of this site, by fingerprint: the one that signs, and those before it.

The keys are outside the database, so a database and an `authority` directory of different sites could be put together by mistake. This
list shows it.
"""

from collections.abc import Iterable

from precast.base.clock import to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction

LIST = Query(
    "authorities.list", "SELECT fingerprint FROM authority ORDER BY added_at DESC, fingerprint DESC LIMIT :limit"
)
ADD = Query(
    "authorities.add",
    "INSERT INTO authority (fingerprint, added_at) VALUES (:fingerprint, :now) ON CONFLICT (fingerprint) DO NOTHING",
)
DELETE = Query("authorities.delete", "DELETE FROM authority")
# A site rotates its authority every few years.
MAX_LISTED = 1000


class Authorities:
    """The authorities of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(self) -> Transaction[list[str]]:
        """The fingerprints, the newest first; none before a site is initialised."""
        return [fingerprint for (fingerprint,) in (yield LIST(limit=MAX_LISTED))]

    def add(self, fingerprints: Iterable[str]) -> Transaction[None]:
        now = to_micros(self._database.clock.now())
        for fingerprint in fingerprints:
            yield ADD(fingerprint=fingerprint, now=now)

    def replace(self, fingerprint: str) -> Transaction[None]:
        """Forget the others: an operator has given them up."""
        yield DELETE()
        yield from self.add([fingerprint])
