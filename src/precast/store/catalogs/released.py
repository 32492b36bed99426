"""Released catalogs: every catalog that was released to a node, until it is trimmed. A node is served its newest release."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from precast.base.clock import from_micros, to_micros
from precast.store.engine.database import Database
from precast.store.engine.lookup import Lookup
from precast.store.engine.query import Query, Row, Transaction, Wake
from precast.store.query.resource_index_queries import ADD_CATALOG, ID_CHARS

# Woken by every release.
RELEASED_TOPIC = "released"

RELEASE = Query(
    "catalogs.release",
    """
    -- Each node counts its own releases. Their times only grow, even if the clock was set back, because a node applies none that is older.
    INSERT INTO node_release (node, number, digest, skeleton, fill, environment, version, released_at, released_by)
    SELECT :node, coalesce(max(number), 0) + 1, :digest, :skeleton, :fill, :environment, :version,
        CASE WHEN coalesce(max(released_at), 0) < :now THEN :now ELSE max(released_at) + 1 END, :actor
    FROM node_release WHERE node = :node
    """,
)
SERVED = Query(
    "catalogs.served",
    """
    SELECT node, number, digest, skeleton, fill, environment, version, released_at, released_by FROM node_release
    WHERE node = :node ORDER BY number DESC LIMIT 1
    """,
)
SERVED_TO_EACH = Query(
    "catalogs.served_to",
    """
    SELECT node, number, digest, skeleton, fill, environment, version, released_at, released_by FROM node_release
    WHERE (node, number) IN (SELECT value, (SELECT max(number) FROM node_release WHERE node = value) FROM json_each(:nodes))
    """,
    postgresql="""
    SELECT newest.* FROM jsonb_array_elements_text(CAST(:nodes AS JSONB)) AS names (name), LATERAL (
        SELECT node, number, digest, skeleton, fill, environment, version, released_at, released_by FROM node_release
        WHERE node = names.name ORDER BY number DESC LIMIT 1) AS newest
    """,
)
RELEASES = Query(
    "catalogs.releases",
    """
    SELECT node, number, digest, skeleton, fill, environment, version, released_at, released_by FROM node_release
    WHERE node = :node ORDER BY number DESC LIMIT :limit
    """,
)
RELEASED_SINCE = Query(
    "catalogs.released_since",
    """
    SELECT node, digest FROM node_release WHERE released_at >= :since ORDER BY released_at, node, number LIMIT :limit
    """,
)
CROWDED = Query(
    "catalogs.crowded",
    """
    -- Nodes with more releases than `keep`. Reads the whole index, so it runs rarely.
    SELECT node FROM node_release WHERE node > :after_node GROUP BY node HAVING count(*) > :keep ORDER BY node LIMIT :limit
    """,
)
TRIM = Query(
    "catalogs.trim",
    """
    -- The oldest releases beyond `keep`; never the newest, nor the one that a rollback would release again.
    DELETE FROM node_release WHERE node = :node AND number <= (
        SELECT number FROM node_release WHERE node = :node ORDER BY number DESC LIMIT 1 OFFSET :keep
    )
    AND number < (SELECT max(number) FROM node_release WHERE node = :node)
    AND number <> coalesce((
        SELECT max(number) FROM node_release WHERE node = :node AND digest <> (
            SELECT digest FROM node_release WHERE node = :node ORDER BY number DESC LIMIT 1
        )
    ), 0)
    RETURNING number
    """,
)
DELETE = Query("catalogs.delete_releases", "DELETE FROM node_release WHERE node = :node")


class Release(msgspec.Struct, frozen=True):
    """A catalog that a node is or was served."""

    node: str
    number: int
    digest: str
    skeleton: str
    fill: str
    environment: str
    version: str
    released_at: datetime
    released_by: str


class ReleasedCatalogs:
    """The released catalogs of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def release(self, releases: Sequence[Release]) -> Transaction[None]:
        """Release catalogs: nodes are served them from now on. This gives the numbers."""
        yield RELEASE.many(
            {
                "node": release.node,
                "digest": release.digest,
                "skeleton": release.skeleton,
                "fill": release.fill,
                "environment": release.environment,
                "version": release.version,
                "now": to_micros(release.released_at),
                "actor": release.released_by,
            }
            for release in sorted(releases, key=lambda release: release.node)
        )
        skeletons = sorted({release.skeleton for release in releases})
        yield ADD_CATALOG.many({"skeleton": skeleton, "id": skeleton[:ID_CHARS]} for skeleton in skeletons)
        yield Wake(RELEASED_TOPIC)

    def find_served(self, node: str) -> Transaction[Release | None]:
        return (yield from SERVED_LOOKUP.find(node))

    async def read_served(self, node: str) -> Release | None:
        """Find the served catalog in a transaction of its own."""
        return await self._database.find(SERVED_LOOKUP, node)

    def list_releases(self, node: str, limit: int) -> Transaction[list[Release]]:
        """List the releases of a node, the newest first."""
        return [_release(row) for row in (yield RELEASES(node=node, limit=limit))]

    def list_crowded(self, keep: int, after: str, limit: int) -> Transaction[list[str]]:
        """List nodes that have more than `keep` releases, by name."""
        return [row[0] for row in (yield CROWDED(keep=keep, after_node=after, limit=limit))]

    def trim(self, node: str, keep: int) -> Transaction[int]:
        """Delete the oldest releases of a node beyond `keep`, except what a rollback needs. Returns how many were deleted."""
        return len((yield TRIM(node=node, keep=keep)))

    def list_since(self, since: datetime, limit: int = 100_000) -> Transaction[dict[str, str]]:
        """Return the digest of the newest release since `since`, by node."""
        return dict((yield RELEASED_SINCE(since=to_micros(since), limit=limit)))


def delete_node(node: str) -> Transaction[None]:
    """Delete all releases of a node."""
    yield DELETE(node=node)


def _release(row: Row) -> Release:
    node, number, digest, skeleton, fill, environment, version, at, actor = row
    return Release(node, number, digest, skeleton, fill, environment, version, from_micros(at), actor)


# Every node looks up its served catalog again and again.
SERVED_LOOKUP = Lookup(SERVED, SERVED_TO_EACH, _release)
