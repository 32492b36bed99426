"""The kinds of orders that this agent knows. To add a kind, write its file and add its class to `KINDS`.

A record of a server is an order of one of the kinds, the answer to a claim, or the request to end an order.
"""

import logging
import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from precast.agent.orders.claims import OrderClaims
from precast.agent.orders.collect_orders import CollectOrders
from precast.agent.orders.exec_orders import ExecOrders
from precast.agent.orders.order_kind import ChoreName, OrderKind
from precast.agent.orders.order_queue import BegunOrder, OrderQueue
from precast.agent.orders.reboot_orders import RebootOrders
from precast.agent.orders.refresh_facts_orders import RefreshFactsOrders
from precast.agent.orders.renew_orders import RenewOrders
from precast.agent.orders.restart_orders import RestartOrders
from precast.agent.orders.run_orders import RunOrders
from precast.agent.orders.task_orders import TaskOrders
from precast.agent.state.spool import Spool
from precast.agent.state.store import LocalStore, note_received
from precast.wire.jobs.orders import ABORT, GRANT, Abort, Grant
from precast.wire.sessions import Record

log = logging.getLogger("precast.agent")

KINDS: tuple[type[OrderKind[Any]], ...] = (
    CollectOrders,
    RenewOrders,
    RunOrders,
    ExecOrders,
    TaskOrders,
    RefreshFactsOrders,
    RestartOrders,
    RebootOrders,
)
# The records that concern an order which was sent before.
_ABOUT_ORDERS: dict[str, type[Grant] | type[Abort]] = {GRANT: Grant, ABORT: Abort}

K = TypeVar("K", bound=OrderKind[Any])


class StoredOrder(NamedTuple):
    """A record that was stored and concerns a chore."""

    kind: str
    chore: ChoreName
    why: str
    about: str = ""  # the id of the order that an answer or a request to end concerns


class OrderRegistry:
    """Stores the orders of all kinds, each in the way its kind declares."""

    def __init__(self, store: LocalStore, spool: Spool, kinds: Sequence[type[OrderKind[Any]]] = KINDS) -> None:
        self._store = store
        self._by_name = {kind.name: kind(store, spool) for kind in kinds}
        self.claims = OrderClaims(store, spool)

    def find(self, kind: type[K]) -> K:
        """Return the orders of a kind."""
        orders = self._by_name[kind.name]
        assert isinstance(orders, kind), "names of kinds are unique"
        return orders

    def queue(self, kind: str) -> OrderQueue[Any]:
        """Return the queued orders of the kind with this name."""
        orders = self._by_name[kind]
        assert isinstance(orders, OrderQueue), "only queued orders are in the table of queued orders"
        return orders

    def receive(self, record: Record) -> StoredOrder | None:
        """Store a server's record, with its number, in one transaction.

        Returns what was stored if a chore is to be woken for it. Of a record of unknown kind, and of an invalid one, only the number is
        stored: the record would be the same if it was sent again. Raises UnavailableError as the store does.
        """
        if record.kind in _ABOUT_ORDERS:
            return self._receive_about_order(record, _ABOUT_ORDERS[record.kind])
        kind = self._by_name.get(record.kind)
        if kind is None:
            log.warning("the server sent a record of the unknown kind %.40r, which is ignored", record.kind)
        order: Any = None if kind is None else _decode(record, kind.message, kind.fallback)
        with self._store.transaction() as db:
            is_new = note_received(db, record) and kind is not None and order is not None and kind.keep(db, order)
        return StoredOrder(kind.name, kind.chore, order.why) if is_new and kind is not None else None

    def resolve_begun(self, kill_reason: str = "") -> bool:
        """Repeat or answer the orders whose processes have ended without an answer; whether there were any.

        The caller makes sure that no process works. `kill_reason` says why this agent has killed the last process, if it did.
        """
        columns = "kind, id, begins, boot_id, begun_s, is_aborted"
        begun = f"SELECT {columns} FROM queued_order WHERE state = 'begun' ORDER BY number"  # noqa: S608 - from above
        if not self._store.read(begun):
            return False
        with self._store.transaction() as db:
            for kind, *row in db.execute(begun).fetchall():
                self.queue(kind).resolve(db, BegunOrder(*row), kill_reason)
        return True

    def _receive_about_order(self, record: Record, message: type[Grant] | type[Abort]) -> StoredOrder | None:
        about = _decode(record, message, None)
        with self._store.transaction() as db:
            is_new = note_received(db, record)
            if is_new and isinstance(about, Grant):
                is_new = self.claims.receive(db, about, record.number)
            elif is_new and isinstance(about, Abort):
                self._abort(db, about)
        if not is_new or about is None:
            return None
        why = about.why if isinstance(about, Abort) else about.message
        return StoredOrder(record.kind, "orders", why, about.order)

    def _abort(self, db: sqlite3.Connection, abort: Abort) -> None:
        for (kind,) in db.execute("SELECT kind FROM queued_order WHERE id = ?", (abort.order,)).fetchall():
            self.queue(kind).abort(db, abort.order, abort.why)


def _decode(record: Record, message: type[Any], fallback: Any) -> Any:
    """Decode the body of a record; the fallback if it is invalid, which is logged if there is none."""
    try:
        return msgspec.json.decode(record.body, type=message)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        if fallback is None:
            log.error("the server sent an invalid record of the kind %s, which is ignored", record.kind)
        return fallback
