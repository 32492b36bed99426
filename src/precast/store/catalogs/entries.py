"""Catalogs of entry points: which entry points are wanted for each node, and the staged catalog of each.

A want stays until nobody has wanted it for long; as long as it stays, every decision about the node also decides upon this entry point. A
decision only changes wants that exist, so one that was deleted meanwhile does not come back. Staging changes nothing that a job has pinned
(`entry_holds`).
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from precast.base.clock import from_micros, from_optional_micros, to_micros
from precast.store.engine.query import Query, Row, Transaction, Wake, insert, json_list

# Woken when entry points were decided upon.
DECIDED_TOPIC = "entries.decided"

WANT = insert(
    "catalogs.want_entry",
    "entry_catalog",
    "node text, entry text, wanted_at int",
    "ON CONFLICT (node, entry) DO UPDATE SET wanted_at = excluded.wanted_at, trouble = ''",
)
WANTED = Query(
    "catalogs.wanted_entries",
    """
    SELECT node, entry, environment, version, chain, skeleton, digest, fill, decided_at, problems, trouble
    FROM entry_catalog WHERE node IN (SELECT value FROM json_each(:nodes)) ORDER BY node, entry
    """,
    postgresql="""
    SELECT node, entry, environment, version, chain, skeleton, digest, fill, decided_at, problems, trouble
    FROM entry_catalog WHERE node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB)))) ORDER BY node, entry
    """,
)
FIND = Query(
    "catalogs.entries_among",
    """
    SELECT node, entry, environment, version, chain, skeleton, digest, fill, decided_at, problems, trouble
    FROM entry_catalog WHERE node IN (SELECT value FROM json_each(:nodes))
        AND entry IN (SELECT value FROM json_each(:entries))
    """,
    postgresql="""
    SELECT node, entry, environment, version, chain, skeleton, digest, fill, decided_at, problems, trouble
    FROM entry_catalog WHERE node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB))))
        AND entry = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:entries AS JSONB))))
    """,
)
STAGE = Query(
    "catalogs.stage_entry",
    """
    UPDATE entry_catalog SET environment = :environment, version = :version, chain = :chain, skeleton = :skeleton,
        digest = :digest, fill = :fill, decided_at = :now, problems = :problems, trouble = ''
    WHERE node = :node AND entry = :entry
    """,
)
NOTE_TROUBLE = Query(
    "catalogs.entry_trouble",
    "UPDATE entry_catalog SET trouble = :message WHERE node = :node AND entry = :entry",
)
CHAINS = Query(
    "catalogs.entry_chains",
    """
    SELECT node, chain FROM entry_catalog
    WHERE node IN (SELECT value FROM json_each(:nodes)) AND chain IS NOT NULL ORDER BY node, entry
    """,
    postgresql="""
    SELECT node, chain FROM entry_catalog
    WHERE node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB)))) AND chain IS NOT NULL
    ORDER BY node, entry
    """,
)
FILTER_CHAINS = Query(
    "catalogs.entries_staged_by",
    "SELECT DISTINCT chain FROM entry_catalog WHERE chain IN (SELECT value FROM json_each(:ids))",
    postgresql="""
    SELECT DISTINCT chain FROM entry_catalog
    WHERE chain = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:ids AS JSONB))))
    """,
)
FAILED = Query(
    "catalogs.entry_errors",
    """
    SELECT node, entry, environment, version, chain, decided_at FROM entry_catalog
    WHERE chain IS NOT NULL AND skeleton IS NULL AND (node, entry) > (:after_node, :after_entry)
    ORDER BY node, entry LIMIT :limit
    """,
)
WITH_PROBLEMS = Query(
    "catalogs.entries_with_problems",
    """
    SELECT node, entry, environment, version, chain, decided_at FROM entry_catalog
    WHERE problems > 0 AND skeleton IS NOT NULL AND (node, entry) > (:after_node, :after_entry)
    ORDER BY node, entry LIMIT :limit
    """,
)
DELETE_UNWANTED = Query(
    "catalogs.delete_unwanted",
    """
    DELETE FROM entry_catalog WHERE (node, entry) IN (
        SELECT node, entry FROM entry_catalog WHERE wanted_at < :before_at ORDER BY wanted_at, node, entry LIMIT :limit
    ) AND wanted_at < :before_at RETURNING node
    """,
)
DELETE = Query("catalogs.delete_entries", "DELETE FROM entry_catalog WHERE node = :node")


class EntryRow(msgspec.Struct, frozen=True):
    """A wanted entry point with its last decision; `chain` is None before the first.

    `skeleton` and `digest` are None where the code gives an error. `trouble` says why a later decision could not be made.
    """

    node: str
    entry: str
    environment: str | None
    version: str | None
    chain: str | None
    skeleton: str | None
    digest: str | None
    fill: str | None
    decided_at: datetime | None
    problems: int
    trouble: str


class StagedEntry(msgspec.Struct, frozen=True):
    """The catalog that was decided upon for an entry point."""

    node: str
    entry: str
    environment: str
    version: str
    chain: str
    skeleton: str | None
    digest: str | None
    fill: str
    decided_at: datetime
    problems: int = 0


class FlawedEntry(msgspec.Struct, frozen=True):
    """An entry point whose code gives an error for a node, or whose catalog has problems; the leaf of the chain holds them."""

    node: str
    entry: str
    environment: str
    version: str
    chain: str
    decided_at: datetime


class EntryCatalogs:
    """The wanted entry points of one database, and their staged catalogs."""

    def want(self, nodes: Iterable[str], entries: Iterable[str], now: datetime) -> Transaction[None]:
        """Want these entry points for each of these nodes. Raises ConflictError STORE-009 if a node does not exist."""
        names = sorted(set(entries))
        at = to_micros(now)
        yield WANT.many(
            {"node": node, "entry": entry, "wanted_at": at} for node in sorted(set(nodes)) for entry in names
        )

    def list_wanted(self, nodes: Sequence[str]) -> Transaction[dict[str, list[EntryRow]]]:
        """List the wanted entry points of each of these nodes, by path; a node without any is absent."""
        wanted: dict[str, list[EntryRow]] = {}
        for row in (yield WANTED(nodes=json_list(nodes))):
            wanted.setdefault(row[0], []).append(_entry(row))
        return wanted

    def find(self, nodes: Sequence[str], entries: Sequence[str]) -> Transaction[dict[tuple[str, str], EntryRow]]:
        """Find those of these entry points that are wanted for these nodes, by node and path."""
        rows = yield FIND(nodes=json_list(nodes), entries=json_list(entries))
        return {(row[0], row[1]): _entry(row) for row in rows}

    def stage(self, entries: Sequence[StagedEntry]) -> Transaction[None]:
        """Stage catalogs of entry points that are still wanted."""
        yield STAGE.many(
            {
                "node": entry.node,
                "entry": entry.entry,
                "environment": entry.environment,
                "version": entry.version,
                "chain": entry.chain,
                "skeleton": entry.skeleton,
                "digest": entry.digest,
                "fill": entry.fill,
                "now": to_micros(entry.decided_at),
                "problems": entry.problems,
            }
            for entry in sorted(entries, key=lambda entry: (entry.node, entry.entry))
        )
        yield Wake(DECIDED_TOPIC)

    def note_trouble(self, troubles: Iterable[tuple[str, str, str]]) -> Transaction[None]:
        """Note why no decision could be made: node, entry point and reason. What was decided before stays."""
        yield NOTE_TROUBLE.many(
            {"node": node, "entry": entry, "message": message} for node, entry, message in sorted(troubles)
        )
        yield Wake(DECIDED_TOPIC)

    def find_chains(self, nodes: Sequence[str]) -> Transaction[dict[str, list[str]]]:
        """Return the chains behind the catalogs of the entry points of each node."""
        chains: dict[str, list[str]] = {}
        for node, chain in (yield CHAINS(nodes=json_list(nodes))):
            chains.setdefault(node, []).append(chain)
        return chains

    def filter_chains(self, chains: Sequence[str]) -> Transaction[set[str]]:
        """Return those of the chains whose leaf some entry point is staged with."""
        return {row[0] for row in (yield FILTER_CHAINS(ids=json_list(chains)))}

    def list_failed(self, after: tuple[str, str], limit: int) -> Transaction[list[FlawedEntry]]:
        """List entry points whose code gives an error, by node and path, after a node and path."""
        rows = yield FAILED(after_node=after[0], after_entry=after[1], limit=limit)
        return [_flawed(row) for row in rows]

    def list_with_problems(self, after: tuple[str, str], limit: int) -> Transaction[list[FlawedEntry]]:
        """List entry points whose staged catalog has problems, by node and path, after a node and path."""
        rows = yield WITH_PROBLEMS(after_node=after[0], after_entry=after[1], limit=limit)
        return [_flawed(row) for row in rows]

    def delete_unwanted(self, before: datetime, limit: int) -> Transaction[int]:
        """Delete up to `limit` entry points that nobody has wanted since a time, with their catalogs. Returns how many."""
        return len((yield DELETE_UNWANTED(before_at=to_micros(before), limit=limit)))


def delete_node(node: str) -> Transaction[None]:
    """Delete the entry points of a node with their catalogs."""
    yield DELETE(node=node)


def _entry(row: Row) -> EntryRow:
    node, entry, environment, version, chain, skeleton, digest, fill, decided, problems, trouble = row
    at = from_optional_micros(decided)
    return EntryRow(node, entry, environment, version, chain, skeleton, digest, fill, at, problems, trouble)


def _flawed(row: Row) -> FlawedEntry:
    node, entry, environment, version, chain, decided = row
    return FlawedEntry(node, entry, environment, version, chain, from_micros(decided))
