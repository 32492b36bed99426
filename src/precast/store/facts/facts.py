"""Facts of nodes: an inbox for what nothing was decided upon yet, the stored set, its volatile part apart, and the history of the rest.

What is done for every submission is a batch: everybody who writes or asks at the same moment shares its statements. Documents come
and go packed (`packing`): who does not look into one should not pay for that.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from precast.base.clock import from_micros, to_micros
from precast.store.engine.compression import pack, unpack
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction, json_list
from precast.store.facts import queries as queries
from precast.store.facts.volatile_parts import volatile_part

# A path that has been quiet for so long begins anew when it flaps again.
QUIET = queries.QUIET


class FactChange(msgspec.Struct, frozen=True):
    """How one path changed: JSON; None where there is nothing."""

    path: str
    before: bytes | None
    after: bytes | None


class Compared(NamedTuple):
    """How a stable part differs from the one that was stored, of this digest."""

    digest: str
    changes: Sequence[FactChange]


# A stable part as it was brought, or how it differs, if somebody has looked.
Brought = bytes | Compared


class Received(msgspec.Struct, frozen=True):
    """A set as it came, both parts packed: the stable one is canonical JSON, the other as the node has it. `brought` is what is at hand of
    the stable part besides."""

    node: str
    digest: str
    stable: bytes
    volatile: bytes
    received_at: datetime
    brought: Brought | None = None


class Volatile(msgspec.Struct, frozen=True):
    """The part that came with a known digest, packed."""

    node: str
    body: bytes
    received_at: datetime


class FactSet(msgspec.Struct, frozen=True):
    """A set that was looked at, and what came of it. `recent` says which paths changed lately."""

    digest: str
    stable: bytes
    received_at: datetime
    decision: str
    decided_at: datetime
    allowed_at: datetime
    recent: bytes


class Waiting(msgspec.Struct, frozen=True):
    """A set that is to be decided upon, what is stored of its node, and how often that has sent facts before."""

    came: Received
    stored: FactSet | None
    submissions: int


class Decided(msgspec.Struct, frozen=True):
    """What came of a set: the decision, until when compiles are paid for, the changes that go into the history, and paths
    whose changes have to wait because there were too many.
    """

    came: Received
    decision: str
    decided_at: datetime
    allowed_at: datetime
    recent: bytes
    changes: Sequence[FactChange]
    flapping: Sequence[str] = ()


class Flap(msgspec.Struct, frozen=True):
    """A path that changed more often than its node may ask for."""

    node: str
    path: str
    times: int
    since: datetime
    last_at: datetime


class Step(msgspec.Struct, frozen=True):
    """What changed at one moment."""

    at: datetime
    changes: list[FactChange]


class _Change(msgspec.Struct, frozen=True):
    """A change inside a stored step; absent is not null."""

    path: str
    before: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    after: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class Facts:
    """The facts of all nodes of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def receiving(self, sets: Sequence[Received]) -> Transaction[None]:
        """Keep sets until they are looked at; of one node the last."""
        newest = {one.node: one for one in sets}
        # Always in the order of names, so that two servers wait for each other and never in a circle.
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

    def storing_volatile(self, parts: Sequence[Volatile]) -> Transaction[None]:
        """Store volatile parts, in the order of names; of one node the newest, and how many there were."""
        times = Counter([one.node for one in parts])
        newest: dict[str, Volatile] = {}
        for one in parts:
            if (other := newest.setdefault(one.node, one)) is not one and other.received_at <= one.received_at:
                newest[one.node] = one
        # Nearly all came at one moment.
        moments = {at: to_micros(at) for at in {one.received_at for one in newest.values()}}
        if newest:
            yield queries.STORE_VOLATILE.in_order(
                [(node, one.body, moments[one.received_at], times[node]) for node, one in sorted(newest.items())]
            )

    def refreshing_volatile(
        self, parts: Sequence[tuple[str, str, bytes]], received_at: datetime
    ) -> Transaction[set[str]]:
        """Store volatile parts, each with its node and a digest, of those whose newest set, looked at or not, has that: which nodes."""
        moment = to_micros(received_at)
        rows = yield queries.REFRESH_VOLATILE.in_order(
            [(node, body, moment, digest) for node, digest, body in sorted(parts)]
        )
        return {node for (node,) in rows}

    def waiting(self, nodes: Sequence[str]) -> Transaction[list[Received]]:
        """What waits of these nodes, by name."""
        rows = yield queries.WAITING(nodes=json_list(nodes))
        return [
            Received(node, digest, bytes(stable), bytes(volatile), from_micros(received))
            for node, digest, stable, volatile, received in rows
        ]

    def queued(self, nodes: Sequence[str]) -> Transaction[set[str]]:
        """Those of these nodes of which something waits."""
        return {node for (node,) in (yield queries.QUEUED(nodes=json_list(nodes)))}

    def holding(self, sets: Sequence[Received]) -> Transaction[list[Waiting]]:
        """Sets beside what is stored of their nodes, which stays so until the commit."""
        rows = yield queries.HOLD(nodes=json_list(one.node for one in sets))
        stored = {node: (_fact_set(*columns), submissions or 0) for node, submissions, *columns in rows}
        return [Waiting(one, *stored.get(one.node, (None, 0))) for one in sets]

    def stable_at_once(self, node: str) -> tuple[str, bytes] | None:
        """The digest and the stable part, packed, of what is stored of a node; None where there is nothing, or that could mean to wait."""
        rows = self._database.read_at_once(queries.STABLE(node=node))
        return (rows[0][0], bytes(rows[0][1])) if rows else None

    def clearing(self, sets: Sequence[Received]) -> Transaction[None]:
        """Take sets out of the inbox, unless a newer one came."""
        yield queries.CLEAR.many(
            {"node": one.node, "digest": one.digest, "received_at": to_micros(one.received_at)} for one in sets
        )

    def storing(self, sets: Sequence[Decided]) -> Transaction[None]:
        """Store sets with what came of them, and note how they differ; in the order of names. Their volatile parts are apart."""
        if not sets:
            return
        yield queries.STORE.in_order(
            [
                (
                    one.came.node,
                    one.came.digest,
                    one.came.stable,
                    to_micros(one.came.received_at),
                    one.decision,
                    to_micros(one.decided_at),
                    to_micros(one.allowed_at),
                    one.recent,
                )
                for one in sets
            ]
        )
        steps = [
            (one.came.node, to_micros(one.decided_at), len(one.changes), _pack_changes(one.changes))
            for one in sets
            if one.changes
        ]
        if steps:
            yield queries.ADD_STEP.in_order(steps)
        flaps = [
            (one.came.node, path, 1, at, at)
            for one in sets
            for at in [to_micros(one.decided_at)]
            for path in one.flapping
        ]
        if flaps:
            yield queries.FLAP.in_order(flaps)

    def flapping(self, since: datetime, after: tuple[str, str], limit: int) -> Transaction[list[Flap]]:
        """Paths that had to wait since a moment, by node and path, from after one on."""
        rows = yield queries.FLAPS(since=to_micros(since), after_node=after[0], after=after[1], limit=limit)
        return [
            Flap(node, path, times, from_micros(first), from_micros(last)) for node, path, times, first, last in rows
        ]

    async def trim_flaps(self, before: datetime, limit: int) -> int:
        """Forget some of those that have been quiet since a moment; how many."""
        return await self._database.write(_trimming_flaps, before, limit)

    def newest(self, node: str) -> Transaction[str | None]:
        """The digest of the newest set, looked at or not."""
        (digest,) = yield from reading_newest([node])
        return digest

    def stored(self, node: str) -> Transaction[FactSet | None]:
        rows = yield queries.STORED(node=node)
        return _fact_set(*rows[0]) if rows else None

    async def show(self, node: str) -> tuple[FactSet, bytes] | None:
        """The stored set and its volatile part, as JSON."""
        return await self._database.read(self._showing, node)

    async def history(self, node: str, before: datetime, limit: int = 100) -> list[Step]:
        """How the stable facts changed, newest step first, before a moment."""
        return await self._database.read(_reading_history, node, before, limit)

    async def trim_old(self, before: datetime, limit: int) -> int:
        """Remove some of the oldest steps before a moment; how many."""
        return await self._database.write(_trimming_old, before, limit)

    async def trim_node(self, node: str, keep: int, limit: int) -> int:
        """Remove some of the oldest steps of a node beyond those that are kept; how many."""
        return await self._database.write(_trimming_node, node, keep, limit)

    async def crowded(self, keep: int, after: str, limit: int) -> list[str]:
        """Nodes that have more steps than are kept of one, by name."""
        return await self._database.read(_reading_crowded, keep, after, limit)

    def _showing(self, node: str) -> Transaction[tuple[FactSet, bytes] | None]:
        stored = yield from self.stored(node)
        if stored is None:
            return None
        rows = yield queries.VOLATILE(node=node)
        return stored, volatile_part(node, rows[0][0] if rows else None)


