"""Stores fact sets: an inbox of sets without a decision, the newest decided set of each node, its volatile part, and its history.

Every statement of the submission path is a batch, so all writers of one commit share it. Documents are stored compressed and
passed on compressed, so a caller that does not read a document does not pay for decompressing it.

One set has three types on its way: `FactUpload` is the body that travels, `ReceivedFacts` is the set that a server took in or that
waits in the inbox, and `FactSet` is the set that was decided upon and is stored.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from precast.base.clock import from_micros, to_micros
from precast.store.engine.compression import compress, decompress
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction, json_list
from precast.store.facts import queries as queries
from precast.store.facts.volatile_parts import read_volatile_part

# A path that did not flap for this long is counted from 1 again when it flaps the next time.
QUIET = queries.QUIET


class FactChange(msgspec.Struct, frozen=True):
    """How one path changed: both values as JSON; None where the fact does not exist."""

    path: str
    before: bytes | None
    after: bytes | None


class StableComparison(NamedTuple):
    """How a received stable part differs from the stored stable part that has this digest."""

    digest: str
    changes: Sequence[FactChange]


# The time of a received set before a transaction stamps it.
UNSTAMPED = datetime.min.replace(tzinfo=UTC)


class ReceivedFacts(msgspec.Struct, frozen=True, gc=False):
    """A set as a server received it, both parts compressed: `stable` is canonical JSON, `volatile` is as the node wrote it.

    `stable` is empty if the node sent only the digest. `stable_json` or `comparison` spares the transaction decompressing `stable`.
    """

    node: str
    digest: str
    stable: bytes
    volatile: bytes
    received_at: datetime = UNSTAMPED
    stable_json: bytes | None = None
    comparison: StableComparison | None = None

    def stamp(self, received_at: datetime) -> "ReceivedFacts":
        """The same set with the time of the transaction that takes it in: times of one node have to follow the order of its commits."""
        return ReceivedFacts(
            self.node, self.digest, self.stable, self.volatile, received_at, self.stable_json, self.comparison
        )


class FactSet(msgspec.Struct, frozen=True):
    """A set with its decision, as it is stored. `allowed_at` is the time until which the node's compiles are accounted for, `recent`
    says which paths changed lately, `submissions` counts the sets that the node had sent when the row was locked.

    A set that was just decided upon carries what is written beside it: the changes for the history, and the paths that changed too often.
    """

    node: str
    digest: str
    stable: bytes
    received_at: datetime
    decision: str
    decided_at: datetime
    allowed_at: datetime
    recent: bytes
    submissions: int = 0
    changes: Sequence[FactChange] = ()
    flapping: Sequence[str] = ()


class Flap(msgspec.Struct, frozen=True):
    """A path that changed more often than its node's compile allowance permits."""

    node: str
    path: str
    times: int
    since: datetime
    last_at: datetime


class HistoryStep(msgspec.Struct, frozen=True):
    """The changes of the stable part that one fact set brought."""

    at: datetime
    changes: list[FactChange]


