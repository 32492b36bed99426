"""Prepares a run: everything that it will pin, with all that is wrong about it.

A check prepares in the same way as a start, so what a check finds sound starts. Only a start, and a rebase with its preview, waits for
catalogs of entry points, which the compiler service compiles ahead.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import msgspec

from precast.base import digests
from precast.base.confinement.confine import Level
from precast.plans.collection import find_collections
from precast.plans.comparison import PlanComparison
from precast.plans.expansion import expand
from precast.plans.model import ComputedResult, InstanceKey, Plan, PlanNode, PlanProblem
from precast.plans.programs import find_givers
from precast.plans.views.problem_view import problem_of, view_problem
from precast.services import texts
from precast.services.approvals.approvals import Participant
from precast.services.futures.checking.joint_checks import JointChecks
from precast.services.jobs import issues as job_issues
from precast.services.jobs.node_environments import require_environments
from precast.services.plans import issues
from precast.services.plans.pinned import ComparedData, PinnedPlan, SkippedTask
from precast.services.plans.preparing.catalogs import CatalogPins
from precast.services.plans.preparing.joint_parts import list_applied, list_parts
from precast.services.plans.preparing.messages import EarlierPlan, PlanningAnswer, PlanningRequest
from precast.services.plans.preparing.node_data import NodesOfPlan, PlanNodes
from precast.services.plans.preparing.planning import plan_in_child
from precast.services.plans.preparing.programs import RunValues, build_programs
from precast.services.plans.preparing.sources import PlanFiles, PlanSources
from precast.services.plans.preparing.values import EvaluatedPlan, ValueEvaluation, encode_data
from precast.services.query.targets import ResolvedTargets, TargetService
from precast.store.plans.runs import ProgramRow
from precast.wire.jobs import states
from precast.wire.jobs.programs import ManifestWork
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.plans.bodies import PlanCheck, PlanRequest

# Processes that load plans at once: each may use gigabytes. Further requests wait for their turn, as long as their route lets them.
PROCESSES = 2


class Instances(NamedTuple):
    """Steps of a run: the number of a task, and its nodes."""

    task: int
    nodes: Sequence[str]


class PreparedPlan(NamedTuple):
    """A plan that can be started, unless its check has errors; then it is not complete."""

    check: PlanCheck
    pinned: PinnedPlan
    instances: Sequence[Instances] = ()
    programs: Sequence[ProgramRow] = ()
    commands: Sequence[ProgramRow] = ()  # those that the signer has to seal
    data: Mapping[str, bytes] = {}
    executables: Sequence[str] = ()  # the digests of files of the environment that nodes fetch
    sending: Sequence[int] = ()  # the tasks whose nodes may send files or output
    comparison: PlanComparison | None = None  # with the version that was pinned before
    documents: Mapping[tuple[str, str], str] = {}  # of the catalogs that it applies, by node and entry point


class RunNodes(NamedTuple):
    """The nodes of a run, with the master, and their environment."""

    names: list[str]
    environment: str


class PlanPreparation:
    """Holds no state between calls but the turns of processes."""

    def __init__(
        self,
        targets: TargetService,
        sources: PlanSources,
        nodes: PlanNodes,
        values: ValueEvaluation,
        catalogs: CatalogPins,
        waits: JointChecks,
        level: Level = Level.STRICT,
    ) -> None:
        self._targets, self._sources, self._nodes = targets, sources, nodes
        self._values, self._catalogs, self._waits, self._level = values, catalogs, waits, level
        self._turns = asyncio.Semaphore(PROCESSES)

    async def prepare(
        self,
        request: PlanRequest,
        participant: Participant,
        *,
        is_start: bool,
        before: PinnedPlan | None = None,
        known: Mapping[str, str] | None = None,
    ) -> PreparedPlan:
        """Prepare a run; one that was pinned `before` gives tasks their numbers, and parameters the values that they were given. `known`
        are the nodes, with their environments, if they were resolved before.

        Raises what targets raise, DeniedError RUN-006, PLAN-101 to -104; of a start also PLAN-109.
        """
        texts.check("the name of the plan", request.source.name)
        place = await self._resolve(request, participant, known)
        files = await self._sources.find(request.source, place.environment)
        found = await self._nodes.read(place.names, request.master)
        planning = PlanningRequest(
            request.source.name,
            files.texts,
            found.nodes,
            dict(request.parameters),
            request.subset,
            files.others,
            None if before is None else EarlierPlan(before.plan, before.nodes, before.computed, before.given),
        )
        answer = await self._plan(planning)
        computed: list[ComputedResult] = []
        if answer.plan is not None and not answer.is_expanded:
            computed, problems = await self._values.compute_dependencies(answer.plan, found, answer.parameters)
            if problems:
                return _refuse(request, msgspec.structs.replace(answer, errors=problems), place)
            answer = await self._plan(msgspec.structs.replace(planning, computed=computed))
        if answer.plan is None or answer.errors:
            return _refuse(request, answer, place)
        prepared = await self._complete(request, answer, answer.plan, place, files, found, is_start=is_start)
        pinned = msgspec.structs.replace(prepared.pinned, computed=computed)
        check = prepared.check
        if request.mode == "enforce" and not request.overrides_futures and not check.errors:
            problems = await self._check_waits(prepared, computed)
            check = msgspec.structs.replace(check, errors=[view_problem(problem) for problem in problems])
        return prepared._replace(check=check, pinned=pinned, comparison=answer.comparison)

    async def _check_waits(self, prepared: PreparedPlan, computed: Sequence[ComputedResult]) -> list[PlanProblem]:
        """The problems of nodes that would wait for each other for ever. Catalogs that are compiled at a start are checked then."""
        works = list_applied(prepared.programs, prepared.pinned.skipped)
        documents = prepared.documents
        if not await self._waits.has_needs(list(documents.values())) or any(
            isinstance(work, ManifestWork) and (key.node, work.entry) not in documents for key, work in works.items()
        ):
            return []
        pinned = prepared.pinned
        expansion = await asyncio.to_thread(expand, pinned.plan, pinned.nodes, computed)
        answer = await self._waits.check_parts(list_parts(expansion, works, documents), [pinned.environment])
        if answer.reason:
            return [problem_of(issues.WAITS_NOT_CHECKED.error(reason=answer.reason))]
        return [PlanProblem(None, problem.code, problem.text, problem.hint) for problem in answer.problems]

    async def _plan(self, planning: PlanningRequest) -> PlanningAnswer:
        async with self._turns:
            return await plan_in_child(planning, self._level)

    async def require_nodes(self, names: Sequence[str], participant: Participant) -> None:
        """Raises DeniedError RUN-006 if a node of a run is by now in an environment that is not the participant's."""
        await require_environments(self._targets, names, participant.environments)

    async def _resolve(
        self, request: PlanRequest, participant: Participant, known: Mapping[str, str] | None
    ) -> RunNodes:
        bodies = [] if known is not None else [request.nodes]
        bodies += [TargetsBody([request.master])] if request.master else []
        resolved = [await self._targets.resolve(body) for body in bodies]
        resolved += [] if known is None else [ResolvedTargets(list(known), False, frozenset(known.values()))]
        environments = sorted({environment for found in resolved for environment in found.environments})
        if participant.environments and not set(environments) <= set(participant.environments):
            raise job_issues.OTHER_ENVIRONMENT.error()
        if len(environments) != 1:
            raise issues.SEVERAL_ENVIRONMENTS.error(environments=", ".join(environments))
        return RunNodes(sorted({name for found in resolved for name in found.names}), environments[0])

    async def _complete(
        self,
        request: PlanRequest,
        answer: PlanningAnswer,
        plan: Plan,
        place: RunNodes,
        files: PlanFiles,
        found: NodesOfPlan,
        *,
        is_start: bool,
    ) -> PreparedPlan:
        instances = [Instances(task, nodes) for task, nodes in enumerate(answer.placed, start=1) if nodes]
        left_out = {InstanceKey(row.task, node) for row in answer.not_chosen for node in row.nodes}
        evaluated = await self._values.evaluate(plan, place.environment, found, instances, left_out, answer.parameters)
        evaluated = _leave_out_collections(plan, instances, left_out, evaluated)
        values = RunValues(request.mode, answer.parameters, files.tasks, find_givers(plan.tasks))
        built = await asyncio.to_thread(build_programs, plan, found.nodes, instances, evaluated, left_out, values)
        skipped = [*answer.not_chosen, *evaluated.skipped, *built.skipped]
        errors = [*evaluated.errors, *built.errors, *_require_master(plan, found.nodes)]
        errors += _require_consent(plan, built.commands, found.data)
        if request.mode == "enforce":
            errors += await self._catalogs.check_approvals(place.environment, built.programs)
        pins = await self._catalogs.find(built.programs, wait=is_start and not errors)
        errors += pins.errors
        pinned = PinnedPlan(
            plan,
            place.environment,
            found.nodes,
            request.master,
            request.subset,
            answer.parameters,
            request.mode,
            skipped,
            pins.catalogs,
            answer.gates,
            given=answer.given,
            compared=_list_compared(evaluated.earlier),
        )
        check = PlanCheck(
            plan.name,
            digests.of_value(plan),
            [view_problem(problem) for problem in errors],
            [view_problem(problem) for problem in [*answer.warnings, *built.warnings]],
            len(plan.tasks),
            answer.instances,
            sum(len(row.nodes) for row in skipped),
            len(found.nodes),
            sorted({plan.tasks[row.task - 1].id for row in built.commands}),
        )
        data = await asyncio.to_thread(_encode_all, found)
        return PreparedPlan(
            check,
            pinned,
            instances,
            built.programs,
            built.commands,
            data,
            built.executables,
            built.sending,
            documents=pins.documents,
        )


