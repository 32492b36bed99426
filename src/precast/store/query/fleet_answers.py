"""The answers to queries over the fleet that compiles have asked, and the nodes whose catalogs rest on each of them.

Walks and compiles read the stored answer, never the present data: so a walk, the compile that follows it and the next walk see the same.
A change of an answer and the record of a reader exclude each other by the row of the answer: either the reader has read the new answer,
or it is among those that are told of it.
"""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import NamedTuple

from precast.base import digests
from precast.base.clock import from_micros, to_micros
from precast.store.engine.compression import compress, decompress
from precast.store.engine.query import Query, Row, Transaction, insert, json_list

FIND = Query("fleet.find", "SELECT digest, answer FROM fleet_answer WHERE environment = :environment AND id = :id")
ADD = Query(
    "fleet.add",
    """
    -- Of two servers that answer at the same time, the first counts.
    INSERT INTO fleet_answer (environment, id, query, digest, answer, changed_at, allowed_at, told)
    VALUES (:environment, :id, :query, :digest, :body, :now, :now, NULL)
    ON CONFLICT (environment, id) DO NOTHING
    """,
)
LIST = Query(
    "fleet.list",
    """
    SELECT id, query, digest, changed_at, allowed_at, told FROM fleet_answer
    WHERE environment = :environment AND id > :after_id ORDER BY id LIMIT :limit
    """,
)
CHANGE = Query(
    "fleet.change",
    """
    UPDATE fleet_answer SET digest = :digest, answer = :body, changed_at = :now, allowed_at = :allowed_at, told = ''
    WHERE environment = :environment AND id = :id AND digest = :before RETURNING id
    """,
)
TELL = Query("fleet.tell", "UPDATE fleet_answer SET told = :told WHERE environment = :environment AND id = :id")
LOCK = Query(
    "fleet.lock",
    """
    SELECT environment, id, digest FROM fleet_answer WHERE id IN (SELECT value FROM json_each(:ids)) ORDER BY environment, id
    """,
    postgresql="""
    SELECT environment, id, digest FROM fleet_answer
    WHERE id = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:ids AS JSONB)))) ORDER BY environment, id FOR SHARE
    """,
)
READERS = Query(
    "fleet.readers",
    """
    SELECT node FROM fleet_reader WHERE environment = :environment AND query = :id AND node > :after_node
    ORDER BY node LIMIT :limit
    """,
)
READS = Query(
    "fleet.reads",
    "SELECT node, environment, query FROM fleet_reader WHERE node IN (SELECT value FROM json_each(:nodes))",
    postgresql="""
    SELECT node, environment, query FROM fleet_reader
    WHERE node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB))))
    """,
)
PUT_READER = insert(
    "fleet.put_reader",
    "fleet_reader",
    "node text, environment text, query text",
    "ON CONFLICT (node, environment, query) DO NOTHING",
)
DELETE_READER = Query(
    "fleet.delete_reader",
    "DELETE FROM fleet_reader WHERE node = :node AND environment = :environment AND query = :query",
)
DELETE_NODE = Query("fleet.delete_node", "DELETE FROM fleet_reader WHERE node = :node")
DELETE_UNREAD = Query(
    "fleet.delete_unread",
    """
    -- Answers that nobody reads. A compile under way may have asked for a new one, so these stay for a while.
    DELETE FROM fleet_answer WHERE environment = :environment AND changed_at < :changed_before AND NOT EXISTS (
        SELECT 1 FROM fleet_reader WHERE fleet_reader.environment = fleet_answer.environment AND fleet_reader.query = fleet_answer.id
    )
    """,
)


class AnswerKey(NamedTuple):
    """A query of the nodes that see an environment; of those that see all of them if it is empty."""

    environment: str
    id: str


class Reader(NamedTuple):
    """A node whose catalog rests on an answer."""

    node: str
    environment: str
    id: str


class StoredAnswer(NamedTuple):
    """The answer that compiles get."""

    digest: str
    data: bytes


class AnswerState(NamedTuple):
    """A stored answer without its data. `told` is the last reader whose decision was requested; None if no more are to be told."""

    key: AnswerKey
    query: str
    digest: str
    changed_at: datetime
    allowed_at: datetime
    told: str | None


def key_of(environment: str, query: str) -> AnswerKey:
    return AnswerKey(environment, digests.of_bytes(query.encode()))


def find(key: AnswerKey) -> Transaction[StoredAnswer | None]:
    rows = yield FIND(**key._asdict())
    return StoredAnswer(rows[0][0], decompress(rows[0][1])) if rows else None


def add(key: AnswerKey, query: str, answer: StoredAnswer, now: datetime) -> Transaction[StoredAnswer]:
    """Store the first answer to a query. Returns the one that is stored now."""
    body = compress(answer.data)
    yield ADD(**key._asdict(), query=query, digest=answer.digest, body=body, now=to_micros(now))
    stored = yield from find(key)
    return answer if stored is None else stored


def list_states(environment: str, after: str, limit: int) -> Transaction[list[AnswerState]]:
    rows = yield LIST(environment=environment, after_id=after, limit=limit)
    return [_state(environment, row) for row in rows]


def change(state: AnswerState, answer: StoredAnswer, now: datetime, allowed_at: datetime) -> Transaction[bool]:
    """Replace an answer; its readers are to be told. False if it was replaced or deleted in the meantime."""
    rows = yield CHANGE(
        **state.key._asdict(),
        digest=answer.digest,
        body=compress(answer.data),
        now=to_micros(now),
        allowed_at=to_micros(allowed_at),
        before=state.digest,
    )
    return bool(rows)


def tell(key: AnswerKey, told: str | None) -> Transaction[None]:
    """Record the last reader whose decision was requested; None if it was the last of all."""
    yield TELL(**key._asdict(), told=told)


def lock(ids: Collection[str]) -> Transaction[dict[AnswerKey, str]]:
    """The digests of the answers to these queries, in all environments. They do not change before the commit."""
    return {
        AnswerKey(environment, id_): digest for environment, id_, digest in (yield LOCK(ids=json_list(sorted(ids))))
    }


def list_readers(key: AnswerKey, after: str, limit: int) -> Transaction[list[str]]:
    return [row[0] for row in (yield READERS(**key._asdict(), after_node=after, limit=limit))]


def find_reads(nodes: Iterable[str]) -> Transaction[set[Reader]]:
    """What these nodes were recorded to read."""
    return {Reader(*row) for row in (yield READS(nodes=json_list(sorted(nodes))))}


def replace_reads(gone: Iterable[Reader], new: Iterable[Reader]) -> Transaction[None]:
    yield DELETE_READER.many(_values(reader) for reader in sorted(gone))
    yield PUT_READER.many(_values(reader) for reader in sorted(new))


def delete_node(node: str) -> Transaction[None]:
    """Delete what a node was recorded to read."""
    yield DELETE_NODE(node=node)


def delete_unread(environment: str, before: datetime) -> Transaction[None]:
    """Delete the answers that nobody reads and that have not changed since a time."""
    yield DELETE_UNREAD(environment=environment, changed_before=to_micros(before))


def _values(reader: Reader) -> dict[str, str]:
    return {"node": reader.node, "environment": reader.environment, "query": reader.id}


def _state(environment: str, row: Row) -> AnswerState:
    id_, query, digest, changed_at, allowed_at, told = row
    return AnswerState(
        AnswerKey(environment, id_), query, digest, from_micros(changed_at), from_micros(allowed_at), told
    )
