"""The facts of many nodes at once, to look at or to choose nodes by; and how all of a node's are forgotten."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from precast.base.clock import from_micros
from precast.store.engine.compression import compress, decompress
from precast.store.engine.query import Query, Row, Transaction, batch, compute_each, json_list
from precast.store.facts.volatile_parts import read_volatile_part

TIMES = Query(
    "facts.times",
    """
    -- When the nodes in a range of names last sent facts. Every submission writes the volatile part.
    SELECT node, received_at FROM fact_volatile WHERE node > :after_node AND node <= :until_node ORDER BY node LIMIT :limit
    """,
)
TIME = batch(
    "facts.time",
    "node text",
    "SELECT fact_volatile.node, received_at FROM input CROSS JOIN fact_volatile WHERE fact_volatile.node = input.node",
    key=("node",),
)
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
    -- The briefs of the nodes in a range of names; NULL where the brief was made from older facts.
    SELECT fact_set.node, fact_brief.body, fact_volatile.body FROM fact_set
    LEFT JOIN fact_brief ON fact_brief.node = fact_set.node AND fact_brief.digest = fact_set.digest
    LEFT JOIN fact_volatile ON fact_volatile.node = fact_set.node
    WHERE fact_set.node > :after_node AND fact_set.node <= :until_node ORDER BY fact_set.node LIMIT :limit
    """,
)
STORE_BRIEF = Query(
    "facts.store_brief",
    """
    -- Writes nothing if the node was deleted meanwhile.
    INSERT INTO fact_brief (node, digest, body) SELECT node, :digest, :body FROM fact_set WHERE node = :node
    ON CONFLICT (node) DO UPDATE SET digest = excluded.digest, body = excluded.body
    """,
)
DELETE_BRIEF = Query("facts.delete_brief", "DELETE FROM fact_brief WHERE node = :node")
DELETE_INBOX = Query("facts.delete_inbox", "DELETE FROM fact_inbox WHERE node = :node")
DELETE_SET = Query("facts.delete_set", "DELETE FROM fact_set WHERE node = :node")
DELETE_VOLATILE = Query("facts.delete_volatile", "DELETE FROM fact_volatile WHERE node = :node")
DELETE_HISTORY = Query("facts.delete_history", "DELETE FROM fact_history WHERE node = :node")
DELETE_FLAPS = Query("facts.delete_flaps", "DELETE FROM fact_flap WHERE node = :node")
DIGESTS = Query(
    "facts.digests",
    "SELECT node, digest FROM fact_set WHERE node IN (SELECT value FROM json_each(:nodes))",
    postgresql="""
    SELECT node, digest FROM fact_set WHERE node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB))))
    """,
)
# No program writes this table; `fact_history` replaced it.
DELETE_CHANGES = Query("facts.delete_changes", "DELETE FROM fact_change WHERE node = :node")


class FactDocuments(msgspec.Struct, frozen=True):
    """The JSON of both parts of a node's facts, decompressed, and the digest of the stable part."""

    stable: bytes
    volatile: bytes
    digest: str = ""


def find_received_times(after: str, until: str, limit: int) -> Transaction[dict[str, datetime]]:
    """Find when each node in a range of names last sent facts."""
    return {node: from_micros(at) for node, at in (yield TIMES(after_node=after, until_node=until, limit=limit))}


def find_received_time(node: str) -> Transaction[datetime | None]:
    rows = yield TIME(node=node)
    return from_micros(rows[0][1]) if rows else None


def read_briefs(after: str, until: str, limit: int) -> Transaction[dict[str, tuple[bytes, bytes] | None]]:
    """Read the brief and the volatile part of each node in a range of names; None without a current brief, absent without facts."""
    rows = yield BRIEFS(after_node=after, until_node=until, limit=limit)
    return dict((yield from compute_each(rows, _brief)))


def store_briefs(briefs: Sequence[tuple[str, str, bytes]]) -> Transaction[None]:
    """Store briefs: node, digest of the stable part that the brief was made from, JSON."""
    yield STORE_BRIEF.many({"node": node, "digest": digest, "body": compress(body)} for node, digest, body in briefs)


def read_documents(nodes: Sequence[str]) -> Transaction[dict[str, FactDocuments]]:
    """Read the facts of these nodes with the digests of their stable parts; a node without facts is absent."""
    rows = yield SOME(nodes=json_list(nodes))
    return dict((yield from compute_each(rows, _stored)))


def find_digests(nodes: Sequence[str]) -> Transaction[dict[str, str]]:
    """Find the digests of the stored facts of these nodes."""
    return dict((yield DIGESTS(nodes=json_list(nodes))))


def _brief(row: Row) -> tuple[str, tuple[bytes, bytes] | None]:
    node, brief, body = row
    return node, None if brief is None else (decompress(brief), read_volatile_part(node, body))


def _stored(row: Row) -> tuple[str, FactDocuments]:
    node, digest, stable, body = row
    return node, FactDocuments(decompress(stable), read_volatile_part(node, body), digest)


def delete_node_facts(node: str) -> Transaction[None]:
    """Delete all facts of a node, with their history."""
    for query in (
        DELETE_INBOX,
        DELETE_BRIEF,
        DELETE_SET,
        DELETE_VOLATILE,
        DELETE_HISTORY,
        DELETE_FLAPS,
        DELETE_CHANGES,
    ):
        yield query(node=node)
