"""The trace tree of each environment, and the nodes that wait for a compile that extends it.

A branch point takes one chain for each answer: of two servers that extend the tree at the same point one wins, and the other finds the
chain that it was about to add. A chain is never changed, and is deleted when no walk has used it for long. A transaction that is about
to use a chain updates its row first, and so learns whether it still exists: a cached chain may be deleted in the database.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from precast.base.clock import to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Row, Transaction, json_list

FIND = Query(
    "traces.find",
    """
    SELECT id, links, leaf FROM trace_chain
    WHERE environment = :environment AND parent = :parent AND position = :position AND answer = :answer
    """,
)
FIND_BY_ID = Query(
    "traces.find_by_id",
    "SELECT id, links, leaf, parent, position, answer, value FROM trace_chain WHERE id = :id",
)
ADD = Query(
    "traces.add",
    """
    INSERT INTO trace_chain
        (id, environment, parent, position, answer, links, leaf, made_at, used_at, value, catalog, source_map)
    VALUES (:id, :environment, :parent, :position, :answer, :links, :leaf, :now, :now, :value, :catalog, :source_map)
    ON CONFLICT (environment, parent, position, answer) DO NOTHING RETURNING id
    """,
)
WAIT = Query(
    "traces.wait",
    """
    INSERT INTO compile_waiter (branch, node, entry, since) VALUES (:branch, :node, :entry, :now)
    ON CONFLICT (branch, node, entry) DO NOTHING
    """,
)
STOP_WAITING = Query("traces.stop_waiting", "DELETE FROM compile_waiter WHERE node = :node")
WAITERS = Query(
    "traces.waiters",
    "SELECT node, entry FROM compile_waiter WHERE branch = :branch ORDER BY since, node, entry LIMIT :limit",
)
REMOVE_WAITERS = Query(
    "traces.remove_waiters",
    """
    DELETE FROM compile_waiter WHERE branch = :branch AND node IN
        (SELECT DISTINCT node FROM compile_waiter WHERE branch = :branch ORDER BY node LIMIT :limit) RETURNING node
    """,
)
USE = Query(
    "traces.use",
    """
    UPDATE trace_chain SET used_at = :day WHERE id IN (SELECT value FROM json_each(:ids)) AND used_at < :day
    """,
    postgresql="""
    UPDATE trace_chain SET used_at = :day
    WHERE id = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:ids AS JSONB)))) AND used_at < :day
    """,
)
KNOWN = Query(
    "traces.known",
    "SELECT id FROM trace_chain WHERE id IN (SELECT value FROM json_each(:ids))",
    postgresql="""
    SELECT id FROM trace_chain WHERE id = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:ids AS JSONB))))
    """,
)
LOCK = Query(
    "traces.lock",
    """
    -- Locks the row until the commit: a transaction that would delete the chain waits, and then finds that it was used.
    UPDATE trace_chain SET used_at = CASE WHEN used_at < :day THEN :day ELSE used_at END WHERE id = :id RETURNING id
    """,
)
UNUSED = Query(
    "traces.unused",
    """
    -- Chains without children that no walk has used since a time, the oldest first.
    SELECT id, used_at, catalog FROM trace_chain AS c
    WHERE used_at < :before_at AND (used_at, id) > (:after_at, :after)
        AND NOT EXISTS (SELECT 1 FROM trace_chain AS d WHERE d.environment = c.environment AND d.parent = c.id)
    ORDER BY used_at, id LIMIT :limit
    """,
)
REMOVE = Query(
    "traces.remove",
    """
    DELETE FROM trace_chain AS c WHERE id IN (SELECT value FROM json_each(:ids)) AND used_at < :before_at
        AND NOT EXISTS (SELECT 1 FROM trace_chain AS d WHERE d.environment = c.environment AND d.parent = c.id)
    RETURNING id
    """,
    postgresql="""
    DELETE FROM trace_chain AS c
    WHERE id = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:ids AS JSONB)))) AND used_at < :before_at
        AND NOT EXISTS (SELECT 1 FROM trace_chain AS d WHERE d.environment = c.environment AND d.parent = c.id)
    RETURNING id
    """,
)
NAME_DOCUMENTS = Query(
    "traces.name_documents",
    """
    -- Fills these columns where they are empty.
    UPDATE trace_chain SET catalog = json_extract(leaf, '$.catalog'), source_map = json_extract(leaf, '$.source_map')
    WHERE catalog IS NULL AND json_extract(leaf, '$.catalog') IS NOT NULL
    """,
    postgresql="""
    UPDATE trace_chain SET catalog = CAST(leaf AS JSONB) ->> 'catalog', source_map = CAST(leaf AS JSONB) ->> 'source_map'
    WHERE catalog IS NULL AND CAST(leaf AS JSONB) ->> 'catalog' IS NOT NULL
    """,
)
NAMING = Query(
    "traces.naming",
    """
    SELECT catalog FROM trace_chain WHERE catalog IN (SELECT value FROM json_each(:digests))
    UNION SELECT source_map FROM trace_chain WHERE source_map IN (SELECT value FROM json_each(:digests))
    """,
    postgresql="""
    SELECT catalog FROM trace_chain
    WHERE catalog = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:digests AS JSONB))))
    UNION SELECT source_map FROM trace_chain
    WHERE source_map = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:digests AS JSONB))))
    """,
)
SIZE = Query(
    "traces.size",
    """
    -- Reads every chain of the environment, so it runs rarely.
    SELECT count(*), coalesce(sum(length(links)), 0), coalesce(sum(length(leaf)), 0) FROM trace_chain
    WHERE environment = :environment
    """,
)
BRANCH_OF = Query("traces.branch_of", "SELECT branch FROM compile_waiter WHERE node = :node AND entry = :entry")
COUNT_WAITERS = Query("traces.count_waiters", "SELECT count(DISTINCT node) FROM compile_waiter WHERE branch = :branch")
AMONG_WAITING = Query(
    "traces.among_waiting",
    "SELECT node, branch FROM compile_waiter WHERE node IN (SELECT value FROM json_each(:nodes)) AND entry = ''",
    postgresql="""
    SELECT node, branch FROM compile_waiter
    WHERE node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB)))) AND entry = ''
    """,
)
WAITING_FOR_ENTRIES = Query(
    "traces.waiting_for_entries",
    "SELECT node, entry, branch FROM compile_waiter WHERE node IN (SELECT value FROM json_each(:nodes)) AND entry <> ''",
    postgresql="""
    SELECT node, entry, branch FROM compile_waiter
    WHERE node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB)))) AND entry <> ''
    """,
)
SOURCE_MAP_OF = Query(
    "traces.source_map_of",
    """
    -- The source map of the newest leaf with this catalog: edited comments may have moved its lines.
    SELECT source_map FROM trace_chain WHERE catalog = :catalog AND source_map IS NOT NULL
    ORDER BY made_at DESC, id DESC LIMIT 1
    """,
)
DAY_US = 86_400_000_000
# Of a longer answer only the digest is stored.
MAX_VALUE_CHARS = 1_000


class ChainRow(msgspec.Struct, frozen=True):
    """A chain as it is stored: compressed links, the leaf as JSON, and the digests of the documents that the leaf names."""

    id: str
    links: bytes
    leaf: str
    catalog: str | None = None
    source_map: str | None = None


class Waiter(NamedTuple):
    """A node that waits for a compile of an entry point; of its main manifest if that is empty."""

    node: str
    entry: str


class UnusedChain(NamedTuple):
    """A chain without children that no walk has used for long."""

    id: str
    used_at: int
    catalog: str | None


class AttachedChain(msgspec.Struct, frozen=True):
    """A chain with the branch point it is attached to: the answer as a digest, and as JSON if it is short."""

    chain: ChainRow
    parent: str
    position: int
    answer: str
    value: str | None


class Traces:
    """The trace trees of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, environment: str, parent: str, position: int, answer: str) -> Transaction[ChainRow | None]:
        rows = yield FIND(environment=environment, parent=parent, position=position, answer=answer)
        return _chain(rows[0]) if rows else None

    def find_by_id(self, chain: str) -> Transaction[AttachedChain | None]:
        rows = yield FIND_BY_ID(id=chain)
        if not rows:
            return None
        *columns, parent, position, answer, value = rows[0]
        return AttachedChain(_chain(columns), parent, position, answer, value)

    def find_source_map(self, catalog: str) -> Transaction[str | None]:
        """Find the digest of a catalog's source map."""
        rows = yield SOURCE_MAP_OF(catalog=catalog)
        return str(rows[0][0]) if rows else None

    def add(
        self, environment: str, parent: str, position: int, answer: str, chain: ChainRow, value: str | None
    ) -> Transaction[bool]:
        """Attach a chain at a branch point, for an answer that `value` holds as JSON; False if a chain is attached there already."""
        rows = yield ADD(
            id=chain.id,
            environment=environment,
            parent=parent,
            position=position,
            answer=answer,
            links=chain.links,
            leaf=chain.leaf,
            catalog=chain.catalog,
            source_map=chain.source_map,
            value=None if value is None or len(value) > MAX_VALUE_CHARS else value,
            now=to_micros(self._database.clock.now()),
        )
        return bool(rows)

    def add_waiter(self, branch: str, node: str, entry: str = "") -> Transaction[None]:
        """Make a node wait for the compile of this branch, besides those that it waits for already."""
        yield WAIT(branch=branch, node=node, entry=entry, now=to_micros(self._database.clock.now()))

    def list_waiters(self, branch: str, limit: int) -> Transaction[list[Waiter]]:
        """List the nodes that wait for a branch, each with its entry point, the longest waiting first."""
        return [Waiter(*row) for row in (yield WAITERS(branch=branch, limit=limit))]

    def count_waiters(self, branch: str) -> Transaction[int]:
        ((count,),) = yield COUNT_WAITERS(branch=branch)
        return int(count)

    def find_branch(self, node: str, entry: str = "") -> Transaction[str | None]:
        """Find the branch that the catalog of a node, or of an entry point on it, waits for; None if it does not wait."""
        rows = yield BRANCH_OF(node=node, entry=entry)
        return str(rows[0][0]) if rows else None

    def find_branches(self, nodes: Sequence[str]) -> Transaction[dict[str, str]]:
        """Return those of the nodes whose own catalog waits for a compile, each with its branch."""
        return dict((yield AMONG_WAITING(nodes=json_list(nodes))))

    def find_entry_branches(self, nodes: Sequence[str]) -> Transaction[dict[Waiter, str]]:
        """Return the entry points of these nodes whose catalogs wait for a compile, each with its branch."""
        rows = yield WAITING_FOR_ENTRIES(nodes=json_list(nodes))
        return {Waiter(node, entry): branch for node, entry, branch in rows}

    def remove_waiters(self, branch: str, limit: int) -> Transaction[list[str]]:
        """Remove up to `limit` nodes that wait for a branch, and return them."""
        return sorted({row[0] for row in (yield REMOVE_WAITERS(branch=branch, limit=limit))})

    def mark_used(self, chains: Collection[str], now: datetime) -> Transaction[set[str]]:
        """Record that walks used these chains, once a day. Returns the chains that no longer exist; the others stay until the commit."""
        ids = json_list(sorted(chains))
        yield USE(ids=ids, day=_day(now))
        return set(chains) - {row[0] for row in (yield KNOWN(ids=ids))}

    def lock(self, chain: str, now: datetime) -> Transaction[bool]:
        """Lock a chain to which another one is about to be attached. False if it no longer exists."""
        return bool((yield LOCK(id=chain, day=_day(now))))

    def list_unused(self, before: datetime, after: UnusedChain, limit: int) -> Transaction[list[UnusedChain]]:
        """List chains without children that no walk has used since `before`, the oldest first, after the given one."""
        rows = yield UNUSED(before_at=to_micros(before), after_at=after.used_at, after=after.id, limit=limit)
        return [UnusedChain(*row) for row in rows]

    def delete_unused(self, chains: Sequence[str], before: datetime) -> Transaction[int]:
        """Delete those of the chains that are unused since `before` and have no children. Returns how many."""
        return len((yield REMOVE(ids=json_list(sorted(chains)), before_at=to_micros(before))))

    def set_missing_documents(self) -> Transaction[None]:
        """Fill in the documents that each leaf names, where they are missing."""
        yield NAME_DOCUMENTS()

    def filter_named_documents(self, digests: Sequence[str]) -> Transaction[set[str]]:
        """Return those of the documents that a leaf names."""
        return {row[0] for row in (yield NAMING(digests=json_list(digests)))}

    async def measure(self, environment: str) -> tuple[int, int, int]:
        """Return the number of chains, the bytes of their links, and the bytes of their leaves."""
        return await self._database.read(_measure, environment)


def _day(now: datetime) -> int:
    return to_micros(now) // DAY_US * DAY_US


def remove_waiter(node: str) -> Transaction[None]:
    """Remove a node from the nodes that wait for a compile, of whatever entry point."""
    yield STOP_WAITING(node=node)


def _measure(environment: str) -> Transaction[tuple[int, int, int]]:
    ((rows, links, leaves),) = yield SIZE(environment=environment)
    return int(rows), int(links), int(leaves)


def _chain(row: Row) -> ChainRow:
    chain, links, leaf = row
    return ChainRow(chain, bytes(links), leaf)
