"""Prepares the plans of actions, and stores their runs.

A plan is prepared whenever its action starts, from what the environment has then. What it runs as a command was sealed when the action was
created, so the action starts no command that its owner has not ordered: if the plan or a task has changed, the due time fails and says so.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from precast.services.actions import issues
from precast.services.actions.plan_requests import make_plan_request
from precast.services.actions.stored import StoredAction, decode_action
from precast.services.approvals.approvals import Participant
from precast.services.identity.signer.messages import Credential
from precast.services.identity.signer.verbs.commands import LONGEST
from precast.services.jobs.requests import JobRequest, StandingSeal
from precast.services.jobs.sealed_commands import CommandSigner
from precast.services.plans import issues as plan_issues
from precast.services.plans.creation import PlanRunCreation
from precast.services.plans.preparing.preparation import PlanPreparation, PreparedPlan
from precast.services.plans.runs import check_rights, make_request
from precast.services.plans.seals import (
    SealedPrograms,
    StandingSeals,
    find_standing_seals,
    seal_standing_programs,
)
from precast.store.actions.actions import ActionRow
from precast.store.engine.query import Transaction
from precast.store.plans.runs import ProgramRow
from precast.wire.actions import bodies
from precast.wire.actions.bodies import NewAction


class PlanStart(NamedTuple):
    """A run that is ready to be stored."""

    prepared: PreparedPlan
    request: JobRequest
    sealed: SealedPrograms


class PlanActions:
    """Holds no state between calls."""

    def __init__(self, preparation: PlanPreparation, creation: PlanRunCreation) -> None:
        self._preparation, self._creation = preparation, creation

    async def check(self, new: NewAction, owner: Participant, nodes: Mapping[str, str]) -> PreparedPlan:
        """Check the plan of a new action over the nodes that match now, given with their environments.

        Raises what a start of a plan raises.
        """
        prepared = await self._preparation.prepare(make_plan_request(new), owner, is_start=False, known=nodes)
        _check(new, prepared, owner)
        return prepared

    async def seal(
        self,
        signer: CommandSigner,
        action: str,
        new: NewAction,
        prepared: PreparedPlan,
        owner: Participant,
        until: datetime,
        credential: Credential | None,
    ) -> dict[str, bytes]:
        """Have the commands of a plan sealed for an action: by node, or under an empty name for any. Raises the signer's error."""
        request = make_request(make_plan_request(new), prepared.pinned)
        programs = _time_programs(prepared)
        is_for_any = new.resolve == "start"
        seals = await seal_standing_programs(
            signer, action, request, owner.actor, programs, until, credential, is_for_any=is_for_any
        )
        return {node: msgspec.json.encode(given) for node, given in seals.items()}

    async def prepare(
        self,
        action: ActionRow,
        owner: Participant,
        nodes: Mapping[str, str],
        seals: Mapping[str, bytes],
        now: datetime,
    ) -> PlanStart:
        """Prepare a run over nodes, given with their environments and their seals. Raises what a start of a plan raises, PLAN-119."""
        stored = decode_action(action)
        plan = make_plan_request(stored.new)
        prepared = await self._preparation.prepare(plan, owner, is_start=True, known=nodes)
        _check(stored.new, prepared, owner)
        if prepared.check.skipped >= prepared.check.instances:
            raise plan_issues.NOTHING_TO_DO.error(plan=prepared.check.name)
        request = make_request(plan, prepared.pinned)
        limits = msgspec.structs.replace(request.limits, needs_s=stored.new.limits.needs_s)
        request = msgspec.structs.replace(request, limits=limits)
        if not prepared.commands:
            return PlanStart(prepared, request, SealedPrograms({}, None))
        given = _decode_seals(stored, seals)
        found = find_standing_seals(given, request, action.made_by, _time_programs(prepared))
        assert stored.standing is not None, "without it there are no seals"
        until = min(stored.standing.sealed_until, now + LONGEST)
        standing = StandingSeal(action.id, stored.standing.sealed_until)
        request = msgspec.structs.replace(request, token=action.token, sealed_until=until, standing=standing)
        return PlanStart(prepared, request, SealedPrograms(found, until))

    def store(self, action: ActionRow, job: str, start: PlanStart) -> Transaction[None]:
        """Store the run as the job of an action. Raises UnavailableError PLAN-109, RUN-004."""
        yield from self._creation.create(job, start.request, start.prepared, start.sealed, action.made_by, action.id)


def _check(new: NewAction, prepared: PreparedPlan, owner: Participant) -> None:
    """Raises InputError PLAN-105 or, since nobody has written the plan of a task, ACTION-017; DeniedError PLAN-107."""
    if new.work.kind == bodies.TASK and prepared.check.errors:
        first = prepared.check.errors[0]
        raise issues.BROKEN_TASK.error(task=new.work.task, reason=first.text, hint=first.hint)
    check_rights(prepared, owner)


def require_plan_kind(new: NewAction) -> None:
    """Raises InputError ACTION-004 if the plan is missing or cannot be of an action."""
    if new.resolve == "now" and new.times.on is not None:
        raise issues.BAD_PLAN.error(
            kind=new.work.kind, problem="with --on finds its nodes at the start: --resolve start"
        )
    make_plan_request(new)


def _time_programs(prepared: PreparedPlan) -> Sequence[tuple[ProgramRow, float]]:
    """The programs that run commands, each with the time that it may take."""
    tasks = prepared.pinned.plan.tasks
    return [(program, tasks[program.task - 1].timeout_s) for program in prepared.commands]


def _decode_seals(stored: StoredAction, seals: Mapping[str, bytes]) -> dict[str, StandingSeals]:
    given = dict(seals)
    if stored.standing is not None and stored.standing.seal is not None:
        given[""] = stored.standing.seal
    return {node: msgspec.json.decode(seal, type=StandingSeals) for node, seal in given.items()}
