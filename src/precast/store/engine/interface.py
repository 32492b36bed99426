"""The interface of a database engine, and the code that both engines share."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from precast.base.errors import PrecastError
from precast.store.engine.query import Computation, Dialect, ManyRows, Notice, Rows, Statement, Step, Transaction, Wake

Item = TypeVar("Item")
T = TypeVar("T")
Result = TypeVar("Result", contravariant=True)

# Makes a new generator for each attempt.
TransactionFactory = Callable[[], Transaction[Any]]
# Makes one transaction for many items. It returns a value for each item, in their order.
BatchTransaction = Callable[[Sequence[Item]], Transaction[Sequence[T]]]


class TransactionResult(NamedTuple):
    """A transaction that ran to its end: its return value, and the topics to wake and the lines to log after the commit."""

    value: Any
    topics: frozenset[str]
    notices: Sequence[Notice]


class Completion(Protocol[Result]):
    """Receives the outcome of a write, once. An asyncio.Future is one; an object that needs no turn of the event loop is cheaper.

    The methods raise nothing.
    """

    def done(self) -> bool:
        """Whether nothing waits for the outcome any longer, so that the write can be dropped."""

    def set_result(self, value: Result, /) -> None: ...

    def set_exception(self, error: BaseException, /) -> None: ...


class TransactionFailed(Exception):
    """One transaction of a group raised, and nothing of the group was stored. The error is the cause."""

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


class DatabaseFailed(Exception):
    """The database is unreachable, full or damaged. No transaction is at fault, and nothing of the group was stored."""

    def __init__(self, error: PrecastError) -> None:
        super().__init__(str(error))
        self.error = error


class Engine(Protocol):
    """A database. It translates the errors of its driver to PrecastErrors."""

    dialect: Dialect
    location: str
    gather_s: float  # after a large group, how long the committer waits for the next group to grow

    async def transact(self, factories: Sequence[TransactionFactory]) -> list[TransactionResult]:
        """Run the transactions of a group in order inside one durable database transaction: all of them or none.

        Raises TransactionFailed if one of them is at fault, DatabaseFailed if the database is.
        Cancelling may or may not store the group.
        """

    async def read(self, factory: TransactionFactory) -> Any:
        """Run a transaction that only reads, on one consistent snapshot, beside the writers. Raises PrecastError."""

    def read_immediately(self, statement: Statement) -> Rows | None:
        """Look up a few rows by their key within this call; None where the call could block.

        Raises PrecastError.
        """

    async def close(self) -> None:
        """Release threads, connections and files."""


class TransactionStepper:
    """Steps through one transaction, and collects its wake-ups and notices."""

    def __init__(self, transaction: Transaction[T]) -> None:
        self._transaction = transaction
        self._topics: set[str] = set()
        self._notices: list[Notice] = []
        self.result: TransactionResult | None = None

    def first(self) -> Statement | ManyRows | Computation | None:
        return self._advance(None)

    def next(self, outcome: Any) -> Statement | ManyRows | Computation | None:
        """Send the rows of the last statement, or the value of the last computation. Returns the next step, or None once the
        transaction has ended and `result` is set."""
        return self._advance(outcome)

    def _advance(self, outcome: Any) -> Statement | ManyRows | Computation | None:
        try:
            step: Step = next(self._transaction) if outcome is None else self._transaction.send(outcome)
            while isinstance(step, Wake | Notice):
                if isinstance(step, Wake):
                    self._topics.add(step.topic)
                else:
                    self._notices.append(step)
                step = self._transaction.send(())
        except StopIteration as end:
            self.result = TransactionResult(end.value, frozenset(self._topics), self._notices)
            return None
        return step
