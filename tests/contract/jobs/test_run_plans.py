"""The queries of jobs use an index on both databases, however many jobs, steps and lines there are."""

import json
import re

import pytest

from precast.store.engine.database import Database
from precast.store.engine.query import Dialect, Query, Transaction
from precast.store.jobs import queries as queries
from precast.store.schema.tables import TABLES
from tests.contract.engine.test_queries import explain, run, sample

JOBS, NODES, STEPS = 4_000, 1_000, 5
# Every query of starting, driving, updating and showing a job, and of purging a node; only those that add rows are left out.
HOT = [
    queries.SHOW,
    queries.LIST,
    queries.LIST_WITHIN,
    queries.LIST_OF_KIND,
    queries.BEGUN_OF_NODE,
    queries.LIST_OF_ACTION,
    queries.OF_WORK,
    queries.DURATIONS,
    queries.COUNT_OPEN,
    queries.OPEN_OF_ACTION,
    queries.COUNT_LATE,
    queries.OWN,
    queries.OWNED,
    queries.OWNERS,
    queries.RELEASE_ALL,
    queries.NEXT_WAKE,
    queries.LOCK,
    queries.REST,
    queries.WAKE,
    queries.ASK_TO_END,
    queries.REOPEN,
    queries.SET_STATE,
    queries.OLD,
    queries.DELETE_OUTPUT,
    queries.DELETE_ATTEMPTS,
    queries.DELETE,
    queries.MAKE_OLD,
    queries.COUNTS,
    queries.COUNTS_BY_TASK,
    queries.FAILURES,
    queries.SKIPPED_BY_MESSAGE,
    queries.STEP,
    queries.STATES,
    queries.STEPS,
    queries.STEPS_AFTER,
    queries.GIVE_TURN,
    queries.TAKE_TURN_BACK,
    queries.WAIT_FOR_LOCK,
    queries.LOOK_AGAIN,
    queries.UNCLAIMED,
    queries.PICKED,
    queries.FIND,
    queries.NOTE_CLAIM,
    queries.PICK_UP,
    queries.NEXT_CLAIM,
    queries.NOTE_REPORT,
    queries.END,
    queries.ADD_LATE,
    queries.END_QUEUED,
    queries.END_QUEUED_BUT,
    queries.RESULTS,
    queries.RESULTS_OF_NODES,
    queries.NOTE_PHASE,
    queries.PARK,
    queries.HURRY,
    queries.EXPIRE,
    queries.NEXT_DUE,
    queries.UNSEEN,
    queries.NUMBER,
    queries.OPEN_OF_NODES,
    queries.PURGE_NODE,
    queries.UNSEEN_OUTPUT,
    queries.NUMBER_OUTPUT,
    queries.HAS_UNSEEN,
    queries.ADD_OUTPUT,
    queries.OUTPUT_AFTER,
    queries.DELETE_NODE_OUTPUT,
    queries.FORGET_NODE,
    queries.HOLDER,
    queries.KEEP_HOLDER,
    queries.HOLDERS,
    queries.UNLOCK_PURGED,
    queries.UNLOCK_NODE,
    queries.END_WAITS,
    queries.COUNT_REFUSED,
]

# These read the first row of a table, or, seldom, all locks and all open attempts.
SELDOM = {"jobs.count_locks", "jobs.end_waits_of", "jobs.waits", "jobs.has_waits", "jobs.stale_locks", "jobs.strays"}


def filling() -> Transaction[None]:
    """Jobs that have ended, except the last few; each with steps and lines of some nodes."""

    def insert(name: str, rows: list[tuple[object, ...]]) -> Transaction[None]:
        table = next(table for table in TABLES if table.name == name)
        columns = list(table.columns)
        yield table.insert(columns).many(dict(zip(columns, row, strict=True)) for row in rows)

    over = JOBS - 4
    yield from insert("node", [(f"n{n}", 0, None, None, None, None, None) for n in range(NODES)])
    yield from insert(
        "job",
        [
            (
                *(
                    f"r{n:04}",
                    "apply",
                    b"{}",
                    "production",
                    f"a{n % 500}",
                    f"w{n % 200}",
                    "person:a",
                    n,
                    "done" if n < over else "going",
                    None,
                ),
                *(n if n < over else None, STEPS, 1, 5, "s" if n % 2 else None, 1, n),
            )
            for n in range(JOBS)
        ],
    )
    yield from insert(
        "attempt",
        [
            (
                *(
                    f"r{n:04}",
                    1,
                    f"n{(n * STEPS + m) % NODES}",
                    1,
                    1,
                    m,
                    0,
                    "COMPLETED" if n < over else "QUEUED",
                    None,
                ),
                *(m + 1, n, None, None, 60, 1, 1, 1, "store", 0, None, 1, None),
                *(None, None, None, None, None, None, 0),
            )
            for n in range(JOBS)
            for m in range(STEPS)
        ],
    )
    yield from insert(
        "job_output",
        [
            (f"r{n:04}", 1, f"n{(n * STEPS + m) % NODES}", 1, 0, m + 1, b"[]", 2, n)
            for n in range(JOBS)
            for m in range(STEPS)
        ],
    )
    yield from insert("attempt_wait", [(f"r{n:04}", 1, "n1", 1, "r0000", 1, "n2", n) for n in range(JOBS)])
    yield from insert("node_lock", [(f"n{n}", f"r{n:04}", 1, 1, n) for n in range(NODES)])
    yield Query("test.analyze", "ANALYZE")()


def test_every_query_of_jobs_is_covered() -> None:
    known = {query.name for query in vars(queries).values() if isinstance(query, Query)}
    assert known == {query.name for query in HOT} | {
        "jobs.make",
        "jobs.add_attempt",
        "jobs.lock_node",
        "jobs.add_wait",
        *SELDOM,
    }


@pytest.fixture
async def filled(database: Database) -> Database:
    await database.write(filling)
    return database


async def test_queries_of_jobs_use_an_index(filled: Database) -> None:
    for query in HOT:
        values = sample(query) | {
            "job": "r0100",
            "node": "n7",
            "action": "a7",
            "before": "r0300",
            "before_at": 5,
            "owner": "s",
        }
        values = {name: values[name] for name in query.parameters}
        rows = await filled.write(run, explain(query, filled.dialect), values)
        plan = json.dumps([list(row) for row in rows])
        if filled.dialect is Dialect.SQLITE:
            # A partial index is scanned on purpose: it has only the rows that the query wants.
            assert not re.search(
                r"SCAN (job|attempt|job_output|node_lock)\b(?! USING (COVERING )?INDEX job_(open|owned|unowned))", plan
            ), (
                query.name,
                plan,
            )
        else:
            assert "Seq Scan" not in plan, (query.name, plan)


async def test_output_is_added_without_reading_what_is_stored(filled: Database) -> None:
    """The limit is checked against the last record: neither a sum over all of them nor a sort is part of the statement."""
    query = queries.ADD_OUTPUT
    if filled.dialect is Dialect.SQLITE:
        explained, costly = Query("test.explain", f"EXPLAIN {query.sqlite}"), r"Agg(Step|Final)|Sort"
    else:
        explained, costly = explain(query, filled.dialect), r"Aggregate|Sort"
    values = sample(query) | {"job": "r0100", "node": "n7"}
    rows = await filled.write(run, explained, values)
    plan = json.dumps([list(row) for row in rows], default=str)
    assert "job_output" in plan or filled.dialect is Dialect.SQLITE
    assert not re.search(costly, plan), plan
