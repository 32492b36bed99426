"""Transactions in lockstep: the same statements of several are one, and each gets the rows of its own."""

from collections.abc import Sequence
from typing import Any

import pytest

from precast.store.engine.lockstep import in_lockstep
from precast.store.engine.query import Computation, ManyRows, Query, Statement, Transaction, Wake, batch

FIND = batch("test.find", "name text", "SELECT thing.name, size FROM input CROSS JOIN thing", key=("name",))
NOTE = batch("test.note", "name text, size number", "UPDATE thing SET size = input.size FROM input", key=("name",))
COUNT = Query("test.count", "SELECT count(*) FROM thing")


def run(
    transaction: Transaction[Any], things: dict[str, int]
) -> tuple[Any, list[tuple[str, list[tuple[object, ...]]]]]:
    """Run a transaction over things in memory. Returns its value, and the statements with their rows."""
    executed: list[tuple[str, list[tuple[object, ...]]]] = []

    def execute(step: Any) -> Any:
        if isinstance(step, Computation):
            return step.work()
        if isinstance(step, Wake):
            executed.append((step.topic, []))
            return ()
        rows = [tuple(step.positional())] if isinstance(step, Statement) else list(step.rows)
        executed.append((step.query.name, rows))
        if step.query is NOTE:
            things.update({str(name): size for name, size in rows if isinstance(size, int)})
            return ()
        if step.query is COUNT:
            return [(len(things),)]
        # In another order than that of the input.
        return [(name, things[name]) for (name,) in reversed(rows) if name in things]

    outcome: Any = None
    while True:
        try:
            step = transaction.send(outcome)
        except StopIteration as end:
            return end.value, executed
        outcome = execute(step)


def grow(name: str) -> Transaction[int | None]:
    rows = yield FIND(name=name)
    if not rows:
        return None
    yield NOTE(name=name, size=rows[0][1] + 1)
    yield Wake(name)
    return int(rows[0][1]) + 1


def test_same_statements_are_merged_and_each_gets_its_rows() -> None:
    things = {"a": 1, "b": 5}
    values, executed = run(in_lockstep([grow("b"), grow("nothing"), grow("a")]), things)
    assert values == [6, None, 2]
    assert things == {"a": 2, "b": 6}
    assert executed == [
        ("test.find", [("b",), ("nothing",), ("a",)]),
        ("test.note", [("b", 6), ("a", 2)]),
        ("b", []),
        ("a", []),
    ]


def test_statements_of_the_same_key_are_executed_one_after_the_other() -> None:
    values, executed = run(in_lockstep([grow("a"), grow("a"), grow("b")]), {"a": 1, "b": 5})
    assert values == [2, 2, 6]
    assert [rows for name, rows in executed if name == "test.find"] == [[("a",), ("b",)], [("a",)]]


def test_statements_without_a_key_and_computations_are_executed_for_each() -> None:
    def count() -> Transaction[int]:
        ((count,),) = yield COUNT()
        doubled: int = yield Computation(lambda: 2 * count)
        return doubled

    values, executed = run(in_lockstep([count(), count()]), {"a": 1})
    assert values == [2, 2]
    assert [name for name, _ in executed] == ["test.count", "test.count"]


def test_statement_for_many_rows_is_merged_by_the_keys_of_all_of_them() -> None:
    def note(sizes: Sequence[tuple[str, int]]) -> Transaction[None]:
        rows: list[tuple[object, ...]] = list(sizes)
        yield NOTE.many_tuples(rows)

    things: dict[str, int] = {}
    _, executed = run(in_lockstep([note([("a", 1), ("b", 2)]), note([("c", 3)]), note([("b", 4)])]), things)
    assert executed == [("test.note", [("a", 1), ("b", 2), ("c", 3)]), ("test.note", [("b", 4)])]
    assert things == {"a": 1, "b": 4, "c": 3}


def test_error_of_one_ends_all() -> None:
    def fail() -> Transaction[int | None]:
        yield FIND(name="a")
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        run(in_lockstep([grow("a"), fail()]), {"a": 1})


def test_nothing_to_run_executes_nothing() -> None:
    assert run(in_lockstep([]), {}) == ([], [])


def test_single_transaction_keeps_its_statements() -> None:
    steps = in_lockstep([grow("a")])
    first = next(steps)
    assert isinstance(first, Statement)
    assert not isinstance(first, ManyRows)
