"""Sessions: which node is connected where, which epoch it has, and how far its records are stored.

A session is written when a node connects and when it disconnects. In between, the lease of its server keeps it valid: when a server
dies, all of its sessions end with its lease, without a write for each.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from precast.base.clock import from_micros, from_optional_micros, to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Row, Transaction, Wake, json_list
from precast.store.sessions import queries as queries
from precast.store.sessions.machines import Machine, delete_node_machines

# Topics: a node (prefix + name) has connected, or its session has changed otherwise.
CONNECTED_PREFIX = "connected."
# Rows that one statement reads.
PAGE = 5000
# No server takes a longer lease.
LONGEST_LEASE = timedelta(minutes=2)
# How many local stores of a node are remembered; of older ones nothing can arrive any more.
MAX_STREAMS = 8


class PreviousSession(msgspec.Struct, frozen=True):
    """A node's session before it connected again."""

    epoch: int
    server: str | None
    instance: str
    attempts: list[str]  # newest first; empty before the first session of a life
    machine_id: str
    machine: str
    address: str
    boot_id: str
    agent: str
    connected_at: datetime
    disconnected_at: datetime | None
    held_at: datetime | None
    is_alive: bool
    away_since: datetime | None = None  # None if it is connected, or never was


class SessionStart(msgspec.Struct, frozen=True):
    """A node that connects."""

    node: str
    server: str
    instance: str
    attempts: list[str]  # those that are remembered from now on
    machine_id: str
    address: str
    boot_id: str
    agent: str


class StreamPosition(msgspec.Struct, frozen=True, gc=False):
    """How far the records of a stream are stored. `at` identifies the position: it changes whenever the stream advances or is opened."""

    received: int
    at: int  # microseconds


class LockedStream(msgspec.Struct, frozen=True):
    """A node's stream whose row is locked until the commit."""

    position: StreamPosition
    epoch: int


# A node, and the instance of its local store.
Stream = tuple[str, str]


class Server(msgspec.Struct, frozen=True):
    """A server process. If nodes can connect to it, its name contains a port."""

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
    """Whether a node is connected: to `server`, or not since `away_since`."""

    node: str
    epoch: int
    server: str | None
    away_since: datetime | None
    address: str
    agent: str
    boot_id: str
    connected_at: datetime
    lost: int
    machine_id: str
    held_at: datetime | None


