"""Every query of the store is valid on both databases, each table is used by one module, and hot queries use an index."""

import importlib
import json
import pkgutil
import re

import precast.store
from precast.store.engine.database import Database
from precast.store.engine.query import Dialect, Query, Row, Transaction, named_queries
from precast.store.queue import queries as work_queries
from precast.store.schema.tables import TABLES
from precast.store.sessions import streams

MODULES = [
    importlib.import_module(info.name) for info in pkgutil.walk_packages(precast.store.__path__, "precast.store.")
]
QUERIES = sorted({query.name: query for module in MODULES for query in named_queries(vars(module))}.items())
# Queries that only one database supports.
ONE_SIDED = {
    "durability.settings": Dialect.POSTGRESQL,
    "durability.now": Dialect.POSTGRESQL,
    "health.replicas": Dialect.POSTGRESQL,
    "reports.partitions": Dialect.POSTGRESQL,
    "check.quick_check": Dialect.SQLITE,
    "check.foreign_keys": Dialect.SQLITE,
    "check.synchronous": Dialect.SQLITE,
}
TEXTS = {
    *("kind", "key", "lane", "owner", "error", "stream", "name", "after_kind", "after_key"),
    *("node", "serial", "key_digest", "why", "after_node", "after_digest", "address", "authority"),
    *("until_node", "environment", "enforce", "windows"),
    *("id", "person", "role", "created_by", "pattern", "actor", "action", "target"),
    *("digest", "decision"),
    *("fingerprint", "after_fingerprint", "network", "beginning"),
    *("version", "source", "commit_id", "deployed_by", "policy", "classes", "parameters", "problem", "which", "marks"),
    *("parent", "answer", "leaf", "branch", "default_environment", "facts", "chain", "skeleton", "fill"),
    *("state", "mode", "reason", "order_id", "catalog", "report", "resource", "status", "message", "before_id"),
    *("path", "value", "old_version", "old_digest", "told", "source_map"),
    *("token", "subject", "requested_by", "outcome", "required", "signers", "gpg_keys", "signer", "signing_key"),
    *("type", "title_key", "value_key", "resource", "catalog", "after_id", "after_type", "after_catalog"),
    *("run", "job", "state", "message", "report", "result", "late", "action", "work", "for_job", "for_node"),
    *("server", "instance", "attempts", "machine", "machine_id", "address", "boot_id", "agent", "prefix"),
    *("targets", "point", "approved", "versions", "zone", "at_close", "phase", "plan", "title"),
    *("request_id", "job_id", "event", "cause"),
    *("entry", "after_entry"),
    *("exports", "cause_node", "cause_type", "cause_title", "loop"),
    *("ref", "document", "master", "masters", "answers", "by_facts"),
    *("scope", "producer", "said_by"),  # of futures
    "timeline",
    "query",
}
BYTES = {
    "sealed",
    "wrapped",
    "payload",
    "body",
    "extensions",
    "environments",
    "secret_hash",
    "detail",
    "stable",
    "volatile",
    "recent",
    "changes",
    "request",
    "certificate",
    "data",
    "links",
    "lines",
    "seal",
    "document",
    "program",
}

# Many values as one JSON list.
LISTS = {
    "names",
    "nodes",
    "pairs",
    "numbers",
    "keys",
    "items",
    "fingerprints",
    "digests",
    "ids",
    "requests",
    "owners",
    "tasks",
    "entries",
    "refs",
    "documents",
}


def sample(query: Query) -> dict[str, object]:
    # Streams and chains are paged by a number, all others by a key.
    texts = TEXTS if query.name.startswith(("streams.", "audit.chain")) else TEXTS | {"after", "before"}
    lists, data = LISTS, BYTES
    if query.name.startswith("policies."):
        texts = texts - {"serial"}  # a number, not that of a certificate
    if query.name == "plans.add_program":
        data = data | {"nodes"}
    if query.name.startswith(("secrets.", "source_documents.")):
        data = data - {"document"}  # the digest of one
    if query.name == "catalogs.add_futures":
        data = data - {"document"}
    if query.name in ("futures.put_standing", "jobs.fulfil"):
        data = data | {"value"}
    if query.name.startswith(("approvals.", "uploads.")):
        # A request is named by its id, and environments are looked for; elsewhere both are stored.
        texts, lists, data = texts | {"request"}, lists | {"environments"}, data - {"request", "environments"}
    return {
        name: b"x" if name in data else "x" if name in texts else "[]" if name in lists else 1
        for name in query.parameters
    }


