"""Routes about reports: lists, one report, its events while the run goes on, and the events of a resource on all nodes."""

from precast.api.http.routes import VIEWER, Call, route
from precast.services.reports import issues
from precast.services.reports.views import MAX_WAIT_S, PAGE, ReportViews
from precast.store.reports.views import ReportFilter
from precast.wire.reports.views import EventRow, EventsPage, ReportsPage, ReportView

STATES = ("running", "ended", "broken-off", "not-run")
# How much longer than its wait a long poll may take.
SPARE_S = 15.0


class ReportsApi:
    """Handles the routes of reports."""

    def __init__(self, views: ReportViews) -> None:
        self._views = views

    @route(
        "GET",
        "/v1/reports",
        VIEWER,
        "The reports of runs, newest first; with wait_s, the server waits until a report changes",
        ReportsPage,
        query=("node", "order", "state", "environment", "failed", "changed", "after", "limit", "wait_s"),
        errors=(issues.BAD_QUESTION,),
        limit_s=MAX_WAIT_S + SPARE_S,
    )
    async def list_reports(self, call: Call) -> ReportsPage:
        query = call.query
        state = query.get("state", "")
        if state and state not in STATES:
            raise issues.BAD_QUESTION.error(
                name="state", value=state[:80], problem=f"it must be one of {', '.join(STATES)}"
            )
        filters = ReportFilter(
            node=query.get("node", ""),
            order=query.get("order", ""),
            state=state,
            environment=query.get("environment", ""),
            is_failed=_read_flag(call, "failed"),
            is_changed=_read_flag(call, "changed"),
        )
        limit = int(_number(call, "limit", PAGE))
        return await self._views.newest(filters, query.get("after", ""), limit, _number(call, "wait_s"))

    @route(
        "GET",
        "/v1/reports/{report}",
        VIEWER,
        "A report of a run, without its events",
        ReportView,
        errors=(issues.NO_REPORT,),
    )
    async def show(self, call: Call) -> ReportView:
        return await self._views.show(call.path["report"])

    @route(
        "GET",
        "/v1/reports/{report}/events",
        VIEWER,
        "The events of a run after a number; with wait_s, the server waits for one",
        EventsPage,
        query=("after", "wait_s"),
        errors=(issues.NO_REPORT, issues.BAD_QUESTION),
        limit_s=MAX_WAIT_S + SPARE_S,
    )
    async def list_events(self, call: Call) -> EventsPage:
        return await self._views.events(call.path["report"], int(_number(call, "after")), _number(call, "wait_s"))

    @route(
        "GET",
        "/v1/events",
        VIEWER,
        "The events of a resource on all nodes, newest first; without a resource, the failures",
        list[EventRow],
        query=("resource", "status", "after", "limit"),
        errors=(issues.BAD_QUESTION,),
    )
    async def list_resource_events(self, call: Call) -> list[EventRow]:
        query = call.query
        limit = int(_number(call, "limit", PAGE))
        return await self._views.list_events(
            query.get("resource", ""), query.get("status", ""), query.get("after", ""), limit
        )


def _number(call: Call, name: str, default: float = 0.0) -> float:
    text = call.query.get(name, "")
    if not text:
        return default
    if len(text) > 10 or not text.replace(".", "", 1).isdigit() or not text.isascii():
        raise issues.BAD_QUESTION.error(name=name, value=text[:80], problem="it must be a number, 0 or more")
    return float(text)


def _read_flag(call: Call, name: str) -> bool:
    text = call.query.get(name, "")
    if text not in ("", "0", "1", "false", "true"):
        raise issues.BAD_QUESTION.error(name=name, value=text[:80], problem="it must be true or false")
    return text in ("1", "true")
