"""Runs many small transactions side by side within one, so that the same statement of several of them becomes one statement.

What happens to a node is written as a transaction of that node, statement by statement. A server handles hundreds of nodes at a time, and
most of them take the same way: one statement for all of them costs little more than one for each. Only statements of a query that declares
its `key` are merged: then it is known whose each returned row is.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from precast.store.engine.query import Computation, ManyRows, Notice, Query, Statement, Transaction, Wake

T = TypeVar("T")
_Step = Statement | ManyRows | Computation
_Key = tuple[object, ...]


def in_lockstep(transactions: Iterable[Transaction[T]]) -> Transaction[list[T]]:
    """Run transactions that do not depend on each other, and return their values in order. An error of one ends all of them.

    A row that two of them write is written in the order of their statements, which may be any; nothing else may depend on it.
    """
    running = list(enumerate(transactions))
    values: dict[int, T] = {}
    outcomes: list[Any] = [None] * len(running)
    while running:
        waiting: list[tuple[int, Transaction[T], _Step]] = []
        for place, transaction in running:
            try:
                step = transaction.send(outcomes[place])
                while isinstance(step, Wake | Notice):
                    yield step
                    step = transaction.send(())
            except StopIteration as end:
                values[place] = end.value
            else:
                waiting.append((place, transaction, step))
        yield from _execute([(place, step) for place, _, step in waiting], outcomes)
        running = [(place, transaction) for place, transaction, _ in waiting]
    return [values[place] for place in range(len(outcomes))]


def _execute(steps: Sequence[tuple[int, _Step]], outcomes: list[Any]) -> Transaction[None]:
    """Execute one step of each transaction, merged where that is possible, and note what each returns."""
    merged: dict[Query, list[_Merged]] = {}
    for place, step in steps:
        if isinstance(step, Computation) or step.query.key is None:
            outcomes[place] = yield step
        else:
            _add(merged.setdefault(step.query, []), place, step)
    for query, statements in merged.items():
        for statement in statements:
            yield from statement.execute(query, outcomes)


class _Merged:
    """Statements of one query that are executed as one. No two of their rows have the same key, so each returned row has one owner."""

    def __init__(self, place: int, step: Statement | ManyRows) -> None:
        self.steps = [(place, step)]
        self.owners: dict[_Key, int] = {}

    def execute(self, query: Query, outcomes: list[Any]) -> Transaction[None]:
        if len(self.steps) == 1:
            ((place, step),) = self.steps
            outcomes[place] = yield step
            return
        for place, _ in self.steps:
            outcomes[place] = []
        size = len(query.key or ())
        for row in (yield ManyRows(query, [row for _, step in self.steps for row in _rows(step)])):
            outcomes[self.owners[tuple(row[:size])]].append(row)


def _add(statements: list[_Merged], place: int, step: Statement | ManyRows) -> None:
    """Add a statement to the first merged one that has none of its keys yet."""
    keys = _keys(step)
    for merged in statements:
        if merged.owners.keys().isdisjoint(keys):
            merged.steps.append((place, step))
            break
    else:
        merged = _Merged(place, step)
        statements.append(merged)
    merged.owners.update(dict.fromkeys(keys, place))


def _keys(step: Statement | ManyRows) -> list[_Key]:
    query = step.query
    names = query.key or ()
    if isinstance(step, Statement):
        return [tuple([step.values[name] for name in names])]
    places = [query.parameters.index(name) for name in names]
    return [tuple([row[place] for place in places]) for row in step.rows]


def _rows(step: Statement | ManyRows) -> Sequence[tuple[object, ...]]:
    return [tuple(step.positional())] if isinstance(step, Statement) else step.rows
