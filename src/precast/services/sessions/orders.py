"""Orders for nodes: each node has one numbered stream of them, which whichever server holds its connection sends.

An order is appended inside the transaction of the operation that causes it, and stays in the stream until the node confirms that it
has stored it.
"""

from collections.abc import Awaitable, Callable

import msgspec

from precast.base import canonical
from precast.store.engine.interface import Completion
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import NodeCertificates
from precast.store.sessions.streams import Streams
from precast.wire import sessions as session
from precast.wire.sessions import Record

# The names of the streams that hold orders begin with it; the node's name follows.
STREAM_PREFIX = "agent."
# Unconfirmed orders of one node; the next is refused with STREAM-001 until the node has confirmed some.
MAX_ORDERS = 1_000


class StreamRewound(Exception):
    """The database was restored to an earlier time, so it may give new orders numbers that the node has for others.

    A node that reconnects sends the numbers it has.
    """


class StoredOrder(msgspec.Struct, frozen=True):
    """An order as the stream holds it."""

    kind: str
    body: msgspec.Raw
    version: int = 1


# Makes the body that is sent to a node from the stored one: node, kind, body.
PrepareOrder = Callable[[str, str, msgspec.Raw], Awaitable[msgspec.Raw]]


async def send_as_stored(node: str, kind: str, body: msgspec.Raw) -> msgspec.Raw:
    return body


class OrderService:
    """Appends orders, reads them for a connection and removes the confirmed ones; holds no state between calls."""

    def __init__(
        self,
        nodes: NodeCertificates,
        streams: Streams,
        audit: AuditLog,
        prepare: PrepareOrder = send_as_stored,
    ) -> None:
        self._nodes = nodes
        self._streams = streams
        self._audit = audit
        self._prepare = prepare

    async def read(self, node: str, after: int, limit: int, trimmed: int = 0) -> list[Record]:
        """Read the orders of a node that follow a number, prepared for sending.

        Raises StreamRewound if the stream ends before that number, or still holds orders that were removed through `trimmed`; and what
        preparing raises.
        """
        page = await self._streams.read(STREAM_PREFIX + node, after, limit)
        if page.last < after or page.trimmed < trimmed:
            raise StreamRewound
        records = []
        for entry in page.records:
            order = msgspec.json.decode(entry.body, type=StoredOrder)
            body = await self._prepare(node, order.kind, order.body)
            records.append(Record(entry.number, order.kind, entry.at, body, order.version))
        return records

    def confirm(self, node: str, through: int, completion: Completion[int]) -> None:
        """Remove the orders that a node has stored, through this number."""
        self._streams.trim_batch(STREAM_PREFIX + node, through, completion)

    def post(self, node: str, kind: str, body: msgspec.Struct) -> Transaction[int]:
        """Append an order for a node; returns its number."""
        order = StoredOrder(kind, msgspec.Raw(canonical.encode(msgspec.to_builtins(body))))
        return (yield from self._streams.append_records(STREAM_PREFIX + node, [msgspec.json.encode(order)]))

    def has_room(self, node: str) -> Transaction[bool]:
        """Whether the node has fewer unconfirmed orders than the limit."""
        return (yield from self._streams.has_room(STREAM_PREFIX + node))

    def order_facts(self, node: str, actor: str, why: str) -> Transaction[bool]:
        """Order a node to collect its facts; returns False if there is no such active node."""
        if not (yield from self._nodes.is_active(node)):
            return False
        yield from self.post(node, session.COLLECT, session.CollectOrder(why))
        yield from self._audit.add(actor, "facts.collect", node, why=why)
        return True

    async def list_nodes_with_orders(self) -> list[str]:
        """List the nodes that have unconfirmed orders."""
        return await self._streams.list_waiting(STREAM_PREFIX)
