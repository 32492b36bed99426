"""Runs of plans as people request them: checks and starts plans, resumes and retries runs, repeats a task on one node.

`creation` stores a run whole, in the transaction that starts it. The commit wakes the driver of jobs; this service itself drives nothing.
"""

from collections.abc import Collection, Iterable, Sequence

import msgspec

from precast.base.ids import Ids
from precast.plans.model import Plan
from precast.plans.views.descriptions import count
from precast.services import texts
from precast.services.approvals.approvals import Participant
from precast.services.identity import roles
from precast.services.identity.signer.messages import Credential
from precast.services.jobs.requests import JobRequest, resolve_amount
from precast.services.jobs.sealed_commands import CommandSigner
from precast.services.plans import issues
from precast.services.plans.creation import PlanRunCreation
from precast.services.plans.pinned import PinnedPlan
from precast.services.plans.preparing.preparation import PlanPreparation, PreparedPlan
from precast.services.plans.reading import PlanReading
from precast.services.plans.seals import SealedPrograms, seal_programs
from precast.store.engine.database import Database
from precast.store.plans.runs import ProgramRow
from precast.wire.jobs.views import JobLimits
from precast.wire.plans.bodies import PlanCheck, PlanRequest, PlanRunView

OUTPUT_BYTES = 256 * 1024


class PlanStarter:
    """Holds no state between calls."""

    def __init__(
        self,
        database: Database,
        creation: PlanRunCreation,
        preparation: PlanPreparation,
        reading: PlanReading,
        signer: CommandSigner,
        ids: Ids,
    ) -> None:
        self._database, self.creation, self._preparation = database, creation, preparation
        self._reading, self._signer, self._ids = reading, signer, ids

    async def check(self, request: PlanRequest, participant: Participant) -> PlanCheck:
        """Check a plan over nodes; nothing is stored. Raises what targets raise, PLAN-101 to -104."""
        prepared = await self._preparation.prepare(request, participant, is_start=False)
        return prepared.check

    async def start(
        self, request: PlanRequest, participant: Participant, credential: Credential | None = None
    ) -> PlanRunView:
        """Start a plan over nodes. Raises what targets and the signer raise, PLAN-101 to -110, PLAN-114; then nothing was started."""
        texts.check("the reason", request.why)
        prepared = await self._preparation.prepare(request, participant, is_start=True)
        check_rights(prepared, participant)
        if prepared.check.skipped >= prepared.check.instances:
            raise issues.NOTHING_TO_DO.error(plan=prepared.check.name)
        started = await self.launch(
            self._ids.new(), make_request(request, prepared.pinned), prepared, participant, credential
        )
        return msgspec.structs.replace(started, warnings=prepared.check.warnings)

    async def require_nodes(self, names: Sequence[str], participant: Participant) -> None:
        """Raises DeniedError RUN-006 if a node of a run is by now in an environment that is not the participant's."""
        await self._preparation.require_nodes(names, participant)

    async def launch(
        self,
        job: str,
        request: JobRequest,
        prepared: PreparedPlan,
        participant: Participant,
        credential: Credential | None,
    ) -> PlanRunView:
        """Have the programs sealed, and store the run."""
        plan = prepared.pinned.plan
        sealed = await self.seal(job, request, plan, prepared.commands, participant.actor, credential)
        request = with_seals(request, sealed, credential)
        await self._database.write(self.creation.create, job, request, prepared, sealed, participant.actor)
        return await self._reading.show(job)

    async def seal(
        self,
        job: str,
        request: JobRequest,
        plan: Plan,
        programs: Iterable[ProgramRow],
        made_by: str,
        credential: Credential | None,
    ) -> SealedPrograms:
        """Have programs sealed for their nodes. Raises the signer's error; then nothing is ordered."""
        timed = [(program, plan.tasks[program.task - 1].timeout_s) for program in programs]
        now = self._database.clock.now()
        return await seal_programs(self._signer, job, request, made_by, timed, credential, now)


def make_request(request: PlanRequest, pinned: PinnedPlan) -> JobRequest:
    """The request of the run's job."""
    return JobRequest(
        JobLimits(away_s=request.away_s),
        resolve_amount(request.at_once, len(pinned.nodes)),
        mode=request.mode,
        output_bytes=OUTPUT_BYTES,
        why=request.why,
        overrides_window=request.overrides_window,
        overrides_futures=request.overrides_futures,
    )


def with_seals(request: JobRequest, sealed: SealedPrograms, credential: Credential | None) -> JobRequest:
    token = "" if credential is None or sealed.until is None else credential.record.id
    return msgspec.structs.replace(request, token=token, sealed_until=sealed.until, standing=None)


def check_errors(prepared: PreparedPlan) -> None:
    """Raises InputError PLAN-105 for a plan with errors."""
    check = prepared.check
    if check.errors:
        first = check.errors[0]
        place = f"{first.file}:{first.line}: " if first.file else ""
        raise issues.BROKEN.error(plan=check.name, errors=count(len(check.errors), "error"), first=place + first.text)


def check_rights(prepared: PreparedPlan, participant: Participant) -> None:
    """Raises InputError PLAN-105 for a plan with errors, DeniedError PLAN-107 without the role for commands."""
    check_errors(prepared)
    check = prepared.check
    if check.needs_commands and not may_run_commands(participant):
        raise issues.COMMANDS_NEEDED.error(tasks=list_names(check.needs_commands))


def may_run_commands(participant: Participant) -> bool:
    """Whether the signer would seal commands for a person: for those of the whole site only."""
    return roles.includes(participant.role, roles.COMMANDS) and not participant.environments


def list_names(names: Collection[str]) -> str:
    """The first names, for a message."""
    shown = ", ".join(sorted(names)[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
