"""What a database must be able to do for us, and what both do alike."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from precast.base.errors import PrecastError
from precast.store.engine.query import Dialect, ManyRows, Rows, Statement, Step, Think, Transaction, Wake

Item = TypeVar("Item")
T = TypeVar("T")

# Makes the unit afresh for each try.
TransactionFactory = Callable[[], Transaction[Any]]
# Makes a unit for many items, which gives a value for each, in their order.
BatchUnit = Callable[[Sequence[Item]], Transaction[Sequence[T]]]


class Done(NamedTuple):
    """A unit that ran to its end: what it returned and whom it wants woken after the commit."""

    value: Any
    topics: frozenset[str]


class TransactionFailed(Exception):
    """One unit of a group raised; nothing of the group was stored. The error is the cause."""

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


class DatabaseFailed(Exception):
    """The database is away, full or broken; it is no unit's fault, and the whole group was not stored."""

    def __init__(self, error: PrecastError) -> None:
        super().__init__(str(error))
        self.error = error


class Engine(Protocol):
    """A database. Errors of the driver leave it as PrecastErrors."""

    dialect: Dialect
    location: str
    gather_s: float  # how long the next group of writers is waited for while there are many of them

    async def transact(self, units: Sequence[TransactionFactory]) -> list[Done]:
        """Run the units in order in one durable transaction: all of them or none.

        Raises TransactionFailed if it is one unit's fault, DatabaseFailed if it is the database's.
        Cancelling may or may not store the group.
        """

    async def read(self, unit: TransactionFactory) -> Any:
        """Run a unit that only reads, on one consistent snapshot, beside the writers. Raises PrecastError."""

    def read_at_once(self, statement: Statement) -> Rows | None:
        """Look up a few rows by their key, within this call; None where that could mean to wait.

        Raises PrecastError.
        """

    async def close(self) -> None:
        """Give back threads, connections and files."""


class Progress:
    """Steps through one unit, keeping the wake-ups apart from what is to be done for it."""

    def __init__(self, unit: Transaction[T]) -> None:
        self._unit = unit
        self._topics: set[str] = set()
        self.done: Done | None = None

    def first(self) -> Statement | ManyRows | Think | None:
        return self._settle(None)

    def next(self, came: Any) -> Statement | ManyRows | Think | None:
        """Hand in the rows of the last statement, or what was thought out; the next step, or None when the unit has ended and `done`
        is set."""
        return self._settle(came)

    def _settle(self, came: Any) -> Statement | ManyRows | Think | None:
        try:
            step: Step = next(self._unit) if came is None else self._unit.send(came)
            while isinstance(step, Wake):
                self._topics.add(step.topic)
                step = self._unit.send(())
        except StopIteration as end:
            self.done = Done(end.value, frozenset(self._topics))
            return None
        return step
