"""Starts a due action: finds its nodes, checks the rights of its owner, and makes the job, all in the transaction of the due time."""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from precast.services.actions.requests import JOB_KINDS, make_request
from precast.services.actions.rights import ActionRights
from precast.services.actions.stored import StoredAction, decode_action
from precast.services.jobs.creation import JobCreation, NewJob
from precast.services.jobs.requests import JobRequest, StandingSeal
from precast.services.jobs.sealed_commands import find_sealed_until
from precast.services.query.targets import TargetService
from precast.store.actions import actions as store
from precast.store.actions.actions import ActionRow, Actions, DueRow
from precast.store.engine.query import Transaction
from precast.store.jobs.jobs import JobRow, Jobs
from precast.store.nodes.nodes import DEFAULT_ENVIRONMENT, Fleet
from precast.wire.actions import bodies
from precast.wire.jobs.states import STOPPING
from precast.wire.nodes.bodies import TargetsBody


class DueOutcome(NamedTuple):
    """What becomes of a due time: a state, the job that it makes, or a reason in words."""

    state: str
    job: NewJob | None = None
    message: str | None = None

    @property
    def starts(self) -> bool:
        """Whether the due time starts: now, or when its plan has been prepared."""
        return self.job is not None or self.state == store.DUE

    @property
    def job_id(self) -> str | None:
        return None if self.job is None else self.job.id


class NewStart(NamedTuple):
    """A due time that may start now, and the id that its job gets."""

    due_at: datetime
    job: str
    now: datetime


# The environment of each node, by name.
EnvironmentOf = Mapping[str, str]


class ChosenNodes(NamedTuple):
    """The nodes on which an action starts, with their environments, and the seals of commands that were made for them."""

    environment_of: EnvironmentOf
    seals: Mapping[str, bytes]


