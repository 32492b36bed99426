"""Repeats a task of a run on one node, with its tests and the inputs and catalogs that it had: a run of its own with this one task."""

from typing import Any

import msgspec

from precast.base.ids import Ids
from precast.plans.model import Plan, PlanTask
from precast.services import texts
from precast.services.approvals.approvals import Participant
from precast.services.identity.signer.messages import Credential
from precast.services.jobs.requests import decode_request
from precast.services.plans import issues
from precast.services.plans.changes import find_task
from precast.services.plans.driving.instance_net import number_tasks
from precast.services.plans.driving.task_inputs import TaskInputs
from precast.services.plans.pinned import PinnedPlan
from precast.services.plans.preparing.preparation import Instances, PreparedPlan
from precast.services.plans.reading import PlanReading
from precast.services.plans.runs import PlanStarter, check_rights
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.jobs.attempts import Attempts
from precast.store.jobs.jobs import JobRow
from precast.store.plans.runs import PlanRuns, ProgramRow
from precast.wire.jobs.programs import ExecutableWork, parse_program
from precast.wire.plans.bodies import PlanCheck, PlanRunView, RunTaskBody


class TaskReplays:
    """Holds no state between calls."""

    def __init__(
        self,
        database: Database,
        attempts: Attempts,
        runs: PlanRuns,
        reading: PlanReading,
        starter: PlanStarter,
        ids: Ids,
    ) -> None:
        self._database, self._attempts, self._runs = database, attempts, runs
        self._reading, self._starter, self._ids = reading, starter, ids

    async def start(
        self, run: str, body: RunTaskBody, participant: Participant, credential: Credential | None = None
    ) -> PlanRunView:
        """Start the run. Raises NotFoundError PLAN-111, PLAN-113, PLAN-115, and what a start raises."""
        texts.check("the reason", body.why)
        job, prepared = await self._database.read(self._prepare, run, body, participant)
        await self._starter.require_nodes([body.node], participant)
        check_rights(prepared, participant)
        request = msgspec.structs.replace(
            decode_request(job),
            at_once=None,
            token="",
            sealed_until=None,
            overrides_window=False,  # who overrides a window says so for each run
            why=body.why or f"{body.task} of {run} again",
        )
        return await self._starter.launch(self._ids.new(), request, prepared, participant, credential)

    def _prepare(
        self, run: str, body: RunTaskBody, participant: Participant
    ) -> Transaction[tuple[JobRow, PreparedPlan]]:
        job, row, pinned = yield from self._reading.find(run, participant.environments)
        number = find_task(pinned.plan, run, body.task)
        program = yield from self._find_program(run, number, body)
        inputs = TaskInputs(self._attempts, run, pinned, number_tasks(pinned.plan.tasks))
        task = pinned.plan.tasks[number - 1]
        yield from inputs.prepare([(task, [body.node])])
        values = inputs.find(task, body.node)
        digest = (yield from self._runs.find_data(run)).get(body.node)
        data = None if digest is None else (yield from self._runs.read_data(digest))
        alone = _pin_alone(run, pinned, number, body.node, values)
        parsed = parse_program(program)
        programs = [ProgramRow(1, program, [body.node])]
        check = PlanCheck(
            alone.plan.name, row.digest, [], [], 1, 1, 0, 1, [body.task] if parsed.needs_command_right else []
        )
        executables = [parsed.work.content] if isinstance(parsed.work, ExecutableWork) else []
        commands = programs if parsed.needs_command_right else []
        nodes = {body.node: data} if data is not None else {}
        instances = [Instances(1, [body.node])]
        sending = [1] if parsed.sends_content else []
        return job, PreparedPlan(check, alone, instances, programs, commands, nodes, executables, sending)

    def _find_program(self, run: str, number: int, body: RunTaskBody) -> Transaction[str]:
        for row in (yield from self._runs.list_programs(run, number)):
            if body.node in row.nodes:
                return row.program
        raise issues.NOT_ON_NODE.error(task=body.task, run=run, node=body.node)


def _pin_alone(run: str, pinned: PinnedPlan, number: int, node: str, inputs: dict[str, Any]) -> PinnedPlan:
    """What the run with this one task pins: it waits for nothing, and no condition or approval holds it up."""
    task = pinned.plan.tasks[number - 1]
    alone = PlanTask(
        task.id,
        task.type,
        task.at,
        ("*",),
        parameters=task.parameters,
        timeout_s=task.timeout_s,
        retries=task.retries,
        interval_s=task.interval_s,
        lost_after_s=task.lost_after_s,
        collects_for=task.collects_for,
    )
    plan = Plan(pinned.plan.name, (alone,))
    catalogs = {node: pinned.catalogs[node]} if node in pinned.catalogs else {}
    nodes = [member for member in pinned.nodes if member.name == node]
    return PinnedPlan(
        plan,
        pinned.environment,
        nodes,
        pinned.master,
        parameters=pinned.parameters,
        mode=pinned.mode,
        catalogs=catalogs,
        replays=run,
        inputs=inputs,
    )
