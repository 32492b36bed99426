"""Routes about jobs, which users call runs and commands. Commands and their output have routes of their own, which need another role."""

from precast.api.http.quotas import RateLimiter
from precast.api.http.routes import OWN, Call, person, route
from precast.api.nodes.nodes import TARGETS
from precast.base.clock import Clock
from precast.services.identity import issues as identity_issues
from precast.services.identity.roles import COMMANDS
from precast.services.issues import BAD_VALUE, UNPRINTABLE
from precast.services.jobs import issues as run_issues
from precast.services.jobs.requests import EXEC
from precast.services.jobs.service import JobService
from precast.wire.jobs.views import JobChanges, JobView, NewExecJob, NewRunJob, StepView

# Longer than a caller may ask to wait.
WATCH_S = 40.0

_COMMANDER = person(COMMANDS)
# A token for some environments opens these routes for jobs of its environments.
_VIEWER, _OPERATOR = person("viewer", OWN), person("operator", OWN)
_START_ERRORS = (
    *TARGETS,
    BAD_VALUE,
    UNPRINTABLE,
    run_issues.TOO_MANY_RUNS,
    run_issues.TOO_OFTEN,
    run_issues.OTHER_ENVIRONMENT,
)
_SIGNER_ERRORS = (identity_issues.SIGNER_UNAVAILABLE, identity_issues.SIGNER_REFUSED, identity_issues.SIGNER_LIMIT)
_NOT_FOUND = (run_issues.NO_SUCH_RUN,)
_STOP_ERRORS = (run_issues.NO_SUCH_RUN, run_issues.RUN_OVER)
_REPEAT_ERRORS = (
    run_issues.NO_SUCH_RUN,
    run_issues.RUN_OPEN,
    run_issues.NOTHING_TO_REPEAT,
    run_issues.RUN_OF_PLAN,
    run_issues.OTHER_ENVIRONMENT,
    run_issues.TOO_OFTEN,
)
_WATCH_QUERY = ("after", "wait_s")
_WATCH_ERRORS = (*_NOT_FOUND, BAD_VALUE)