def explain(query: Query, dialect: Dialect) -> Query:
    if dialect is Dialect.SQLITE:
        return Query("test.explain", f"EXPLAIN QUERY PLAN {query.sqlite}")
    # EXPLAIN of the statement with its values, as the planner sees it when it knows them.
    return Query("test.explain", query.sqlite, postgresql=f"EXPLAIN (FORMAT JSON) {_named(query)}")


def _named(query: Query) -> str:
    text = query.postgresql
    for at, name in reversed(list(enumerate(query.parameters, start=1))):
        text = text.replace(f"${at}", f":{name}")
    return text


def run(query: Query, values: dict[str, object]) -> Transaction[list[Row]]:
    return list((yield query(**values)))


async def test_every_query_is_valid_on_both_databases(database: Database) -> None:
    mine = [query for name, query in QUERIES if ONE_SIDED.get(name, database.dialect) is database.dialect]
    for query in mine:
        is_plannable = re.search(r"^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)", query.sqlite, re.MULTILINE)
        # An error names the query.
        await database.write(run, explain(query, database.dialect) if is_plannable else query, sample(query))
    assert len(mine) > 25


def test_every_table_is_used_by_one_module_only() -> None:
    """S1.9: no component reads the tables of another."""
    users: dict[str, set[str]] = {}
    for name, query in QUERIES:
        for table in TABLES:
            if re.search(rf"\b(FROM|INTO|UPDATE|JOIN)\s+{table.name}\b", query.sqlite):
                users.setdefault(table.name, set()).add(name.split(".")[0])
    assert users == {
        "maintenance_window": {"windows"},
        "secret": {"secrets"},
        "secret_holder": {"secret_keys"},
        "secret_key": {"secret_keys"},
        "secret_use": {"secrets"},
        "secret_policy": {"secret_policy"},
        "secret_reader": {"source_documents"},
        "source_document": {"source_documents"},
        "window_binding": {"windows"},
        "work_item": {"work"},
        "work_dead": {"work"},
        "node": {"nodes"},
        "authority": {"authorities"},
        "certificate": {"nodes"},
        "enrolment_request": {"requests"},
        "enrolment_token": {"tokens"},
        "person_token": {"tokens"},
        "web_session": {"web_sessions"},
        "audit": {"audit"},
        "audit_chain": {"audit"},
        "audit_rate": {"audit"},
        "fact_inbox": {"facts"},
        "fact_set": {"facts"},
        "fact_volatile": {"facts"},
        "fact_brief": {"facts"},
        "fact_change": {"facts"},
        "fact_history": {"facts"},
        "fact_flap": {"facts"},
        "server": {"sessions"},
        "session": {"sessions"},
        "session_stream": {"sessions"},
        "session_machine": {"machines"},
        "blob": {"blobs"},
        "blob_chunk": {"blobs"},
        "blob_reference": {"blobs"},
        "environment": {"environments"},
        "environment_version": {"environments"},
        "environment_signing": {"signing"},
        "content_upload": {"uploads"},
        "approval_request": {"approvals"},
        "approval_decision": {"approvals"},
        "clock_mark": {"clocks"},
        "node_said": {"classification"},
        "node_rule": {"classification"},
        "document": {"catalogs"},
        "node_catalog": {"catalogs"},
        "entry_catalog": {"catalogs"},
        "entry_hold": {"catalogs"},
        "node_release": {"catalogs"},
        "release_log": {"catalogs"},
        "node_change": {"catalogs"},
        "catalog_future": {"catalogs"},
        "standing_value": {"futures"},
        "job_promise": {"jobs"},
        "future_wait": {"jobs"},
        "future_binding": {"jobs"},
        "node_policy": {"policies"},
        "catalog_index": {"catalogs"},
        "fleet_answer": {"fleet"},
        "fleet_reader": {"fleet"},
        "catalog_export": {"exports"},
        "exported_resource": {"exports"},
        "export_type": {"exports"},
        "export_collector": {"exports"},
        "export_round": {"exports"},
        "catalog_resource": {"catalogs"},
        "catalog_value": {"catalogs"},
        "catalog_member": {"catalogs"},
        "trace_chain": {"traces"},
        "compile_waiter": {"traces"},
        "report": {"reports"},
        "report_page": {"reports"},
        "report_event": {"reports"},
        "job": {"jobs"},
        "attempt": {"jobs"},
        "job_output": {"jobs"},
        "node_lock": {"jobs"},
        "attempt_wait": {"jobs"},
        "task_content": {"task_content"},
        "task_collection": {"task_content"},
        "action": {"actions"},
        "action_due": {"actions"},
        "action_node": {"actions"},
        "stream": {"streams"},
        "stream_record": {"streams"},
        "plan_run": {"plans"},
        "plan_program": {"plans"},
        "plan_data": {"plans"},
        "plan_run_data": {"plans"},
        "plan_success": {"plans"},
        "plan_approval": {"plans"},
    }


