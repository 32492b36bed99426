"""What people change in runs: they let tasks go, resume runs, retry failures, and repeat a task on one node.

Another round of a run has new attempts for what has not succeeded; what has succeeded stays as it is, and a result that came after the
deadline counts. A rebase gives the run another version of the plan: tasks keep their numbers by their ids, and those whose programs differ
run again.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from precast.net.model.compiler import guess
from precast.plans.collection import find_collections
from precast.plans.model import Plan
from precast.services.approvals.approvals import Participant
from precast.services.identity.signer.messages import Credential
from precast.services.jobs import issues as job_issues
from precast.services.jobs.requests import decode_request
from precast.services.plans import issues
from precast.services.plans.pinned import PinnedPlan
from precast.services.plans.preparing.preparation import Instances
from precast.services.plans.reading import PlanReading
from precast.services.plans.runs import PlanStarter, list_names, may_run_commands, with_seals
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.jobs.attempts import Attempts, StepState
from precast.store.jobs.jobs import JobRow, Jobs
from precast.store.plans.runs import PlanRuns, ProgramRow
from precast.wire.jobs import states
from precast.wire.jobs.programs import parse_program
from precast.wire.plans.bodies import PlanRunView

RESUME, RETRY = "resume", "retry"
_FAILED = (states.FAILED, states.EXPIRED)
# Reasons of SKIPPED for which a resume goes on with a step.
_HELD_UP = (states.DEP_FAILED, states.HALTED, states.AWAY)


class PlanChangesService:
    """Holds no state between calls."""

    def __init__(
        self,
        database: Database,
        jobs: Jobs,
        attempts: Attempts,
        runs: PlanRuns,
        audit: AuditLog,
        reading: PlanReading,
        starter: PlanStarter,
    ) -> None:
        self._database, self._jobs, self._attempts, self._runs = database, jobs, attempts, runs
        self._audit, self._reading, self._starter = audit, reading, starter

    async def approve(self, run: str, task: str, participant: Participant) -> PlanRunView:
        """Let a task go. Raises NotFoundError PLAN-111, PLAN-115, ConflictError PLAN-112."""
        await self._database.write(self._approve, run, task, participant)
        return await self._reading.show(run, participant.environments)

    async def stop(self, run: str, participant: Participant, state: str) -> PlanRunView:
        """Let no other task begin; with the state ABORTING also end those that run. Raises PLAN-115, ConflictError RUN-002."""
        await self._database.write(self._request_end, run, participant, state)
        return await self._reading.show(run, participant.environments)

    async def resume(self, run: str, participant: Participant, credential: Credential | None = None) -> PlanRunView:
        """Go on with a run that has ended, with everything that has not succeeded. Raises PLAN-107, PLAN-115, RUN-006 to RUN-008."""
        return await self._repeat(run, RESUME, find_unfinished, participant, credential)

    async def retry(
        self, run: str, tasks: Sequence[str], participant: Participant, credential: Credential | None = None
    ) -> PlanRunView:
        """Repeat the tasks that have failed, and go on with what follows from them; with `tasks` only these.

        Raises what `resume` raises, and PLAN-111.
        """

        def choose(pinned: PinnedPlan, steps: Sequence[StepState]) -> list[Instances]:
            numbers = {find_task(pinned.plan, run, task) for task in tasks}
            return find_failed(pinned, steps, numbers | find_collections(pinned.plan.tasks, numbers))

        return await self._repeat(run, RETRY, choose, participant, credential)

    async def _repeat(
        self,
        run: str,
        verb: str,
        choose: Callable[[PinnedPlan, Sequence[StepState]], list[Instances]],
        participant: Participant,
        credential: Credential | None,
    ) -> PlanRunView:
        """Open another round for some of the steps."""
        ended = await self._database.read(self._find_ended, run, verb, participant.environments)
        instances = choose(ended.pinned, ended.steps)
        if not instances:
            raise job_issues.NOTHING_TO_REPEAT.error(run=run, verb=verb, states="failed or left to do")
        nodes = sorted({node for group in instances for node in group.nodes})
        await self._starter.require_nodes(nodes, participant)
        programs = await self._database.read(self._read_programs, run, instances)
        commands = [row for row in programs if parse_program(row.program).needs_command_right]
        if commands and not may_run_commands(participant):
            names = {ended.pinned.plan.tasks[row.task - 1].id for row in commands}
            raise issues.COMMANDS_NEEDED.error(tasks=list_names(names))
        request = decode_request(ended.job)
        sealed = await self._starter.seal(run, request, ended.pinned.plan, commands, ended.job.made_by, credential)
        request = with_seals(request, sealed, credential)

        def store() -> Transaction[None]:
            if not (yield from self._jobs.reopen(ended.job, request.encode())):
                raise job_issues.RUN_OPEN.error(run=run, verb=verb)
            yield from self._starter.creation.add_round(
                run, ended.job.round + 1, request, ended.pinned, instances, sealed
            )
            count = sum(len(group.nodes) for group in instances)
            yield from self._audit.add(participant.actor, f"plan.{verb}", ended.pinned.plan.name, run=run, count=count)

        await self._database.write(store)
        return await self._reading.show(run, participant.environments)

    # Transactions

    def _approve(self, run: str, task: str, participant: Participant) -> Transaction[None]:
        job, _, pinned = yield from self._reading.find(run, participant.environments)
        number = find_task(pinned.plan, run, task)
        if not pinned.plan.tasks[number - 1].approval:
            raise issues.NO_APPROVAL.error(task=task, run=run, reason="needs no approval")
        if job.ended_at is not None:
            raise issues.NO_APPROVAL.error(task=task, run=run, reason="cannot be approved: the run has ended")
        if not (yield from self._runs.approve(run, number, participant.actor)):
            raise issues.NO_APPROVAL.error(task=task, run=run, reason="was approved before")
        yield from self._audit.add(participant.actor, "plan.approve", pinned.plan.name, run=run, task=task)
        yield from self._jobs.wake([run])

    def _request_end(self, run: str, participant: Participant, state: str) -> Transaction[None]:
        job, _, pinned = yield from self._reading.find(run, participant.environments)
        if not (yield from self._jobs.request_end(run, participant.actor, state)):
            raise job_issues.RUN_OVER.error(run=run, state=job.state)
        verb = "abort" if state == states.ABORTING else "stop"
        yield from self._audit.add(participant.actor, f"plan.{verb}", pinned.plan.name, run=run)

    def _find_ended(self, run: str, verb: str, environments: Sequence[str]) -> Transaction["EndedRun"]:
        job, _, pinned = yield from self._reading.find(run, environments)
        if job.ended_at is None:
            raise job_issues.RUN_OPEN.error(run=run, verb=verb)
        return EndedRun(job, pinned, (yield from self._attempts.list_states(run)))

    def _read_programs(self, run: str, instances: Iterable[Instances]) -> Transaction[list[ProgramRow]]:
        """The programs of these steps, each with those of its nodes that are among them."""
        found: list[ProgramRow] = []
        for task, nodes in instances:
            wanted = set(nodes)
            for row in (yield from self._runs.list_programs(run, task)):
                names = [node for node in row.nodes if node in wanted]
                found += [row._replace(nodes=names)] if names else []
        return found


class EndedRun(NamedTuple):
    """A run that has ended, with its newest attempts."""

    job: JobRow
    pinned: PinnedPlan
    steps: list[StepState]


def is_done(step: StepState) -> bool:
    """Whether a step needs no other attempt: it has succeeded, also after its deadline, or is skipped for a reason of its own."""
    if step.state in _FAILED:
        return step.late == states.COMPLETED
    return step.state == states.COMPLETED or (step.state == states.SKIPPED and step.reason not in _HELD_UP)


def find_unfinished(pinned: PinnedPlan, steps: Sequence[StepState]) -> list[Instances]:
    """All steps that a resume goes on with."""
    return _add_cleanup(pinned.plan, steps, [(step.task, step.node) for step in steps if not is_done(step)])


def find_failed(pinned: PinnedPlan, steps: Sequence[StepState], tasks: Collection[int]) -> list[Instances]:
    """The steps that have failed, of some tasks or of all, and those that follow from these failures."""
    failed = {
        (step.task, step.node)
        for step in steps
        if step.state in _FAILED and not is_done(step) and (not tasks or step.task in tasks)
    }
    causes = {f"{pinned.plan.tasks[task - 1].id} on {node}" for task, node in failed}
    followers = [step for step in steps if step.reason == states.DEP_FAILED and step.message in causes]
    return _add_cleanup(pinned.plan, steps, [*failed, *((step.task, step.node) for step in followers)])


def has_work(plan: Plan, instances: Iterable[Instances]) -> bool:
    """Whether any of these steps does more than clean up."""
    return any(not plan.tasks[group.task - 1].is_always for group in instances)


def _add_cleanup(plan: Plan, steps: Sequence[StepState], keys: Iterable[tuple[int, str]]) -> list[Instances]:
    """These steps, and all that clean up: they do so at the end of each round. Nothing if there is nothing to clean up after."""
    always = [(step.task, step.node) for step in steps if plan.tasks[step.task - 1].is_always]
    instances = _group({*keys, *always})
    return instances if has_work(plan, instances) else []


def find_task(plan: Plan, run: str, name: str) -> int:
    """The number of a task. Raises NotFoundError PLAN-111."""
    numbers = {task.id: number for number, task in enumerate(plan.tasks, start=1)}
    if name not in numbers:
        raise issues.NO_SUCH_TASK.error(run=run, task=name[:100], guess=guess(name, numbers))
    return numbers[name]


def _group(keys: Iterable[tuple[int, str]]) -> list[Instances]:
    by_task: dict[int, list[str]] = defaultdict(list)
    for task, node in sorted(keys):
        by_task[task].append(node)
    return [Instances(task, nodes) for task, nodes in sorted(by_task.items())]
