"""Sends wake-ups between servers by LISTEN and NOTIFY, on one connection of its own.

NOTIFY takes an instance-wide lock at commit, so it is never part of a data transaction: topics are collected after the commit and
sent together, one NOTIFY for many. The connection may be lost at any time; until it is restored, subscribers poll once a second.
"""

import asyncio
import contextlib
from collections.abc import Iterable

import asyncpg

from precast.base.clock import AnchoredClock, from_micros
from precast.store.engine import durability, postgres_errors, postgres_tls
from precast.store.engine.location import PostgresLocation
from precast.store.engine.wakeups import Wakeups

CHANNEL = "precast_wake"
# PostgreSQL refuses payloads of 8,000 bytes and more.
MAX_PAYLOAD_BYTES = 7_000
RECONNECT_S = 1.0
# The connection is checked this often: that detects a dead peer and reads the database's clock again. After a jump of that clock, servers
# disagree about their leases until each has read it.
CHECK_S = 2.0


class PostgresWakeups(Wakeups):
    """Wakes this process at once and the other servers through the database. Owns its task until `close`."""

    def __init__(self, location: PostgresLocation, server_id: str, clock: AnchoredClock | None) -> None:
        super().__init__()
        self._location = location
        self._tls = postgres_tls.make_context(location)
        self._server_id = server_id
        self._clock = clock
        # A set of topics, not of messages, so the number of topics bounds it.
        self._outgoing: set[str] = set()
        self._is_due = asyncio.Event()
        self._is_listening = asyncio.Event()
        self._task = asyncio.create_task(self._run(), name="precast-wakeups")

    def publish(self, topics: Iterable[str]) -> None:
        topics = list(topics)
        super().publish(topics)
        self._outgoing.update(topics)
        self._is_due.set()

    async def wait_until_listening(self) -> None:
        await self._is_listening.wait()

    async def close(self) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        while True:
            with contextlib.suppress(*postgres_errors.DRIVER_ERRORS):
                await self._serve()
            await asyncio.sleep(RECONNECT_S)

    async def _serve(self) -> None:
        """Connect, then listen and send until the connection breaks."""
        connection = await asyncpg.connect(self._location.url, ssl=self._tls, timeout=10, command_timeout=10)
        try:
            connection.add_termination_listener(lambda _: self._is_due.set())
            await connection.add_listener(CHANNEL, self._receive)
            await self._check(connection)
            # Wake-ups that were sent while we were disconnected are lost, so wake all subscribers.
            super().publish(list(self._by_topic))
            self._is_listening.set()
            while not connection.is_closed():
                await self._send_until(connection, asyncio.get_running_loop().time() + CHECK_S)
                await self._check(connection)
        finally:
            self._is_listening.clear()
            connection.terminate()

    async def _send_until(self, connection: "asyncpg.Connection[asyncpg.Record]", until_s: float) -> None:
        """Send wake-ups until a time of the event loop, or until the connection breaks."""
        with contextlib.suppress(TimeoutError):
            while not connection.is_closed():
                self._is_due.clear()
                await self._send(connection)
                async with asyncio.timeout_at(until_s):
                    await self._is_due.wait()

    async def _check(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        micros = await connection.fetchval(durability.NOW.postgresql)
        if self._clock is not None:
            self._clock.anchor(from_micros(micros))

    async def _send(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        topics = sorted(self._outgoing)
        self._outgoing.clear()
        payload = self._server_id
        for topic in topics:
            if len(payload.encode()) + len(topic.encode()) >= MAX_PAYLOAD_BYTES:
                await connection.execute("SELECT pg_notify($1, $2)", CHANNEL, payload)
                payload = self._server_id
            payload += "\n" + topic
        if payload != self._server_id:
            await connection.execute("SELECT pg_notify($1, $2)", CHANNEL, payload)

    def _receive(self, connection: object, pid: int, channel: str, payload: object) -> None:
        sender, *topics = str(payload).split("\n")
        if sender != self._server_id:
            super().publish(topics)
