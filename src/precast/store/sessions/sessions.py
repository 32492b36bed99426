"""Sessions: which node is connected where, which epoch it has, and how far its records are stored.

A session is written when a node comes and when it goes. In between, that it is there follows from the lease of the server it
is connected to: a server that dies takes its sessions with it when its lease ends, without a write for each.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from precast.base.clock import from_micros, from_optional_micros, to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Row, Transaction, Wake, json_list
from precast.store.sessions import queries as queries


class Previous(msgspec.Struct, frozen=True):
    """A node's session as it was before."""

    epoch: int
    server: str | None
    instance: str
    attempt: str
    clone_at: datetime | None
    is_alive: bool


class Arrival(msgspec.Struct, frozen=True):
    """A node that comes."""

    node: str
    server: str
    instance: str
    attempt: str
    address: str
    boot_id: str
    agent: str


class Stand(msgspec.Struct, frozen=True, gc=False):
    """How far the records of a stream are stored, and since when that is so. Nobody has come for the stream since."""

    received: int
    at: int  # microseconds


class Held(msgspec.Struct, frozen=True):
    """A node's stream, held until the commit."""

    stand: Stand
    epoch: int


# A node and its local store.
Stream = tuple[str, str]


class Server(msgspec.Struct, frozen=True):
    """A process of the site. The name of one that nodes connect to has a port in it."""

    id: str
    name: str
    started_at: datetime
    lease_until: datetime
    connections: int

    @property
    def has_port(self) -> bool:
        """Whether nodes can connect to it."""
        return ":" in self.name


class Presence(msgspec.Struct, frozen=True):
    """Where a node is: connected to `server`, or away since."""

    node: str
    epoch: int
    server: str | None
    away_since: datetime | None
    address: str
    agent: str
    boot_id: str
    connected_at: datetime
    lost: int
    clone_at: datetime | None
    clone_address: str | None