class ActionStarter:
    """Prepares and makes the jobs of actions; holds no state between calls."""

    def __init__(
        self,
        actions: Actions,
        jobs: Jobs,
        creation: JobCreation,
        fleet: Fleet,
        rights: ActionRights,
        targets: TargetService,
    ) -> None:
        self._actions, self._jobs, self._creation = actions, jobs, creation
        self._fleet, self._rights, self._targets = fleet, rights, targets

    async def resolve(self, nodes: TargetsBody, *, may_be_none: bool = False) -> dict[str, str]:
        """The nodes that match now, with their environments. Raises what targets raise; with `may_be_none`, the answer may be empty."""
        found: dict[str, str] = {}
        after: str | None = ""
        while after is not None:
            page = await self._targets.resolve_page(nodes, after, may_be_gone=may_be_none)
            found |= {row.name: row.environment or DEFAULT_ENVIRONMENT for row in page.nodes}
            after = page.after
        return found

    async def find_matching(self, action: ActionRow, due: DueRow) -> EnvironmentOf | None:
        """The nodes that match at a due time; None if they were resolved when the action was created. Raises what targets raise."""
        new = decode_action(action).new
        if new.resolve == "now" or action.state == store.CANCELLED:
            return None
        found = await self.resolve(new.nodes, may_be_none=bool(due.node))
        if due.cause == store.BY_PERSON and action.environment is not None:
            # The person may have a token for this environment only.
            return {node: name for node, name in found.items() if name == action.environment}
        return found

    def find_open_jobs(self, action: str) -> Transaction[list[JobRow]]:
        """The jobs of an action that have not ended."""
        return (yield from self._jobs.list_open_of_action(action))

    def choose_nodes(
        self, action: ActionRow, stored: StoredAction, found: EnvironmentOf | None, only: Collection[str] = ()
    ) -> Transaction["ChosenNodes | DueOutcome"]:
        """The nodes on which the action starts, or why it does not.

        `found` are those that match now, None if they were resolved when it was created; `only` limits them to nodes that have connected.
        """
        seals: dict[str, bytes] = {}
        if found is None:
            known = yield from self._actions.list_nodes(action.id)
            found = yield from self._find_environments(list(known))
            seals = {node: seal for node, seal in known.items() if seal is not None and node in found}
            if not found:
                return DueOutcome(store.FAILED, message="none of its nodes exists and is active any more")
        elif stored.standing is not None and stored.standing.seal is not None:
            seals = dict.fromkeys(found, stored.standing.seal)
        environment_of = {node: found[node] for node in found if not only or node in only}
        if not environment_of:
            return DueOutcome(store.SKIPPED, message="the node is not one of its targets")
        refusal = yield from self._rights.explain_refusal(action, stored.new.work, environment_of)
        if refusal is not None:
            return DueOutcome(store.FAILED, message=refusal)
        return ChosenNodes(environment_of, seals)

    def prepare(
        self,
        action: ActionRow,
        stored: StoredAction,
        start: NewStart,
        found: EnvironmentOf | None,
        only: Collection[str] = (),
    ) -> Transaction[DueOutcome]:
        """Decide whether the action starts, on the nodes that `choose_nodes` chooses. A plan has to be prepared before: it stays due."""
        if action.kind in bodies.PLAN_KINDS:
            return DueOutcome(store.DUE)
        chosen = yield from self.choose_nodes(action, stored, found, only)
        if isinstance(chosen, DueOutcome):
            return chosen
        environment_of, seals = chosen
        if stored.sealed is not None and (yield from self._jobs.find(stored.sealed.job)) is not None:
            return DueOutcome(store.FAILED, message=f"its command was sealed for one job, {stored.sealed.job}")
        environments = set(environment_of.values())
        new = NewJob(
            start.job if stored.sealed is None else stored.sealed.job,
            JOB_KINDS[action.kind],
            _make_request(action, stored, start, len(environment_of)),
            list(environment_of),
            action.made_by,
            environments.pop() if len(environments) == 1 else None,
            action.id,
            seals,
        )
        return DueOutcome(store.STARTED, new)

    def explain_no_repeat(self, action: ActionRow, names: list[str]) -> Transaction[str | None]:
        """Why an action may not repeat its job on some nodes: its owner may not do it any more; None if it may."""
        environment_of = yield from self._find_environments(names)
        return (yield from self._rights.explain_refusal(action, decode_action(action).new.work, environment_of))

    def apply_overlap(self, action: ActionRow, policy: str) -> Transaction[DueOutcome | None]:
        """What the policy says while an earlier job goes on; None if the action may start."""
        open_jobs = yield from self.find_open_jobs(action.id)
        if not open_jobs:
            return (yield from self._overlap_plan(action, policy))
        if policy == "cancel-old":
            for job in open_jobs:
                yield from self._jobs.request_end(job.id, action.made_by, STOPPING)
            return None
        if policy == "skip":
            return DueOutcome(store.SKIPPED, message=f"the job {open_jobs[0].id} has not ended")
        if (yield from self._actions.has_open(action.id)):
            return DueOutcome(store.SKIPPED, message="an earlier due time is queued already")
        return DueOutcome(store.QUEUED, message=f"it waits for the job {open_jobs[0].id}")

    def _overlap_plan(self, action: ActionRow, policy: str) -> Transaction[DueOutcome | None]:
        """What the policy says while the plan of an earlier due time is being prepared."""
        if action.kind not in bodies.PLAN_KINDS or not (yield from self._actions.has_open(action.id)):
            return None
        if policy == "cancel-old":
            yield from self._actions.decide_open(action.id, store.SKIPPED, "a later due time has come")
            return None
        return DueOutcome(store.SKIPPED, message="the plan of an earlier due time is being prepared")

    def make(self, outcome: DueOutcome) -> Transaction[None]:
        """Make the job of a due time, whose row is stored in the same transaction."""
        if outcome.job is not None:
            yield from self._creation.create(outcome.job)

    def _find_environments(self, names: list[str]) -> Transaction[dict[str, str]]:
        """The active ones of these nodes, in this order, with their environments."""
        inputs = yield from self._fleet.read_compile_inputs(names)
        known = {node.name: node.environment or DEFAULT_ENVIRONMENT for node in inputs}
        return {name: known[name] for name in names if name in known}


def _make_request(action: ActionRow, stored: StoredAction, start: NewStart, count: int) -> JobRequest:
    within_s = stored.new.times.start_within_s
    until = None if within_s is None else start.due_at + timedelta(seconds=within_s)
    request = make_request(stored, count, until)
    if stored.sealed is not None:
        return msgspec.structs.replace(request, token=action.token, sealed_until=stored.sealed.sealed_until)
    if stored.standing is not None:
        standing = StandingSeal(action.id, stored.standing.sealed_until)
        last_at = min(standing.until, find_sealed_until(request, count, start.now))
        return msgspec.structs.replace(request, token=action.token, sealed_until=last_at, standing=standing)
    return request


def explain_skip(action: ActionRow, due: DueRow) -> DueOutcome | None:
    """Why a due time does not start by the state of its action; None if it may."""
    if action.state in store.OVER and due.cause != store.BY_TIME:
        return DueOutcome(store.SKIPPED, message=f"the action is {action.state}")
    if action.state == store.CANCELLED:
        return DueOutcome(store.SKIPPED, message="the action is cancelled")
    if action.state == store.PAUSED and due.cause != store.BY_PERSON:
        return DueOutcome(store.SKIPPED, message="the action is paused")
    return None
