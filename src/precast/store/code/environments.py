"""Environments: the current version of each, and its earlier versions. A version is the digest of its file tree; numbers only grow.

Deploying and rolling back lock the environment's row first, so that concurrent deployments are serialised, even on two servers.
"""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from precast.base.clock import from_micros, to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Row, Transaction, Wake

TOPIC = "environment"
MANUAL = "manual"
# Which exports the nodes of an environment collect: those of the served or of the staged catalogs of the environment, or those of the
# served catalogs of all environments.
RELEASED, STAGED, EVERYWHERE = "released", "staged", "everywhere"

CURRENT = Query(
    "environments.current",
    """
    SELECT e.name, v.number, v.version, v.source, v.commit_id, v.deployed_by, v.deployed_at, v.signer,
        v.signing_key, e.policy, e.release_approvals, e.action_approvals, e.exports
    FROM environment AS e JOIN environment_version AS v ON v.environment = e.name AND v.number = e.number
    WHERE e.name = :environment
    """,
)
LIST = Query(
    "environments.list",
    """
    SELECT e.name, v.number, v.version, v.source, v.commit_id, v.deployed_by, v.deployed_at, v.signer,
        v.signing_key, e.policy, e.release_approvals, e.action_approvals, e.exports
    FROM environment AS e JOIN environment_version AS v ON v.environment = e.name AND v.number = e.number
    WHERE e.name > :after ORDER BY e.name LIMIT :limit
    """,
)
HISTORY = Query(
    "environments.history",
    """
    -- The newest first, below a number.
    SELECT environment, number, version, source, commit_id, deployed_by, deployed_at, signer, signing_key
    FROM environment_version
    WHERE environment = :environment AND number < :before_number ORDER BY number DESC LIMIT :limit
    """,
)
NUMBERED = Query(
    "environments.numbered",
    """
    SELECT environment, number, version, source, commit_id, deployed_by, deployed_at, signer, signing_key
    FROM environment_version
    WHERE environment = :environment AND number = :number
    """,
)
LOCK = Query(
    "environments.lock",
    """
    -- Locks the row of a known environment until the commit, without changing it.
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
    INSERT INTO environment_version
        (environment, number, version, source, commit_id, deployed_by, deployed_at, signer, signing_key)
    VALUES (:environment, :number, :version, :source, :commit_id, :deployed_by, :now, :signer, :signing_key)
    """,
)
SET_RELEASE_APPROVALS = Query(
    "environments.set_release_approvals",
    """
    UPDATE environment SET release_approvals = :count WHERE name = :environment AND release_approvals <> :count
    RETURNING name
    """,
)
SET_ACTION_APPROVALS = Query(
    "environments.set_action_approvals",
    """
    UPDATE environment SET action_approvals = :count WHERE name = :environment AND action_approvals <> :count
    RETURNING name
    """,
)
SET_EXPORTS = Query(
    "environments.set_exports",
    "UPDATE environment SET exports = :exports WHERE name = :environment AND exports <> :exports RETURNING name",
)
SET_POLICY = Query(
    "environments.set_policy",
    "UPDATE environment SET policy = :policy WHERE name = :environment AND policy <> :policy RETURNING name",
)
OLDEST = Query(
    "environments.oldest",
    """
    -- Numbers of an environment beyond the newest `keep`.
    SELECT number, version FROM environment_version WHERE environment = :environment AND number <= (
        SELECT number FROM environment_version WHERE environment = :environment ORDER BY number DESC LIMIT 1 OFFSET :keep
    )
    ORDER BY number LIMIT :limit
    """,
)
DELETE_VERSION = Query(
    "environments.delete_version",
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
COMMIT = Query(
    "environments.commit",
    """
    SELECT commit_id FROM environment_version WHERE environment = :environment AND version = :version
    ORDER BY number DESC LIMIT 1
    """,
)
IS_RETAINED = Query("environments.is_retained", "SELECT 1 FROM environment_version WHERE version = :version LIMIT 1")
VERSIONS_OF = Query(
    "environments.versions_of",
    "SELECT DISTINCT version FROM environment_version WHERE environment = :environment ORDER BY version LIMIT :limit",
)


class EnvironmentVersion(msgspec.Struct, frozen=True):
    """A file tree that is or was current, and how it was deployed."""

    environment: str
    number: int
    version: str
    source: str
    commit_id: str | None
    deployed_by: str
    deployed_at: datetime
    signer: str | None = None
    signing_key: str | None = None


class Environment(msgspec.Struct, frozen=True):
    """An environment as it is now."""

    current: EnvironmentVersion
    policy: str
    release_approvals: int = 0  # how many other people must approve a release
    action_approvals: int = 0  # how many must approve an action that changes nodes
    exports: str = RELEASED  # which exports of other nodes its nodes collect

    @property
    def name(self) -> str:
        return self.current.environment


class NewVersion(msgspec.Struct, frozen=True):
    """A version that is about to become current."""

    environment: str
    version: str
    source: str
    commit_id: str | None
    deployed_by: str
    signer: str | None = None
    signing_key: str | None = None


class Environments:
    """All environments of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find_current(self, name: str) -> EnvironmentVersion | None:
        environment = await self._database.read(self.find, name)
        return environment.current if environment else None

    def find_current_versions(self, names: Iterable[str]) -> Transaction[dict[str, str | None]]:
        """Find the current version of each of these environments; None where nothing is deployed."""
        versions: dict[str, str | None] = {}
        for name in sorted(set(names)):
            environment = yield from self.find(name)
            versions[name] = environment.current.version if environment else None
        return versions

    def find(self, name: str) -> Transaction[Environment | None]:
        rows = yield CURRENT(environment=name)
        return _environment(rows[0]) if rows else None

    def list_page(self, after: str, limit: int) -> Transaction[list[Environment]]:
        """List environments by name, after a name."""
        return [_environment(row) for row in (yield LIST(after=after, limit=limit))]

    def list_history(self, name: str, before: int, limit: int) -> Transaction[list[EnvironmentVersion]]:
        """List the versions of an environment below a number, the newest first."""
        return [_version(row) for row in (yield HISTORY(environment=name, before_number=before, limit=limit))]

    def find_version(self, name: str, number: int) -> Transaction[EnvironmentVersion | None]:
        rows = yield NUMBERED(environment=name, number=number)
        return _version(rows[0]) if rows else None

    def lock(self, name: str) -> Transaction[tuple[str, int] | None]:
        """Lock an environment until the commit, and return its version and number; None if it is not known."""
        rows = yield LOCK(environment=name)
        return (rows[0][0], rows[0][1]) if rows else None

    def make_current(self, new: NewVersion, number: int) -> Transaction[bool]:
        """Make a version current under the number after the locked one. False if another deployment was first."""
        put = yield PUT(
            environment=new.environment,
            version=new.version,
            number=number,
            policy=MANUAL,
            now=to_micros(self._database.clock.now()),
        )
        if not put:
            return False
        yield ADD_VERSION(
            environment=new.environment,
            number=number,
            version=new.version,
            source=new.source,
            commit_id=new.commit_id,
            deployed_by=new.deployed_by,
            now=to_micros(self._database.clock.now()),
            signer=new.signer,
            signing_key=new.signing_key,
        )
        yield Wake(TOPIC)
        return True

    def set_policy(self, name: str, policy: str) -> Transaction[bool]:
        """Set the release policy; False if it is set already, or the environment does not exist."""
        return bool((yield SET_POLICY(environment=name, policy=policy)))

    def set_exports(self, name: str, exports: str) -> Transaction[bool]:
        """Set which exports the nodes of an environment collect; False as for policies."""
        return bool((yield SET_EXPORTS(environment=name, exports=exports)))

    def set_release_approvals(self, name: str, count: int) -> Transaction[bool]:
        """Set how many people must approve a release; False if it is set already, or the environment does not exist."""
        return bool((yield SET_RELEASE_APPROVALS(environment=name, count=count)))

    def set_action_approvals(self, name: str, count: int) -> Transaction[bool]:
        """Set how many people must approve an action that changes nodes; False as for releases."""
        return bool((yield SET_ACTION_APPROVALS(environment=name, count=count)))

    def list_oldest(self, name: str, keep: int, limit: int) -> Transaction[list[int]]:
        """List the numbers beyond the newest `keep`, the oldest first."""
        return [row[0] for row in (yield OLDEST(environment=name, keep=keep, limit=limit))]

    def delete_version(self, name: str, number: int) -> Transaction[str | None]:
        """Delete a number, unless it is the current one. Returns its version, or None."""
        rows = yield DELETE_VERSION(environment=name, number=number)
        return str(rows[0][0]) if rows else None

    def find_first_deployment(self, name: str, version: str) -> Transaction[datetime | None]:
        """Find when a version was first deployed, as far as that is retained."""
        ((at,),) = yield DEPLOYED(environment=name, version=version)
        return None if at is None else from_micros(at)

    def find_commit(self, name: str, version: str) -> Transaction[str | None]:
        """Find the commit of a version; None if it did not come from a repository."""
        rows = yield COMMIT(environment=name, version=version)
        return rows[0][0] if rows else None

    def is_retained(self, version: str) -> Transaction[bool]:
        """Whether any environment retains this version."""
        return bool((yield IS_RETAINED(version=version)))

    def list_versions(self, name: str, limit: int) -> Transaction[list[str]]:
        """List the versions that an environment retains."""
        return [row[0] for row in (yield VERSIONS_OF(environment=name, limit=limit))]

    async def list(self, after: str = "", limit: int = 100) -> list[Environment]:
        return await self._database.read(self.list_page, after, limit)


def _version(row: Row) -> EnvironmentVersion:
    name, number, version, source, commit, by, at, signer, key = row
    return EnvironmentVersion(name, number, version, source, commit, by, from_micros(at), signer, key)


def _environment(row: Row) -> Environment:
    *version, policy, release_approvals, action_approvals, exports = row
    return Environment(_version(version), policy, release_approvals, action_approvals, exports)
