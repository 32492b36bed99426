"""The rounds of exports: who collects which types, which changes collectors were told of, and what caused a change.

Every transaction that changes exports, or that records what a node collects, locks the rounds first, after the rows of nodes. So a
collector is either told of a change, or it has read the changed exports.
"""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import NamedTuple

import msgspec

from precast.base.clock import from_micros, to_micros
from precast.store.engine.query import Query, Row, Transaction, insert, json_list

LOCK = Query("exports.lock", "SELECT 1", postgresql="SELECT pg_advisory_xact_lock(7303014582)")
CHANGE = Query(
    "exports.change",
    """
    -- The next generation of a type. Of several causes before an announcement the one of the latest round stays.
    INSERT INTO export_type
        (environment, state, type, generation, announced, announced_at, crowding, round, cause_node, cause_title)
    VALUES (:environment, :state, :type, 1, 0, 0, 0, :round, :cause_node, :cause_title)
    ON CONFLICT (environment, state, type) DO UPDATE SET generation = export_type.generation + 1,
        round = CASE WHEN export_type.generation > export_type.announced AND export_type.round > excluded.round
            THEN export_type.round ELSE excluded.round END,
        cause_node = CASE WHEN export_type.generation > export_type.announced AND export_type.round > excluded.round
            THEN export_type.cause_node ELSE excluded.cause_node END,
        cause_title = CASE WHEN export_type.generation > export_type.announced AND export_type.round > excluded.round
            THEN export_type.cause_title ELSE excluded.cause_title END
    RETURNING announced_at, crowding
    """,
)
ANNOUNCE = Query(
    "exports.announce",
    """
    UPDATE export_type SET announced = generation, announced_at = :now,
        crowding = CASE WHEN generation > announced + 1 THEN crowding + 1 ELSE 0 END
    WHERE environment = :environment AND state = :state AND type = :type
    """,
)
TYPES = Query(
    "exports.types",
    """
    SELECT environment, state, type, generation, announced, round, cause_node, cause_title FROM export_type
    WHERE type IN (SELECT value FROM json_each(:names))
    """,
    postgresql="""
    SELECT environment, state, type, generation, announced, round, cause_node, cause_title FROM export_type
    WHERE type = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:names AS JSONB))))
    """,
)
COLLECTED = Query(
    "exports.collected",
    "SELECT node, type, environment, state FROM export_collector WHERE node IN (SELECT value FROM json_each(:nodes))",
    postgresql="""
    SELECT node, type, environment, state FROM export_collector
    WHERE node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB))))
    """,
)
PUT_COLLECTOR = insert(
    "exports.put_collector",
    "export_collector",
    "node text, type text, environment text, state text",
    "ON CONFLICT (node, type) DO UPDATE SET environment = excluded.environment, state = excluded.state",
)
DELETE_COLLECTOR = Query("exports.delete_collector", "DELETE FROM export_collector WHERE node = :node AND type = :type")
COLLECTORS = Query(
    "exports.collectors",
    """
    -- Those who see the exports of a type in an environment, or in all of them.
    SELECT node FROM export_collector
    WHERE type = :type AND state = :state AND environment IN (:environment, '') AND node > :after_node
    ORDER BY node LIMIT :limit
    """,
)
COUNT_COLLECTORS = Query(
    "exports.count_collectors",
    """
    -- Reads the index, for people.
    SELECT type, state, environment, count(*) FROM export_collector GROUP BY type, state, environment
    """,
)
ROUNDS_OF = Query(
    "exports.rounds_of",
    """
    SELECT node, round, cause_node, cause_type, cause_title FROM export_round
    WHERE state = :state AND node IN (SELECT value FROM json_each(:nodes))
    """,
    postgresql="""
    SELECT node, round, cause_node, cause_type, cause_title FROM export_round
    WHERE state = :state AND node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB))))
    """,
)
PUT_ROUND = Query(
    "exports.put_round",
    """
    INSERT INTO export_round (node, state, round, cause_node, cause_type, cause_title)
    VALUES (:node, :state, :round, :cause_node, :cause_type, :cause_title)
    ON CONFLICT (node, state) DO UPDATE SET round = excluded.round, cause_node = excluded.cause_node,
        cause_type = excluded.cause_type, cause_title = excluded.cause_title, stopped_at = NULL, loop = NULL
    """,
)
STOP = Query(
    "exports.stop",
    "UPDATE export_round SET stopped_at = :now, loop = :loop WHERE node = :node AND state = :state",
)
RESUME = Query(
    "exports.resume",
    """
    UPDATE export_round SET stopped_at = NULL, loop = NULL
    WHERE stopped_at IS NOT NULL AND node IN (SELECT value FROM json_each(:nodes))
    """,
    postgresql="""
    UPDATE export_round SET stopped_at = NULL, loop = NULL
    WHERE stopped_at IS NOT NULL AND node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB))))
    """,
)
DELETE_ROUND = Query("exports.delete_round", "DELETE FROM export_round WHERE node = :node AND state = :state")
FORGET_CAUSE = Query(
    "exports.forget_cause", "UPDATE export_type SET cause_node = '', cause_title = '' WHERE cause_node = :node"
)
FORGET_ROUNDS = Query(
    "exports.forget_rounds",
    """
    -- The node's own rounds, and those of others that it caused or that it is a member of. Reads all rows: few nodes have one.
    DELETE FROM export_round WHERE node = :node OR cause_node = :node OR loop LIKE '%"node":"' || :node || '"%'
    """,
)
STOPPED = Query(
    "exports.stopped",
    """
    SELECT node, state, round, stopped_at, loop FROM export_round WHERE stopped_at IS NOT NULL AND node > :after_node
    ORDER BY node, state LIMIT :limit
    """,
)
COUNT_STOPPED = Query("exports.count_stopped", "SELECT count(*) FROM export_round WHERE stopped_at IS NOT NULL")


