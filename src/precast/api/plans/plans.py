"""Routes about plans. The role for commands opens them as well: without it, a plan that runs commands does not start.

A token for some environments checks, starts and sees the runs of these. Output of commands is shown only to the role for commands.
"""

from typing import Any

from precast.api.http.quotas import RateLimiter
from precast.api.http.routes import ENVIRONMENT, OWN, Call, person, route
from precast.api.jobs import read_watch_query
from precast.api.nodes.nodes import TARGETS
from precast.base.clock import Clock
from precast.services.approvals.approvals import Participant
from precast.services.code.issues import NO_ENVIRONMENT
from precast.services.identity import issues as identity_issues
from precast.services.identity.people import Person
from precast.services.identity.roles import COMMANDS
from precast.services.issues import BAD_VALUE, UNPRINTABLE
from precast.services.jobs import issues as run_issues
from precast.services.plans import issues
from precast.services.plans.plan_services import PlanServices
from precast.wire.jobs import states
from precast.wire.plans.bodies import (
    ApproveBody,
    InstanceView,
    PlanChanges,
    PlanCheck,
    PlanDocument,
    PlanRequest,
    PlanRunBrief,
    PlanRunView,
    ResumeBody,
    ResumeView,
    RetryBody,
    RunTaskBody,
)

# Longer than a caller may ask to wait, and than a plan with many nodes takes to prepare.
WATCH_S = 40.0
START_S = 400.0

_PLANS, _RUN = "/v1/plans", "/v1/plans/{run}"
_VIEWER, _OPERATOR = person("viewer", OWN, COMMANDS), person("operator", OWN, COMMANDS)
_NOT_FOUND = (issues.NOT_A_PLAN,)
_PREPARE = (
    *TARGETS,
    *(BAD_VALUE, UNPRINTABLE, run_issues.OTHER_ENVIRONMENT, issues.PLANNING_FAILED, issues.NO_SUCH_PLAN),
    *(issues.TOO_LARGE, issues.SEVERAL_ENVIRONMENTS),
)
_SIGNER = (identity_issues.SIGNER_UNAVAILABLE, identity_issues.SIGNER_REFUSED, identity_issues.SIGNER_LIMIT)
_START = (
    *_PREPARE,
    *(run_issues.TOO_MANY_RUNS, run_issues.TOO_OFTEN, issues.BROKEN, issues.COMMANDS_NEEDED, issues.STILL_COMPILING),
    *(issues.NOTHING_TO_DO, *_SIGNER),
)
_STOP = (*_NOT_FOUND, run_issues.RUN_OVER)
_REPEAT = (
    *(*_NOT_FOUND, run_issues.RUN_OPEN, run_issues.NOTHING_TO_REPEAT, run_issues.TOO_OFTEN),
    run_issues.OTHER_ENVIRONMENT,
    *(issues.COMMANDS_NEEDED, issues.NO_SUCH_TASK, *_SIGNER),
)
_WATCH_QUERY = ("after", "wait_s")


