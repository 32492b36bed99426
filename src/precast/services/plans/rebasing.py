"""Rebases a run that has ended on another version of its plan, and on present data and catalogs.

Shown first: which tasks are new, gone, or do something else, and on which nodes. Tasks that do something else run again; what has succeeded
and is the same stays as it is, also if what it waits for runs again.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec

from precast.plans.model import Plan
from precast.services.approvals.approvals import Participant
from precast.services.identity.signer.messages import Credential
from precast.services.jobs import issues as job_issues
from precast.services.jobs.requests import decode_request
from precast.services.plans import issues
from precast.services.plans.changes import RESUME, EndedRun, has_work, is_done
from precast.services.plans.preparing.preparation import Instances, PlanPreparation, PreparedPlan
from precast.services.plans.reading import PlanReading
from precast.services.plans.runs import PlanStarter, check_errors, check_rights, with_seals
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.jobs.attempts import Attempts
from precast.store.jobs.jobs import Jobs
from precast.store.plans.runs import PlanRuns, ProgramRow
from precast.wire.jobs import states
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.plans.bodies import PlanRequest, PlanSource, RebaseChange, ResumeView

# What a task does on a node, by the number of the task and the node.
Programs = Mapping[tuple[int, str], str]


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
        prepared = await self._prepare(ended, source, participant, parameters or {}, is_start=False)
        check_errors(prepared)
        changes = await self._compare(ended, prepared)
        return ResumeView(await self._reading.show(run, participant.environments), changes)

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
        prepared = await self._prepare(ended, source, participant, parameters or {}, is_start=True)
        check_rights(prepared, participant)
        changes = await self._compare(ended, prepared)
        before = await self._database.read(self._read_all_programs, run, ended.pinned.plan)
        instances = choose_instances(ended, prepared, before)
        if not instances:
            raise job_issues.NOTHING_TO_REPEAT.error(run=run, verb=RESUME, states="failed or left to do")
        changed = find_changed(ended.pinned.plan, before, prepared)
        await self._open(ended, prepared, instances, changed, participant, credential)
        return ResumeView(await self._reading.show(run, participant.environments), changes)

    async def _prepare(
        self,
        ended: EndedRun,
        source: PlanSource,
        participant: Participant,
        parameters: Mapping[str, Any],
        *,
        is_start: bool,
    ) -> PreparedPlan:
        pinned = ended.pinned
        request = PlanRequest(
            source,
            TargetsBody([node.name for node in pinned.nodes]),
            pinned.master,
            dict(parameters),
            pinned.subset,
            pinned.mode,
        )
        prepared = await self._preparation.prepare(request, participant, is_start=is_start, before=pinned)
        if (environment := prepared.pinned.environment) != pinned.environment:
            # Whoever sees the run sees the nodes of the environment for which it was started.
            raise issues.SEVERAL_ENVIRONMENTS.error(environments=f"{pinned.environment}, {environment}")
        return prepared

    async def _compare(self, ended: EndedRun, prepared: PreparedPlan) -> list[RebaseChange]:
        before = await self._database.read(self._read_all_programs, ended.job.id, ended.pinned.plan)
        return compare_programs(ended.pinned.plan, before, prepared)

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
            yield from self._starter.pin(run, prepared)
            yield from self._runs.withdraw_approvals(run, changed)
            yield from self._starter.add_round(run, job.round + 1, request, prepared.pinned, instances, sealed)
            yield from self._audit.add(
                participant.actor, "plan.rebase", plan.name, run=run, digest=prepared.check.digest
            )

        await self._database.write(store)

    def _find_ended(self, run: str, environments: Sequence[str]) -> Transaction[EndedRun]:
        job, _, pinned = yield from self._reading.find(run, environments)
        if job.ended_at is None:
            raise job_issues.RUN_OPEN.error(run=run, verb=RESUME)
        return EndedRun(job, pinned, (yield from self._attempts.list_states(run)))

    def _read_all_programs(self, run: str, plan: Plan) -> Transaction[Programs]:
        rows: list[ProgramRow] = []
        for task in range(1, len(plan.tasks) + 1):
            rows += yield from self._runs.list_programs(run, task)
        return list_programs(rows)


def list_programs(rows: Iterable[ProgramRow]) -> Programs:
    return {(row.task, node): row.program for row in rows for node in row.nodes}


def choose_instances(ended: EndedRun, prepared: PreparedPlan, before: Programs) -> list[Instances]:
    """The steps of the next round: what has not succeeded, what is new, and what does something else now."""
    done = {(step.task, step.node) for step in ended.steps if is_done(step)}
    after = list_programs(prepared.programs)
    chosen = []
    tasks = prepared.pinned.plan.tasks
    for group in prepared.instances:
        if tasks[group.task - 1].is_always:
            chosen.append(group)
            continue
        nodes = [
            node
            for node in group.nodes
            if (key := (group.task, node)) not in done or (key in after and after[key] != before.get(key))
        ]
        if nodes:
            chosen.append(Instances(group.task, nodes))
    return chosen if has_work(prepared.pinned.plan, chosen) else []


def find_changed(plan: Plan, before: Programs, prepared: PreparedPlan) -> set[int]:
    """The tasks that ask for another approval, or do something else on some node: who has let them go has not seen that."""
    after = list_programs(prepared.programs)
    changed = {key[0] for key, program in after.items() if before.get(key) != program}
    pairs = enumerate(zip(plan.tasks, prepared.pinned.plan.tasks, strict=False), start=1)
    return changed | {number for number, (old, new) in pairs if old.approval != new.approval}


def compare_programs(before_plan: Plan, before: Programs, prepared: PreparedPlan) -> list[RebaseChange]:
    """How tasks differ: by what they do on each node. One that a condition leaves out now is still there."""
    after, after_plan = list_programs(prepared.programs), prepared.pinned.plan
    left_out = {
        (row.task, node) for row in prepared.pinned.skipped if row.reason != states.NO_WORK for node in row.nodes
    }
    changed: dict[tuple[int, str], list[str]] = defaultdict(list)
    for key in sorted({*before, *after}):
        if before.get(key) != after.get(key) and (key in after or key not in left_out):
            what = "added" if key not in before else "removed" if key not in after else "changed"
            changed[key[0], what].append(key[1])
    titles = {number: task.id for plan in (before_plan, after_plan) for number, task in enumerate(plan.tasks, start=1)}
    views = [{"task": titles[task], "change": what, "nodes": nodes} for (task, what), nodes in sorted(changed.items())]
    return msgspec.convert(views, list[RebaseChange])