class TypeKey(NamedTuple):
    """The exports of one type in an environment; `state` is released or staged."""

    environment: str
    state: str
    type: str


class TypeRound(NamedTuple):
    """The changes of the exports of a type: their number, the number that collectors were last told of, and the last cause."""

    key: TypeKey
    generation: int
    announced: int
    round: int
    cause_node: str
    cause_title: str


class Collector(NamedTuple):
    """A type that a node collects, and which exports it sees; those of all environments if `environment` is empty."""

    node: str
    type: str
    environment: str
    state: str


class Cause(NamedTuple):
    """What led to a changed catalog: exports of another node, in the round that their change began."""

    round: int
    node: str
    type: str
    title: str


class LoopMember(msgspec.Struct, frozen=True):
    """A node of a loop, and the resource of it that the next node of the loop collects."""

    node: str
    type: str
    title: str


class StoppedLoop(msgspec.Struct, frozen=True):
    """A node whose change is held back because it is part of a loop."""

    node: str
    state: str
    round: int
    stopped_at: datetime
    members: list[LoopMember]


def lock() -> Transaction[None]:
    """Lock the rounds until the commit. Callers lock the rows of nodes before."""
    yield LOCK()


def change(key: TypeKey, round_: int, cause_node: str, cause_title: str) -> Transaction[tuple[datetime, int]]:
    """Begin the next generation of a type.

    Returns when its collectors were last told of a change, and how many announcements in a row were of several changes.
    """
    ((at, crowding),) = yield CHANGE(
        environment=key.environment,
        state=key.state,
        type=key.type,
        round=round_,
        cause_node=cause_node,
        cause_title=cause_title[:200],
    )
    return from_micros(at), int(crowding)


def announce(key: TypeKey, now: datetime) -> Transaction[None]:
    """Record that collectors are being told of the newest generation."""
    yield ANNOUNCE(environment=key.environment, state=key.state, type=key.type, now=to_micros(now))


