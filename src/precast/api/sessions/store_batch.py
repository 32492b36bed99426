"""Batches the connections that have something to store: one turn of the event loop submits the records of all of them.

A turn for each connection, and a transaction for each few, would cost a good part of what storing does. So while many nodes send, what
arrives within `GATHER_S` is one batch; a node that sends while few others do waits for nothing.
"""

import asyncio
from typing import Protocol

# After a batch of this many connections the next one is gathered for this long.
MANY = 8
GATHER_S = 0.01


class StoringConnection(Protocol):
    """A connection that has something to store."""

    def store(self) -> None:
        """Submit the records without waiting until they are stored. Raises nothing."""


class StoreBatch:
    """The connections of a process that have something to store. It is bounded, because each connection is in it at most once."""

    def __init__(self) -> None:
        self._connections: list[StoringConnection] = []
        self._gathered_s = 0.0  # until this time of the event loop

    def add(self, connection: StoringConnection) -> None:
        """Store the connection's records with all that it receives until then: in the next turn of the event loop, or a little later."""
        if not self._connections:
            loop = asyncio.get_running_loop()
            if self._gathered_s > loop.time():
                loop.call_at(self._gathered_s, self._flush)
            else:
                loop.call_soon(self._flush)
        self._connections.append(connection)

    def _flush(self) -> None:
        connections, self._connections = self._connections, []
        if len(connections) >= MANY:
            self._gathered_s = asyncio.get_running_loop().time() + GATHER_S
        for connection in connections:
            connection.store()
