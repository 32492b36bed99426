"""Signed orders that were begun: each is remembered until it has expired, so that no one can be carried out a second time.

Of ended orders only the newest are remembered otherwise, and what carries orders to this process could send so many that an earlier one is
forgotten. The list survives a new life of the node, because the signatures do. It is as long as the authority makes it.
"""

import sqlite3
from datetime import datetime

import msgspec

from precast.base.clock import to_micros


class _SignedDocument(msgspec.Struct):
    """What all signed orders say of their time."""

    expires_at: datetime


def spend(db: sqlite3.Connection, order_id: str, text: str, now: datetime) -> None:
    """Remember a signed order, which was verified, in the transaction that begins it."""
    try:
        until = msgspec.json.decode(text, type=_SignedDocument).expires_at
    except msgspec.MsgspecError:
        return  # it is no order, and was not verified
    db.execute("DELETE FROM spent_order WHERE until < ?", (to_micros(now),))
    db.execute("INSERT OR IGNORE INTO spent_order (id, until) VALUES (?, ?)", (order_id, to_micros(until)))


def is_spent(db: sqlite3.Connection, order_id: str) -> bool:
    """Whether a signed order with this id was begun, and has not expired since."""
    return db.execute("SELECT 1 FROM spent_order WHERE id = ?", (order_id,)).fetchone() is not None