def reading_newest(nodes: Sequence[str]) -> Transaction[Sequence[str | None]]:
    """The digest of the newest set of each, looked at or not."""
    rows = yield queries.NEWEST(nodes=json_list(nodes))
    found = {row[0]: row[1] for row in rows}
    return [found.get(node) for node in nodes]


def _reading_history(node: str, before: datetime, limit: int) -> Transaction[list[Step]]:
    rows = yield queries.HISTORY(node=node, before_at=to_micros(before), limit=limit)
    return [Step(from_micros(at), _unpack_changes(changes)) for at, changes in rows]


def _trimming_old(before: datetime, limit: int) -> Transaction[int]:
    return len((yield queries.TRIM_OLD(before_at=to_micros(before), limit=limit)))


def _trimming_flaps(before: datetime, limit: int) -> Transaction[int]:
    return len((yield queries.TRIM_FLAPS(before_at=to_micros(before), limit=limit)))


def _trimming_node(node: str, keep: int, limit: int) -> Transaction[int]:
    return len((yield queries.TRIM_NODE(node=node, keep=keep, limit=limit)))


def _reading_crowded(keep: int, after: str, limit: int) -> Transaction[list[str]]:
    return [row[0] for row in (yield queries.CROWDED(keep=keep, after_node=after, limit=limit))]


def _fact_set(
    digest: str, stable: bytes, received: int, decision: str, decided: int, allowed: int, recent: bytes | None
) -> FactSet:
    return FactSet(
        digest,
        bytes(stable),
        from_micros(received),
        decision,
        from_micros(decided),
        from_micros(allowed),
        b"{}" if recent is None else bytes(recent),
    )


def _pack_changes(changes: Sequence[FactChange]) -> bytes:
    return pack(msgspec.json.encode([_Change(one.path, _raw(one.before), _raw(one.after)) for one in changes]))


def _unpack_changes(stored: bytes) -> list[FactChange]:
    found = msgspec.json.decode(unpack(stored), type=list[_Change])
    return [FactChange(one.path, _bytes(one.before), _bytes(one.after)) for one in found]


def _raw(value: bytes | None) -> msgspec.Raw | msgspec.UnsetType:
    return msgspec.UNSET if value is None else msgspec.Raw(value)


def _bytes(value: msgspec.Raw | msgspec.UnsetType) -> bytes | None:
    return None if isinstance(value, msgspec.UnsetType) else bytes(value)
