"""Released catalogs: every catalog that was released to a node, until it is trimmed. A node is served its newest release.

The releases of a node form lines: the parent of a release is the release that was served before it. A rollback adds a row that restores
an earlier release together with its parent, so that the next rollback goes further back.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from precast.base.clock import from_micros, to_micros
from precast.store.catalogs import released_queries as queries
from precast.store.engine.database import Database
from precast.store.engine.lookup import Lookup
from precast.store.engine.query import Row, Transaction, Wake, json_list
from precast.store.query.resource_index_queries import ADD_CATALOG, ID_CHARS

# Woken by every release.
RELEASED_TOPIC = "released"


class Release(msgspec.Struct, frozen=True):
    """A catalog that a node is or was served. `release` is its number in the log.

    A rollback restores the release with the number `origin_release`. `origin` and `parent` are numbers in the history of the node.
    """

    node: str
    number: int
    digest: str
    skeleton: str
    fill: str
    environment: str
    version: str
    released_at: datetime
    released_by: str
    release: int
    origin: int = 0
    origin_release: int = 0
    parent: int | None = None
    commit: str | None = None


class ReleaseStep(msgspec.Struct, frozen=True):
    """A release in the history of a node, without the values of its catalog."""

    node: str
    number: int
    digest: str
    skeleton: str
    environment: str
    version: str
    released_at: datetime
    released_by: str
    release: int
    origin: int
    origin_release: int
    parent: int | None = None
    commit: str | None = None


class ReleasedCatalogs:
    """The released catalogs of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def release(self, releases: Sequence[Release]) -> Transaction[None]:
        """Release catalogs: nodes are served them from now on. This gives numbers, origins and parents."""
        yield queries.RELEASE.many(
            {
                "node": release.node,
                "digest": release.digest,
                "skeleton": release.skeleton,
                "fill": release.fill,
                "environment": release.environment,
                "version": release.version,
                "now": to_micros(release.released_at),
                "actor": release.released_by,
                "release": release.release,
                "commit_id": release.commit,
            }
            for release in sorted(releases, key=lambda release: release.node)
        )
        yield from _add_catalogs(release.skeleton for release in releases)

    def restore(self, steps: Sequence[ReleaseStep], release: int, now: datetime, actor: str) -> Transaction[set[str]]:
        """Serve earlier releases again, each with the line that it was released on. Returns the nodes whose release still exists."""
        rows = yield queries.RESTORE.many(
            {"node": step.node, "restored": step.number, "now": to_micros(now), "actor": actor, "release": release}
            for step in sorted(steps, key=lambda step: step.node)
        )
        yield from _add_catalogs(step.skeleton for step in steps)
        return {row[0] for row in rows}

    def find_served(self, node: str) -> Transaction[Release | None]:
        return (yield from SERVED_LOOKUP.find(node))

    async def read_served(self, node: str) -> Release | None:
        """Find the served catalog in a transaction of its own."""
        return await self._database.find(SERVED_LOOKUP, node)

    def list_releases(self, node: str, limit: int) -> Transaction[list[Release]]:
        """List the releases of a node, the newest first."""
        return [_release(row) for row in (yield queries.RELEASES(node=node, limit=limit))]

    def list_history(self, node: str, limit: int) -> Transaction[list[ReleaseStep]]:
        """List the releases of a node, the newest first, without the values of their catalogs."""
        return [_step(row) for row in (yield queries.HISTORY(node=node, limit=limit))]

    def find_numbered(self, numbers: Mapping[str, int]) -> Transaction[dict[str, ReleaseStep]]:
        """Find one release of each node by its number; a trimmed one is absent."""
        return _by_node((yield queries.NUMBERED(pairs=json_list([node, number] for node, number in numbers.items()))))

    def find_fills(self, steps: Iterable[ReleaseStep]) -> Transaction[dict[str, str]]:
        """Find the values of the catalogs of these releases, one for each node; those of a trimmed one are absent."""
        return dict((yield queries.FILLS(pairs=json_list([step.node, step.number] for step in steps))))

    def find_of_release(self, nodes: Sequence[str], release: int) -> Transaction[dict[str, ReleaseStep]]:
        """Find what a release or rollback of the log served to these nodes."""
        return _by_node((yield queries.OF_RELEASE(nodes=json_list(nodes), release=release)))

    def find_of_commit(self, nodes: Sequence[str], beginning: str) -> Transaction[dict[str, ReleaseStep]]:
        """Find the newest release to each node of a commit, or of a version of the code, by its first characters."""
        return _by_node((yield queries.OF_COMMIT(nodes=json_list(nodes), beginning=beginning)))

    def find_of_time(self, nodes: Sequence[str], at: datetime) -> Transaction[dict[str, ReleaseStep]]:
        """Find what these nodes were served at a time."""
        return _by_node((yield queries.OF_TIME(nodes=json_list(nodes), at=to_micros(at))))

    def filter_released(self, digests: Iterable[tuple[str, str]]) -> Transaction[set[str]]:
        """Return the nodes of these pairs of node and digest that have a release with the digest."""
        return {row[0] for row in (yield queries.WITH_DIGEST(pairs=json_list(digests)))}

    def list_crowded(self, keep: int, after: str, limit: int) -> Transaction[list[str]]:
        """List nodes that have more than `keep` releases, by name."""
        return [row[0] for row in (yield queries.CROWDED(keep=keep, after_node=after, limit=limit))]

    def trim(self, node: str, keep: int) -> Transaction[int]:
        """Delete the oldest releases of a node beyond `keep`, except what a rollback needs. Returns how many were deleted."""
        return len((yield queries.TRIM(node=node, keep=keep)))

    def list_since(self, since: datetime, limit: int = 100_000) -> Transaction[dict[str, str]]:
        """Return the digest of the newest release since `since`, by node."""
        return dict((yield queries.RELEASED_SINCE(since=to_micros(since), limit=limit)))


def delete_node(node: str) -> Transaction[None]:
    """Delete all releases of a node."""
    yield queries.DELETE(node=node)


def _add_catalogs(skeletons: Iterable[str]) -> Transaction[None]:
    """Let released catalogs be indexed, and wake the servers."""
    yield ADD_CATALOG.many(
        {"skeleton": skeleton, "id": skeleton[:ID_CHARS]} for skeleton in sorted(dict.fromkeys(skeletons))
    )
    yield Wake(RELEASED_TOPIC)


def _by_node(rows: Sequence[Row]) -> dict[str, ReleaseStep]:
    """The steps of rows by node, the last of each."""
    return {row[0]: _step(row) for row in rows}


def _release(row: Row) -> Release:
    node, number, digest, skeleton, fill, environment, version, at, *rest = row
    return Release(node, number, digest, skeleton, fill, environment, version, from_micros(at), *rest)


def _step(row: Row) -> ReleaseStep:
    node, number, digest, skeleton, environment, version, at, *rest = row
    return ReleaseStep(node, number, digest, skeleton, environment, version, from_micros(at), *rest)


# Every node looks up its served catalog again and again.
SERVED_LOOKUP = Lookup(queries.SERVED, queries.SERVED_TO_EACH, _release)
