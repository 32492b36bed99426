"""Maintains the open connections of a server: delivers what nodes must receive, and closes connections that must end.

The database is authoritative, a wake-up is only a hint: what a node must receive is in its stream, the writer wakes the server that has the
node, and every server also polls. A connection is closed here when its node has reconnected elsewhere, when its certificate has expired or
been revoked, and when the node is silent.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TypeVar

from precast.api.sessions.connection import Connection
from precast.api.sessions.endpoint import RETURNS_PER_S, SessionEndpoint, SessionSettings
from precast.base.errors import PrecastError
from precast.services.sessions.orders import STREAM_PREFIX, OrderService
from precast.services.sessions.served_state import ServedState, ServedStates
from precast.services.sessions.server_presence import ServerPresence
from precast.store.catalogs.released import RELEASED_TOPIC
from precast.store.engine.database import Database
from precast.store.engine.wakeups import POLL_S
from precast.store.identity.certificates import REVOKED_TOPIC, NodeCertificates
from precast.store.sessions.sessions import Sessions, connected_topic
from precast.store.sessions.streams import topic
from precast.wire import sessions as session
from precast.wire.sessions import Reconnect

T = TypeVar("T")

log = logging.getLogger("precast.sessions")

# How often everything is checked for which there was no wake-up.
CHECK_EVERY_S = 5.0
# Each check also covers this time before the last one: clocks differ, and transactions commit late.
OVERLAP = timedelta(seconds=30)
# How many connections are sent to, or closed, concurrently.
CONCURRENCY = 64
# A server with more nodes than this share above the mean, and this many more, sends some of its nodes to other servers.
REBALANCE_ABOVE = 1.25
REBALANCE_LEAST = 16
REBALANCE_AT_ONCE = 50
REBALANCE_EVERY = 6  # checks; the nodes of the site are counted then, too
# Up to this many nodes are told to fetch a release at once; more are spread over the time that serving them takes.
ANNOUNCED_AT_ONCE = 100
FETCHES_PER_S = 250


class SessionMaintenance:
    """Owns the tasks that maintain the connections of an endpoint."""

    def __init__(
        self,
        endpoint: SessionEndpoint,
        orders: OrderService,
        sessions: Sessions,
        nodes: NodeCertificates,
        database: Database,
        settings: SessionSettings,
        served: ServedStates,
        presence: ServerPresence,
    ) -> None:
        self._endpoint = endpoint
        self._orders = orders
        self._sessions = sessions
        self._nodes = nodes
        self._database = database
        self._settings = settings
        self._served = served
        self._presence = presence
        # The connected nodes that have records to receive; bounded by the connections.
        self._due: set[str] = set()
        self._has_due = asyncio.Event()
        self._has_connected = asyncio.Event()
        self._has_revoked = asyncio.Event()
        self._has_released = asyncio.Event()

    async def run(self) -> None:
        """Maintain the connections, for ever."""
        wakeups = self._database.wakeups
        with (
            wakeups.prefix_subscription(topic(STREAM_PREFIX), self._on_record),
            wakeups.prefix_subscription(connected_topic(""), self._on_connected),
            wakeups.prefix_subscription(REVOKED_TOPIC, lambda _: self._has_revoked.set()),
            wakeups.prefix_subscription(RELEASED_TOPIC, lambda _: self._has_released.set()),
        ):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._presence.run())
                tasks.create_task(self._check())
                tasks.create_task(self._deliver())
                tasks.create_task(self._close_fenced())
                tasks.create_task(self._close_revoked())
                tasks.create_task(self._announce_released())

    async def register(self) -> None:
        """Obtain this server's lease. Call it as soon as the server has its name: the other tasks may start later."""
        await self._presence.register()

    async def drain(self, why: str) -> None:
        """Ask all nodes to reconnect, to another server if there is one; then end this server's lease."""
        self._endpoint.is_draining = True
        connections = list(self._endpoint.connections.values())
        spread_s = len(connections) / RETURNS_PER_S
        await self._send_away(connections, Reconnect(why, spread_s=spread_s))
        await self._presence.end()

    async def _check(self) -> None:
        """Close silent and expired connections, and rebalance nodes between servers."""
        checks = 0
        while True:
            await self._close_silent()
            if checks % REBALANCE_EVERY == 0:
                expected = await _unless_unavailable(self._sessions.count(), self._endpoint.expected_reconnects)
                self._endpoint.expected_reconnects = expected
                await self._rebalance()
            checks += 1
            await asyncio.sleep(CHECK_EVERY_S)

    async def _close_silent(self) -> None:
        # A node pings once per heartbeat: two pings may be missing, and a third one late.
        limit_s = time.monotonic() - 2.5 * self._settings.heartbeat_s
        now = self._database.clock.now()
        connections = list(self._endpoint.connections.values())
        silent = [connection for connection in connections if _is_silent(connection, limit_s)]
        await _close(silent, session.CLOSE_SILENT, "the node is silent")
        expired = [connection for connection in connections if connection.node.certified_until <= now]
        why = f"the certificate has expired, by this server's clock ({now:%Y-%m-%d %H:%M:%SZ})"
        await _close(expired, session.CLOSE_EXPIRED, why)

    async def _rebalance(self) -> None:
        """If this server has many more nodes than the others, ask some of them to reconnect to another server."""
        now = self._database.clock.now()
        servers = await _unless_unavailable(self._sessions.list_servers(), [])
        living = [server for server in servers if server.has_port and server.lease_until > now]
        if len(living) < 2:
            return
        mean = sum(server.connections for server in living) / len(living)
        connections = list(self._endpoint.connections.values())
        if len(connections) > mean * REBALANCE_ABOVE + REBALANCE_LEAST:
            excess = min(int(len(connections) - mean), REBALANCE_AT_ONCE)
            await self._send_away(connections[:excess], Reconnect("other servers have fewer nodes", spread_s=5.0))

    async def _deliver(self) -> None:
        """Send nodes the records of their streams, after a wake-up and periodically."""
        while True:
            if not await _wait(self._has_due, POLL_S):
                waiting = await _unless_unavailable(self._orders.list_nodes_with_orders(), [])
                self._due.update(name for name in waiting if name in self._endpoint.connections)
            due, self._due = self._due, set()
            connections = [
                self._endpoint.connections[name] for name in sorted(due) if name in self._endpoint.connections
            ]
            await _for_each(connections, lambda connection: _unless_unavailable(connection.push(), None))

    async def _close_fenced(self) -> None:
        """Close connections of nodes that have a newer session, according to the database."""
        checked_at = self._database.clock.now()
        while True:
            await _wait(self._has_connected, CHECK_EVERY_S)
            since, checked_at = checked_at - OVERLAP, self._database.clock.now()
            epochs = await _unless_unavailable(self._sessions.find_newer_epochs(since), {})
            connections = [(self._endpoint.connections.get(name), epoch) for name, epoch in epochs.items()]
            fenced = [
                connection for connection, epoch in connections if connection is not None and connection.epoch < epoch
            ]
            await _close(fenced, session.CLOSE_FENCED, "the node has reconnected")

    async def _close_revoked(self) -> None:
        """Close connections whose certificate was revoked."""
        checked_at = self._database.clock.now()
        while True:
            await _wait(self._has_revoked, CHECK_EVERY_S)
            since, checked_at = checked_at - OVERLAP, self._database.clock.now()
            fingerprints = set(await _unless_unavailable(self._nodes.list_revoked(since), []))
            revoked = [
                connection
                for connection in self._endpoint.connections.values()
                if connection.node.certificate in fingerprints
            ]
            await _close(revoked, session.CLOSE_REVOKED, "the certificate was revoked")

    async def _announce_released(self) -> None:
        """Tell nodes about a new catalog or policy, each once, according to the database."""
        checked_at = self._database.clock.now()
        while True:
            await _wait(self._has_released, CHECK_EVERY_S)
            since, checked_at = checked_at - OVERLAP, self._database.clock.now()
            await self._announce(await _unless_unavailable(self._served.find_changed(since), {}))

    async def _announce(self, changed: Mapping[str, ServedState]) -> None:
        connections = [
            connection
            for name, state in changed.items()
            if (connection := self._endpoint.connections.get(name)) and connection.needs_announcement(state)
        ]
        # A few nodes fetch at once; many are spread, as fast as the server can serve them.
        count = len(connections)
        spread_s = 0.0 if count <= ANNOUNCED_AT_ONCE else count / FETCHES_PER_S
        await _for_each(connections, lambda connection: connection.announce(changed[connection.node.name], spread_s))

    def _on_record(self, name: str) -> None:
        if name in self._endpoint.connections:
            self._due.add(name)
            self._has_due.set()

    def _on_connected(self, name: str) -> None:
        if name in self._endpoint.connections:
            self._has_connected.set()

    async def _send_away(self, connections: Sequence[Connection], message: Reconnect) -> None:
        async def send_away(connection: Connection) -> None:
            await connection.send(message)
            await connection.close(session.CLOSE_RECONNECT, message.why)

        await _for_each(connections, send_away)


def _is_silent(connection: Connection, limit_s: float) -> bool:
    return connection.last_heard_s < limit_s and not connection.is_paused


async def _close(connections: Iterable[Connection], code: int, why: str) -> None:
    await _for_each(list(connections), lambda connection: connection.close(code, why))


async def _for_each(connections: Sequence[Connection], do: Callable[[Connection], Awaitable[None]]) -> None:
    for start in range(0, len(connections), CONCURRENCY):
        await asyncio.gather(*map(do, connections[start : start + CONCURRENCY]))


async def _wait(event: asyncio.Event, timeout_s: float) -> bool:
    """Wait for the event and clear it; False after the timeout."""
    try:
        async with asyncio.timeout(timeout_s):
            await event.wait()
    except TimeoutError:
        return False
    event.clear()
    return True


async def _unless_unavailable(operation: Awaitable[T], fallback: T) -> T:
    """The result of the operation, or `fallback` while the database is unavailable: the next check tries again."""
    try:
        return await operation
    except PrecastError as error:
        if not error.consequence.retry:
            raise
        log.warning("the maintenance of sessions is delayed: %s", error)
        return fallback