class Sessions:
    """All sessions of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _now(self) -> int:
        return to_micros(self._database.clock.now())

    def lock(self, node: str) -> Transaction[PreviousSession]:
        """Return the node's session as it was, and lock it until the commit."""
        (row,) = yield queries.LOCK(node=node)
        (
            epoch,
            server,
            instance,
            attempts,
            machine_id,
            machine,
            address,
            boot_id,
            agent,
            connected,
            ended,
            held,
            lease,
        ) = row
        return PreviousSession(
            epoch=epoch,
            server=server,
            instance=instance,
            attempts=msgspec.json.decode(attempts, type=list[str]),
            machine_id=machine_id,
            machine=machine,
            address=address,
            boot_id=boot_id,
            agent=agent,
            connected_at=from_micros(connected),
            disconnected_at=from_optional_micros(ended),
            held_at=from_optional_micros(held),
            is_alive=server is not None and lease is not None and lease > self._now(),
            away_since=_away_since(connected, ended, server, lease, self._now()),
        )

    def begin(self, start: SessionStart, epoch: int, lost: int) -> Transaction[None]:
        """Begin a session of this epoch, and wake the other servers."""
        yield queries.BEGIN(
            node=start.node,
            epoch=epoch,
            server=start.server,
            instance=start.instance,
            attempts=msgspec.json.encode(start.attempts).decode(),
            machine_id=start.machine_id,
            address=start.address,
            boot_id=start.boot_id,
            agent=start.agent,
            now=self._now(),
            lost=lost,
        )
        yield Wake(connected_topic(start.node))

    def hold(self, node: str, epoch: int) -> Transaction[None]:
        """Put a node on hold: its session ends, and wakes the server that has its connection to close it."""
        yield queries.HOLD(node=node, epoch=epoch, now=self._now())
        yield queries.FENCE_STREAMS(node=node)
        yield Wake(connected_topic(node))

    def choose(self, node: str, machine: Machine) -> Transaction[None]:
        """Make a machine the node, and end the hold."""
        yield queries.CHOOSE(
            node=node,
            machine=machine.machine,
            instance=machine.instance,
            attempts=msgspec.json.encode(machine.attempts).decode(),
            machine_id=machine.machine_id,
            address=machine.address,
            boot_id=machine.boot_id,
            agent=machine.agent,
            now=self._now(),
        )
        yield queries.FENCE_STREAMS(node=node)
        if machine.given is not None:
            yield queries.SET_BACK(node=node, instance=machine.instance, given=machine.given)
        yield Wake(connected_topic(node))

    def begin_life(self, node: str) -> Transaction[None]:
        """Forget the machine and the streams of the node's earlier life. Connections of it are fenced off."""
        yield queries.DELETE_STREAMS(node=node)
        yield from delete_node_machines(node)
        yield queries.BEGIN_LIFE(node=node, now=self._now())
        yield Wake(connected_topic(node))

    def filter_held(self, nodes: Sequence[str]) -> Transaction[set[str]]:
        """Return those of the nodes that are on hold."""
        return {node for (node,) in (yield queries.HELD(nodes=json_list(nodes)))}

    def list_held(self, limit: int) -> Transaction[list[str]]:
        """List nodes that are on hold, those first that are on hold for the longest time."""
        return [node for (node,) in (yield queries.LIST_HELD(limit=limit))]

    def open_stream(self, node: str, instance: str) -> Transaction[StreamPosition]:
        """Return the position of a node's stream, and create the stream if it does not exist. Earlier sessions of it are fenced off."""
        ((received, at),) = yield queries.OPEN_STREAM(node=node, instance=instance, now=self._now())
        return StreamPosition(received, at)

    def forget_streams(self, node: str, instance: str) -> Transaction[None]:
        """Forget the oldest streams of a node that begins a new one, so that a node cannot have any number of them."""
        yield queries.FORGET_STREAMS(node=node, instance=instance, kept=MAX_STREAMS - 1, limit=PAGE)

    def fence_stream(self, node: str, instance: str) -> Transaction[None]:
        """Fence off earlier sessions of this stream: the position they know becomes invalid."""
        yield queries.FENCE_STREAM(node=node, instance=instance)

    def find_received(self, node: str, instance: str) -> Transaction[int | None]:
        """The number through which the records of a local store are stored; None if it is not known."""
        rows = yield queries.RECEIVED(node=node, instance=instance)
        return int(rows[0][0]) if rows else None

    def lock_streams(self, streams: Sequence[Stream]) -> Transaction[dict[Stream, LockedStream]]:
        """Lock streams until the commit; unknown ones are absent.

        The epochs are read afterwards, so that they include the change of a node that has just reconnected.
        """
        # Sorted, so that two servers cannot deadlock.
        rows = yield queries.LOCK_STREAMS(items=json_list(sorted(set(streams))))
        known = yield queries.EPOCHS(nodes=json_list({node for node, _ in streams}))
        epochs = {row[0]: row[1] for row in known}
        return {
            (node, instance): LockedStream(StreamPosition(received, at), epochs[node])
            for node, instance, received, at in rows
            if node in epochs
        }

    def advance_streams(
        self, reached: Mapping[Stream, tuple[StreamPosition, int]]
    ) -> Transaction[tuple[dict[Stream, StreamPosition], bool]]:
        """Advance streams from their known position to these numbers. Returns the new positions, locked until the commit, and whether all
        known positions were current. If not, the caller finds out which by locking the streams."""
        now = self._now()
        positions = {
            stream: StreamPosition(received, max(now, position.at + 1))
            for stream, (position, received) in sorted(reached.items())
        }
        if not positions:
            return {}, True
        ((count,),) = yield queries.MOVE_STREAM.count_changed(
            [(*stream, reached[stream][0].at, position.received, position.at) for stream, position in positions.items()]
        )
        return positions, count == len(positions)

    def add_losses(self, lost: Mapping[str, int]) -> Transaction[None]:
        """Add to the number of records that each node has lost."""
        yield queries.ADD_LOSSES.many({"node": node, "lost": count} for node, count in sorted(lost.items()))

    async def end(self, server: str, sessions: Sequence[tuple[str, int]]) -> None:
        """End the sessions of nodes, each with its epoch, on this server. A newer session is not touched."""
        await self._database.write(self._end_sessions, server, sessions)

    def _end_sessions(self, server: str, sessions: Sequence[tuple[str, int]]) -> Transaction[None]:
        now = self._now()
        yield queries.END.many(
            {"node": node, "epoch": epoch, "server": server, "now": now} for node, epoch in sorted(sessions)
        )

    async def find_newer_epochs(self, since: datetime, limit: int = 10_000) -> dict[str, int]:
        """Return the epochs of nodes that connected since a time."""
        return await self._database.read(_find_newer_epochs, since, limit)

    async def list_registered(self, server: str) -> dict[str, int]:
        """Return the epochs of the nodes whose session is registered for this server."""
        return await self._database.read(_list_registered, server)

    async def resume(self, server: str, sessions: Mapping[str, int]) -> dict[str, int]:
        """Register sessions again, by node and epoch, that were ended although their connections are open on this server.

        Returns those that are not this server's, with the stored epoch: the node has connected elsewhere since, or the database was
        restored to an earlier time. The epoch of a node that no longer exists is 0.
        """
        return await self._database.write_alone(_resume_sessions, server, sessions)

    async def renew_lease(self, server: str, name: str, lease_s: float, connections: int) -> bool:
        """Renew the lease of this server; returns whether it is its first one."""
        return await self._database.write(self._renew_server_lease, server, name, lease_s, connections)

    async def end_expired_leases(self, server: str, namesakes: str = "") -> None:
        """End the sessions of other servers whose lease has ended. Those called `namesakes` cannot be alive."""
        await self._database.write_alone(self._end_expired_leases, server, namesakes)

    def _renew_server_lease(self, server: str, name: str, lease_s: float, connections: int) -> Transaction[bool]:
        now = self._database.clock.now()
        ((started,),) = yield queries.RENEW_LEASE(
            server=server,
            name=name,
            now=to_micros(now),
            until=to_micros(now + timedelta(seconds=lease_s)),
            connections=connections,
        )
        return bool(started == to_micros(now))

    def _end_expired_leases(self, server: str, namesakes: str) -> Transaction[None]:
        now = self._database.clock.now()
        latest = to_micros(now + LONGEST_LEASE)
        yield queries.END_GHOSTS(server=server, name=namesakes, now=to_micros(now), latest=latest)
        yield queries.REAP(now=to_micros(now))
        yield queries.DELETE_SERVERS(gone_before=to_micros(now - timedelta(days=1)))

    async def end_lease(self, server: str) -> None:
        await self._database.write(self._end_server_lease, server)

    def _end_server_lease(self, server: str) -> Transaction[None]:
        now = self._now()
        yield queries.END_LEASE(server=server, now=now)
        yield queries.REAP(now=now + 1)

    async def count(self) -> int:
        """Count the nodes that have ever connected."""
        return await self._database.read(_count_sessions)

    async def list_servers(self, after: str = "", limit: int = 100) -> list[Server]:
        return await self._database.read(_list_servers, after, limit)

    def list_alive(self) -> Transaction[list[str]]:
        """List the ids of the servers whose lease is valid."""
        return [server for (server,) in (yield queries.ALIVE(now=self._now()))]

    async def read_presence(self, node: str) -> Presence | None:
        """Read the presence of a node; None if it never connected."""
        return await self._database.read(self.find_presence, node)

    def find_presence(self, node: str) -> Transaction[Presence | None]:
        """Find the presence of a node; None if it never connected."""
        rows = yield queries.PRESENCE(node=node)
        return _presence(rows[0], self._database.clock.now()) if rows else None

    def list_presences(self, after: str, until: str, limit: int) -> Transaction[dict[str, Presence]]:
        """Return the presence of the nodes in a range of names; a node that never connected is absent."""
        now = self._database.clock.now()
        rows = yield queries.PRESENCES(after_node=after, until_node=until, limit=limit)
        return {row[0]: _presence(row, now) for row in rows}

    def filter_connected(self, nodes: Sequence[str]) -> Transaction[set[str]]:
        """Return those of the nodes that are connected to any server."""
        return {node for (node,) in (yield queries.PRESENT(nodes=json_list(nodes), now=self._now()))}

    def filter_expected(self, nodes: Sequence[str], since: datetime) -> Transaction[set[str]]:
        """Return those of the nodes that are connected, or were so after a time: they will be back at once if their server restarted."""
        return {node for (node,) in (yield queries.EXPECTED(nodes=json_list(nodes), since=to_micros(since)))}

    def delete_node(self, node: str) -> Transaction[None]:
        """Delete the node's session and streams."""
        yield queries.DELETE_STREAMS(node=node)
        yield from delete_node_machines(node)
        yield queries.DELETE_SESSION(node=node)


