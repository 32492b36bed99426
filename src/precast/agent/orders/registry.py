"""The kinds of orders that this agent knows. To add a kind, write its file and add its class to `KINDS`."""

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from precast.agent.orders.collect_orders import CollectOrders
from precast.agent.orders.exec_orders import ExecOrders
from precast.agent.orders.order_kind import ChoreName, OrderKind
from precast.agent.orders.renew_orders import RenewOrders
from precast.agent.orders.run_orders import RunOrders
from precast.agent.state.spool import Spool
from precast.agent.state.store import LocalStore, note_received
from precast.wire.sessions import Record

log = logging.getLogger("precast.agent")

KINDS: tuple[type[OrderKind[Any]], ...] = (CollectOrders, RenewOrders, RunOrders, ExecOrders)

K = TypeVar("K", bound=OrderKind[Any])


class StoredOrder(NamedTuple):
    """An order that was stored and is to be carried out by a chore."""

    kind: str
    chore: ChoreName
    why: str


class OrderRegistry:
    """Stores the orders of all kinds, each in the way its kind declares."""

    def __init__(self, store: LocalStore, spool: Spool, kinds: Sequence[type[OrderKind[Any]]] = KINDS) -> None:
        self._store = store
        self._by_name = {kind.name: kind(store, spool) for kind in kinds}

    def find(self, kind: type[K]) -> K:
        """Return the orders of a kind."""
        orders = self._by_name[kind.name]
        assert isinstance(orders, kind), "names of kinds are unique"
        return orders

    def receive(self, record: Record) -> StoredOrder | None:
        """Store a server's record, with its number, in one transaction.

        Returns the order if a chore is to be woken for it. Of a record of unknown kind, and of an invalid order, only the number is
        stored: the record would be the same if it was sent again. Raises UnavailableError as the store does.
        """
        kind = self._by_name.get(record.kind)
        order = _decode(kind, record)
        with self._store.transaction() as db:
            is_new = note_received(db, record) and kind is not None and order is not None and kind.keep(db, order)
        return StoredOrder(kind.name, kind.chore, order.why) if is_new and kind is not None else None


def _decode(kind: OrderKind[Any] | None, record: Record) -> Any:
    """Decode the body of an order; None if the record is ignored, which is logged."""
    if kind is None:
        log.warning("the server sent a record of the unknown kind %.40r, which is ignored", record.kind)
        return None
    try:
        return msgspec.json.decode(record.body, type=kind.message)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        if kind.fallback is None:
            log.error("the server sent an invalid order of the kind %s, which is ignored", kind.name)
        return kind.fallback
