"""Runs of plans as people request them: checks and starts plans, resumes and retries runs, repeats a task on one node.

A run is stored whole, with its attempts and all that it has pinned, in the transaction that starts it. The commit wakes the driver of jobs;
this service itself drives nothing.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import msgspec

from precast.base.ids import Ids
from precast.plans.model import Plan
from precast.plans.views.descriptions import count
from precast.services import texts
from precast.services.approvals.approvals import Participant
from precast.services.identity import roles
from precast.services.identity.signer.messages import Credential
from precast.services.jobs.creation import JobCreation
from precast.services.jobs.requests import EXEC_GRACE_S, PLAN, JobRequest, digest_work, resolve_amount
from precast.services.jobs.sealed_commands import CommandSigner
from precast.services.plans import issues
from precast.services.plans.pinned import PinnedPlan
from precast.services.plans.preparing.catalogs import CatalogPins
from precast.services.plans.preparing.preparation import Instances, PlanPreparation, PreparedPlan
from precast.services.plans.reading import PlanReading
from precast.services.plans.seals import SealedPrograms, seal_programs
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.jobs.attempts import Attempts, NewAttempt
from precast.store.jobs.jobs import NewJobRow
from precast.store.plans.runs import PlanRunRow, PlanRuns, ProgramRow
from precast.store.plans.task_content import TaskContents
from precast.wire.jobs.views import JobLimits
from precast.wire.plans.bodies import PlanCheck, PlanRequest, PlanRunView

OUTPUT_BYTES = 256 * 1024
NAMES_SHOWN = 20


class RunStores(NamedTuple):
    """The stores that runs are written to."""

    creation: JobCreation
    attempts: Attempts
    runs: PlanRuns
    contents: TaskContents
    catalogs: CatalogPins
    audit: AuditLog


class PlanStarter:
    """Holds no state between calls."""

    def __init__(
        self,
        database: Database,
        stores: RunStores,
        preparation: PlanPreparation,
        reading: PlanReading,
        signer: CommandSigner,
        ids: Ids,
    ) -> None:
        self._database, self._stores, self._preparation = database, stores, preparation
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
        return await self.launch(
            self._ids.new(), make_request(request, prepared.pinned), prepared, participant, credential
        )

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
        await self._database.write(self._create, job, request, prepared, sealed, participant.actor)
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

    def _create(
        self, job: str, request: JobRequest, prepared: PreparedPlan, sealed: SealedPrograms, actor: str
    ) -> Transaction[None]:
        pinned, stores = prepared.pinned, self._stores
        work = digest_work(PLAN, request, pinned.plan.name)
        request = yield from stores.creation.estimate(work, request)
        row = NewJobRow(job, PLAN, request.encode(), pinned.environment, None, actor, work)
        yield from stores.creation.create_empty(row, len(pinned.nodes))
        yield from self.pin(job, prepared)
        yield from self.add_round(job, 1, request, pinned, prepared.instances, sealed)
        nodes = [node.name for node in pinned.nodes]
        detail = {
            "run": job,
            "why": request.why,
            "nodes": nodes[:NAMES_SHOWN],
            "count": len(nodes),
            "overrides_window": request.overrides_window,
        }
        yield from stores.audit.add(
            actor, "plan.start", pinned.plan.name, digest=prepared.check.digest, mode=pinned.mode, **detail
        )

    def pin(self, job: str, prepared: PreparedPlan) -> Transaction[None]:
        """Store what a run uses from now on."""
        stores, pinned = self._stores, prepared.pinned
        row = PlanRunRow(job, pinned.plan.name, prepared.check.digest, pinned.encode())
        yield from stores.runs.pin(row, prepared.programs, prepared.data)
        if pinned.replays:
            yield from stores.catalogs.copy_holds(pinned.replays, job, pinned.catalogs)
        else:
            yield from stores.catalogs.hold(job, pinned.catalogs)
        if prepared.executables:
            yield from stores.contents.allow(job, prepared.executables)
        if prepared.collecting:
            yield from stores.contents.expect(job, prepared.collecting)

    def add_round(
        self,
        job: str,
        n: int,
        request: JobRequest,
        pinned: PinnedPlan,
        instances: Iterable[Instances],
        sealed: SealedPrograms,
    ) -> Transaction[None]:
        """Add an attempt for each of these steps. Those of the first round are no changes: a large run would begin with as many."""
        attempts = [
            NewAttempt(
                group.task,
                node,
                place,
                0,
                seal=sealed.seals.get((group.task, node)),
                allowed_s=pinned.plan.tasks[group.task - 1].timeout_s + EXEC_GRACE_S,
                is_known=n == 1,
            )
            for group in instances
            for place, node in enumerate(group.nodes)
        ]
        yield from self._stores.attempts.add(job, n, request.allowed_s, attempts)


def make_request(request: PlanRequest, pinned: PinnedPlan) -> JobRequest:
    """The request of the run's job."""
    return JobRequest(
        JobLimits(away_s=request.away_s),
        resolve_amount(request.at_once, len(pinned.nodes)),
        mode=request.mode,
        output_bytes=OUTPUT_BYTES,
        why=request.why,
        overrides_window=request.overrides_window,
    )


def with_seals(request: JobRequest, sealed: SealedPrograms, credential: Credential | None) -> JobRequest:
    token = "" if credential is None or sealed.until is None else credential.record.id
    return msgspec.structs.replace(request, token=token, sealed_until=sealed.until)


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
    if check.needs_commands and not roles.includes(participant.role, roles.COMMANDS):
        raise issues.COMMANDS_NEEDED.error(tasks=list_names(check.needs_commands))


def list_names(names: Collection[str]) -> str:
    """The first names, for a message."""
    shown = ", ".join(sorted(names)[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