def find_types(types: Collection[str]) -> Transaction[dict[TypeKey, TypeRound]]:
    """Find the rounds of these types, in all environments and states."""
    if not types:
        return {}
    rounds = {}
    for environment, state, name, *rest in (yield TYPES(names=json_list(sorted(types)))):
        key = TypeKey(environment, state, name)
        rounds[key] = TypeRound(key, *rest)
    return rounds


def find_collected(nodes: Iterable[str]) -> Transaction[set[Collector]]:
    """Find what these nodes collect."""
    return {Collector(*row) for row in (yield COLLECTED(nodes=json_list(sorted(nodes))))}


def replace_collectors(gone: Iterable[Collector], new: Iterable[Collector]) -> Transaction[None]:
    """Delete some rows and write others."""
    yield DELETE_COLLECTOR.many({"node": row.node, "type": row.type} for row in sorted(gone))
    yield PUT_COLLECTOR.many(row._asdict() for row in sorted(new))


def list_collectors(key: TypeKey, after: str, limit: int) -> Transaction[list[str]]:
    """List the nodes that see the exports of a type, by name."""
    rows = yield COLLECTORS(**key._asdict(), after_node=after, limit=limit)
    return [row[0] for row in rows]


def count_collectors() -> Transaction[dict[TypeKey, int]]:
    """Count the nodes that see the exports of each type; the environment is empty for those that see all environments."""
    rows = yield COUNT_COLLECTORS()
    return {TypeKey(environment, state, type_name): count for type_name, state, environment, count in rows}


def find_causes(nodes: Iterable[str], state: str) -> Transaction[dict[str, Cause]]:
    """Find what caused the last change of the exports of these nodes; absent where it was no export."""
    rows = yield ROUNDS_OF(nodes=json_list(sorted(nodes)), state=state)
    return {node: Cause(round_, cause_node, type_name, title) for node, round_, cause_node, type_name, title in rows}


def put_cause(node: str, state: str, cause: Cause) -> Transaction[None]:
    """Record what caused the change of a node's exports; it is not stopped then."""
    yield PUT_ROUND(
        node=node,
        state=state,
        round=cause.round,
        cause_node=cause.node,
        cause_type=cause.type,
        cause_title=cause.title,
    )


def stop(node: str, state: str, members: list[LoopMember], now: datetime) -> Transaction[None]:
    """Record that a change of a node is held back, after its cause was recorded."""
    yield STOP(node=node, state=state, now=to_micros(now), loop=msgspec.json.encode(members).decode())


def resume(nodes: Iterable[str]) -> Transaction[None]:
    """Forget that changes of these nodes are held back: they have another catalog now."""
    yield RESUME(nodes=json_list(sorted(nodes)))


def delete_causes(nodes: Iterable[str], state: str) -> Transaction[None]:
    """Delete the causes of these nodes: their exports changed for another reason."""
    yield DELETE_ROUND.many({"node": node, "state": state} for node in sorted(nodes))


def forget_node(node: str) -> Transaction[None]:
    """Delete what is stored about a node besides its exports."""
    if collected := (yield from find_collected([node])):
        yield from replace_collectors(collected, ())
    yield FORGET_ROUNDS(node=node)
    yield FORGET_CAUSE(node=node)


def list_stopped(after: str, limit: int) -> Transaction[list[StoppedLoop]]:
    """List the nodes whose change is held back, by name."""
    return [_stopped(row) for row in (yield STOPPED(after_node=after, limit=limit))]


def count_stopped() -> Transaction[int]:
    ((count,),) = yield COUNT_STOPPED()
    return int(count)


def _stopped(row: Row) -> StoppedLoop:
    node, state, round_, at, loop = row
    return StoppedLoop(node, state, round_, from_micros(at), msgspec.json.decode(loop, type=list[LoopMember]))