class JobsApi:
    """Handles the routes of jobs."""

    def __init__(self, runs: JobService, clock: Clock, per_minute: int) -> None:
        """`per_minute` is how many runs and commands a person may start, after a burst of as many."""
        self._runs = runs
        self._per_minute = per_minute
        self._starts = RateLimiter(clock, per_minute / 60.0, per_minute)

    @route(
        "POST",
        "/v1/runs",
        _OPERATOR,
        "Let nodes apply their released catalogs now",
        JobView,
        body=NewRunJob,
        errors=_START_ERRORS,
    )
    async def start(self, call: Call) -> JobView:
        self._count(call.actor)
        return await self._runs.start(call.body, call.actor, call.environments)

    @route("GET", "/v1/runs", _VIEWER, "The newest runs", list[JobView], query=("before",))
    async def list_runs(self, call: Call) -> list[JobView]:
        return await self._runs.newest(call.query.get("before", ""), call.environments)

    @route("GET", "/v1/runs/{run}", _VIEWER, "The state of a run", JobView, errors=_NOT_FOUND)
    async def show(self, call: Call) -> JobView:
        return await self._runs.show(call.path["run"], None, call.environments)

    @route(
        "GET",
        "/v1/runs/{run}/steps",
        _VIEWER,
        "The steps of a run, by node",
        list[StepView],
        query=("after",),
        errors=_NOT_FOUND,
    )
    async def list_steps(self, call: Call) -> list[StepView]:
        return await self._runs.steps(call.path["run"], call.query.get("after", ""), call.environments)

    @route(
        "GET",
        "/v1/runs/{run}/changes",
        _VIEWER,
        "The changes of a run after a number; with wait_s, the server waits up to 20 seconds for one",
        JobChanges,
        query=_WATCH_QUERY,
        errors=_WATCH_ERRORS,
        limit_s=WATCH_S,
    )
    async def watch(self, call: Call) -> JobChanges:
        return await self._runs.changes(call.path["run"], *read_watch_query(call), environments=call.environments)

    @route("POST", "/v1/runs/{run}/stop", _OPERATOR, "Stop a run: no other node begins", JobView, errors=_STOP_ERRORS)
    async def stop(self, call: Call) -> JobView:
        return await self._runs.stop(call.path["run"], call.actor, None, call.environments)

    @route(
        "POST",
        "/v1/runs/{run}/abort",
        _OPERATOR,
        "Abort a run: no other node begins, and nodes that have begun are told to end",
        JobView,
        errors=_STOP_ERRORS,
    )
    async def abort(self, call: Call) -> JobView:
        return await self._runs.abort(call.path["run"], call.actor, None, call.environments)

    @route(
        "POST",
        "/v1/runs/{run}/resume",
        _OPERATOR,
        "Go on with a run that was stopped, aborted or halted, on the nodes that have not begun",
        JobView,
        errors=(*_REPEAT_ERRORS, *_SIGNER_ERRORS),
    )
    async def resume(self, call: Call) -> JobView:
        self._count(call.actor)
        return await self._runs.resume(call.path["run"], call.actor, call.credential, call.environments)

    @route(
        "POST",
        "/v1/runs/{run}/retry",
        _OPERATOR,
        "Repeat a run that has ended on the nodes that failed",
        JobView,
        errors=(*_REPEAT_ERRORS, *_SIGNER_ERRORS),
    )
    async def retry(self, call: Call) -> JobView:
        self._count(call.actor)
        return await self._runs.retry(call.path["run"], call.actor, call.credential, call.environments)

    @route(
        "POST",
        "/v1/commands",
        _COMMANDER,
        "Let nodes run a command now, where their own configuration allows it",
        JobView,
        body=NewExecJob,
        errors=(*_START_ERRORS, run_issues.BAD_ARGUMENT, *_SIGNER_ERRORS),
    )
    async def start_command(self, call: Call) -> JobView:
        self._count(call.actor)
        return await self._runs.command(call.body, call.actor, call.credential)

    @route(
        "GET",
        "/v1/commands/{run}/changes",
        _COMMANDER,
        "The changes of a command after a number, with its output",
        JobChanges,
        query=_WATCH_QUERY,
        errors=_WATCH_ERRORS,
        limit_s=WATCH_S,
    )
    async def watch_command(self, call: Call) -> JobChanges:
        return await self._runs.changes(call.path["run"], *read_watch_query(call), EXEC, with_output=True)

    @route(
        "POST",
        "/v1/commands/{run}/stop",
        _COMMANDER,
        "Stop a command: no other node starts",
        JobView,
        errors=_STOP_ERRORS,
    )
    async def stop_command(self, call: Call) -> JobView:
        return await self._runs.stop(call.path["run"], call.actor, EXEC)

    @route(
        "POST",
        "/v1/commands/{run}/abort",
        _COMMANDER,
        "Abort a command: no other node starts, and nodes that have begun are told to end",
        JobView,
        errors=_STOP_ERRORS,
    )
    async def abort_command(self, call: Call) -> JobView:
        return await self._runs.abort(call.path["run"], call.actor, EXEC)

    @route(
        "POST",
        "/v1/commands/{run}/resume",
        _COMMANDER,
        "Go on with a command that was stopped, aborted or halted, on the nodes that have not begun",
        JobView,
        errors=(*_REPEAT_ERRORS, *_SIGNER_ERRORS),
    )
    async def resume_command(self, call: Call) -> JobView:
        self._count(call.actor)
        return await self._runs.resume(call.path["run"], call.actor, call.credential, (), EXEC)

    @route(
        "POST",
        "/v1/commands/{run}/retry",
        _COMMANDER,
        "Repeat a command that has ended on the nodes that failed",
        JobView,
        errors=(*_REPEAT_ERRORS, *_SIGNER_ERRORS),
    )
    async def retry_command(self, call: Call) -> JobView:
        self._count(call.actor)
        return await self._runs.retry(call.path["run"], call.actor, call.credential, (), EXEC)

    def _count(self, person: str) -> None:
        """Enforce a person's quota: a run costs nodes far more than a request costs the server. Raises LimitedError RUN-005."""
        if not self._starts.take(person):
            raise run_issues.TOO_OFTEN.error(person=person, limit=self._per_minute)


def read_watch_query(call: Call) -> tuple[int, float]:
    """The number after which changes are wanted, and how long to wait for one. Raises InputError AUTH-002."""
    try:
        after, wait_s = int(call.query.get("after", "0")), float(call.query.get("wait_s", "0"))
        if 0 <= after < 2**62 and wait_s >= 0:
            return after, wait_s
    except ValueError:
        pass
    raise BAD_VALUE.error(what="after, and wait_s in seconds,", least=0, most="20")
