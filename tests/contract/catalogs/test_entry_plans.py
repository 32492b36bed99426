"""The queries of entry points use an index on both databases, however many nodes and entry points there are."""

import json
import re
from collections.abc import Mapping

from precast.store import traces
from precast.store.catalogs import documents, entries, entry_holds
from precast.store.engine.database import Database
from precast.store.engine.query import Dialect, Query, Transaction, json_list
from precast.store.schema.tables import TABLES
from tests.contract.engine.test_queries import explain, run

NODES, ENTRIES = 1_000, 6
FILLED = {"entry_catalog", "entry_hold", "compile_waiter", "document"}
ONE, SOME = "n0007", json_list(["n0007", "n0008"])
HOT: list[tuple[Query, dict[str, object]]] = [
    (entries.WANTED, {"nodes": SOME}),
    (entries.FIND, {"nodes": SOME, "entries": json_list(["e1.pp"])}),
    (entries.CHAINS, {"nodes": SOME}),
    (entries.FILTER_CHAINS, {"ids": json_list(["c1", "c2"])}),
    (entries.FAILED, {"after_node": "n0400", "after_entry": "e1.pp", "limit": 10}),
    (entries.WITH_PROBLEMS, {"after_node": "n0400", "after_entry": "e1.pp", "limit": 10}),
    (entries.NOTE_TROUBLE, {"node": ONE, "entry": "e1.pp", "message": ""}),
    (entries.DELETE, {"node": ONE}),
    (entry_holds.OF_NODE, {"node": ONE, "entry": "e1.pp", "digest": "d1", "ids": json_list(["j1"])}),
    (entry_holds.SKELETONS, {"node": ONE, "ids": json_list(["j1"])}),
    (entry_holds.RELEASE, {"job": "j1"}),
    (entry_holds.DELETE, {"node": ONE}),
    (documents.USED, {"digests": json_list(["s1", "s2"])}),
    (documents.DELETE_UNUSED, {"digest": "s1", "before_at": 5}),
    (traces.WAITERS, {"branch": "b1", "limit": 1}),
    (traces.REMOVE_WAITERS, {"branch": "b1", "limit": 10}),
    (traces.COUNT_WAITERS, {"branch": "b1"}),
    (traces.BRANCH_OF, {"node": ONE, "entry": ""}),
    (traces.AMONG_WAITING, {"nodes": SOME}),
    (traces.WAITING_FOR_ENTRIES, {"nodes": SOME}),
    (traces.STOP_WAITING, {"node": ONE}),
]


def fill() -> Transaction[None]:
    def insert(name: str, rows: list[tuple[object, ...]]) -> Transaction[None]:
        table = next(table for table in TABLES if table.name == name)
        columns = list(table.columns)
        yield table.insert(columns).many(dict(zip(columns, row, strict=True)) for row in rows)

    names = [f"n{number:04}" for number in range(NODES)]
    yield from insert("node", [(name, 0, None, None, None, None, None) for name in names])
    yield from insert("document", [(f"s{number}", b"x", 1, 1) for number in range(NODES)])
    yield from insert(
        "entry_catalog",
        [
            (name, f"e{k}.pp", n, "p", "v", f"c{n}", f"s{n}" if n % 50 else None, f"d{n}", "[]", n, int(not n % 70), "")
            for n, name in enumerate(names)
            for k in range(ENTRIES)
        ],
    )
    yield from insert(
        "entry_hold",
        [
            (f"j{n % 100}", name, f"e{k}.pp", f"d{n}", f"s{n}", "[]", "p", "v", n)
            for n, name in enumerate(names)
            for k in range(ENTRIES)
        ],
    )
    yield from insert(
        "compile_waiter", [(f"b{n % 200}", name, f"e{k}.pp", n) for n, name in enumerate(names) for k in range(ENTRIES)]
    )
    yield Query("test.analyze", "ANALYZE")()


async def read_plan(database: Database, query: Query, values: Mapping[str, object]) -> str:
    rows = await database.write(run, explain(query, database.dialect), dict(values))
    return json.dumps([list(row) for row in rows])


async def test_hot_queries_of_entry_points_use_an_index(database: Database) -> None:
    await database.write(fill)
    scan = r"SCAN (\w+)" if database.dialect is Dialect.SQLITE else r"Seq Scan.*?Relation Name\W+(\w+)"
    for query, values in HOT:
        scanned = re.findall(scan, await read_plan(database, query, values))
        assert not FILLED & set(scanned), query.name


async def test_unwanted_entry_points_are_found_by_an_index(database: Database) -> None:
    await database.write(fill)
    plan = await read_plan(database, entries.DELETE_UNWANTED, {"before_at": 5, "limit": 10})
    assert "entry_catalog_wanted" in plan
