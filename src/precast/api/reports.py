"""Routes about reports: lists, one report, its events while they come, and what happened to a resource anywhere."""

from precast.api.http.routes import Call, Route, Routes, person
from precast.services.reports import issues as issues
from precast.services.reports.views import MAX_WAIT_S, PAGE, ReportViews
from precast.store.reports.views import Wanted
from precast.wire.reports.views import EventRow, EventsPage, ReportsPage, ReportView

STATES = ("running", "ended", "broken-off", "not-run")
# What a long poll may take beyond its wait.
SPARE_S = 15.0


class ReportsApi:
    """Joins reports to their routes."""

    def __init__(self, views: ReportViews) -> None:
        self._views = views

    def declare(self, routes: Routes) -> None:
        viewer = person("viewer")
        for route in (
            Route(
                "GET",
                "/v1/reports",
                self.newest,
                viewer,
                "Reports of runs, newest first; with wait_s, as soon as something happens to any",
                ReportsPage,
                query=("node", "order", "state", "environment", "failed", "changed", "after", "limit", "wait_s"),
                errors=(issues.BAD_QUESTION,),
                limit_s=MAX_WAIT_S + SPARE_S,
            ),
            Route(
                "GET",
                "/v1/reports/{report}",
                self.show,
                viewer,
                "A report of a run but for its events",
                ReportView,
                errors=(issues.NO_REPORT,),
            ),
            Route(
                "GET",
                "/v1/reports/{report}/events",
                self.events,
                viewer,
                "What happened in a run after a number; with wait_s, as soon as there is something",
                EventsPage,
                query=("after", "wait_s"),
                errors=(issues.NO_REPORT, issues.BAD_QUESTION),
                limit_s=MAX_WAIT_S + SPARE_S,
            ),
            Route(
                "GET",
                "/v1/events",
                self.happened,
                viewer,
                "What happened to a resource on any node, newest first; without one, what failed",
                list[EventRow],
                query=("resource", "status", "after", "limit"),
                errors=(issues.BAD_QUESTION,),
            ),
        ):
            routes.add(route)

    async def newest(self, call: Call) -> ReportsPage:
        query = call.query
        state = query.get("state", "")
        if state and state not in STATES:
            raise issues.BAD_QUESTION.error(name="state", value=state[:80], problem=f"it is one of {', '.join(STATES)}")
        wanted = Wanted(
            node=query.get("node", ""),
            order=query.get("order", ""),
            state=state,
            environment=query.get("environment", ""),
            is_failed=_is_wanted(call, "failed"),
            is_changed=_is_wanted(call, "changed"),
        )
        limit = int(_number(call, "limit", PAGE))
        return await self._views.newest(wanted, query.get("after", ""), limit, _number(call, "wait_s"))

    async def show(self, call: Call) -> ReportView:
        return await self._views.show(call.path["report"])

    async def events(self, call: Call) -> EventsPage:
        return await self._views.events(call.path["report"], int(_number(call, "after")), _number(call, "wait_s"))

    async def happened(self, call: Call) -> list[EventRow]:
        query = call.query
        limit = int(_number(call, "limit", PAGE))
        return await self._views.happened(
            query.get("resource", ""), query.get("status", ""), query.get("after", ""), limit
        )


def _number(call: Call, name: str, default: float = 0.0) -> float:
    text = call.query.get(name, "")
    if not text:
        return default
    if len(text) > 10 or not text.replace(".", "", 1).isdigit() or not text.isascii():
        raise issues.BAD_QUESTION.error(name=name, value=text[:80], problem="it is a number from 0 on")
    return float(text)


def _is_wanted(call: Call, name: str) -> bool:
    text = call.query.get(name, "")
    if text not in ("", "0", "1", "false", "true"):
        raise issues.BAD_QUESTION.error(name=name, value=text[:80], problem="it is true or false")
    return text in ("1", "true")