def _leave_out_collections(
    plan: Plan, instances: Sequence[Instances], left_out: AbstractSet[InstanceKey], evaluated: EvaluatedPlan
) -> EvaluatedPlan:
    """Leave out what sends the files of a task that runs on no node: nobody gets them, and they may be missing."""
    skipped = left_out | {InstanceKey(row.task, node) for row in evaluated.skipped for node in row.nodes}
    running = {task for task, nodes in instances if any(InstanceKey(task, node) not in skipped for node in nodes)}
    wanted = find_collections(plan.tasks, running)
    idle = [
        SkippedTask(group.task, states.CONDITION, list(group.nodes))
        for group in instances
        if plan.tasks[group.task - 1].collects_for and group.task in running - wanted
    ]
    return evaluated._replace(skipped=[*evaluated.skipped, *idle])


def _list_compared(earlier: Mapping[InstanceKey, str]) -> list[ComparedData]:
    nodes: dict[tuple[int, str], list[str]] = defaultdict(list)
    for key, digest in earlier.items():
        nodes[key.task, digest].append(key.node)
    return [ComparedData(task, digest, names) for (task, digest), names in nodes.items()]


def _encode_all(found: NodesOfPlan) -> dict[str, bytes]:
    """The data of all nodes, as it is stored."""
    return {node: encode_data(own, found.common) for node, own in found.data.items()}


