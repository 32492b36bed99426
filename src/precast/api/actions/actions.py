"""Routes about actions. Actions that are commands have the same routes under another path, which need the role for commands.

A token for some environments sees, creates and changes the actions of these.
"""

from collections.abc import Collection

from precast.api.http.quotas import RateLimiter
from precast.api.http.routes import OWN, Call, person, route
from precast.api.nodes.nodes import TARGETS
from precast.base.clock import Clock
from precast.services.actions import issues
from precast.services.actions.creation import ActionCreation
from precast.services.actions.service import ActionService
from precast.services.approvals import issues as approval_issues
from precast.services.approvals.approvals import Participant
from precast.services.identity import issues as identity_issues
from precast.services.identity.people import Person
from precast.services.identity.roles import COMMANDS
from precast.services.issues import BAD_VALUE, UNPRINTABLE
from precast.services.jobs import issues as run_issues
from precast.services.windows import issues as window_issues
from precast.wire.actions.bodies import COMMAND_KINDS, RUN_NOW, ActionView, NewAction

# Longer than a caller may ask to wait.
WATCH_S = 40.0

_VIEWER, _OPERATOR, _COMMANDER = person("viewer", OWN), person("operator", OWN), person(COMMANDS)
_SIGNER_ERRORS = (identity_issues.SIGNER_UNAVAILABLE, identity_issues.SIGNER_REFUSED, identity_issues.SIGNER_LIMIT)
_CREATE_ERRORS = (
    *TARGETS,
    *(BAD_VALUE, UNPRINTABLE, run_issues.TOO_OFTEN, run_issues.BAD_ARGUMENT, approval_issues.TOO_MANY),
    *(window_issues.BAD_CRON, window_issues.UNKNOWN_ZONE, window_issues.CRON_NEVER),
    *(issues.ROLE_NEEDED, issues.BAD_PLAN, issues.BAD_TIMES, issues.BAD_PARAMETER, issues.OTHER_ENVIRONMENT),
    *(issues.SEVERAL_ENVIRONMENTS, issues.RELEASE_NEEDS_APPROVAL, issues.TOO_MANY_ACTIONS, issues.NO_OWNER),
)
_COMMAND_ERRORS = (*_CREATE_ERRORS, issues.COMMAND_NOT_SEALED, issues.BROKEN_TASK, *_SIGNER_ERRORS)
_NOT_FOUND = (issues.NO_SUCH_ACTION,)
_CHANGE_ERRORS = (
    *(issues.NO_SUCH_ACTION, issues.WRONG_STATE, issues.ROLE_NEEDED, issues.NO_JOB, issues.UNKNOWN_CHANGE),
    *(issues.APPROVED_TIMES, issues.NOT_REPEATED),
    *(run_issues.NO_SUCH_RUN, run_issues.RUN_OPEN, run_issues.NOTHING_TO_REPEAT, run_issues.TOO_OFTEN),
)
_WAIT_QUERY = ("after_job", "wait_s")
_WAIT_ERRORS = (*_NOT_FOUND, BAD_VALUE)
_ACTIONS, _COMMANDS = "/v1/actions", "/v1/command-actions"


class ActionsApi:
    """Handles the routes of actions."""

    def __init__(self, creation: ActionCreation, actions: ActionService, clock: Clock, per_minute: int) -> None:
        """`per_minute` is how many actions a person may create or run now, after a burst of as many."""
        self._creation, self._actions, self._per_minute = creation, actions, per_minute
        self._starts = RateLimiter(clock, per_minute / 60.0, per_minute)

    @route("POST", _ACTIONS, _OPERATOR, "Create an action", ActionView, body=NewAction, errors=_CREATE_ERRORS)
    async def create(self, call: Call) -> ActionView:
        return await self._create(call)

    @route("GET", _ACTIONS, _VIEWER, "The newest actions that the token may see", list[ActionView], query=("before",))
    async def list_actions(self, call: Call) -> list[ActionView]:
        return await self._actions.list_newest(call.environments, call.query.get("before", ""))

    @route(
        "GET",
        f"{_ACTIONS}/{{action}}",
        _VIEWER,
        "An action and its due times; with wait_s, the server waits up to 20 seconds for another job than after_job",
        ActionView,
        query=_WAIT_QUERY,
        errors=_WAIT_ERRORS,
        limit_s=WATCH_S,
    )
    async def show(self, call: Call) -> ActionView:
        return await self._show(call, ())

    @route(
        "POST",
        f"{_ACTIONS}/{{action}}/{{change}}",
        _OPERATOR,
        "Change an action: cancel, abort, retry, pause, resume or run-now",
        ActionView,
        errors=_CHANGE_ERRORS,
    )
    async def change(self, call: Call) -> ActionView:
        return await self._change(call, ())

    @route(
        "POST",
        _COMMANDS,
        _COMMANDER,
        "Create an action that runs a command, where the nodes' own configuration allows it",
        ActionView,
        body=NewAction,
        errors=_COMMAND_ERRORS,
    )
    async def create_command(self, call: Call) -> ActionView:
        return await self._create(call)

    @route(
        "GET",
        _COMMANDS,
        _COMMANDER,
        "The newest actions that run commands",
        list[ActionView],
        query=("before",),
    )
    async def list_commands(self, call: Call) -> list[ActionView]:
        return await self._actions.list_newest(call.environments, call.query.get("before", ""), COMMAND_KINDS)

    @route(
        "GET",
        f"{_COMMANDS}/{{action}}",
        _COMMANDER,
        "An action that runs a command, and its due times; with wait_s as for other actions",
        ActionView,
        query=_WAIT_QUERY,
        errors=_WAIT_ERRORS,
        limit_s=WATCH_S,
    )
    async def show_command(self, call: Call) -> ActionView:
        return await self._show(call, COMMAND_KINDS)

    @route(
        "POST",
        f"{_COMMANDS}/{{action}}/{{change}}",
        _COMMANDER,
        "Change an action that runs a command: cancel, abort, retry, pause, resume or run-now",
        ActionView,
        errors=(*_CHANGE_ERRORS, *_SIGNER_ERRORS),
    )
    async def change_command(self, call: Call) -> ActionView:
        return await self._change(call, COMMAND_KINDS)

    async def _create(self, call: Call) -> ActionView:
        self._count(call.actor)
        return await self._creation.create(call.body, _participant(call), call.credential)

    async def _show(self, call: Call, kinds: Collection[str]) -> ActionView:
        wait_s, after_job = _seconds(call.query.get("wait_s", "0")), call.query.get("after_job", "")
        return await self._actions.wait_for_job(call.path["action"], call.environments, after_job, wait_s, kinds)

    async def _change(self, call: Call, kinds: Collection[str]) -> ActionView:
        change = call.path["change"]
        if change == RUN_NOW:
            self._count(call.actor)
        return await self._actions.change(call.path["action"], change, _participant(call), call.credential, kinds)

    def _count(self, name: str) -> None:
        """Enforce a person's quota. Raises LimitedError RUN-005."""
        if not self._starts.take(name):
            raise run_issues.TOO_OFTEN.error(person=name, limit=self._per_minute)


def _participant(call: Call) -> Participant:
    assert isinstance(call.caller, Person), "the routes require it"
    return Participant(call.actor, call.caller.role, call.environments, call.token)


def _seconds(text: str) -> float:
    """Raises InputError AUTH-002."""
    try:
        if (seconds := float(text)) >= 0:
            return seconds
    except ValueError:
        pass
    raise BAD_VALUE.error(what="wait_s in seconds", least=0, most=20)