class Sessions:
    """All sessions of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _now(self) -> int:
        return to_micros(self._database.clock.now())

    def taking(self, node: str) -> Transaction[Previous]:
        """The node's session as it was, held until the commit."""
        now = self._now()
        ((epoch, server, instance, attempt, clone_at, lease_until),) = yield queries.TAKE(node=node)
        is_alive = server is not None and lease_until is not None and lease_until > now
        return Previous(epoch, server, instance, attempt, from_optional_micros(clone_at), is_alive)

    def beginning(self, arrival: Arrival, epoch: int, lost: int) -> Transaction[None]:
        """The node is here now, with this epoch. Other servers are told."""
        yield queries.BEGIN(
            node=arrival.node,
            epoch=epoch,
            server=arrival.server,
            instance=arrival.instance,
            attempt=arrival.attempt,
            address=arrival.address,
            boot_id=arrival.boot_id,
            agent=arrival.agent,
            now=self._now(),
            lost=lost,
        )
        yield Wake(arrived_topic(arrival.node))

    def marking_clone(self, node: str, address: str) -> Transaction[None]:
        yield queries.MARK_CLONE(node=node, now=self._now(), address=address)

    def opening_stream(self, node: str, instance: str) -> Transaction[Stand]:
        """How far the records of a node's store have come; the stream is begun if need be. Who came for it before does not know it any
        more."""
        ((received, at),) = yield queries.OPEN_STREAM(node=node, instance=instance, now=self._now())
        return Stand(received, at)

    def fencing_stream(self, node: str, instance: str) -> Transaction[None]:
        """Who came for this stream before does not know it any more."""
        yield queries.FENCE_STREAM(node=node, instance=instance)

    def knowing_instance(self, node: str, instance: str) -> Transaction[bool]:
        return bool((yield queries.KNOWS_INSTANCE(node=node, instance=instance)))

    def holding_streams(self, streams: Sequence[Stream]) -> Transaction[dict[Stream, Held]]:
        """Streams of nodes and instances, held until the commit; who is not known is not there.

        The epochs are asked for afterwards: what a node that came anew has changed is seen by then.
        """
        # In their order, so that two servers wait for each other and never in a circle.
        rows = yield queries.HOLD_STREAMS(items=json_list(sorted(set(streams))))
        known = yield queries.EPOCHS(nodes=json_list({node for node, _ in streams}))
        epochs = {row[0]: row[1] for row in known}
        return {
            (node, instance): Held(Stand(received, at), epochs[node])
            for node, instance, received, at in rows
            if node in epochs
        }

    def moving_streams(
        self, reached: Mapping[Stream, tuple[Stand, int]]
    ) -> Transaction[tuple[dict[Stream, Stand], bool]]:
        """Move streams on from where they are known to be, to where their records are stored through these numbers: where they stand then,
        held until the commit, and whether all of them were where they were thought to be. If not, who holds them sees which."""
        now = self._now()
        stands = {
            stream: Stand(received, max(now, stand.at + 1)) for stream, (stand, received) in sorted(reached.items())
        }
        if not stands:
            return {}, True
        ((count,),) = yield queries.MOVE_STREAM.counting(
            [(*stream, reached[stream][0].at, stand.received, stand.at) for stream, stand in stands.items()]
        )
        return stands, count == len(stands)

    def losing(self, lost: Mapping[str, int]) -> Transaction[None]:
        """So many records of these nodes are lost."""
        yield queries.LOSE.many({"node": node, "lost": count} for node, count in sorted(lost.items()))

    async def end(self, server: str, gone: Sequence[tuple[str, int]]) -> None:
        """These nodes, each with its epoch, have left this server. A newer session is left as it is."""
        await self._database.write(self._ending, server, gone)

    def _ending(self, server: str, gone: Sequence[tuple[str, int]]) -> Transaction[None]:
        now = self._now()
        yield queries.END.many({"node": node, "epoch": epoch, "server": server, "now": now} for node, epoch in gone)

    async def newer(self, since: datetime, limit: int = 10_000) -> dict[str, int]:
        """The epochs of nodes that came since."""
        return await self._database.read(_reading_newer, since, limit)

    async def renew_lease(self, server: str, name: str, lease_s: float, connections: int) -> None:
        """This server goes on; sessions of servers whose lease has ended are over."""
        await self._database.write(self._leasing, server, name, lease_s, connections)

    def _leasing(self, server: str, name: str, lease_s: float, connections: int) -> Transaction[None]:
        now = self._database.clock.now()
        yield queries.RENEW_LEASE(
            server=server,
            name=name,
            now=to_micros(now),
            until=to_micros(now + timedelta(seconds=lease_s)),
            connections=connections,
        )
        yield queries.REAP(now=to_micros(now))
        yield queries.FORGET_SERVERS(gone_before=to_micros(now - timedelta(days=1)))

    async def end_lease(self, server: str) -> None:
        await self._database.write(self._ending_lease, server)

    def _ending_lease(self, server: str) -> Transaction[None]:
        now = self._now()
        yield queries.END_LEASE(server=server, now=now)
        yield queries.REAP(now=now + 1)

    async def count(self) -> int:
        """How many nodes have ever come."""
        return await self._database.read(_counting)

    async def servers(self, after: str = "", limit: int = 100) -> list[Server]:
        return await self._database.read(_listing_servers, after, limit)

    async def presence(self, node: str) -> Presence | None:
        """Where a node is, or None if it never came."""
        return await self._database.read(self.showing, node)

    def showing(self, node: str) -> Transaction[Presence | None]:
        """The same as a part of another reading."""
        rows = yield queries.PRESENCE(node=node)
        return _presence(rows[0], self._database.clock.now()) if rows else None

    def presences(self, after: str, until: str, limit: int) -> Transaction[dict[str, Presence]]:
        """Where the nodes after one name, through another, are; absent if they never came."""
        now = self._database.clock.now()
        rows = yield queries.PRESENCES(after_node=after, until_node=until, limit=limit)
        return {row[0]: _presence(row, now) for row in rows}

    def present(self, nodes: Sequence[str]) -> Transaction[set[str]]:
        """Which of these nodes are connected somewhere."""
        return {node for (node,) in (yield queries.PRESENT(nodes=json_list(nodes), now=self._now()))}

    def forgetting(self, node: str) -> Transaction[None]:
        """Remove everything about the node's sessions."""
        yield queries.FORGET_STREAMS(node=node)
        yield queries.FORGET_SESSION(node=node)


def arrived_topic(node: str) -> str:
    return f"arrived.{node}"


def _reading_newer(since: datetime, limit: int) -> Transaction[dict[str, int]]:
    rows = yield queries.NEWER(since=to_micros(since), limit=limit)
    return dict(rows)


def _counting() -> Transaction[int]:
    ((count,),) = yield queries.COUNT()
    return int(count)


def _listing_servers(after: str, limit: int) -> Transaction[list[Server]]:
    rows = yield queries.SERVERS(after=after, limit=limit)
    return [
        Server(id_, name, from_micros(started), from_micros(until), connections)
        for id_, name, started, until, connections in rows
    ]


def _presence(row: Row, now: datetime) -> Presence:
    node, epoch, server, until, address, agent, boot_id, connected, gone, lost, clone_at, clone_address = row
    lease_until = from_optional_micros(until)
    is_here = lease_until is not None and lease_until > now
    return Presence(
        node=node,
        epoch=epoch,
        server=server if is_here else None,
        # A server that died has not said when; its lease has.
        away_since=None if is_here else from_optional_micros(gone) or lease_until,
        address=address,
        agent=agent,
        boot_id=boot_id,
        connected_at=from_micros(connected),
        lost=lost,
        clone_at=from_optional_micros(clone_at),
        clone_address=clone_address,
    )
