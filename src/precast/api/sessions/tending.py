"""Looks after the connections of a server: what must be sent is sent, what must end is ended.

The database is the truth, a connection is a hint: what a node must get is in its stream, whoever puts it there wakes the server
that has the node, and everyone looks anyway once in a while. A node that has come anew elsewhere, a certificate that was taken
back or has run out, a node that is silent: each ends its connection here.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import timedelta
from typing import TypeVar

from precast.api.sessions.connection import Connection
from precast.api.sessions.hub import RETURNS_PER_S, Hub, HubSettings
from precast.base.errors import PrecastError
from precast.services.sessions.served import ServedThings
from precast.services.sessions.sessions import PREFIX, SessionService
from precast.store.catalogs import RELEASED_TOPIC
from precast.store.engine.database import Database
from precast.store.engine.wakeups import POLL_S
from precast.store.identity.certificates import REVOKED_TOPIC, Nodes
from precast.store.sessions.sessions import Sessions, arrived_topic
from precast.store.sessions.streams import topic
from precast.wire import sessions as session
from precast.wire.sessions import Reconnect

T = TypeVar("T")

log = logging.getLogger("precast.sessions")

# How often leases are renewed and everything is looked at that nobody woke us for.
TEND_S = 5.0
# What happened up to this long before the last look is looked at again: clocks differ, and commits come late.
OVERLAP = timedelta(seconds=30)
# So many are sent to, or closed, at once.
AT_ONCE = 64
# Beyond this share above the mean (and this many) a server sends some of its nodes to others.
REBALANCE_ABOVE = 1.25
REBALANCE_LEAST = 16
REBALANCE_AT_ONCE = 50
REBALANCE_EVERY = 6  # looks, at which the nodes are counted too
# Nodes that are told of a release at once; more than these come spread over as long as it takes to serve them.
TOLD_AT_ONCE = 100
FETCHES_PER_S = 250


class Tending:
    """Owns the tasks that look after a hub's connections."""

    def __init__(
        self,
        hub: Hub,
        service: SessionService,
        sessions: Sessions,
        nodes: Nodes,
        database: Database,
        settings: HubSettings,
        served: ServedThings,
    ) -> None:
        self._hub = hub
        self._service = service
        self._sessions = sessions
        self._nodes = nodes
        self._database = database
        self._settings = settings
        self._served = served
        # Names of nodes that are connected here; as bounded as those.
        self._due: set[str] = set()
        self._is_due = asyncio.Event()
        self._has_arrived = asyncio.Event()
        self._is_revoked = asyncio.Event()
        self._is_released = asyncio.Event()

    async def run(self) -> None:
        """Look after the connections, for ever."""
        wakeups = self._database.wakeups
        with (
            wakeups.tap(topic(PREFIX), self._on_post),
            wakeups.tap(arrived_topic(""), self._on_arrival),
            wakeups.tap(REVOKED_TOPIC, lambda _: self._is_revoked.set()),
            wakeups.tap(RELEASED_TOPIC, lambda _: self._is_released.set()),
        ):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._lease())
                tasks.create_task(self._deliver())
                tasks.create_task(self._fence())
                tasks.create_task(self._dismiss_revoked())
                tasks.create_task(self._tell_released())

    async def drain(self, why: str) -> None:
        """Send every node away, to come back soon and elsewhere if it can; then say that this server has ended."""
        self._hub.is_draining = True
        leaving = list(self._hub.connections.values())
        spread_s = len(leaving) / RETURNS_PER_S
        await self._send_away(leaving, Reconnect(why, spread_s=spread_s))
        await _quietly(self._sessions.end_lease(self._hub.id), None)

    async def _lease(self) -> None:
        """Renew this server's lease; close who is silent or whose certificate has run out; even out between servers."""
        looks = 0
        while True:
            hub = self._hub
            await _quietly(
                self._sessions.renew_lease(hub.id, hub.name, self._settings.lease_s, len(hub.connections)), None
            )
            await self._close_silent()
            if looks % REBALANCE_EVERY == 0:
                hub.herd = await _quietly(self._sessions.count(), hub.herd)
                await self._rebalance()
            looks += 1
            await asyncio.sleep(TEND_S)

    async def _close_silent(self) -> None:
        # A ping each heartbeat; two that are missing, and some time for a slow way.
        limit_s = time.monotonic() - 2.5 * self._settings.heartbeat_s
        now = self._database.clock.now()
        connections = list(self._hub.connections.values())
        silent = [one for one in connections if one.heard_s < limit_s and not one.is_held_up]
        await _close(silent, session.CLOSE_SILENT, "nothing was heard")
        ended = [one for one in connections if one.node.certified_until <= now]
        await _close(ended, session.CLOSE_REVOKED, "the certificate has run out")

    async def _rebalance(self) -> None:
        """If this server has many more nodes than others, some are asked to come back elsewhere."""
        now = self._database.clock.now()
        known = await _quietly(self._sessions.servers(), [])
        living = [one for one in known if one.has_port and one.lease_until > now]
        if len(living) < 2:
            return
        mean = sum(one.connections for one in living) / len(living)
        mine = list(self._hub.connections.values())
        if len(mine) > mean * REBALANCE_ABOVE + REBALANCE_LEAST:
            excess = min(int(len(mine) - mean), REBALANCE_AT_ONCE)
            await self._send_away(mine[:excess], Reconnect("other servers have fewer nodes", spread_s=5.0))

    async def _deliver(self) -> None:
        """Send what is there for nodes, when woken and once in a while anyway."""
        while True:
            if not await _wait(self._is_due, POLL_S):
                waiting = await _quietly(self._service.waiting(), [])
                self._due.update(name for name in waiting if name in self._hub.connections)
            due, self._due = self._due, set()
            found = [self._hub.connections[name] for name in sorted(due) if name in self._hub.connections]
            await _for_each(found, lambda one: _quietly(one.push(), None))

    async def _fence(self) -> None:
        """Close connections whose node has come anew somewhere, by what the database says."""
        looked_at = self._database.clock.now()
        while True:
            await _wait(self._has_arrived, TEND_S)
            since, looked_at = looked_at - OVERLAP, self._database.clock.now()
            newer = await _quietly(self._sessions.newer(since), {})
            found = [(self._hub.connections.get(name), epoch) for name, epoch in newer.items()]
            stale = [one for one, epoch in found if one is not None and one.epoch < epoch]
            await _close(stale, session.CLOSE_FENCED, "the node has come anew")

    async def _dismiss_revoked(self) -> None:
        """Close connections that rest on a certificate which was taken back."""
        looked_at = self._database.clock.now()
        while True:
            await _wait(self._is_revoked, TEND_S)
            since, looked_at = looked_at - OVERLAP, self._database.clock.now()
            revoked = set(await _quietly(self._nodes.revoked(since), []))
            found = [one for one in self._hub.connections.values() if one.node.serial in revoked]
            await _close(found, session.CLOSE_REVOKED, "the certificate was revoked")

    async def _tell_released(self) -> None:
        """Tell nodes that they are served something else, or have another policy; each once, by what the database says."""
        looked_at = self._database.clock.now()
        while True:
            await _wait(self._is_released, TEND_S)
            since, looked_at = looked_at - OVERLAP, self._database.clock.now()
            changed = await _quietly(self._served.changed(since), {})
            told = [one for name in changed if (one := self._hub.connections.get(name)) and one.lacks(changed[name])]
            # A few come at once; many one after the other, as fast as they can be served.
            spread_s = 0.0 if len(told) <= TOLD_AT_ONCE else len(told) / FETCHES_PER_S
            await _for_each(told, lambda one: one.tell(changed[one.node.name], spread_s))  # noqa: B023 - awaited here

    def _on_post(self, name: str) -> None:
        if name in self._hub.connections:
            self._due.add(name)
            self._is_due.set()

    def _on_arrival(self, name: str) -> None:
        if name in self._hub.connections:
            self._has_arrived.set()

    async def _send_away(self, leaving: Sequence[Connection], words: Reconnect) -> None:
        async def send_away(connection: Connection) -> None:
            await connection.send(words)
            await connection.close(session.CLOSE_RECONNECT, words.why)

        await _for_each(leaving, send_away)


async def _close(connections: Iterable[Connection], code: int, why: str) -> None:
    await _for_each(list(connections), lambda one: one.close(code, why))


async def _for_each(connections: Sequence[Connection], do: Callable[[Connection], Awaitable[None]]) -> None:
    for at in range(0, len(connections), AT_ONCE):
        await asyncio.gather(*map(do, connections[at : at + AT_ONCE]))


async def _wait(event: asyncio.Event, timeout_s: float) -> bool:
    """Whether it came within the time; it is cleared then."""
    try:
        async with asyncio.timeout(timeout_s):
            await event.wait()
    except TimeoutError:
        return False
    event.clear()
    return True


async def _quietly(doing: Awaitable[T], otherwise: T) -> T:
    """What comes of it, or something else while the database is away: then it is tried again at the next look."""
    try:
        return await doing
    except PrecastError as error:
        if not error.consequence.retry:
            raise
        log.warning("sessions are not looked after: %s", error)
        return otherwise
