"""Batches the connections whose records are to be stored: one turn of the event loop submits the records of all of them.

A turn for each connection would cost a good part of what storing its records does.
"""

import asyncio
from typing import Protocol


class StoringConnection(Protocol):
    """A connection that has records to store."""

    def store(self) -> None:
        """Submit the records without waiting until they are stored. Raises nothing."""


class StoreBatch:
    """The connections of a process that have records to store. It is bounded, because each connection is in it at most once."""

    def __init__(self) -> None:
        self._connections: list[StoringConnection] = []

    def add(self, connection: StoringConnection) -> None:
        """Store the connection's records in the next turn of the event loop, with all that it receives until then."""
        if not self._connections:
            asyncio.get_running_loop().call_soon(self._flush)
        self._connections.append(connection)

    def _flush(self) -> None:
        connections, self._connections = self._connections, []
        for connection in connections:
            connection.store()
