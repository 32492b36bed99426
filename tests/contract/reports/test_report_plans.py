"""The queries of reports use an index on both databases, however many reports there are."""

import json
import re
from typing import Any

import pytest

from precast.services.query.report_search import ReportSearch
from precast.services.reports.reports import ReportService, prepare_ended
from precast.store.engine.database import Database
from precast.store.engine.query import Dialect, Query, Statement, Transaction
from precast.store.identity.certificates import NodeCertificates
from precast.store.reports import queries as queries
from precast.store.reports import views as report_views
from precast.store.reports.reports import Reports
from precast.wire.query.fields import REPORTS
from precast.wire.query.parser import parse_query
from tests.contract.engine.test_queries import explain, run, sample
from tests.contract.reports.report_site import began, changed, ended, failed, report_id, summary

HOT = [
    (queries.LIST_ALL, "report_received"),
    (queries.LIST_NODE, "report_node"),
    (queries.LIST_ORDER, "report_order"),
    (queries.LIST_FAILED, "report_failed"),
    (queries.LIST_CHANGED, "report_eventful"),
    (queries.SHOW, "report"),
    (queries.PAGES, "report_page"),
    (queries.EVENTS_OF, "report_event"),
]


@pytest.fixture
async def filled(database: Database) -> Database:
    """Reports of mostly quiet runs, and of some with events."""
    for node in range(50):
        await database.write(NodeCertificates(database).lock_or_create, f"web{node}")
    service = ReportService(database, Reports(database))
    for first in range(0, 4000, 500):
        updates = []
        for number in range(first, first + 500):
            name, start = f"web{number % 50}", began(number, order=f"o-{number}" if number % 100 == 0 else "")
            if number % 5 == 0:
                record = ended(
                    start, changed(f"/{number}"), failed("b"), events=2, summary=summary(changed=1, failed=1)
                )
            else:
                record = ended(start)
            updates.append((name, prepare_ended(name, record)))
        await database.write(service.store, updates)
    await database.write(analysing)
    return database


def analysing() -> Transaction[None]:
    yield Query("test.analyze", "ANALYZE")()


async def test_queries_of_reports_use_an_index(filled: Database) -> None:
    for query, index in HOT:
        values = sample(query) | {
            "before_at": 2**62,
            "node": "web1",
            "order_id": "o-100",
            "id": report_id(40),
            "limit": 20,
        }
        values |= {
            "state": "",
            "environment": "",
            "status": "",
            "resource": "File[/40]",
            "is_failed": 0,
            "is_changed": 0,
        }
        values = {name: values[name] for name in query.parameters}
        rows = await filled.write(run, explain(query, filled.dialect), values)
        plan = json.dumps([list(row) for row in rows])
        assert index in plan, (query.name, plan)
        if filled.dialect is Dialect.SQLITE:
            assert not re.search(r"SCAN (report|report_page|report_event)\b(?! USING)", plan), (query.name, plan)
            # A report has a page or two: SQLite knows that, and prefers to sort them.
            assert "TEMP B-TREE" not in plan or query is queries.PAGES, (query.name, plan)
        else:
            assert "Seq Scan" not in plan.replace("report_page_rest", "").replace("report_event_rest", ""), (
                query.name,
                plan,
            )


QUERIES = [
    ("web1", queries.LIST_NODE),
    ("node = 'web5' and failed > 0", queries.LIST_NODE),
    ("outcome = 'failed'", queries.LIST_FAILED),
    ("failed > 0 and age < 3650d", queries.LIST_FAILED),
    ("age < 3650d", queries.LIST_ALL),
    ("changed > 0 or failed > 0", queries.LIST_ALL),
]


@pytest.mark.parametrize(("text", "leading"), QUERIES)
async def test_report_search_uses_the_most_selective_index(
    filled: Database, monkeypatch: pytest.MonkeyPatch, text: str, leading: Query
) -> None:
    """The exact statements and values of `precast query reports`."""
    asked: list[Statement] = []
    list_newest = report_views._list_newest

    def record_statement(*args: Any) -> Transaction[list[report_views.StoredReport]]:
        transaction = list_newest(*args)
        step = next(transaction)
        assert isinstance(step, Statement)
        asked.append(step)
        try:
            transaction.send((yield step))
        except StopIteration as end:
            page: list[report_views.StoredReport] = end.value
            return page
        raise AssertionError("a page is one statement")

    monkeypatch.setattr(report_views, "_list_newest", record_statement)
    search = ReportSearch(filled, report_views.ReportReader(filled))
    reports = [row async for row, _ in search.find(parse_query(text, REPORTS), None)]
    assert reports
    assert {statement.query.name for statement in asked} == {leading.name}
    (index,) = [index for query, index in HOT if query is leading]
    explained = await filled.write(run, explain(leading, filled.dialect), dict(asked[0].values))
    plan = json.dumps([list(row) for row in explained])
    assert index in plan, plan
    assert "Seq Scan" not in plan, plan
    assert "TEMP B-TREE" not in plan, plan
