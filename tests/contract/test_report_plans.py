"""What people ask of reports goes by an index, on both databases, however many there are."""

import json
import re

import pytest

from precast.services.reports import ReportService, prepare_ended
from precast.store import report_queries as queries
from precast.store.database import Database
from precast.store.nodes import Nodes
from precast.store.query import Dialect, Query, Unit
from precast.store.reports import Reports
from tests.contract.report_site import began, changed, ended, failed, report_id, summary
from tests.contract.test_queries import explain, run, sample

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
    """Mostly quiet runs, and some in which something happened."""
    for node in range(50):
        await database.write(Nodes(database).taking, f"web{node}")
    service = ReportService(database, Reports(database))
    for first in range(0, 4000, 500):
        told = []
        for number in range(first, first + 500):
            name, start = f"web{number % 50}", began(number, order=f"o-{number}" if number % 100 == 0 else "")
            if number % 5 == 0:
                one = ended(start, changed(f"/{number}"), failed("b"), events=2, summary=summary(changed=1, failed=1))
            else:
                one = ended(start)
            told.append((name, prepare_ended(name, one)))
        await database.write(service.taking, told)
    await database.write(analysing)
    return database


def analysing() -> Unit[None]:
    yield Query("test.analyze", "ANALYZE")()


async def test_questions_about_reports_go_by_index(filled: Database) -> None:
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
            # A report has a page or two: SQLite knows that, and would rather sort them.
            assert "TEMP B-TREE" not in plan or query is queries.PAGES, (query.name, plan)
        else:
            assert "Seq Scan" not in plan.replace("report_page_rest", "").replace("report_event_rest", ""), (
                query.name,
                plan,
            )