def _refuse(request: PlanRequest, answer: PlanningAnswer, place: RunNodes) -> PreparedPlan:
    """A plan that cannot be expanded: only its problems are known."""
    plan = answer.plan or Plan(request.source.name, ())
    check = PlanCheck(
        plan.name,
        "" if answer.plan is None else digests.of_value(plan),
        [view_problem(problem) for problem in answer.errors],
        [view_problem(problem) for problem in answer.warnings],
        len(plan.tasks),
        answer.instances,
        0,
        len(place.names),
    )
    return PreparedPlan(check, PinnedPlan(plan, place.environment, []))


def _require_master(plan: Plan, nodes: Sequence[PlanNode]) -> list[PlanProblem]:
    """A plan with tasks for the master needs one: a node, not a target that selects some."""
    wanting = [task.id for task in plan.tasks if "master" in task.selectors]
    if not wanting or any(node.is_master for node in nodes):
        return []
    error = issues.NO_MASTER.error(tasks=", ".join(wanting[:5]))
    return [PlanProblem(None, error.code, error.message, error.hint)]


def _require_consent(
    plan: Plan, commands: Sequence[ProgramRow], data: Mapping[str, dict[str, Any]]
) -> list[PlanProblem]:
    """Nodes whose facts say that they allow no commands would refuse; nodes that say nothing are not known to."""
    refusing: dict[str, str] = {}
    for row in commands:
        for node in row.nodes:
            said = data[node]["facts"].get("precast_agent")
            if isinstance(said, dict) and said.get("allow_exec") is False:
                refusing.setdefault(node, plan.tasks[row.task - 1].id)
    if not refusing:
        return []
    node, task = min(refusing.items())
    error = issues.NO_CONSENT.error(count=len(refusing), task=task, node=node)
    return [PlanProblem(None, error.code, error.message, error.hint)]