class _Change(msgspec.Struct, frozen=True):
    """A change inside a stored step. An unset value means that the fact did not exist, which differs from null."""

    path: str
    before: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    after: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class Facts:
    """The facts of all nodes of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def receive(self, sets: Sequence[ReceivedFacts]) -> Transaction[None]:
        """Put sets into the inbox; of several sets of one node the last."""
        newest = {received.node: received for received in sets}
        # Always in the order of names, so that two servers cannot deadlock.
        yield queries.RECEIVE.many(
            {
                "node": node,
                "digest": newest[node].digest,
                "stable": newest[node].stable,
                "volatile": newest[node].volatile,
                "now": to_micros(newest[node].received_at),
            }
            for node in sorted(newest)
        )

    def store_volatile(self, sets: Sequence[ReceivedFacts]) -> Transaction[None]:
        """Store the volatile parts of sets in the order of names: the newest of each node, and how many sets it sent."""
        times = Counter([received.node for received in sets])
        newest: dict[str, ReceivedFacts] = {}
        for received in sets:
            earlier = newest.setdefault(received.node, received)
            if earlier is not received and earlier.received_at <= received.received_at:
                newest[received.node] = received
        # Nearly all sets of a batch have the same time.
        micros = {at: to_micros(at) for at in {received.received_at for received in newest.values()}}
        if newest:
            yield queries.STORE_VOLATILE.many_tuples(
                [
                    (node, received.volatile, micros[received.received_at], times[node])
                    for node, received in sorted(newest.items())
                ]
            )

    def refresh_volatile(self, parts: Sequence[tuple[str, str, bytes]], received_at: datetime) -> Transaction[set[str]]:
        """Store volatile parts (node, digest, part) of the nodes whose newest set, in the inbox or decided, has this digest. Returns
        those nodes."""
        now = to_micros(received_at)
        rows = yield queries.REFRESH_VOLATILE.many_tuples(
            [(node, body, now, digest) for node, digest, body in sorted(parts)]
        )
        return {node for (node,) in rows}

    def find_waiting(self, nodes: Sequence[str]) -> Transaction[list[ReceivedFacts]]:
        """Find the sets of these nodes in the inbox, by name."""
        rows = yield queries.WAITING(nodes=json_list(nodes))
        return [
            ReceivedFacts(node, digest, bytes(stable), bytes(volatile), from_micros(received))
            for node, digest, stable, volatile, received in rows
        ]

    def filter_waiting(self, nodes: Sequence[str]) -> Transaction[set[str]]:
        """Return those of the nodes that have a set in the inbox."""
        return {node for (node,) in (yield queries.FILTER_WAITING(nodes=json_list(nodes)))}

    def lock_stored(self, sets: Sequence[ReceivedFacts]) -> Transaction[list[tuple[ReceivedFacts, FactSet | None]]]:
        """Lock the stored sets of the nodes of these sets until the commit: each received set beside the stored one."""
        rows = yield queries.LOCK_STORED(nodes=json_list(received.node for received in sets))
        stored = {row[0]: _fact_set(*row) for row in rows}
        return [(received, stored.get(received.node)) for received in sets]

    def read_stable_immediately(self, node: str) -> tuple[str, bytes] | None:
        """Read the digest and the compressed stable part of a node's stored set; None if there is none, or the read could block."""
        rows = self._database.read_immediately(queries.STABLE(node=node))
        return (rows[0][0], bytes(rows[0][1])) if rows else None

    def clear_inbox(self, sets: Sequence[ReceivedFacts]) -> Transaction[None]:
        """Delete sets from the inbox, unless a newer set of the node replaced them."""
        yield queries.CLEAR.many(
            {"node": received.node, "digest": received.digest, "received_at": to_micros(received.received_at)}
            for received in sets
        )

    def store(self, sets: Sequence[FactSet]) -> Transaction[None]:
        """Store decided sets with their history and flapping paths, in the order of names. Their volatile parts are stored apart."""
        if not sets:
            return
        yield queries.STORE.many_tuples(
            [
                (
                    decided.node,
                    decided.digest,
                    decided.stable,
                    to_micros(decided.received_at),
                    decided.decision,
                    to_micros(decided.decided_at),
                    to_micros(decided.allowed_at),
                    decided.recent,
                )
                for decided in sets
            ]
        )
        steps = [
            (decided.node, to_micros(decided.decided_at), len(decided.changes), _compress_changes(decided.changes))
            for decided in sets
            if decided.changes
        ]
        if steps:
            yield queries.ADD_STEP.many_tuples(steps)
        flaps = [
            (decided.node, path, 1, at, at)
            for decided in sets
            for at in [to_micros(decided.decided_at)]
            for path in decided.flapping
        ]
        if flaps:
            yield queries.FLAP.many_tuples(flaps)

    def list_flaps(self, since: datetime, after: tuple[str, str], limit: int) -> Transaction[list[Flap]]:
        """List paths that flapped since a time, by node and path, after the given one."""
        rows = yield queries.FLAPS(since=to_micros(since), after_node=after[0], after=after[1], limit=limit)
        return [
            Flap(node, path, times, from_micros(first), from_micros(last)) for node, path, times, first, last in rows
        ]

    async def trim_flaps(self, before: datetime, limit: int) -> int:
        """Delete up to `limit` paths that did not flap since `before`. Returns how many."""
        return await self._database.write(_trim_flaps, before, limit)

    def find_newest_digest(self, node: str) -> Transaction[str | None]:
        """Find the digest of the newest set, in the inbox or decided."""
        (digest,) = yield from find_newest_digests([node])
        return digest

    def find_stored(self, node: str) -> Transaction[FactSet | None]:
        rows = yield queries.STORED(node=node)
        return _fact_set(*rows[0]) if rows else None

    async def read_set(self, node: str) -> tuple[FactSet, bytes] | None:
        """Read the stored set and its volatile part, which is JSON."""
        return await self._database.read(self._find_with_volatile, node)

    async def list_history(self, node: str, before: datetime, limit: int = 100) -> list[HistoryStep]:
        """List the changes of the stable facts before a time, the newest step first."""
        return await self._database.read(_list_history, node, before, limit)

    async def trim_old(self, before: datetime, limit: int) -> int:
        """Delete up to `limit` of the oldest steps before a time. Returns how many."""
        return await self._database.write(_trim_old, before, limit)

    async def trim_node(self, node: str, keep: int, limit: int) -> int:
        """Delete up to `limit` of the oldest steps of a node beyond `keep`. Returns how many."""
        return await self._database.write(_trim_node, node, keep, limit)

    async def list_crowded(self, keep: int, after: str, limit: int) -> list[str]:
        """List nodes that have more than `keep` steps, by name."""
        return await self._database.read(_list_crowded, keep, after, limit)

    def _find_with_volatile(self, node: str) -> Transaction[tuple[FactSet, bytes] | None]:
        stored = yield from self.find_stored(node)
        if stored is None:
            return None
        rows = yield queries.VOLATILE(node=node)
        return stored, read_volatile_part(node, rows[0][0] if rows else None)


