"""What runs over nodes ask goes by an index, on both databases, however many runs, steps and lines there are."""

import json
import re

import pytest

from precast.store.engine.database import Database
from precast.store.engine.query import Dialect, Query, Transaction
from precast.store.jobs import queries as queries
from precast.store.schema.tables import TABLES
from tests.contract.engine.test_queries import explain, run, sample

RUNS, NODES, STEPS = 4_000, 1_000, 5
# Every query a run makes while it is begun, driven, told of and looked at, and what purging asks; only adding rows is left out.
HOT = [
    queries.SHOW,
    queries.LIST,
    queries.CLAIM,
    queries.HOLD,
    queries.LET_GO,
    queries.ASK_TO_STOP,
    queries.SET_STATE,
    queries.COUNTS,
    queries.RUNNING,
    queries.WAITING,
    queries.ORDER,
    queries.LEAVE_OUT,
    queries.LEAVE_OUT_ALL,
    queries.EXPIRE,
    queries.BEGIN,
    queries.END,
    queries.ADD_LATE,
    queries.UNSEEN,
    queries.NUMBER,
    queries.UNSEEN_OUTPUT,
    queries.NUMBER_OUTPUT,
    queries.HAS_UNSEEN,
    queries.COUNT_OPEN,
    queries.STEPS_AFTER,
    queries.STEPS,
    queries.ADD_OUTPUT,
    queries.OUTPUT_AFTER,
    queries.OLD,
    queries.FORGET_OUTPUT,
    queries.FORGET_STEPS,
    queries.FORGET,
    queries.FORGET_NODE_OUTPUT,
    queries.FORGET_NODE,
]


def filling() -> Transaction[None]:
    """Runs that are over, but for the last few; each with steps and lines of some nodes."""

    def insert(name: str, rows: list[tuple[object, ...]]) -> Transaction[None]:
        table = next(table for table in TABLES if table.name == name)
        columns = list(table.columns)
        yield table.insert(columns).many(dict(zip(columns, row, strict=True)) for row in rows)

    over = RUNS - 4
    yield from insert("node", [(f"n{n}", 0, None, None, None, None, None) for n in range(NODES)])
    yield from insert(
        "run",
        [
            (f"r{n:04}", "apply", b"{}", "person:a", n, "done", None, n if n < over else None, STEPS, 60, 5, "s", 1, n)
            for n in range(RUNS)
        ],
    )
    yield from insert(
        "run_step",
        [
            (
                f"r{n:04}",
                f"n{(n * STEPS + m) % NODES}",
                m,
                0,
                "done" if n < over else "ordered",
                m + 1,
                None,
                1,
                1,
                1,
                None,
                None,
                None,
            )
            for n in range(RUNS)
            for m in range(STEPS)
        ],
    )
    yield from insert(
        "run_output",
        [(f"r{n:04}", f"n{(n * STEPS + m) % NODES}", 0, m + 1, b"[]", 2, n) for n in range(RUNS) for m in range(STEPS)],
    )
    yield Query("test.analyze", "ANALYZE")()


def test_every_query_of_runs_is_looked_at() -> None:
    known = {query.name for query in vars(queries).values() if isinstance(query, Query)}
    assert known == {query.name for query in HOT} | {"runs.make", "runs.make_step"}


@pytest.fixture
async def filled(database: Database) -> Database:
    await database.write(filling)
    return database


async def test_queries_of_runs_go_by_index(filled: Database) -> None:
    for query in HOT:
        values = sample(query) | {"run": "r0100", "node": "n7", "before": "r0300", "before_at": 5, "owner": "s"}
        values = {name: values[name] for name in query.parameters}
        rows = await filled.write(run, explain(query, filled.dialect), values)
        plan = json.dumps([list(row) for row in rows])
        if filled.dialect is Dialect.SQLITE:
            # A partial index is read from its beginning on purpose: it holds only what is asked for.
            assert not re.search(r"SCAN (run|run_step|run_output)\b(?! USING (COVERING )?INDEX run_open)", plan), (
                query.name,
                plan,
            )
        else:
            assert "Seq Scan" not in plan, (query.name, plan)