async def fill(database: Database) -> None:
    """Enough rows that the planner has a choice, in the shape of a busy day: few claimed, most waiting."""

    def insert() -> Transaction[None]:
        table = next(table for table in TABLES if table.name == "work_item")
        rows = [
            (f"kind{n % 3}", f"key{n}", f"lane{n % 50}", b"x", 1, n, n, n, n, 0, None, None, 0, None)
            for n in range(6000)
        ]
        columns = list(table.columns)
        yield table.insert(columns).many(dict(zip(columns, row, strict=True)) for row in rows)
        for name in ("a", "b", "c"):
            yield streams.NUMBER(name=name, last=3000, trimmed=0)
            yield streams.APPEND.many({"stream": name, "number": n, "body": b"x", "at": n} for n in range(1, 3001))
        yield streams.NUMBER.many({"name": f"stream{n}", "last": 1, "trimmed": 0} for n in range(2000))
        yield Query("test.analyze", "ANALYZE")()

    await database.write(insert)


HOT = [
    (work_queries.CLAIM, "work_item_turn"),
    (work_queries.ENQUEUE, "work_item_lane"),
    (work_queries.EXISTS, "work_item"),
    (work_queries.EXTEND, "work_item"),
    (work_queries.REMOVE_DONE, "work_item"),
    (work_queries.REMOVE_MANY_DONE, "work_item"),
    (work_queries.COUNT_KNOWN, "work_item"),
    (work_queries.ENQUEUE_MANY, "work_item_lane"),
    (streams.READ, "stream_record"),
    (streams.REMOVE, "stream_record"),
]


async def test_hot_queries_use_an_index(database: Database) -> None:
    await fill(database)
    for query, index in HOT:
        await expect_index(database, query, index)


async def expect_index(database: Database, query: Query, index: str) -> None:
    values = sample(query) | {"kind": "kind1", "lane": "lane1", "key": "key1", "now": 5000, "fence": 9, "limit": 10}
    values = {name: values[name] for name in query.parameters} | (
        {"stream": "a"} if "stream" in query.parameters else {}
    )
    plan = json.dumps([list(row) for row in await database.write(run, explain(query, database.dialect), values)])
    assert index in plan, query.name
    if database.dialect is Dialect.SQLITE:
        assert not re.search(r"SCAN (work_item|stream_record|stream)\b(?! USING)", plan), query.name
        assert "TEMP B-TREE" not in plan, query.name
    else:
        assert "Seq Scan" not in plan, query.name
        assert '"Node Type\\": \\"Sort' not in plan, query.name
