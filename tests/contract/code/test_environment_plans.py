"""The queries of every deploy, every fetch of content and every lookup of a node use an index, on both databases."""

import json

from precast.store.code import blobs, environments, uploads
from precast.store.engine.database import Database
from precast.store.engine.query import Dialect, Query, Transaction, json_list
from precast.store.nodes import classification
from precast.store.nodes import nodes as fleet
from precast.store.schema.tables import TABLES
from tests.contract.engine.test_queries import explain, run

ROWS = 4_000
HOT: list[tuple[Query, dict[str, object]]] = [
    (blobs.WHOLE, {"digests": json_list(["d1", "d2"])}),
    (blobs.CHUNKS, {"digest": "d7", "first": 0, "end": 1, "limit": 1}),
    (blobs.REFERS, {"digest": "d7", "owner": "tree:1"}),
    (blobs.DELETE_REFERENCES, {"owner": "tree:1", "limit": 10}),
    (blobs.LOCK, {"digest": "d7", "before_at": 5}),
    (environments.CURRENT, {"environment": "e7"}),
    (environments.HISTORY, {"environment": "e7", "before_number": 5, "limit": 10}),
    (environments.IS_RETAINED, {"version": "d7"}),
    (blobs.REFERRED, {"owners": '["tree:7", "tree:8"]', "digests": '["d7", "d8"]'}),
    (uploads.FIND, {"environments": '["e7"]', "digests": '["d7", "d8"]'}),
    (uploads.EXPIRE, {"before_at": 5, "limit": 10}),
    (classification.SOURCES, {"node": "n7"}),
    (fleet.CLASSIFICATION, {"node": "n7"}),
    (fleet.IN_ENVIRONMENT, {"environment": "e7", "after": "n1", "limit": 10}),
    (fleet.IN_NO_ENVIRONMENT, {"after": "n1", "limit": 10}),
]


def fill() -> Transaction[None]:
    def insert(name: str, rows: list[tuple[object, ...]]) -> Transaction[None]:
        table = next(table for table in TABLES if table.name == name)
        columns = list(table.columns)
        yield table.insert(columns).many(dict(zip(columns, row, strict=True)) for row in rows)

    yield from insert("blob", [(f"d{n}", 1, n, n) for n in range(ROWS)])
    yield from insert("blob_chunk", [(f"d{n}", 0, b"x") for n in range(ROWS)])
    yield from insert("blob_reference", [(f"d{n}", f"tree:{n % 1000}") for n in range(ROWS)])
    yield from insert("environment", [(f"e{n}", f"d{n}", 1, "manual", n, 0, 0, "released") for n in range(ROWS)])
    yield from insert("environment_version", [(f"e{n}", 1, f"d{n}", "", None, "x", n, None, None) for n in range(ROWS)])
    yield from insert("content_upload", [(f"e{n % 50}", f"d{n}", n) for n in range(ROWS)])
    environment_of = [f"e{n % 50}" if n % 50 else None for n in range(ROWS)]
    yield from insert("node", [(f"n{n}", 0, None, environment_of[n], None, None, None) for n in range(ROWS)])
    yield from insert(
        "node_said", [(f"n{n}", "operator", "", "e", None, None, None, n, None, None) for n in range(ROWS)]
    )
    yield Query("test.analyze", "ANALYZE")()


async def test_hot_queries_of_environments_use_an_index(database: Database) -> None:
    await database.write(fill)
    for query, values in HOT:
        plan = json.dumps([list(row) for row in await database.write(run, explain(query, database.dialect), values)])
        if database.dialect is Dialect.SQLITE:
            assert "SCAN json_each" in plan or "SCAN" not in plan, (query.name, plan)
        else:
            assert "Seq Scan" not in plan, (query.name, plan)
