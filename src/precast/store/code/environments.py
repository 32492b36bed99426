"""Environments: what is current in each, and what was. A version is the digest of its tree; numbers only grow.

Deploying and rolling back take the environment's row first, so that two who do it at once follow each other, also on two servers.
"""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from precast.base.clock import from_micros, to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Row, Transaction, Wake

TOPIC = "environment"
MANUAL = "manual"

CURRENT = Query(
    "environments.current",
    """
    SELECT e.name, v.number, v.version, v.source, v.commit_id, v.deployed_by, v.deployed_at, e.policy
    FROM environment AS e JOIN environment_version AS v ON v.environment = e.name AND v.number = e.number
    WHERE e.name = :environment
    """,
)
LIST = Query(
    "environments.list",
    """
    SELECT e.name, v.number, v.version, v.source, v.commit_id, v.deployed_by, v.deployed_at, e.policy
    FROM environment AS e JOIN environment_version AS v ON v.environment = e.name AND v.number = e.number
    WHERE e.name > :after ORDER BY e.name LIMIT :limit
    """,
)
HISTORY = Query(
    "environments.history",
    """
    -- The newest first, from below a number on.
    SELECT environment, number, version, source, commit_id, deployed_by, deployed_at FROM environment_version
    WHERE environment = :environment AND number < :before_number ORDER BY number DESC LIMIT :limit
    """,
)
NUMBERED = Query(
    "environments.numbered",
    """
    SELECT environment, number, version, source, commit_id, deployed_by, deployed_at FROM environment_version
    WHERE environment = :environment AND number = :number
    """,
)
TAKE = Query(
    "environments.take",
    """
    -- The row of an environment that is known, ours until the commit; nothing of it changes.
    UPDATE environment SET name = name WHERE name = :environment RETURNING version, number
    """,
)
PUT = Query(
    "environments.put",
    """
    INSERT INTO environment (name, version, number, policy, changed_at) VALUES (:environment, :version, :number, :policy, :now)
    ON CONFLICT (name) DO UPDATE SET version = excluded.version, number = excluded.number, changed_at = excluded.changed_at
    WHERE environment.number < excluded.number
    RETURNING number
    """,
)
ADD_VERSION = Query(
    "environments.add_version",
    """
    INSERT INTO environment_version (environment, number, version, source, commit_id, deployed_by, deployed_at)
    VALUES (:environment, :number, :version, :source, :commit_id, :deployed_by, :now)
    """,
)
SET_POLICY = Query(
    "environments.set_policy",
    "UPDATE environment SET policy = :policy WHERE name = :environment AND policy <> :policy RETURNING name",
)
OLDEST = Query(
    "environments.oldest",
    """
    -- Numbers of an environment beyond those that are kept.
    SELECT number, version FROM environment_version WHERE environment = :environment AND number <= (
        SELECT number FROM environment_version WHERE environment = :environment ORDER BY number DESC LIMIT 1 OFFSET :keep
    )
    ORDER BY number LIMIT :limit
    """,
)
FORGET_VERSION = Query(
    "environments.forget_version",
    """
    DELETE FROM environment_version WHERE environment = :environment AND number = :number
        AND number <> (SELECT number FROM environment WHERE name = :environment)
    RETURNING version
    """,
)
DEPLOYED = Query(
    "environments.deployed",
    "SELECT min(deployed_at) FROM environment_version WHERE environment = :environment AND version = :version",
)
IS_RETAINED = Query("environments.is_retained", "SELECT 1 FROM environment_version WHERE version = :version LIMIT 1")
VERSIONS_OF = Query(
    "environments.versions_of",
    "SELECT DISTINCT version FROM environment_version WHERE environment = :environment ORDER BY version LIMIT :limit",
)


class EnvironmentVersion(msgspec.Struct, frozen=True):
    """A tree that is or was current, and how it came."""

    environment: str
    number: int
    version: str
    source: str
    commit_id: str | None
    deployed_by: str
    deployed_at: datetime


class Environment(msgspec.Struct, frozen=True):
    """An environment as it is now."""

    current: EnvironmentVersion
    policy: str

    @property
    def name(self) -> str:
        return self.current.environment