def find_newest_digests(nodes: Sequence[str]) -> Transaction[Sequence[str | None]]:
    """Find the digest of each node's newest set, in the inbox or decided."""
    rows = yield queries.NEWEST(nodes=json_list(nodes))
    digests = {row[0]: row[1] for row in rows}
    return [digests.get(node) for node in nodes]


def _list_history(node: str, before: datetime, limit: int) -> Transaction[list[HistoryStep]]:
    rows = yield queries.HISTORY(node=node, before_at=to_micros(before), limit=limit)
    return [HistoryStep(from_micros(at), _decompress_changes(changes)) for at, changes in rows]


def _trim_old(before: datetime, limit: int) -> Transaction[int]:
    return len((yield queries.TRIM_OLD(before_at=to_micros(before), limit=limit)))


def _trim_flaps(before: datetime, limit: int) -> Transaction[int]:
    return len((yield queries.TRIM_FLAPS(before_at=to_micros(before), limit=limit)))


def _trim_node(node: str, keep: int, limit: int) -> Transaction[int]:
    return len((yield queries.TRIM_NODE(node=node, keep=keep, limit=limit)))


def _list_crowded(keep: int, after: str, limit: int) -> Transaction[list[str]]:
    return [row[0] for row in (yield queries.CROWDED(keep=keep, after_node=after, limit=limit))]


def _fact_set(
    node: str,
    digest: str,
    stable: bytes,
    received: int,
    decision: str,
    decided: int,
    allowed: int,
    recent: bytes | None,
    submissions: int | None = None,
) -> FactSet:
    return FactSet(
        node,
        digest,
        bytes(stable),
        from_micros(received),
        decision,
        from_micros(decided),
        from_micros(allowed),
        b"{}" if recent is None else bytes(recent),
        submissions or 0,
    )


def _compress_changes(changes: Sequence[FactChange]) -> bytes:
    stored = [_Change(change.path, _raw(change.before), _raw(change.after)) for change in changes]
    return compress(msgspec.json.encode(stored))


def _decompress_changes(stored: bytes) -> list[FactChange]:
    changes = msgspec.json.decode(decompress(stored), type=list[_Change])
    return [FactChange(change.path, _bytes(change.before), _bytes(change.after)) for change in changes]


def _raw(value: bytes | None) -> msgspec.Raw | msgspec.UnsetType:
    return msgspec.UNSET if value is None else msgspec.Raw(value)


def _bytes(value: msgspec.Raw | msgspec.UnsetType) -> bytes | None:
    return None if isinstance(value, msgspec.UnsetType) else bytes(value)
