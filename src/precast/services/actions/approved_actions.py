"""Actions that other people must approve before they are scheduled.

The digest of a request covers the whole action, with its id: what people approve is this action, with its times and its nodes.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from precast.base import digests
from precast.services.actions.descriptions import describe_action
from precast.services.actions.stored import ParseCron, decode_action, first_due, is_too_late, make_schedule
from precast.services.approvals.approvals import Participant, Proposal, RequestBook
from precast.store.actions import actions as store
from precast.store.actions.actions import ActionRow, Actions, ActionState, DueRow
from precast.store.approvals.approvals import ApprovalRequest
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction

ACTION = "action"
# Nodes that a request names; the action has all of them.
NODES_SHOWN = 1_000


class _Payload(msgspec.Struct, frozen=True):
    action: str = ""
    nodes: list[str] = []


class ApprovedActions:
    """Requests the approval of actions, and activates those that are granted."""

    role = "operator"

    def __init__(
        self,
        database: Database,
        actions: Actions,
        environments: Environments,
        requests: RequestBook,
        parse_cron: ParseCron,
    ) -> None:
        self._database, self._actions, self._environments = database, actions, environments
        self._requests, self._parse_cron = requests, parse_cron

    def request(
        self, action: ActionRow, needed: int, nodes: Sequence[str] | None, owner: Participant
    ) -> Transaction[ApprovalRequest]:
        """Request the approval of an action in its environment. `nodes` is None if they are resolved at the start."""
        assert action.environment is not None, "approvals belong to an environment"
        new = decode_action(action).new
        subject = describe_action(new, None if nodes is None else len(nodes))
        payload = msgspec.json.encode(_Payload(action.id, list((nodes or [])[:NODES_SHOWN])))
        proposal = Proposal(ACTION, action.environment, subject, _digest(action), payload, needed)
        return (yield from self._requests.add(proposal, owner, new.why))

    def perform(self, request: ApprovalRequest, approved_by: Sequence[str]) -> Transaction[str | None]:
        action = yield from self._actions.lock(_decode(request).action)
        if action is None or action.state != store.AWAITING_APPROVAL or _digest(action) != request.digest:
            return None
        times, now = decode_action(action).new.times, self._database.clock.now()
        if times.at is not None and is_too_late(times, times.at, now):
            return (yield from self._miss(action, times.at, now))
        next_at = first_due(times, make_schedule(times, self._parse_cron), now)
        yield from self._actions.approve(action.id, len(approved_by), next_at)
        return f"the action {action.id} is active"

    def _miss(self, action: ActionRow, due_at: datetime, now: datetime) -> Transaction[str]:
        """End an action that was approved after its time: people have approved it for that time."""
        message = "it was approved after its time"
        yield from self._actions.add_due(DueRow(action.id, due_at, "", store.BY_TIME, store.MISSED, message=message))
        yield from self._actions.set_state(action.id, ActionState(store.ENDED, None, message, now))
        return f"the action {action.id} was due at {due_at:%Y-%m-%d %H:%M:%SZ} and does not start any more"

    def count_needed(self, request: ApprovalRequest) -> Transaction[int]:
        environment = yield from self._environments.find(request.environment)
        return max(request.needed, environment.action_approvals if environment is not None else 0)

    def concerned_nodes(self, request: ApprovalRequest) -> Sequence[str]:
        return _decode(request).nodes


def _decode(request: ApprovalRequest) -> _Payload:
    return msgspec.json.decode(request.payload, type=_Payload)


def _digest(action: ActionRow) -> str:
    return digests.of_value([action.id, action.environment, msgspec.json.decode(action.body)])
