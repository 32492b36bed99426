"""The facts of many nodes at once, to look at or to choose nodes by; and how all of a node's are forgotten."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from precast.base.clock import from_micros
from precast.store.engine.compression import pack, unpack
from precast.store.engine.query import Query, Row, Transaction, json_list, thinking
from precast.store.facts.volatile_parts import volatile_part

TIMES = Query(
    "facts.times",
    """
    -- When the nodes after one name, through another, last sent facts. Whatever changed, the volatile part is written.
    SELECT node, received_at FROM fact_volatile WHERE node > :after_node AND node <= :until_node ORDER BY node LIMIT :limit
    """,
)
TIME = Query("facts.time", "SELECT received_at FROM fact_volatile WHERE node = :node")
SOME = Query(
    "facts.some",
    """
    SELECT fact_set.node, digest, stable, body FROM fact_set LEFT JOIN fact_volatile ON fact_volatile.node = fact_set.node
    WHERE fact_set.node IN (SELECT value FROM json_each(:nodes))
    """,
    postgresql="""
    SELECT fact_set.node, digest, stable, body FROM fact_set LEFT JOIN fact_volatile ON fact_volatile.node = fact_set.node
    WHERE fact_set.node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB))))
    """,
)
BRIEFS = Query(
    "facts.briefs",
    """
    -- What is kept in short of the nodes after one name, through another, if it is of the facts they have.
    SELECT fact_set.node, fact_brief.body, fact_volatile.body FROM fact_set
    LEFT JOIN fact_brief ON fact_brief.node = fact_set.node AND fact_brief.digest = fact_set.digest
    LEFT JOIN fact_volatile ON fact_volatile.node = fact_set.node
    WHERE fact_set.node > :after_node AND fact_set.node <= :until_node ORDER BY fact_set.node LIMIT :limit
    """,
)
STORE_BRIEF = Query(
    "facts.store_brief",
    """
    -- Of a node that is forgotten meanwhile nothing is kept.
    INSERT INTO fact_brief (node, digest, body) SELECT node, :digest, :body FROM fact_set WHERE node = :node
    ON CONFLICT (node) DO UPDATE SET digest = excluded.digest, body = excluded.body
    """,
)
FORGET_BRIEF = Query("facts.forget_brief", "DELETE FROM fact_brief WHERE node = :node")
FORGET_INBOX = Query("facts.forget_inbox", "DELETE FROM fact_inbox WHERE node = :node")
FORGET_SET = Query("facts.forget_set", "DELETE FROM fact_set WHERE node = :node")
FORGET_VOLATILE = Query("facts.forget_volatile", "DELETE FROM fact_volatile WHERE node = :node")
FORGET_HISTORY = Query("facts.forget_history", "DELETE FROM fact_history WHERE node = :node")
FORGET_FLAPS = Query("facts.forget_flaps", "DELETE FROM fact_flap WHERE node = :node")
DIGESTS = Query(
    "facts.digests",
    "SELECT node, digest FROM fact_set WHERE node IN (SELECT value FROM json_each(:nodes))",
    postgresql="""
    SELECT node, digest FROM fact_set WHERE node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB))))
    """,
)
# Of programs before it; nobody writes it any more.
FORGET_CHANGES = Query("facts.forget_changes", "DELETE FROM fact_change WHERE node = :node")


class StoredFacts(msgspec.Struct, frozen=True):
    """Both parts of a node's facts, as JSON."""

    stable: bytes
    volatile: bytes
    digest: str = ""


def reading_times(after: str, until: str, limit: int) -> Transaction[dict[str, datetime]]:
    """When each of some nodes last sent facts."""
    return {node: from_micros(at) for node, at in (yield TIMES(after_node=after, until_node=until, limit=limit))}


def reading_time(node: str) -> Transaction[datetime | None]:
    rows = yield TIME(node=node)
    return from_micros(rows[0][0]) if rows else None


def reading_briefs(after: str, until: str, limit: int) -> Transaction[dict[str, tuple[bytes, bytes] | None]]:
    """Of some nodes what is kept in short with the volatile part, or neither; absent where there are no facts."""
    rows = yield BRIEFS(after_node=after, until_node=until, limit=limit)
    return dict((yield from thinking(rows, _brief)))


def storing_briefs(briefs: Sequence[tuple[str, str, bytes]]) -> Transaction[None]:
    """Keep facts in short: node, digest of what they were made from, JSON."""
    yield STORE_BRIEF.many({"node": node, "digest": digest, "body": pack(body)} for node, digest, body in briefs)


def reading_some(nodes: Sequence[str]) -> Transaction[dict[str, StoredFacts]]:
    """The facts of these nodes with the digests of their stable parts; absent where there are none."""
    rows = yield SOME(nodes=json_list(nodes))
    return dict((yield from thinking(rows, _stored)))


def reading_digests(nodes: Sequence[str]) -> Transaction[dict[str, str]]:
    """The digests of the stored facts of these nodes."""
    return dict((yield DIGESTS(nodes=json_list(nodes))))


def _brief(row: Row) -> tuple[str, tuple[bytes, bytes] | None]:
    node, brief, body = row
    return node, None if brief is None else (unpack(brief), volatile_part(node, body))


def _stored(row: Row) -> tuple[str, StoredFacts]:
    node, digest, stable, body = row
    return node, StoredFacts(unpack(stable), volatile_part(node, body), digest)


def forgetting(node: str) -> Transaction[None]:
    """Remove everything that a node has ever said."""
    for query in (
        FORGET_INBOX,
        FORGET_BRIEF,
        FORGET_SET,
        FORGET_VOLATILE,
        FORGET_HISTORY,
        FORGET_FLAPS,
        FORGET_CHANGES,
    ):
        yield query(node=node)
