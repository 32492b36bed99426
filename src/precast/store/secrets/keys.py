"""The keys of environments, each wrapped by a master key of the site that the database does not have.

One more row has no environment: it is there from the first start on, so that every server finds out whether it has the site's master key
before any environment has a secret.
"""

from collections.abc import Sequence
from typing import NamedTuple

from precast.base.clock import to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction

ADD = Query(
    "secret_keys.add",
    """
    INSERT INTO secret_key (environment, master, wrapped, made_at) VALUES (:environment, :master, :wrapped, :now)
    ON CONFLICT (environment) DO NOTHING
    """,
)
FIND = Query("secret_keys.find", "SELECT master, wrapped FROM secret_key WHERE environment = :environment")
LIST = Query(
    "secret_keys.list", "SELECT environment, master, wrapped FROM secret_key ORDER BY environment LIMIT :limit"
)
# A site has some dozen environments.
MAX_LISTED = 10_000


class WrappedKey(NamedTuple):
    """A key of an environment, wrapped by the master key with this id."""

    environment: str
    master: str
    wrapped: bytes


class SecretKeys:
    """The wrapped keys of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, environment: str) -> Transaction[WrappedKey | None]:
        rows = yield FIND(environment=environment)
        return WrappedKey(environment, rows[0][0], bytes(rows[0][1])) if rows else None

    def find_or_add(self, key: WrappedKey) -> Transaction[WrappedKey]:
        """Store the key of an environment, unless it has one; returns the one that it has now."""
        yield ADD(**key._asdict(), now=to_micros(self._database.clock.now()))
        found = yield from self.find(key.environment)
        assert found is not None, "it was just added"
        return found

    def list(self) -> Transaction[Sequence[WrappedKey]]:
        """List all keys, by environment."""
        rows = yield LIST(limit=MAX_LISTED)
        return [WrappedKey(environment, master, bytes(wrapped)) for environment, master, wrapped in rows]