class Arrival(msgspec.Struct, frozen=True):
    """A version that is to be current."""

    environment: str
    version: str
    source: str
    commit_id: str | None
    deployed_by: str


class Environments:
    """All environments of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def current(self, name: str) -> EnvironmentVersion | None:
        found = await self._database.read(self.showing, name)
        return found.current if found else None

    def current_versions(self, names: Iterable[str]) -> Transaction[dict[str, str | None]]:
        """The current version of each of these environments; None where nothing is deployed."""
        found: dict[str, str | None] = {}
        for name in sorted(set(names)):
            shown = yield from self.showing(name)
            found[name] = shown.current.version if shown else None
        return found

    def showing(self, name: str) -> Transaction[Environment | None]:
        rows = yield CURRENT(environment=name)
        return _environment(rows[0]) if rows else None

    def listing(self, after: str, limit: int) -> Transaction[list[Environment]]:
        """Environments by name, from after one on."""
        return [_environment(row) for row in (yield LIST(after=after, limit=limit))]

    def history(self, name: str, before: int, limit: int) -> Transaction[list[EnvironmentVersion]]:
        """What was current, the newest first, from below a number on."""
        return [_version(row) for row in (yield HISTORY(environment=name, before_number=before, limit=limit))]

    def numbered(self, name: str, number: int) -> Transaction[EnvironmentVersion | None]:
        rows = yield NUMBERED(environment=name, number=number)
        return _version(rows[0]) if rows else None

    def taking(self, name: str) -> Transaction[tuple[str, int] | None]:
        """Version and number of an environment that is known, ours until the commit."""
        rows = yield TAKE(environment=name)
        return (rows[0][0], rows[0][1]) if rows else None

    def arriving(self, arrival: Arrival, number: int) -> Transaction[bool]:
        """Make a version current, under a number that follows the one that was taken. False if somebody else was first."""
        put = yield PUT(
            environment=arrival.environment,
            version=arrival.version,
            number=number,
            policy=MANUAL,
            now=to_micros(self._database.clock.now()),
        )
        if not put:
            return False
        yield ADD_VERSION(
            environment=arrival.environment,
            number=number,
            version=arrival.version,
            source=arrival.source,
            commit_id=arrival.commit_id,
            deployed_by=arrival.deployed_by,
            now=to_micros(self._database.clock.now()),
        )
        yield Wake(TOPIC)
        return True

    def setting_policy(self, name: str, policy: str) -> Transaction[bool]:
        """False if it is so already, or there is no such environment."""
        return bool((yield SET_POLICY(environment=name, policy=policy)))

    def oldest(self, name: str, keep: int, limit: int) -> Transaction[list[int]]:
        """Numbers beyond those that are kept, the oldest first."""
        return [row[0] for row in (yield OLDEST(environment=name, keep=keep, limit=limit))]

    def forgetting(self, name: str, number: int) -> Transaction[str | None]:
        """A number is no more, unless it is the current one; the version that it had."""
        rows = yield FORGET_VERSION(environment=name, number=number)
        return str(rows[0][0]) if rows else None

    def deployed(self, name: str, version: str) -> Transaction[datetime | None]:
        """When a version came first, of those that are retained."""
        ((at,),) = yield DEPLOYED(environment=name, version=version)
        return None if at is None else from_micros(at)

    def is_retained(self, version: str) -> Transaction[bool]:
        """Whether some environment still has this version under a number."""
        return bool((yield IS_RETAINED(version=version)))

    def versions(self, name: str, limit: int) -> Transaction[list[str]]:
        """All versions that an environment retains."""
        return [row[0] for row in (yield VERSIONS_OF(environment=name, limit=limit))]

    async def list(self, after: str = "", limit: int = 100) -> list[Environment]:
        return await self._database.read(self.listing, after, limit)


def _version(row: Row) -> EnvironmentVersion:
    name, number, version, source, commit, by, at = row
    return EnvironmentVersion(name, number, version, source, commit, by, from_micros(at))


def _environment(row: Row) -> Environment:
    *version, policy = row
    return Environment(_version(version), policy)
