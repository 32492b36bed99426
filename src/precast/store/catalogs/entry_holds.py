"""Holds: the catalogs of entry points that a job has pinned.

A hold has all that serving the catalog needs, because the node may be staged with another one meanwhile. As long as the hold exists, the
catalog's document is not deleted, nor the content that it names.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from precast.base.clock import from_micros, to_micros
from precast.store.engine.query import Query, Transaction, batch, json_list

HOLD = batch(
    "catalogs.hold_entry",
    "job text, node text, entry text, digest text, now int",
    """
    INSERT INTO entry_hold (job, node, entry, digest, skeleton, fill, environment, version, held_at)
    SELECT input.job, staged.node, staged.entry, staged.digest, staged.skeleton, staged.fill, staged.environment,
        staged.version, input.now
    FROM input JOIN entry_catalog AS staged
        ON staged.node = input.node AND staged.entry = input.entry AND staged.digest = input.digest
    WHERE true
    ON CONFLICT (job, node, entry) DO UPDATE SET digest = excluded.digest, skeleton = excluded.skeleton,
        fill = excluded.fill, environment = excluded.environment, version = excluded.version, held_at = excluded.held_at
    RETURNING node, entry
    """,
)
COPY = batch(
    "catalogs.copy_hold",
    "source text, job text, node text, entry text, now int",
    """
    INSERT INTO entry_hold (job, node, entry, digest, skeleton, fill, environment, version, held_at)
    SELECT input.job, held.node, held.entry, held.digest, held.skeleton, held.fill, held.environment, held.version, input.now
    FROM input JOIN entry_hold AS held ON held.job = input.source AND held.node = input.node AND held.entry = input.entry
    WHERE true
    ON CONFLICT (job, node, entry) DO UPDATE SET digest = excluded.digest, skeleton = excluded.skeleton,
        fill = excluded.fill, environment = excluded.environment, version = excluded.version, held_at = excluded.held_at
    RETURNING node, entry
    """,
)
RELEASE = Query("catalogs.release_holds", "DELETE FROM entry_hold WHERE job = :job")
DELETE = Query("catalogs.delete_holds", "DELETE FROM entry_hold WHERE node = :node")
OF_NODE = Query(
    "catalogs.holds_of_node",
    """
    SELECT job, node, entry, digest, skeleton, fill, environment, version, held_at FROM entry_hold
    WHERE node = :node AND digest = :digest AND entry = :entry AND job IN (SELECT value FROM json_each(:ids))
    ORDER BY job LIMIT 1
    """,
    postgresql="""
    SELECT job, node, entry, digest, skeleton, fill, environment, version, held_at FROM entry_hold
    WHERE node = :node AND digest = :digest AND entry = :entry
        AND job = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:ids AS JSONB))))
    ORDER BY job LIMIT 1
    """,
)
SKELETONS = Query(
    "catalogs.held_skeletons",
    """
    SELECT DISTINCT skeleton FROM entry_hold WHERE node = :node AND job IN (SELECT value FROM json_each(:ids))
    """,
    postgresql="""
    SELECT DISTINCT skeleton FROM entry_hold
    WHERE node = :node AND job = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:ids AS JSONB))))
    """,
)


class EntryPin(NamedTuple):
    """The catalog of an entry point on a node that a job pins."""

    node: str
    entry: str
    digest: str


class EntryHold(NamedTuple):
    """A pinned catalog: a skeleton with its fill, and the version of the environment that it was compiled from."""

    job: str
    node: str
    entry: str
    digest: str
    skeleton: str
    fill: str
    environment: str
    version: str
    held_at: datetime


class EntryHolds:
    """The holds of one database."""

    def hold(self, job: str, pins: Iterable[EntryPin], now: datetime) -> Transaction[list[EntryPin]]:
        """Hold staged catalogs for a job. Returns the pins that could not be held: another catalog is staged by now."""
        wanted = sorted(set(pins))
        rows = yield HOLD.many({**pin._asdict(), "job": job, "now": to_micros(now)} for pin in wanted)
        held = {tuple(row) for row in rows}
        return [pin for pin in wanted if (pin.node, pin.entry) not in held]

    def copy(self, source: str, job: str, keys: Iterable[tuple[str, str]], now: datetime) -> Transaction[None]:
        """Hold for a job what another job holds: pairs of node and entry point."""
        yield COPY.many(
            {"source": source, "job": job, "node": node, "entry": entry, "now": to_micros(now)}
            for node, entry in sorted(set(keys))
        )

    def release(self, job: str) -> Transaction[None]:
        """Delete the holds of a job."""
        yield RELEASE(job=job)

    def find(self, node: str, entry: str, digest: str, jobs: Sequence[str]) -> Transaction[EntryHold | None]:
        """Find the hold that one of these jobs has on a catalog of a node."""
        rows = yield OF_NODE(node=node, entry=entry, digest=digest, ids=json_list(jobs))
        if not rows:
            return None
        job, *names, held = rows[0]
        return EntryHold._make((job, *names, from_micros(held)))

    def list_skeletons(self, node: str, jobs: Sequence[str]) -> Transaction[list[str]]:
        """List the documents that these jobs hold for a node."""
        return sorted(row[0] for row in (yield SKELETONS(node=node, ids=json_list(jobs))))


def delete_node(node: str) -> Transaction[None]:
    """Delete the holds on catalogs of a node."""
    yield DELETE(node=node)
