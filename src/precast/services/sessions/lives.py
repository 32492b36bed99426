"""Begins a new life of a node: a machine that is enrolled again is not the one that was enrolled before.

The name, its classification, its policy and its released catalog belong to the node, and a purge deletes them. What passed between a
machine and the servers belongs to one life: its streams of records and of orders, the machines that use its certificate. It is forgotten in
the transaction that stores the new certificate, so nothing of it can reach the new machine, and nothing that the old one still sends
is stored.
"""

from precast.services.sessions.orders import STREAM_PREFIX
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.sessions.sessions import Sessions
from precast.store.sessions.streams import Streams


class NodeLives:
    """Begins the lives of nodes; holds no state between calls."""

    def __init__(self, database: Database) -> None:
        self._sessions = Sessions(database)
        self._streams = Streams(database)

    def begin(self, node: str) -> Transaction[None]:
        """Forget what passed between the servers and the machine that was this node."""
        yield from self._sessions.begin_life(node)
        yield from self._streams.delete(STREAM_PREFIX + node)
