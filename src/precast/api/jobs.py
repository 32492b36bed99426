"""Routes about runs over nodes. Commands have routes of their own, for the role that may run them; so has what they say."""

from precast.api.http.quotas import Buckets
from precast.api.http.routes import Call, Route, Routes, person
from precast.api.nodes.nodes import TARGETS
from precast.base.clock import Clock
from precast.services import issues
from precast.services.identity.roles import COMMANDS
from precast.services.jobs import issues as run_issues
from precast.services.jobs.service import RunService
from precast.services.jobs.wanted import EXEC
from precast.wire.jobs.views import NewCommand, NewRun, RunChanges, RunView, StepView

# Longer than a viewer may wait.
WATCH_S = 40.0


class RunsApi:
    """Joins the service of runs to its routes."""

    def __init__(self, runs: RunService, clock: Clock, per_minute: int) -> None:
        """`per_minute` is how many runs and commands a person may begin, after a burst of as many."""
        self._runs = runs
        self._per_minute = per_minute
        self._left = Buckets(clock, per_minute / 60.0, per_minute)

    def declare(self, routes: Routes) -> None:
        viewer, operator, commands = person("viewer"), person("operator"), person(COMMANDS)
        deed = (*TARGETS, issues.BAD_VALUE, issues.UNPRINTABLE, run_issues.TOO_MANY_RUNS, run_issues.TOO_OFTEN)
        unknown = (run_issues.NO_SUCH_RUN,)
        stops = (run_issues.NO_SUCH_RUN, run_issues.RUN_OVER)
        watching, unfit = ("after", "wait_s"), (*unknown, issues.BAD_VALUE)
        for route in (
            Route(
                "POST",
                "/v1/runs",
                self.start,
                operator,
                "Have nodes apply what was released to them, now",
                RunView,
                body=NewRun,
                errors=deed,
            ),
            Route("GET", "/v1/runs", self.list, viewer, "The newest runs", list[RunView], query=("before",)),
            Route("GET", "/v1/runs/{run}", self.show, viewer, "How a run stands", RunView, errors=unknown),
            Route(
                "GET",
                "/v1/runs/{run}/steps",
                self.steps,
                viewer,
                "The nodes of a run by name",
                list[StepView],
                query=("after",),
                errors=unknown,
            ),
            Route(
                "GET",
                "/v1/runs/{run}/changes",
                self.watch,
                viewer,
                "What has changed in a run after a number; waits for it up to 20 seconds",
                RunChanges,
                query=watching,
                errors=unfit,
                limit_s=WATCH_S,
            ),
            Route("POST", "/v1/runs/{run}/stop", self.stop, operator, "Let no other node begin", RunView, errors=stops),
            Route(
                "POST",
                "/v1/commands",
                self.command,
                commands,
                "Have nodes run a command, now, where their own configuration allows it",
                RunView,
                body=NewCommand,
                errors=(*deed, run_issues.BAD_ARGUMENT),
            ),
            Route(
                "GET",
                "/v1/commands/{run}/changes",
                self.watch_command,
                commands,
                "The same as of a run, with what the command says",
                RunChanges,
                query=watching,
                errors=unfit,
                limit_s=WATCH_S,
            ),
            Route(
                "POST",
                "/v1/commands/{run}/stop",
                self.stop_command,
                commands,
                "Let no other node begin",
                RunView,
                errors=stops,
            ),
        ):
            routes.add(route)

    async def start(self, call: Call) -> RunView:
        self._count(call.actor)
        return await self._runs.start(call.body, call.actor)

    async def show(self, call: Call) -> RunView:
        return await self._runs.show(call.path["run"])

    async def steps(self, call: Call) -> list[StepView]:
        return await self._runs.steps(call.path["run"], call.query.get("after", ""))

    async def watch(self, call: Call) -> RunChanges:
        return await self._runs.changes(call.path["run"], *_since(call))

    async def stop(self, call: Call) -> RunView:
        return await self._runs.stop(call.path["run"], call.actor)

    async def command(self, call: Call) -> RunView:
        self._count(call.actor)
        return await self._runs.command(call.body, call.actor)

    async def watch_command(self, call: Call) -> RunChanges:
        return await self._runs.changes(call.path["run"], *_since(call), EXEC, with_output=True)

    async def stop_command(self, call: Call) -> RunView:
        return await self._runs.stop(call.path["run"], call.actor, EXEC)

    def _count(self, person: str) -> None:
        """Hold a person to their quota: a run costs nodes far more than a request costs us. Raises LimitedError RUN-005."""
        if not self._left.take(person):
            raise run_issues.TOO_OFTEN.error(person=person, limit=self._per_minute)

    async def list(self, call: Call) -> list[RunView]:
        return await self._runs.newest(call.query.get("before", ""))


def _since(call: Call) -> tuple[int, float]:
    """After which number, and how long to wait for more. Raises InputError AUTH-002."""
    try:
        after, wait_s = int(call.query.get("after", "0")), float(call.query.get("wait_s", "0"))
        if 0 <= after < 2**62 and wait_s >= 0:
            return after, wait_s
    except ValueError:
        pass
    raise issues.BAD_VALUE.error(what="after, and wait_s in seconds,", least=0, most="20")
