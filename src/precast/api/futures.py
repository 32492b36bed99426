"""Routes of futures. Who may see an environment may see its values, except sensitive ones, which go to nodes only."""

from precast.api.http.routes import ENVIRONMENT, OWN, Call, person, route
from precast.services.code import issues as code_issues
from precast.services.code.environments import check_name
from precast.services.futures import issues
from precast.services.futures.service import FutureService
from precast.services.jobs import issues as run_issues
from precast.services.jobs.future_views import JobFutureViews
from precast.wire.futures import FutureChanges, FutureExplanation, JobFutures, NewFuture, StandingFuture

_PATH = "/v1/environments/{environment}/futures"
_VIEWER = person("viewer", ENVIRONMENT)


class FuturesApi:
    """Handles the routes of futures."""

    def __init__(self, futures: FutureService, jobs: JobFutureViews) -> None:
        self._futures, self._jobs = futures, jobs

    @route(
        "GET",
        _PATH,
        _VIEWER,
        "The values that stand in an environment, by key and node; sensitive ones are not shown",
        list[StandingFuture],
        query=("after_key", "after_node"),
        errors=(code_issues.BAD_NAME,),
    )
    async def list_page(self, call: Call) -> list[StandingFuture]:
        after = call.query.get("after_key", ""), call.query.get("after_node", "")
        return await self._futures.list_page(_environment(call), after)

    @route(
        "GET",
        f"{_PATH}/value",
        _VIEWER,
        "The values of a key by node, or that of one node",
        list[StandingFuture],
        query=("key", "node"),
        errors=(code_issues.BAD_NAME, issues.BAD_KEY, issues.NO_VALUE),
    )
    async def get(self, call: Call) -> list[StandingFuture]:
        return await self._futures.get(_environment(call), call.query.get("key", ""), call.query.get("node", ""))

    @route(
        "GET",
        f"{_PATH}/changes",
        _VIEWER,
        "The values of a key once they differ from those of an earlier answer, or after a while",
        FutureChanges,
        query=("key", "after", "wait"),
        errors=(code_issues.BAD_NAME, issues.BAD_KEY),
    )
    async def changes(self, call: Call) -> FutureChanges:
        after, wait = call.query.get("after", "0"), call.query.get("wait", "0")
        return await self._futures.changes(
            _environment(call),
            call.query.get("key", ""),
            int(after) if after.isdecimal() and len(after) < 20 else 0,
            float(wait) if wait.isdecimal() and len(wait) < 6 else 0.0,
        )

    @route(
        "GET",
        f"{_PATH}/why",
        _VIEWER,
        "Who promises and who needs a key, its values, and the open runs that are concerned",
        FutureExplanation,
        query=("key",),
        errors=(code_issues.BAD_NAME, issues.BAD_KEY),
    )
    async def why(self, call: Call) -> FutureExplanation:
        return await self._futures.why(_environment(call), call.query.get("key", ""))

    @route(
        "GET",
        "/v1/runs/{run}/futures",
        person("viewer", OWN),
        "What the members of a run promise, who waits for whom, and who was given values that are replaced",
        JobFutures,
        query=("after",),
        errors=(run_issues.NO_SUCH_RUN,),
    )
    async def show_run(self, call: Call) -> JobFutures:
        return await self._jobs.show(call.path["run"], call.query.get("after", ""), call.environments)

    @route(
        "POST",
        _PATH,
        person("operator", ENVIRONMENT),
        "Put a value in place of what a node promised, or for no node; or delete one",
        list[StandingFuture],
        body=NewFuture,
        errors=(code_issues.BAD_NAME, issues.BAD_KEY, issues.TOO_LARGE, issues.NO_VALUE),
    )
    async def put(self, call: Call) -> list[StandingFuture]:
        return await self._futures.put(_environment(call), call.body, call.actor)


def _environment(call: Call) -> str:
    check_name(call.path["environment"])
    return call.path["environment"]