class PlansApi:
    """Handles the routes of plans."""

    def __init__(self, plans: PlanServices, clock: Clock, per_minute: int) -> None:
        """`per_minute` is how many runs a person may start, after a burst of as many."""
        self._plans, self._per_minute = plans, per_minute
        self._starts = RateLimiter(clock, per_minute / 60.0, per_minute)

    @route(
        "GET",
        "/v1/environments/{environment}/plans",
        person("viewer", ENVIRONMENT, COMMANDS),
        "The names of an environment's plans",
        list[str],
        errors=(NO_ENVIRONMENT,),
    )
    async def list_plans(self, call: Call) -> list[str]:
        return await self._plans.sources.list_plans(call.path["environment"])

    @route(
        "POST",
        f"{_PLANS}/check",
        _OPERATOR,
        "Check a plan over nodes; nothing is stored or started",
        PlanCheck,
        body=PlanRequest,
        errors=_PREPARE,
        limit_s=START_S,
    )
    async def check(self, call: Call) -> PlanCheck:
        return await self._plans.starter.check(call.body, _participant(call))

    @route(
        "POST",
        _PLANS,
        _OPERATOR,
        "Start a plan over nodes",
        PlanRunView,
        body=PlanRequest,
        errors=_START,
        limit_s=START_S,
    )
    async def start(self, call: Call) -> PlanRunView:
        self._count(call.actor)
        return await self._plans.starter.start(call.body, _participant(call), call.credential)

    @route("GET", _PLANS, _VIEWER, "The newest runs of plans", list[PlanRunBrief], query=("before",))
    async def list_runs(self, call: Call) -> list[PlanRunBrief]:
        return await self._plans.reading.newest(call.query.get("before", ""), call.environments)

    @route("GET", _RUN, _VIEWER, "The state of a run of a plan", PlanRunView, errors=_NOT_FOUND)
    async def show(self, call: Call) -> PlanRunView:
        return await self._plans.reading.show(call.path["run"], call.environments, with_output=_sees_output(call))

    @route("GET", f"{_RUN}/document", _VIEWER, "The plan, nodes and catalogs of a run", PlanDocument, errors=_NOT_FOUND)
    async def show_document(self, call: Call) -> PlanDocument:
        return await self._plans.reading.document(call.path["run"], call.environments)

    @route(
        "GET",
        f"{_RUN}/data/{{node}}",
        _VIEWER,
        "The data of a node as the conditions of a run saw it; with a task also that of its last success before, if they compared with it",
        dict[str, Any],
        query=("task",),
        errors=(*_NOT_FOUND, issues.NO_DATA),
    )
    async def show_data(self, call: Call) -> dict[str, Any]:
        task = call.query.get("task", "")
        return await self._plans.reading.data(call.path["run"], call.path["node"], call.environments, task)

    @route(
        "GET",
        f"{_RUN}/instances",
        _VIEWER,
        "The tasks of a run on its nodes, by node and task; `after` is the key of one",
        list[InstanceView],
        query=("after",),
        errors=_NOT_FOUND,
    )
    async def list_instances(self, call: Call) -> list[InstanceView]:
        after = call.query.get("after", "")
        return await self._plans.reading.instances(
            call.path["run"], after, call.environments, with_output=_sees_output(call)
        )

    @route(
        "GET",
        f"{_RUN}/changes",
        _VIEWER,
        "The changes of a run after a number; with wait_s, the server waits up to 20 seconds for one",
        PlanChanges,
        query=_WATCH_QUERY,
        errors=(*_NOT_FOUND, BAD_VALUE),
        limit_s=WATCH_S,
    )
    async def watch(self, call: Call) -> PlanChanges:
        return await self._plans.reading.changes(
            call.path["run"], *read_watch_query(call), call.environments, with_output=_sees_output(call)
        )

    @route("POST", f"{_RUN}/stop", _OPERATOR, "Stop a run: no other task begins", PlanRunView, errors=_STOP)
    async def stop(self, call: Call) -> PlanRunView:
        return await self._plans.changes.stop(call.path["run"], _participant(call), states.STOPPING)

    @route(
        "POST",
        f"{_RUN}/abort",
        _OPERATOR,
        "Abort a run: no other task begins, and those that run are told to end",
        PlanRunView,
        errors=_STOP,
    )
    async def abort(self, call: Call) -> PlanRunView:
        return await self._plans.changes.stop(call.path["run"], _participant(call), states.ABORTING)

    @route(
        "POST",
        f"{_RUN}/resume",
        _OPERATOR,
        "Go on with a run that has ended, with all that has not succeeded; with another version of the plan, rebase it first",
        ResumeView,
        body=ResumeBody,
        errors=(*_REPEAT, *_START),
        limit_s=START_S,
    )
    async def resume(self, call: Call) -> ResumeView:
        self._count(call.actor)
        run, body, participant = call.path["run"], call.body, _participant(call)
        if body.source is None:
            return ResumeView(await self._plans.changes.resume(run, participant, call.credential))
        if body.is_preview:
            return await self._plans.rebasing.preview(run, body.source, participant, body.parameters)
        return await self._plans.rebasing.rebase(run, body.source, participant, call.credential, body.parameters)

    @route(
        "POST",
        f"{_RUN}/retry",
        _OPERATOR,
        "Repeat the tasks of a run that have failed, and go on with what follows from them",
        PlanRunView,
        body=RetryBody,
        errors=_REPEAT,
    )
    async def retry(self, call: Call) -> PlanRunView:
        self._count(call.actor)
        return await self._plans.changes.retry(call.path["run"], call.body.tasks, _participant(call), call.credential)

    @route(
        "POST",
        f"{_RUN}/approve",
        _OPERATOR,
        "Let a task go that waits for a person",
        PlanRunView,
        body=ApproveBody,
        errors=(*_NOT_FOUND, issues.NO_SUCH_TASK, issues.NO_APPROVAL),
    )
    async def approve(self, call: Call) -> PlanRunView:
        return await self._plans.changes.approve(call.path["run"], call.body.task, _participant(call))

    @route(
        "POST",
        f"{_RUN}/run-task",
        _OPERATOR,
        "Repeat a task of a run on one node, with its tests and the inputs that it had",
        PlanRunView,
        body=RunTaskBody,
        errors=(*_START, *_NOT_FOUND, issues.NO_SUCH_TASK, issues.NOT_ON_NODE),
    )
    async def run_task(self, call: Call) -> PlanRunView:
        self._count(call.actor)
        return await self._plans.replays.start(call.path["run"], call.body, _participant(call), call.credential)

    def _count(self, name: str) -> None:
        """Enforce a person's quota. Raises LimitedError RUN-005."""
        if not self._starts.take(name):
            raise run_issues.TOO_OFTEN.error(person=name, limit=self._per_minute)


def _sees_output(call: Call) -> bool:
    """Whether the caller may see what commands have printed."""
    return _participant(call).role == COMMANDS


def _participant(call: Call) -> Participant:
    assert isinstance(call.caller, Person), "the routes require it"
    return Participant(call.actor, call.caller.role, call.environments, call.token)