def _away_since(connected: int, ended: int | None, server: str | None, lease: int | None, now: int) -> datetime | None:
    """Since when a node is away: its session has ended, or the lease of its server has."""
    if server is None or ended is not None:
        return from_optional_micros(ended)
    if lease is None:  # the server is forgotten already
        return from_micros(connected)
    return None if lease > now else from_micros(lease)


def connected_topic(node: str) -> str:
    return CONNECTED_PREFIX + node


def _find_newer_epochs(since: datetime, limit: int) -> Transaction[dict[str, int]]:
    rows = yield queries.NEWER(since=to_micros(since), limit=limit)
    return dict(rows)


def _list_registered(server: str) -> Transaction[dict[str, int]]:
    registered: dict[str, int] = {}
    after = ""
    while rows := (yield queries.REGISTERED(server=server, after_node=after, limit=PAGE)):
        registered.update(rows)
        after = rows[-1][0]
        if len(rows) < PAGE:
            break
    return registered


def _resume_sessions(server: str, sessions: Mapping[str, int]) -> Transaction[dict[str, int]]:
    # Sorted, so that two servers cannot deadlock.
    yield queries.RESUME.many_tuples([(node, epoch, server) for node, epoch in sorted(sessions.items())])
    rows = yield queries.OWNERS(nodes=json_list(sorted(sessions)))
    stored = {node: (epoch, owner) for node, epoch, owner in rows}
    return {
        node: stored.get(node, (0, None))[0] for node, epoch in sessions.items() if stored.get(node) != (epoch, server)
    }


def _count_sessions() -> Transaction[int]:
    ((count,),) = yield queries.COUNT()
    return int(count)


def _list_servers(after: str, limit: int) -> Transaction[list[Server]]:
    rows = yield queries.SERVERS(after=after, limit=limit)
    return [
        Server(id_, name, from_micros(started), from_micros(until), connections)
        for id_, name, started, until, connections in rows
    ]


def _presence(row: Row, now: datetime) -> Presence:
    node, epoch, server, until, address, agent, boot_id, connected, disconnected, lost, machine_id, held = row
    lease_until = from_optional_micros(until)
    is_connected = lease_until is not None and lease_until > now
    return Presence(
        node=node,
        epoch=epoch,
        server=server if is_connected else None,
        # A server that died did not record the time; its lease tells it.
        away_since=None if is_connected else from_optional_micros(disconnected) or lease_until,
        address=address,
        agent=agent,
        boot_id=boot_id,
        connected_at=from_micros(connected),
        lost=lost,
        machine_id=machine_id,
        held_at=from_optional_micros(held),
    )
