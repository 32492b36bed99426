"""The queries of task content use an index on both databases, however much content a run and others have."""

import json
import re

import pytest

from precast.store.engine.database import Database
from precast.store.engine.query import Dialect, Query, Transaction
from precast.store.plans import task_content as queries
from precast.store.schema.tables import TABLES
from tests.contract.engine.test_queries import explain, run, sample

JOBS, NODES, FILES = 50, 40, 20
HOT = [
    queries.EXPECTED,
    queries.ALLOWED,
    queries.COLLECTED,
    queries.TOTAL,
    queries.DELETE,
    queries.DELETE_EXPECTED,
]


async def fill(database: Database) -> None:
    """Runs whose master has collected files that all nodes read."""
    tables = {table.name: table for table in TABLES}
    jobs = [f"job{number:03}" for number in range(JOBS)]

    def insert() -> Transaction[None]:
        job = dict.fromkeys(tables["job"].columns, 0)
        texts = {"kind": "plan", "work": "", "body": b"{}", "made_by": "ann", "state": "going"}
        none = dict.fromkeys(("environment", "action", "stopped_by", "ended_at", "owner"))
        yield tables["job"].insert(list(job)).many({**job, **texts, **none, "id": name} for name in jobs)
        content = tables["task_content"]
        yield content.insert(list(content.columns)).many(
            {"job": name, "node": f"node{node}", "digest": f"{file:064}", "size": None if node else 100}
            for name in jobs
            for node in range(NODES)
            for file in range(FILES)
        )
        yield (
            tables["task_collection"]
            .insert(["job", "task"])
            .many({"job": name, "task": task} for name in jobs for task in range(40))
        )
        yield Query("test.analyze", "ANALYZE")()

    await database.write(insert)


@pytest.fixture
async def filled(database: Database) -> Database:
    await fill(database)
    return database


async def test_queries_of_task_content_use_an_index(filled: Database) -> None:
    for query in HOT:
        given = {"job": "job007", "node": "node0", "digest": "0" * 64, "digests": json.dumps(["0" * 64]), "task": 1}
        values = sample(query) | {name: value for name, value in given.items() if name in query.parameters}
        plan = json.dumps([list(row) for row in await filled.write(run, explain(query, filled.dialect), values)])
        if filled.dialect is Dialect.SQLITE:
            assert not re.search(r"SCAN task_\w+(?! USING)\b", plan), query.name
        else:
            assert not re.search(r"Seq Scan[^}]*task_", plan), query.name
