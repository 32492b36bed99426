"""Standing values: what nodes have promised in an environment, for runs of any time.

A value stands until its node promises another one, it expires, or the node's served catalog promises its key no more.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from precast.base.clock import from_micros, from_optional_micros, to_micros
from precast.store.engine.query import Query, Row, Transaction, batch, insert, json_list
from precast.store.futures.catalog_futures import filter_promised
from precast.store.futures.topics import ENVIRONMENT, ValueKey, wake_values
from precast.store.futures.values import StoredValue, ValueRow, standing_row

CATALOG, ENTRY, PERSON = "catalog", "entry", "person"

PUT = insert(
    "futures.put_standing",
    "standing_value",
    "environment text, key text, node text, source text, number number, value bytes, is_sensitive number, digest text,"
    " instance text, fence number, said_by text, fulfilled_at number, changed_at number, expires_at int",
    """
    -- A run with an older lease of the same local store has been overtaken. An equal value that does not expire changes nothing.
    ON CONFLICT (environment, key, node) DO UPDATE SET
        number = CASE WHEN standing_value.digest = excluded.digest AND standing_value.expires_at IS NULL
                AND excluded.expires_at IS NULL THEN standing_value.number
            WHEN standing_value.number >= excluded.number THEN standing_value.number + 1 ELSE excluded.number END,
        changed_at = CASE WHEN standing_value.digest = excluded.digest AND standing_value.expires_at IS NULL
            AND excluded.expires_at IS NULL THEN standing_value.changed_at ELSE excluded.changed_at END,
        source = excluded.source, value = excluded.value, is_sensitive = excluded.is_sensitive, digest = excluded.digest,
        instance = excluded.instance, fence = excluded.fence, said_by = excluded.said_by,
        fulfilled_at = excluded.fulfilled_at, expires_at = excluded.expires_at
    WHERE standing_value.instance <> excluded.instance OR standing_value.fence <= excluded.fence
    RETURNING environment, key, node, changed_at
    """,
)
OF_KEYS = batch(
    "futures.standing_of_keys",
    "environment text, key text",
    """
    SELECT v.environment, v.key, v.node, v.number, v.value, v.is_sensitive, v.digest, v.expires_at FROM input CROSS JOIN standing_value AS v
    WHERE v.environment = input.environment AND v.key = input.key
    """,
)
NUMBERS = batch(
    "futures.standing_numbers",
    "environment text, key text",
    """
    SELECT v.environment, v.key, v.node, v.number FROM input CROSS JOIN standing_value AS v
    WHERE v.environment = input.environment AND v.key = input.key
    """,
)
EXACT = batch(
    "futures.standing_exact",
    "environment text, key text, node text",
    """
    SELECT v.environment, v.key, v.node, v.number, v.value, v.is_sensitive, v.digest, v.expires_at FROM input CROSS JOIN standing_value AS v
    WHERE v.environment = input.environment AND v.key = input.key AND v.node = input.node
    """,
)
LIST = Query(
    "futures.list_standing",
    """
    SELECT environment, key, node, source, number, value, is_sensitive, said_by, fulfilled_at, changed_at, expires_at
    FROM standing_value WHERE environment = :environment AND (key, node) > (:after_key, :after_node)
    ORDER BY key, node LIMIT :limit
    """,
)
SHOW = Query(
    "futures.show_standing",
    """
    SELECT environment, key, node, source, number, value, is_sensitive, said_by, fulfilled_at, changed_at, expires_at
    FROM standing_value WHERE environment = :environment AND key = :key ORDER BY node LIMIT :limit
    """,
)
DELETE = Query(
    "futures.delete_standing",
    "DELETE FROM standing_value WHERE environment = :environment AND key = :key AND node = :node RETURNING node",
)
DELETE_OF_NODE = Query(
    "futures.delete_standing_of_node", "DELETE FROM standing_value WHERE node = :node RETURNING environment, key, node"
)
HAS_ANY = Query("futures.has_standing", "SELECT 1 WHERE EXISTS (SELECT 1 FROM standing_value)")
OF_NODES = Query(
    "futures.standing_of_nodes",
    """
    SELECT environment, key, node FROM standing_value
    WHERE source = 'catalog' AND node IN (SELECT value FROM json_each(:nodes)) ORDER BY environment, key, node
    """,
    postgresql="""
    SELECT environment, key, node FROM standing_value
    WHERE source = 'catalog' AND node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB))))
    ORDER BY environment, key, node
    """,
)
DELETE_EXPIRED = Query(
    "futures.delete_expired",
    """
    DELETE FROM standing_value WHERE (environment, key, node) IN (
        SELECT environment, key, node FROM standing_value WHERE expires_at < :before_at ORDER BY expires_at LIMIT :limit
    ) AND expires_at < :before_at RETURNING environment, key, node
    """,
)
HAS_EXPIRED = Query(
    "futures.has_expired", "SELECT 1 WHERE EXISTS (SELECT 1 FROM standing_value WHERE expires_at < :before_at)"
)
COUNT = Query("futures.count_standing", "SELECT count(*) FROM standing_value")


class NewStanding(NamedTuple):
    """A value that a node promises, or a person puts: then the node may be empty."""

    environment: str
    key: str
    node: str
    source: str
    stored: StoredValue
    instance: str
    fence: int
    said_by: str
    expires_at: datetime | None


class StandingRow(NamedTuple):
    """A standing value as people see it; of a sensitive one the value is sealed."""

    environment: str
    key: str
    node: str
    source: str
    number: int
    value: bytes
    is_sensitive: bool
    said_by: str
    fulfilled_at: datetime
    changed_at: datetime
    expires_at: datetime | None


def put_values(values: Sequence[NewStanding], now: datetime) -> Transaction[set[tuple[str, str, str]]]:
    """Store values, each of another environment, key or node. Returns those that were not overtaken by a later run."""
    at = to_micros(now)
    rows = []
    for new in sorted(values, key=lambda new: new[:3]):
        stored, expires = new.stored, None if new.expires_at is None else to_micros(new.expires_at)
        place = new.environment, new.key, new.node, new.source, at
        rows.append(
            (
                *(*place, stored.value, int(stored.is_sensitive), stored.digest),
                *(new.instance, new.fence, new.said_by, at, at, expires),
            )
        )
    written = yield PUT.many_tuples(rows)
    changed = [ValueKey(ENVIRONMENT, *row[:3]) for row in written if row[3] == at]
    yield from wake_values(changed)
    return {tuple(row[:3]) for row in written}


def list_of_keys(keys: Sequence[tuple[str, str]]) -> Transaction[list[ValueRow]]:
    """The values of keys of environments."""
    return [standing_row(row) for row in (yield OF_KEYS.many_tuples(keys))] if keys else []


def list_numbers(keys: Sequence[tuple[str, str]]) -> Transaction[list[tuple[str, str, str, int]]]:
    """The numbers of the values of keys, by environment, key and node."""
    return [tuple(row) for row in (yield NUMBERS.many_tuples(keys))] if keys else []


def find_exact(values: Sequence[tuple[str, str, str]]) -> Transaction[list[ValueRow]]:
    """Those of the values that exist, each by environment, key and node."""
    return [standing_row(row) for row in (yield EXACT.many_tuples(values))] if values else []


def list_page(environment: str, after: tuple[str, str], limit: int) -> Transaction[list[StandingRow]]:
    """A page of the values of an environment by key and node."""
    key, node = after
    rows = yield LIST(environment=environment, after_key=key, after_node=node, limit=limit)
    return [_shown(row) for row in rows]


def list_of_key(environment: str, key: str, limit: int) -> Transaction[list[StandingRow]]:
    """The values of a key by node, at most `limit`."""
    rows = yield SHOW(environment=environment, key=key, limit=limit)
    return [_shown(row) for row in rows]


def delete_value(environment: str, key: str, node: str) -> Transaction[bool]:
    rows = yield DELETE(environment=environment, key=key, node=node)
    if rows:
        yield from wake_values([ValueKey(ENVIRONMENT, environment, key, node)])
    return bool(rows)


def delete_of_node(node: str) -> Transaction[None]:
    """Delete the values of a node that no longer exists, or is deactivated."""
    yield from wake_values(ValueKey(ENVIRONMENT, *row) for row in (yield DELETE_OF_NODE(node=node)))


def delete_unpromised(nodes: Sequence[str]) -> Transaction[None]:
    """Delete the values of nodes whose served catalog, which may be new, promises them no more."""
    if not (yield HAS_ANY()):
        return
    values = [tuple(row) for row in (yield OF_NODES(nodes=json_list(nodes)))]
    promised = yield from filter_promised(values)
    for environment, key, node in values:
        if (environment, key, node) not in promised:
            yield from delete_value(environment, key, node)


def has_expired(before: datetime) -> Transaction[bool]:
    return bool((yield HAS_EXPIRED(before_at=to_micros(before))))


def delete_expired(before: datetime, limit: int) -> Transaction[int]:
    """Delete a page of values that expired before a time; returns how many."""
    rows = yield DELETE_EXPIRED(before_at=to_micros(before), limit=limit)
    yield from wake_values(ValueKey(ENVIRONMENT, *row) for row in rows)
    return len(rows)


def count() -> Transaction[int]:
    """How many values stand, in all environments."""
    ((number,),) = yield COUNT()
    return int(number)


def _shown(row: Row) -> StandingRow:
    environment, key, node, source, number, value, is_sensitive, said_by, fulfilled, changed, expires = row
    return StandingRow(
        *(environment, key, node, source, number, bytes(value), bool(is_sensitive), said_by),
        *(from_micros(fulfilled), from_micros(changed), from_optional_micros(expires)),
    )
