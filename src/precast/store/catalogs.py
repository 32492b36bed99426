"""Catalogs: their documents by digest, which one is staged for each node, and which were released to it.

A document is never changed, and stays for as long as a node or a trace names it. A node is served the newest of its releases;
staging moves nothing that is served.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from precast.base.clock import from_micros, to_micros
from precast.store.engine.compression import pack, unpack
from precast.store.engine.database import Database
from precast.store.engine.lookup import Lookup
from precast.store.engine.query import Query, Row, Transaction, Wake, json_list
from precast.store.query.resource_index_queries import ID_CHARS, NOTE

# Woken when something was released.
RELEASED_TOPIC = "released"

ADD_DOCUMENT = Query(
    "catalogs.add_document",
    """
    -- One that is there is as if it had come now: whoever would collect it waits, and then finds that.
    INSERT INTO document (digest, body, size, stored_at) VALUES (:digest, :body, :size, :now)
    ON CONFLICT (digest) DO UPDATE SET stored_at = excluded.stored_at
    """,
)
DOCUMENT = Query("catalogs.document", "SELECT body FROM document WHERE digest = :digest")
STAGE = Query(
    "catalogs.stage",
    """
    INSERT INTO node_catalog (node, environment, version, facts, chain, skeleton, digest, fill, decided_at, changed_at)
    VALUES (:node, :environment, :version, :facts, :chain, :skeleton, :digest, :fill, :now, :now)
    ON CONFLICT (node) DO UPDATE SET environment = excluded.environment, version = excluded.version,
        facts = excluded.facts, chain = excluded.chain, skeleton = excluded.skeleton, digest = excluded.digest,
        fill = excluded.fill, decided_at = excluded.decided_at,
        changed_at = CASE WHEN node_catalog.digest = excluded.digest THEN node_catalog.changed_at
            ELSE excluded.changed_at END
    """,
)
STAGED = Query(
    "catalogs.staged",
    """
    SELECT node, environment, version, facts, chain, skeleton, digest, fill, decided_at, changed_at
    FROM node_catalog WHERE node IN (SELECT value FROM json_each(:nodes)) ORDER BY node
    """,
    postgresql="""
    SELECT node, environment, version, facts, chain, skeleton, digest, fill, decided_at, changed_at
    FROM node_catalog WHERE node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB)))) ORDER BY node
    """,
)
HOLD = Query(
    "catalogs.hold",
    """
    -- Ours until the commit: what a node was decided by, and its facts, change one after the other.
    SELECT node, chain FROM node_catalog WHERE node IN (SELECT value FROM json_each(:nodes)) ORDER BY node
    """,
    postgresql="""
    SELECT node, chain FROM node_catalog
    WHERE node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB)))) ORDER BY node FOR UPDATE
    """,
)
RELEASE = Query(
    "catalogs.release",
    """
    -- The next number of the node's own; what it is served already is not released again.
    INSERT INTO node_release (node, number, digest, skeleton, fill, environment, version, released_at, released_by)
    SELECT :node, coalesce(max(number), 0) + 1, :digest, :skeleton, :fill, :environment, :version, :now, :actor
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
SERVED_TO = Query(
    "catalogs.served_to",
    """
    SELECT node, number, digest, skeleton, fill, environment, version, released_at, released_by FROM node_release
    WHERE (node, number) IN (SELECT value, (SELECT max(number) FROM node_release WHERE node = value) FROM json_each(:nodes))
    """,
    postgresql="""
    SELECT one.* FROM jsonb_array_elements_text(CAST(:nodes AS JSONB)) AS asked (name), LATERAL (
        SELECT node, number, digest, skeleton, fill, environment, version, released_at, released_by FROM node_release
        WHERE node = asked.name ORDER BY number DESC LIMIT 1) AS one
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
ERRORS = Query(
    "catalogs.errors",
    """
    SELECT node, environment, version, chain, decided_at FROM node_catalog
    WHERE skeleton IS NULL AND node > :after ORDER BY node LIMIT :limit
    """,
)
CROWDED = Query(
    "catalogs.crowded",
    """
    -- Nodes with more releases than are kept of one. Reads the index: for now and then.
    SELECT node FROM node_release WHERE node > :after_node GROUP BY node HAVING count(*) > :keep ORDER BY node LIMIT :limit
    """,
)
TRIM = Query(
    "catalogs.trim",
    """
    -- The oldest beyond those that are kept; never the newest, nor the one that a rollback would bring back.
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
STAGED_BY = Query(
    "catalogs.staged_by",
    "SELECT DISTINCT chain FROM node_catalog WHERE chain IN (SELECT value FROM json_each(:ids))",
    postgresql="""
    SELECT DISTINCT chain FROM node_catalog
    WHERE chain = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:ids AS JSONB))))
    """,
)
NAMED = Query(
    "catalogs.named",
    """
    SELECT skeleton FROM node_catalog WHERE skeleton IN (SELECT value FROM json_each(:digests))
    UNION SELECT skeleton FROM node_release WHERE skeleton IN (SELECT value FROM json_each(:digests))
    """,
    postgresql="""
    SELECT skeleton FROM node_catalog
    WHERE skeleton = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:digests AS JSONB))))
    UNION SELECT skeleton FROM node_release
    WHERE skeleton = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:digests AS JSONB))))
    """,
)
UNNAMED = Query(
    "catalogs.unnamed",
    """
    -- Old documents that no node is staged with, is served or was served; a leaf may still name them.
    SELECT digest FROM document WHERE digest > :after_digest AND stored_at < :before_at
        AND NOT EXISTS (SELECT 1 FROM node_catalog WHERE skeleton = document.digest)
        AND NOT EXISTS (SELECT 1 FROM node_release WHERE skeleton = document.digest)
    ORDER BY digest LIMIT :limit
    """,
)
REMOVE_DOCUMENT = Query(
    "catalogs.remove_document",
    """
    DELETE FROM document WHERE digest = :digest AND stored_at < :before_at
        AND NOT EXISTS (SELECT 1 FROM node_catalog WHERE skeleton = :digest)
        AND NOT EXISTS (SELECT 1 FROM node_release WHERE skeleton = :digest)
    RETURNING digest
    """,
)
CHANGE = Query(
    "catalogs.change",
    """
    INSERT INTO node_change (node, at, environment, old_version, version, old_digest, digest, told, number)
    VALUES (:node, :now, :environment, :old_version, :version, :old_digest, :digest, :told, :number)
    ON CONFLICT (node) DO UPDATE SET at = excluded.at, environment = excluded.environment,
        old_version = excluded.old_version, version = excluded.version, old_digest = excluded.old_digest,
        digest = excluded.digest, told = excluded.told, number = excluded.number
    """,
)
CHANGED = Query(
    "catalogs.changed",
    """
    SELECT node, at, environment, old_version, version, old_digest, digest, told, number FROM node_change
    WHERE node = :node
    """,
)
FORGET_CHANGE = Query("catalogs.forget_change", "DELETE FROM node_change WHERE node = :node")
FORGET = Query("catalogs.forget", "DELETE FROM node_catalog WHERE node = :node")
FORGET_RELEASES = Query("catalogs.forget_releases", "DELETE FROM node_release WHERE node = :node")


def content_owner(catalog: str) -> str:
    """In whose name the files are kept that a catalog takes content from."""
    return f"catalog:{catalog}"


class Staged(msgspec.Struct, frozen=True):
    """What a node would get: the document with its fill; no skeleton where the code gives an error."""

    node: str
    environment: str
    version: str
    facts: str
    chain: str
    skeleton: str | None
    digest: str | None
    fill: str
    decided_at: datetime
    changed_at: datetime


class Release(msgspec.Struct, frozen=True):
    """What a node is or was served."""

    node: str
    number: int
    digest: str
    skeleton: str
    fill: str
    environment: str
    version: str
    released_at: datetime
    released_by: str


class Change(msgspec.Struct, frozen=True):
    """Why a node's catalog last became another: a read as JSON, and the number of the version that brought it, if one did."""

    node: str
    at: datetime
    environment: str
    old_version: str
    version: str
    old_digest: str | None
    digest: str | None
    told: str
    number: int | None


class Broken(msgspec.Struct, frozen=True):
    """A node whose code gives an error; the leaf of the chain says which."""

    node: str
    environment: str
    version: str
    chain: str
    decided_at: datetime


class Catalogs:
    """The catalogs of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def storing(self, documents: Iterable[tuple[str, bytes]]) -> Transaction[None]:
        """Keep documents under their digests; what is there stays."""
        now = to_micros(self._database.clock.now())
        yield ADD_DOCUMENT.many(
            {"digest": digest, "body": pack(body), "size": len(body), "now": now} for digest, body in sorted(documents)
        )

    def document(self, digest: str) -> Transaction[bytes | None]:
        rows = yield DOCUMENT(digest=digest)
        return unpack(rows[0][0]) if rows else None

    async def read_document(self, digest: str) -> bytes | None:
        return await self._database.read(self.document, digest)

    def staging(self, staged: Sequence[Staged]) -> Transaction[None]:
        """What these nodes would get now. `decided_at` counts for both moments."""
        yield STAGE.many(
            {
                "node": one.node,
                "environment": one.environment,
                "version": one.version,
                "facts": one.facts,
                "chain": one.chain,
                "skeleton": one.skeleton,
                "digest": one.digest,
                "fill": one.fill,
                "now": to_micros(one.decided_at),
            }
            for one in sorted(staged, key=lambda one: one.node)
        )

    def staged(self, nodes: Sequence[str]) -> Transaction[dict[str, Staged]]:
        return (yield from reading_staged(nodes))

    def holding(self, nodes: Sequence[str]) -> Transaction[dict[str, str]]:
        """The chain that each of these nodes was decided by. It stays so until the commit."""
        return dict((yield HOLD(nodes=json_list(nodes))))

    def releasing(self, releases: Sequence[Release]) -> Transaction[None]:
        """Serve these from now on; numbers are given here."""
        yield RELEASE.many(
            {
                "node": one.node,
                "digest": one.digest,
                "skeleton": one.skeleton,
                "fill": one.fill,
                "environment": one.environment,
                "version": one.version,
                "now": to_micros(one.released_at),
                "actor": one.released_by,
            }
            for one in sorted(releases, key=lambda one: one.node)
        )
        yield NOTE.many(
            {"skeleton": one, "id": one[:ID_CHARS]} for one in sorted({release.skeleton for release in releases})
        )
        yield Wake(RELEASED_TOPIC)

    def served(self, node: str) -> Transaction[Release | None]:
        return (yield from SERVING.finding(node))

    async def read_served(self, node: str) -> Release | None:
        return await self._database.find(SERVING, node)

    def releases(self, node: str, limit: int) -> Transaction[list[Release]]:
        """The newest first."""
        return [_release(row) for row in (yield RELEASES(node=node, limit=limit))]

    def crowded(self, keep: int, after: str, limit: int) -> Transaction[list[str]]:
        """Nodes that have more releases than are kept of one, by name."""
        return [row[0] for row in (yield CROWDED(keep=keep, after_node=after, limit=limit))]

    def trimming(self, node: str, keep: int) -> Transaction[int]:
        """Forget the oldest releases of a node beyond those that are kept; how many. What a rollback needs stays."""
        return len((yield TRIM(node=node, keep=keep)))

    def staged_by(self, chains: Sequence[str]) -> Transaction[set[str]]:
        """Those of these chains whose leaf some node is staged with."""
        return {row[0] for row in (yield STAGED_BY(ids=json_list(chains)))}

    def named(self, digests: Sequence[str]) -> Transaction[set[str]]:
        """Those of these documents that some node is staged with, is served, or could be served again."""
        return {row[0] for row in (yield NAMED(digests=json_list(digests)))}

    def unnamed(self, before: datetime, after: str, limit: int) -> Transaction[list[str]]:
        """Documents from before a moment that no node has, by digest; the traces may still name them."""
        return [row[0] for row in (yield UNNAMED(before_at=to_micros(before), after_digest=after, limit=limit))]

    def removing(self, digest: str, before: datetime) -> Transaction[bool]:
        """Remove a document from before a moment, if still no node has it. Whoever has just released it is told of first: STORE-009."""
        return bool((yield REMOVE_DOCUMENT(digest=digest, before_at=to_micros(before))))

    def changing(self, changes: Sequence[Change]) -> Transaction[None]:
        """Note why catalogs became others; of each node the last time."""
        yield CHANGE.many(
            {
                "node": one.node,
                "now": to_micros(one.at),
                "environment": one.environment,
                "old_version": one.old_version,
                "version": one.version,
                "old_digest": one.old_digest,
                "digest": one.digest,
                "told": one.told,
                "number": one.number,
            }
            for one in sorted(changes, key=lambda one: one.node)
        )

    def changed(self, node: str) -> Transaction[Change | None]:
        rows = yield CHANGED(node=node)
        if not rows:
            return None
        name, at, *rest = rows[0]
        return Change(name, from_micros(at), *rest)

    def released_since(self, since: datetime, limit: int = 100_000) -> Transaction[dict[str, str]]:
        """The digests of what was released since, the newest of each node."""
        return dict((yield RELEASED_SINCE(since=to_micros(since), limit=limit)))

    def broken(self, after: str, limit: int) -> Transaction[list[Broken]]:
        """Nodes whose code gives an error, by name."""
        rows = yield ERRORS(after=after, limit=limit)
        return [Broken(node, where, version, chain, from_micros(at)) for node, where, version, chain, at in rows]


def reading_staged(nodes: Sequence[str]) -> Transaction[dict[str, Staged]]:
    """What each would get; absent where nothing was decided."""
    found = [_staged(row) for row in (yield STAGED(nodes=json_list(nodes)))]
    return {one.node: one for one in found}


def forgetting(node: str) -> Transaction[None]:
    """Remove what is staged for a node, why, and what was released to it."""
    yield FORGET_CHANGE(node=node)
    yield FORGET(node=node)
    yield FORGET_RELEASES(node=node)


def _staged(row: Row) -> Staged:
    node, environment, version, facts, chain, skeleton, digest, fill, decided, changed = row
    return Staged(
        node,
        environment,
        version,
        facts,
        chain,
        skeleton,
        digest,
        fill,
        from_micros(decided),
        from_micros(changed),
    )


def _release(row: Row) -> Release:
    node, number, digest, skeleton, fill, environment, version, at, actor = row
    return Release(node, number, digest, skeleton, fill, environment, version, from_micros(at), actor)


# What nodes are served: asked for by every one again and again.
SERVING = Lookup(SERVED, SERVED_TO, _release)
