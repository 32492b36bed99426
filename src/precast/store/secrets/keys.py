"""The keys of environments, each wrapped by a master key of the site that the database does not have.

One more row has no environment: it is there from the first start on, so that every server finds out whether it has the site's master key
before any environment has a secret.

Every process says which master keys it has. The keys are wrapped again by a new one when all processes have it first.
"""

import json
from collections.abc import Sequence
from datetime import timedelta
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
REWRAP = Query(
    "secret_keys.rewrap",
    """
    -- Only if no other server has wrapped it again since it was read.
    UPDATE secret_key SET master = :master, wrapped = :wrapped WHERE environment = :environment AND master = :before
    RETURNING environment
    """,
)
DELETE = Query("secret_keys.delete", "DELETE FROM secret_key")
HOLD = Query(
    "secret_keys.hold",
    """
    INSERT INTO secret_holder (server, name, masters, seen_at) VALUES (:server, :name, :masters, :now)
    ON CONFLICT (server) DO UPDATE SET masters = excluded.masters, seen_at = excluded.seen_at
    """,
)
HOLDERS = Query(
    "secret_keys.holders",
    "SELECT name, masters FROM secret_holder WHERE seen_at > :since ORDER BY name, server LIMIT :limit",
)
LET_GO = Query("secret_keys.let_go", "DELETE FROM secret_holder WHERE server = :server OR seen_at < :before_at")
FORGET_HOLDERS = Query("secret_keys.forget_holders", "DELETE FROM secret_holder")
# A process says this often which keys it has; one that has not for so long has ended.
SEEN_EVERY_S = 10.0
SEEN = timedelta(seconds=60)
# A site has some dozen environments.
MAX_LISTED = 10_000


class WrappedKey(NamedTuple):
    """A key of an environment, wrapped by the master key with this id."""

    environment: str
    master: str
    wrapped: bytes


class KeyHolder(NamedTuple):
    """A running process of a server, with the ids of its master keys, the current one first."""

    name: str
    masters: tuple[str, ...]


class SecretKeys:
    """The wrapped keys of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, environment: str) -> Transaction[WrappedKey | None]:
        rows = yield FIND(environment=environment)
        return WrappedKey(environment, rows[0][0], bytes(rows[0][1])) if rows else None

    def find_or_add(self, key: WrappedKey) -> Transaction[WrappedKey]:
        """Store the key of an environment, unless it has one; returns the one that it has now."""
        yield ADD(
            environment=key.environment,
            master=key.master,
            wrapped=key.wrapped,
            now=to_micros(self._database.clock.now()),
        )
        found = yield from self.find(key.environment)
        assert found is not None, "it was just added"
        return found

    def list_all(self) -> Transaction[Sequence[WrappedKey]]:
        """List all keys, by environment."""
        rows = yield LIST(limit=MAX_LISTED)
        return [WrappedKey(environment, master, bytes(wrapped)) for environment, master, wrapped in rows]

    def rewrap(self, before: str, key: WrappedKey) -> Transaction[bool]:
        """Store a key wrapped by another master key; False if it is no longer wrapped by the one before."""
        return bool((yield REWRAP(environment=key.environment, master=key.master, wrapped=key.wrapped, before=before)))

    def delete_all(self) -> Transaction[None]:
        """Delete all keys. No secret may be stored any more."""
        yield DELETE()

    def announce(self, server: str, holder: KeyHolder) -> Transaction[None]:
        """Store which keys a process has, as of now."""
        masters = json.dumps(list(holder.masters))
        yield HOLD(server=server, name=holder.name, masters=masters, now=to_micros(self._database.clock.now()))

    def let_go(self, server: str) -> Transaction[None]:
        """Delete a process that ends, and those that ended without it."""
        yield LET_GO(server=server, before_at=to_micros(self._database.clock.now() - SEEN))

    def list_holders(self) -> Transaction[list[KeyHolder]]:
        """List the processes that run now."""
        rows = yield HOLDERS(since=to_micros(self._database.clock.now() - SEEN), limit=MAX_LISTED)
        return [KeyHolder(name, tuple(json.loads(masters))) for name, masters in rows]


def forget_holders() -> Transaction[None]:
    """Delete all processes: those of a database that was just restored do not run."""
    yield FORGET_HOLDERS()
