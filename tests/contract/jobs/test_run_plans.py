"""The queries of jobs use an index on both databases, however many jobs, steps and lines there are."""

import json
import re

import pytest

from precast.store.engine.database import Database
from precast.store.engine.query import Dialect, Query, Transaction
from precast.store.jobs import queries as queries
from precast.store.schema.tables import TABLES
from tests.contract.engine.test_queries import explain, run, sample

RUNS, NODES, STEPS = 4_000, 1_000, 5
# Every query of starting, driving, updating and showing a job, and of purging a node; only those that add rows are left out.
HOT = [
    queries.SHOW,
    queries.LIST,
    queries.CLAIM,
    queries.RENEW_LEASE,
    queries.RELEASE_ALL,
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
    queries.DELETE_OUTPUT,
    queries.DELETE_STEPS,
    queries.DELETE,
    queries.DELETE_NODE_OUTPUT,
    queries.DELETE_NODE,
]


def filling() -> Transaction[None]:
    """Jobs that have ended, except the last few; each with steps and lines of some nodes."""

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


def test_every_query_of_jobs_is_covered() -> None:
    known = {query.name for query in vars(queries).values() if isinstance(query, Query)}
    assert known == {query.name for query in HOT} | {"jobs.make", "jobs.make_step"}


@pytest.fixture
async def filled(database: Database) -> Database:
    await database.write(filling)
    return database


async def test_queries_of_jobs_use_an_index(filled: Database) -> None:
    for query in HOT:
        values = sample(query) | {"run": "r0100", "node": "n7", "before": "r0300", "before_at": 5, "owner": "s"}
        values = {name: values[name] for name in query.parameters}
        rows = await filled.write(run, explain(query, filled.dialect), values)
        plan = json.dumps([list(row) for row in rows])
        if filled.dialect is Dialect.SQLITE:
            # A partial index is scanned on purpose: it has only the rows that the query wants.
            assert not re.search(r"SCAN (run|run_step|run_output)\b(?! USING (COVERING )?INDEX run_open)", plan), (
                query.name,
                plan,
            )
        else:
            assert "Seq Scan" not in plan, (query.name, plan)
