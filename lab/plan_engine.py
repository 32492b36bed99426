"""One server's job engine that drives plans, and nodes that carry out their tasks as agents do."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec

from lab.job_engine import ANN, JobEngine, Windows
from precast.app.futures import build_joint_checks
from precast.app.plans import build_entry_points, build_plan_work
from precast.base.ids import CountedIds
from precast.services.approvals.approvals import Participant
from precast.services.code.content import ContentService
from precast.services.compile.inputs import NodeInputs
from precast.services.identity.signer.client import SignerClient
from precast.services.jobs.requests import PLAN
from precast.services.plans.changes import PlanChangesService
from precast.services.plans.creation import PlanRunCreation, RunStores
from precast.services.plans.evaluation.processes import PlanEvaluation
from precast.services.plans.plan_services import PlanServices
from precast.services.plans.preparing.catalogs import CatalogPins
from precast.services.plans.preparing.node_data import PlanNodes
from precast.services.plans.preparing.preparation import PlanPreparation
from precast.services.plans.preparing.sources import PlanSources
from precast.services.plans.preparing.values import ValueEvaluation
from precast.services.plans.reading import PlanReading
from precast.services.plans.rebasing import PlanRebasing
from precast.services.plans.replays import TaskReplays
from precast.services.plans.runs import PlanStarter
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.targets import TargetService
from precast.store.code.blobs import Blobs
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.nodes.nodes import Fleet
from precast.store.plans.runs import PlanRuns
from precast.store.plans.task_content import TaskContents
from precast.wire.jobs.order_ids import parse_order_id
from precast.wire.jobs.orders import Claim, TaskEnded, TaskOrder, TaskPhase
from precast.wire.jobs.programs import Phase, parse_program
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.plans.bodies import InstanceView, PlanFile, PlanRequest, PlanRunView, PlanSource

OPERATOR = Participant(ANN, "operator", ())


class PlanEngine(JobEngine):
    """One server. Its nodes need no rights for commands: the tasks of its plans only look."""

    def __init__(
        self,
        database: Database,
        signer: SignerClient,
        directory: Path,
        name: str = "s1",
        windows: Windows | None = None,
    ) -> None:
        super().__init__(database, signer, name, windows=windows, works={PLAN: build_plan_work(database)})
        self.runs = PlanRuns(database)
        ids = CountedIds("plan")
        sources = PlanSources(Environments(database), ContentService(database, Blobs(database), directory).read)
        catalogs = CatalogPins(database, build_entry_points(database), Environments(database))
        preparation = PlanPreparation(
            TargetService(KnownNodes(database, Fleet(database), self.sessions), database.clock),
            sources,
            PlanNodes(database, NodeInputs(Fleet(database), Environments(database))),
            ValueEvaluation(database, self.runs, PlanEvaluation()),
            catalogs,
            build_joint_checks(database),
        )
        reading = PlanReading(database, self.jobs, self.attempts, self.runs, windows or Windows())
        stores = RunStores(self.creation, self.attempts, self.runs, TaskContents(database), catalogs, self.audit)
        starter = PlanStarter(database, PlanRunCreation(stores), preparation, reading, signer, ids)
        rest = (database, self.jobs, self.attempts, self.runs, self.audit, reading)
        self.plans = PlanServices(
            sources,
            starter,
            reading,
            PlanChangesService(*rest, starter),
            PlanRebasing(*rest, preparation, starter),
            TaskReplays(database, self.attempts, self.runs, reading, starter, ids),
        )
        self._began: dict[str, int] = {}

    async def start_plan(self, text: str, *names: str, **more: Any) -> str:
        """Start a plan over nodes, and drive it."""
        source = PlanSource("test", [PlanFile("test.yaml", text)])
        view = await self.plans.starter.start(PlanRequest(source, TargetsBody([",".join(names)]), **more), OPERATOR)
        await self.drive()
        return view.run.id

    async def drive(self) -> None:
        await self.renew()
        await self.guard.check()
        await self.driver.follow_returns()
        await self.driver.take_on(self.name)
        for job in self.driver.driven:
            await self.driver.advance(job)

    async def show(self, run: str) -> PlanRunView:
        return await self.plans.reading.show(run)

    async def instances(self, run: str) -> list[InstanceView]:
        return await self.plans.reading.instances(run, "")

    async def task_states(self, run: str) -> dict[str, str]:
        """The state of each task on each node."""
        return {f"{instance.task} on {instance.node}": instance.state for instance in await self.instances(run)}

    async def open_orders(self, run: str, node: str) -> list[TaskOrder]:
        """The orders of a run that a node has received and has not begun."""
        states = {
            (instance.number, instance.attempt): instance
            for instance in await self.instances(run)
            if instance.node == node
        }
        found = []
        for order in await self.orders_of(node):
            parsed = parse_order_id(order.order)
            assert parsed is not None
            instance = states.get((parsed.task, parsed.n))
            if parsed.job == run and instance is not None and instance.state == "ready":
                found.append(order)
        return found

    async def begin_task(self, node: str, order: TaskOrder) -> None:
        """A node claims an order, and has begun with the task."""
        number = self._began[order.order + node] = self._began.get(order.order + node, 0) + 1
        await self.report(node, Claim(order.order, number, "store", "boot"))
        await self.report(node, TaskPhase(order.order, "task", self.database.clock.now()))

    async def end_task(
        self,
        node: str,
        order: TaskOrder,
        *,
        is_success: bool = True,
        phase: Phase = "task",
        result: Any = None,
        telling_line: str = "",
    ) -> None:
        returned = "" if result is None else msgspec.json.encode(result).decode()
        now = self.database.clock.now()
        message = "" if is_success else "it ended with 3"
        ended = TaskEnded(order.order, now, is_success, phase, message, result=returned, telling_line=telling_line)
        await self.report(node, ended)

    async def play(
        self, run: str, *names: str, failing: Collection[str] = (), most: int = 10_000, log: list[str] | None = None
    ) -> list[str]:
        """Let nodes carry out what they are ordered, until nothing is left to do. Returns the tasks in the order of their ends.

        A task whose name, or `TASK on NODE`, is in `failing` fails.
        """
        done = [] if log is None else log
        while len(done) < most:
            ready = [(node, order) for node in names for order in await self.open_orders(run, node)]
            if not ready:
                break
            for node, order in ready[: most - len(done)]:
                title = parse_program(order.program).task
                await self.begin_task(node, order)
                is_success = not {title, f"{title} on {node}"} & set(failing)
                await self.end_task(node, order, is_success=is_success, phase="task" if is_success else "post-test")
                done.append(f"{title} on {node}")
            await self.drive()
        return done
