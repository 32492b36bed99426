"""Rebases a run that has ended on another version of its plan, and on present data and catalogs.

Shown first: how the two versions of the plan differ, and which tasks are new, gone, or do something else, and on which nodes. Tasks that do
something else run again; what has succeeded and is the same stays as it is, also if what it waits for runs again.
"""

import asyncio
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec

from precast.services.approvals.approvals import Participant
from precast.services.identity.signer.messages import Credential
from precast.services.jobs import issues as job_issues
from precast.services.jobs.requests import decode_request
from precast.services.plans import issues
from precast.services.plans.changes import RESUME, EndedRun
from precast.services.plans.preparing.preparation import Instances, PlanPreparation, PreparedPlan
from precast.services.plans.reading import PlanReading
from precast.services.plans.rebase_changes import RebaseChanges
from precast.services.plans.runs import PlanStarter, check_errors, check_rights, with_seals
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.jobs.attempts import Attempts
from precast.store.jobs.jobs import Jobs
from precast.store.plans.runs import PlanRuns, ProgramRow
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.plans.bodies import PlanRequest, PlanSource, ResumeView


class PlanRebasing:
    """Holds no state between calls."""

    def __init__(
        self,
        database: Database,
        jobs: Jobs,
        attempts: Attempts,
        runs: PlanRuns,
        audit: AuditLog,
        reading: PlanReading,
        preparation: PlanPreparation,
        starter: PlanStarter,
    ) -> None:
        self._database, self._jobs, self._attempts, self._runs = database, jobs, attempts, runs
        self._audit, self._reading = audit, reading
        self._preparation, self._starter = preparation, starter

    async def preview(
        self, run: str, source: PlanSource, participant: Participant, parameters: Mapping[str, Any] | None = None
    ) -> ResumeView:
        """What a rebase would change; nothing is stored. Raises what a start raises, PLAN-115, RUN-007."""
        ended = await self._database.read(self._find_ended, run, participant.environments)
        prepared = await self._prepare(ended, source, participant, parameters or {})
        check_errors(prepared)
        return await self._view(await self._compare(ended, prepared), prepared, run, participant)

    async def rebase(
        self,
        run: str,
        source: PlanSource,
        participant: Participant,
        credential: Credential | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> ResumeView:
        """Go on with a run on another version of its plan. Raises what a start raises, PLAN-115, RUN-007, RUN-008."""
        ended = await self._database.read(self._find_ended, run, participant.environments)
        prepared = await self._prepare(ended, source, participant, parameters or {})
        check_rights(prepared, participant)
        changes = await self._compare(ended, prepared)
        instances = changes.choose_instances()
        if not instances:
            raise job_issues.NOTHING_TO_REPEAT.error(run=run, verb=RESUME, states="failed or left to do")
        await self._open(ended, prepared, instances, changes.find_tasks(), participant, credential)
        return await self._view(changes, prepared, run, participant)

    async def _prepare(
        self, ended: EndedRun, source: PlanSource, participant: Participant, parameters: Mapping[str, Any]
    ) -> PreparedPlan:
        """Prepare the other version as a start does, also for a preview: it shows which catalogs differ, so it waits for them."""
        pinned = ended.pinned
        request = PlanRequest(
            source,
            TargetsBody([node.name for node in pinned.nodes]),
            pinned.master,
            dict(parameters),
            pinned.subset,
            pinned.mode,
        )
        prepared = await self._preparation.prepare(request, participant, is_start=True, before=pinned)
        if (environment := prepared.pinned.environment) != pinned.environment:
            # Whoever sees the run sees the nodes of the environment for which it was started.
            raise issues.SEVERAL_ENVIRONMENTS.error(environments=f"{pinned.environment}, {environment}")
        return prepared

    async def _compare(self, ended: EndedRun, prepared: PreparedPlan) -> RebaseChanges:
        rows = await self._database.read(self._read_programs, ended.job.id, len(ended.pinned.plan.tasks))
        return await asyncio.to_thread(RebaseChanges, ended, rows, prepared)

    async def _view(
        self, changes: RebaseChanges, prepared: PreparedPlan, run: str, participant: Participant
    ) -> ResumeView:
        shown = await self._reading.show(run, participant.environments)
        return ResumeView(shown, changes.list_changes(), msgspec.to_builtins(prepared.comparison))

    async def _open(
        self,
        ended: EndedRun,
        prepared: PreparedPlan,
        instances: Sequence[Instances],
        changed: AbstractSet[int],
        participant: Participant,
        credential: Credential | None,
    ) -> None:
        """Store what the run has pinned now, and open another round."""
        run, job = ended.job.id, ended.job
        wanted = {(group.task, node) for group in instances for node in group.nodes}
        commands = [
            row._replace(nodes=nodes)
            for row in prepared.commands
            if (nodes := [node for node in row.nodes if (row.task, node) in wanted])
        ]
        request, plan = decode_request(job), prepared.pinned.plan
        sealed = await self._starter.seal(run, request, plan, commands, job.made_by, credential)
        request = with_seals(request, sealed, credential)

        def store() -> Transaction[None]:
            if not (yield from self._jobs.reopen(job, request.encode())):
                raise job_issues.RUN_OPEN.error(run=run, verb=RESUME)
            yield from self._starter.creation.pin(run, prepared)
            yield from self._runs.withdraw_approvals(run, changed)
            yield from self._starter.creation.add_round(run, job.round + 1, request, prepared.pinned, instances, sealed)
            yield from self._audit.add(
                participant.actor, "plan.rebase", plan.name, run=run, digest=prepared.check.digest
            )

        await self._database.write(store)

    def _find_ended(self, run: str, environments: Sequence[str]) -> Transaction[EndedRun]:
        job, _, pinned = yield from self._reading.find(run, environments)
        if job.ended_at is None:
            raise job_issues.RUN_OPEN.error(run=run, verb=RESUME)
        return EndedRun(job, pinned, (yield from self._attempts.list_states(run)))

    def _read_programs(self, run: str, tasks: int) -> Transaction[list[ProgramRow]]:
        rows: list[ProgramRow] = []
        for task in range(1, tasks + 1):
            rows += yield from self._runs.list_programs(run, task)
        return rows
