"""What a kind of order declares.

A kind is a class: the kind of its record and the message in it, how its orders are stored until they are carried out, the chore that
is woken when one was stored, and how an order is answered. `StandingOrder` and `OrderQueue` are the two ways to store orders; a
concrete kind derives from one of them and is listed in `registry`.
"""

import sqlite3
from abc import ABC, abstractmethod
from typing import ClassVar, Generic, Literal, Protocol, TypeVar

from precast.agent.state.spool import Spool
from precast.agent.state.store import LocalStore

# The chores of the daemon, by the name under which it looks them up.
ChoreName = Literal["facts", "certificate", "fetch", "apply", "orders"]


class OrderMessage(Protocol):
    """The part that the bodies of all orders have in common."""

    @property
    def why(self) -> str: ...


M = TypeVar("M", bound=OrderMessage)


class OrderKind(ABC, Generic[M]):
    """The orders of one kind in a local store."""

    name: ClassVar[str]  # the kind of the record
    message: type[M]  # the body of the record
    chore: ClassVar[ChoreName]  # carries the order out; it is woken when an order was stored
    fallback: M | None = None  # stands in for an invalid body; None if such an order is dropped

    def __init__(self, store: LocalStore, spool: Spool) -> None:
        self._store = store
        self._spool = spool

    @abstractmethod
    def keep(self, db: sqlite3.Connection, order: M) -> bool:
        """Store an order in the transaction that notes its record as received; False if the same order was stored before."""
