"""The trace tree of each environment, and who waits for it to grow.

A place takes one chain: of two servers that grow the tree at the same place one wins, and the other finds what it wanted there. A
chain is never changed, and is removed when nobody has walked it for long. Whoever is about to use one writes its row first, and so
learns whether it is still there: what is in memory may be gone.
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
    INSERT INTO compile_waiter (branch, node, since) VALUES (:branch, :node, :now) ON CONFLICT (branch, node) DO NOTHING
    """,
)
STOP_WAITING = Query("traces.stop_waiting", "DELETE FROM compile_waiter WHERE node = :node")
WAITERS = Query(
    "traces.waiters",
    "SELECT node FROM compile_waiter WHERE branch = :branch ORDER BY since, node LIMIT :limit",
)
TAKE_WAITERS = Query(
    "traces.take_waiters",
    """
    DELETE FROM compile_waiter WHERE branch = :branch AND node IN
        (SELECT node FROM compile_waiter WHERE branch = :branch ORDER BY node LIMIT :limit) RETURNING node
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
HOLD = Query(
    "traces.hold",
    """
    -- Ours until the commit: whoever would remove it waits, and then finds that it was used.
    UPDATE trace_chain SET used_at = CASE WHEN used_at < :day THEN :day ELSE used_at END WHERE id = :id RETURNING id
    """,
)
UNUSED = Query(
    "traces.unused",
    """
    -- Ends of branches that nobody has walked since a moment, the oldest first.
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
    -- Rows of programs that did not write these columns.
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
    -- Reads every chain of the environment: for people, not often.
    SELECT count(*), coalesce(sum(length(links)), 0), coalesce(sum(length(leaf)), 0) FROM trace_chain
    WHERE environment = :environment
    """,
)
BRANCH_OF = Query("traces.branch_of", "SELECT branch FROM compile_waiter WHERE node = :node")
COUNT_WAITERS = Query("traces.count_waiters", "SELECT count(*) FROM compile_waiter WHERE branch = :branch")
AMONG_WAITING = Query(
    "traces.among_waiting",
    "SELECT node, branch FROM compile_waiter WHERE node IN (SELECT value FROM json_each(:nodes))",
    postgresql="""
    SELECT node, branch FROM compile_waiter
    WHERE node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB))))
    """,
)
SOURCE_MAP_OF = Query(
    "traces.source_map_of",
    """
    -- Of the newest leaf with this catalog: comments may have moved its lines.
    SELECT source_map FROM trace_chain WHERE catalog = :catalog AND source_map IS NOT NULL
    ORDER BY made_at DESC, id DESC LIMIT 1
    """,
)
DAY_US = 86_400_000_000
# An answer that is longer is kept as its digest only.
MAX_VALUE_CHARS = 1_000


class ChainRow(msgspec.Struct, frozen=True):
    """A chain as it is stored: links packed, the leaf as JSON, and the documents that the leaf names."""

    id: str
    links: bytes
    leaf: str
    catalog: str | None = None
    source_map: str | None = None


class Unused(NamedTuple):
    """The end of a branch that nobody has walked for long."""

    id: str
    used_at: int
    catalog: str | None


class HungChain(msgspec.Struct, frozen=True):
    """A chain with the place it hangs at: by which answer, as a digest, and as JSON if it is short."""

    chain: ChainRow
    parent: str
    position: int
    answer: str
    value: str | None


class Traces:
    """The trees of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def finding(self, environment: str, parent: str, position: int, answer: str) -> Transaction[ChainRow | None]:
        rows = yield FIND(environment=environment, parent=parent, position=position, answer=answer)
        return _chain(rows[0]) if rows else None

    def finding_by_id(self, chain: str) -> Transaction[HungChain | None]:
        rows = yield FIND_BY_ID(id=chain)
        if not rows:
            return None
        *columns, parent, position, answer, value = rows[0]
        return HungChain(_chain(columns), parent, position, answer, value)

    def source_map_of(self, catalog: str) -> Transaction[str | None]:
        """The digest of the places of a catalog's resources."""
        rows = yield SOURCE_MAP_OF(catalog=catalog)
        return str(rows[0][0]) if rows else None

    def adding(
        self, environment: str, parent: str, position: int, answer: str, chain: ChainRow, value: str | None
    ) -> Transaction[bool]:
        """Hang a chain somewhere, by an answer that is also given as JSON; False if there is one already."""
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

    def waiting(self, branch: str, node: str) -> Transaction[None]:
        """The node waits for this branch, and for no other."""
        yield STOP_WAITING(node=node)
        yield WAIT(branch=branch, node=node, now=to_micros(self._database.clock.now()))

    def waiters(self, branch: str, limit: int) -> Transaction[list[str]]:
        """Who waits for a branch, the longest first."""
        return [row[0] for row in (yield WAITERS(branch=branch, limit=limit))]

    def counting_waiters(self, branch: str) -> Transaction[int]:
        ((count,),) = yield COUNT_WAITERS(branch=branch)
        return int(count)

    def branch_of(self, node: str) -> Transaction[str | None]:
        """Where a node waits; None if it does not."""
        rows = yield BRANCH_OF(node=node)
        return str(rows[0][0]) if rows else None

    def waiting_among(self, nodes: Sequence[str]) -> Transaction[dict[str, str]]:
        """Those of these nodes that wait for a compile, and at which branch."""
        return dict((yield AMONG_WAITING(nodes=json_list(nodes))))

    def taking_waiters(self, branch: str, limit: int) -> Transaction[list[str]]:
        """Some who wait for a branch, and now no more."""
        return sorted(row[0] for row in (yield TAKE_WAITERS(branch=branch, limit=limit)))

    def using(self, chains: Collection[str], now: datetime) -> Transaction[set[str]]:
        """Note that chains were walked, once a day; those that are no more. The others stay, at least until the commit."""
        ids = json_list(sorted(chains))
        yield USE(ids=ids, day=_day(now))
        return set(chains) - {row[0] for row in (yield KNOWN(ids=ids))}

    def holding(self, chain: str, now: datetime) -> Transaction[bool]:
        """Another chain is about to hang at this one: it stays. False if it is no more."""
        return bool((yield HOLD(id=chain, day=_day(now))))

    def unused(self, before: datetime, after: Unused, limit: int) -> Transaction[list[Unused]]:
        """Ends of branches that nobody has walked since a moment, the oldest first, from after one on."""
        rows = yield UNUSED(before_at=to_micros(before), after_at=after.used_at, after=after.id, limit=limit)
        return [Unused(*row) for row in rows]

    def removing(self, chains: Sequence[str], before: datetime) -> Transaction[int]:
        """Remove those of these that nobody has walked since a moment, and at which nothing hangs; how many."""
        return len((yield REMOVE(ids=json_list(sorted(chains)), before_at=to_micros(before))))

    def naming_documents(self) -> Transaction[None]:
        """Let every chain say which documents its leaf names."""
        yield NAME_DOCUMENTS()

    def naming(self, digests: Sequence[str]) -> Transaction[set[str]]:
        """Those of these documents that a leaf names."""
        return {row[0] for row in (yield NAMING(digests=json_list(digests)))}

    async def size(self, environment: str) -> tuple[int, int, int]:
        """Rows, bytes of links, bytes of leaves."""
        return await self._database.read(_sizing, environment)


def _day(now: datetime) -> int:
    return to_micros(now) // DAY_US * DAY_US


def resting(node: str) -> Transaction[None]:
    """The node waits for no compile."""
    yield STOP_WAITING(node=node)


def _sizing(environment: str) -> Transaction[tuple[int, int, int]]:
    ((rows, links, leaves),) = yield SIZE(environment=environment)
    return int(rows), int(links), int(leaves)


def _chain(row: Row) -> ChainRow:
    chain, links, leaf = row
    return ChainRow(chain, bytes(links), leaf)
