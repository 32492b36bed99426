"""The queries of actions use an index on both databases, however many actions and due times there are."""

import json
import re

import pytest

from precast.store.actions import queries as queries
from precast.store.engine.database import Database
from precast.store.engine.query import Dialect, Query, Transaction, named_queries
from precast.store.schema.tables import TABLES
from tests.contract.engine.test_queries import explain, run, sample

ACTIONS, NODES, DUE = 6_000, 1_000, 4
# Only those that add rows are left out.
ADDING = {"actions.add", "actions.add_node", "actions.add_due"}


def filling() -> Transaction[None]:
    """Half of the actions have ended, a few wait for nodes, the others are due later; a few due times are open."""

    def insert(name: str, rows: list[tuple[object, ...]]) -> Transaction[None]:
        table = next(table for table in TABLES if table.name == name)
        columns = list(table.columns)
        yield table.insert(columns).many(dict(zip(columns, row, strict=True)) for row in rows)

    over = ACTIONS // 2
    yield from insert(
        "action",
        [
            (
                *(f"a{n:05}", "", "run", b"{}", f"e{n % 50}", "person:a", "token", n),
                *("ended" if n < over else "active", None, 0, "return" if n % 1_000 == 999 else None),
                *(None if n < over else 10**9 + n, n if n < over else None, None),
            )
            for n in range(ACTIONS)
        ],
    )
    yield from insert(
        "action_node", [(f"a{n:05}", m, f"n{(n + m) % NODES}", None) for n in range(ACTIONS) for m in range(2)]
    )
    yield from insert(
        "action_due",
        [
            (
                *(f"a{n:05}", m, f"n{n % NODES}" if n % 9 == 0 else "", "time"),
                *("missed" if n % 50 == 0 else "started", 1, "job", None, None if n % 500 == 7 else n),
            )
            for n in range(ACTIONS)
            for m in range(DUE)
        ],
    )
    yield Query("test.analyze", "ANALYZE")()


@pytest.fixture
async def filled(database: Database) -> Database:
    await database.write(filling)
    return database


async def test_queries_of_actions_use_an_index(filled: Database) -> None:
    known = {"id": "a00100", "action": "a00100", "node": "n7", "before": "a00300", "before_at": 5, "environment": "e7"}
    hot = [query for query in named_queries(vars(queries)) if query.name not in ADDING]
    assert len(hot) > 25
    for query in hot:
        values = {name: (sample(query) | known | {"event": "return"})[name] for name in query.parameters}
        rows = await filled.write(run, explain(query, filled.dialect), values)
        plan = json.dumps([list(row) for row in rows])
        if filled.dialect is Dialect.SQLITE:
            # A partial index is scanned on purpose: it has only the rows that the query wants.
            indexes = "action_(next|unended|due_open|due_missed|due_decided)"
            assert not re.search(rf"SCAN action(_node|_due)?\b(?! USING (COVERING )?INDEX {indexes})", plan), (
                query.name,
                plan,
            )
        else:
            assert "Seq Scan" not in plan, (query.name, plan)
