"""Staged catalogs: the catalog that each node would get if it were released now, and why it last changed.

Staging never changes what a node is served.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from precast.base.clock import from_micros, to_micros
from precast.store.engine.query import Query, Row, Transaction, json_list

STAGE = Query(
    "catalogs.stage",
    """
    INSERT INTO node_catalog
        (node, environment, version, facts, chain, skeleton, digest, fill, decided_at, changed_at, problems)
    VALUES (:node, :environment, :version, :facts, :chain, :skeleton, :digest, :fill, :now, :now, :problems)
    ON CONFLICT (node) DO UPDATE SET environment = excluded.environment, version = excluded.version,
        facts = excluded.facts, chain = excluded.chain, skeleton = excluded.skeleton, digest = excluded.digest,
        fill = excluded.fill, decided_at = excluded.decided_at, problems = excluded.problems,
        changed_at = CASE WHEN node_catalog.digest = excluded.digest THEN node_catalog.changed_at
            ELSE excluded.changed_at END
    """,
)
FIND = Query(
    "catalogs.staged",
    """
    SELECT node, environment, version, facts, chain, skeleton, digest, fill, decided_at, changed_at, problems
    FROM node_catalog WHERE node IN (SELECT value FROM json_each(:nodes)) ORDER BY node
    """,
    postgresql="""
    SELECT node, environment, version, facts, chain, skeleton, digest, fill, decided_at, changed_at, problems
    FROM node_catalog WHERE node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB)))) ORDER BY node
    """,
)
LOCK_CHAINS = Query(
    "catalogs.lock",
    """
    -- The rows stay locked until the commit, so that a node's staged catalog and its facts change one after the other.
    SELECT node, chain FROM node_catalog WHERE node IN (SELECT value FROM json_each(:nodes)) ORDER BY node
    """,
    postgresql="""
    SELECT node, chain FROM node_catalog
    WHERE node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB)))) ORDER BY node FOR UPDATE
    """,
)
FILTER_CHAINS = Query(
    "catalogs.staged_by",
    "SELECT DISTINCT chain FROM node_catalog WHERE chain IN (SELECT value FROM json_each(:ids))",
    postgresql="""
    SELECT DISTINCT chain FROM node_catalog
    WHERE chain = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:ids AS JSONB))))
    """,
)
FAILED = Query(
    "catalogs.errors",
    """
    SELECT node, environment, version, chain, decided_at FROM node_catalog
    WHERE skeleton IS NULL AND node > :after ORDER BY node LIMIT :limit
    """,
)
WITH_PROBLEMS = Query(
    "catalogs.with_problems",
    """
    SELECT node, environment, version, chain, decided_at FROM node_catalog
    WHERE problems > 0 AND skeleton IS NOT NULL AND node > :after ORDER BY node LIMIT :limit
    """,
)
COUNT_FAILED = Query("catalogs.count_failed", "SELECT count(*) FROM node_catalog WHERE skeleton IS NULL")
COUNT_WITH_PROBLEMS = Query(
    "catalogs.count_with_problems",
    "SELECT count(*) FROM node_catalog WHERE problems > 0 AND skeleton IS NOT NULL",
)
SET_CHANGE = Query(
    "catalogs.change",
    """
    INSERT INTO node_change (node, at, environment, old_version, version, old_digest, digest, told, number)
    VALUES (:node, :now, :environment, :old_version, :version, :old_digest, :digest, :told, :number)
    ON CONFLICT (node) DO UPDATE SET at = excluded.at, environment = excluded.environment,
        old_version = excluded.old_version, version = excluded.version, old_digest = excluded.old_digest,
        digest = excluded.digest, told = excluded.told, number = excluded.number
    """,
)
FIND_CHANGE = Query(
    "catalogs.changed",
    """
    SELECT node, at, environment, old_version, version, old_digest, digest, told, number FROM node_change
    WHERE node = :node
    """,
)
DELETE_CHANGE = Query("catalogs.delete_change", "DELETE FROM node_change WHERE node = :node")
DELETE = Query("catalogs.delete", "DELETE FROM node_catalog WHERE node = :node")


class StagedCatalog(msgspec.Struct, frozen=True):
    """The staged catalog of a node: a skeleton with its fill. `skeleton` is None where the code gives an error."""

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
    problems: int = 0  # of the leaf, besides errors


class CatalogChange(msgspec.Struct, frozen=True):
    """Why a node's staged catalog last changed: `differing_read` is the read whose answer differed, as JSON; `number` is the environment
    version that caused the change, if one did."""

    node: str
    at: datetime
    environment: str
    old_version: str
    version: str
    old_digest: str | None
    digest: str | None
    differing_read: str
    number: int | None


class FlawedCatalog(msgspec.Struct, frozen=True):
    """A node whose code gives an error, or whose catalog has problems; the leaf of the chain holds them."""

    node: str
    environment: str
    version: str
    chain: str
    decided_at: datetime


class StagedCatalogs:
    """The staged catalogs of one database."""

    def stage(self, catalogs: Sequence[StagedCatalog]) -> Transaction[None]:
        """Stage catalogs, at most one for each node. `changed_at` becomes `decided_at` if the digest changed."""
        yield STAGE.many(
            {
                "node": catalog.node,
                "environment": catalog.environment,
                "version": catalog.version,
                "facts": catalog.facts,
                "chain": catalog.chain,
                "skeleton": catalog.skeleton,
                "digest": catalog.digest,
                "fill": catalog.fill,
                "now": to_micros(catalog.decided_at),
                "problems": catalog.problems,
            }
            for catalog in sorted(catalogs, key=lambda catalog: catalog.node)
        )

    def find(self, nodes: Sequence[str]) -> Transaction[dict[str, StagedCatalog]]:
        return (yield from find_staged(nodes))

    def lock_chains(self, nodes: Sequence[str]) -> Transaction[dict[str, str]]:
        """Return the chain behind each node's staged catalog, and lock the rows until the commit."""
        return dict((yield LOCK_CHAINS(nodes=json_list(nodes))))

    def filter_chains(self, chains: Sequence[str]) -> Transaction[set[str]]:
        """Return those of the chains whose leaf some node is staged with."""
        return {row[0] for row in (yield FILTER_CHAINS(ids=json_list(chains)))}

    def record_changes(self, changes: Sequence[CatalogChange]) -> Transaction[None]:
        """Store why staged catalogs changed; only the last change of each node is kept."""
        yield SET_CHANGE.many(
            {
                "node": change.node,
                "now": to_micros(change.at),
                "environment": change.environment,
                "old_version": change.old_version,
                "version": change.version,
                "old_digest": change.old_digest,
                "digest": change.digest,
                "told": change.differing_read,
                "number": change.number,
            }
            for change in sorted(changes, key=lambda change: change.node)
        )

    def find_change(self, node: str) -> Transaction[CatalogChange | None]:
        rows = yield FIND_CHANGE(node=node)
        if not rows:
            return None
        name, at, *rest = rows[0]
        return CatalogChange(name, from_micros(at), *rest)

    def list_failed(self, after: str, limit: int) -> Transaction[list[FlawedCatalog]]:
        """List nodes whose code gives an error, by name."""
        return [_flawed(row) for row in (yield FAILED(after=after, limit=limit))]

    def list_with_problems(self, after: str, limit: int) -> Transaction[list[FlawedCatalog]]:
        """List nodes whose staged catalog has problems, by name."""
        return [_flawed(row) for row in (yield WITH_PROBLEMS(after=after, limit=limit))]

    def count_flawed(self) -> Transaction[tuple[int, int]]:
        """Count the nodes whose code gives an error, and those whose staged catalog has problems."""
        ((failed,),) = yield COUNT_FAILED()
        ((with_problems,),) = yield COUNT_WITH_PROBLEMS()
        return int(failed), int(with_problems)


def find_staged(nodes: Sequence[str]) -> Transaction[dict[str, StagedCatalog]]:
    """Find the staged catalogs of nodes; a node without one is absent."""
    catalogs = [_staged(row) for row in (yield FIND(nodes=json_list(nodes)))]
    return {catalog.node: catalog for catalog in catalogs}


def delete_node(node: str) -> Transaction[None]:
    """Delete the staged catalog of a node and the reason of its last change."""
    yield DELETE_CHANGE(node=node)
    yield DELETE(node=node)


def _flawed(row: Row) -> FlawedCatalog:
    node, environment, version, chain, at = row
    return FlawedCatalog(node, environment, version, chain, from_micros(at))


def _staged(row: Row) -> StagedCatalog:
    node, environment, version, facts, chain, skeleton, digest, fill, decided, changed, problems = row
    times = from_micros(decided), from_micros(changed)
    return StagedCatalog(node, environment, version, facts, chain, skeleton, digest, fill, *times, problems)
