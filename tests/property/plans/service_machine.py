"""A run of a plan as a state machine: two servers, three nodes, a person, and whatever may happen to them, in any order.

After every single step the run is compared with the definition of its plan (`service_checks`). At the end all nodes return and time passes:
the run ends, and after enough resumes its tasks have the states of a run that nothing has disturbed.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from lab.job_engine import LEASE_S
from lab.plan_engine import OPERATOR, PlanEngine
from precast.base.clock import ManualClock
from precast.base.errors import ConflictError, InputError
from precast.services.identity.signer.client import SignerClient
from precast.services.plans.pinned import decode_pinned
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction
from precast.store.nodes.nodes import Fleet, NodeClassification
from precast.wire.jobs import states
from precast.wire.jobs.orders import Claim
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.plans.bodies import PlanFile, PlanRequest, PlanSource
from tests.property.jobs.model_agent import Executions
from tests.property.plans.service_agent import PlanAgent, TaskLog
from tests.property.plans.service_checks import RunChecks, read_attempts
from tests.property.plans.service_plans import NODES, RandomRun, random_run

STEPS = Counter[str]()
nodes = st.sampled_from(NODES)
servers = st.integers(0, 1)


class PlanMachine(RuleBasedStateMachine):
    """Servers, nodes, a person, one run and a clock."""

    def __init__(self, database: Database, clock: ManualClock, signer: SignerClient, run: Callable[..., Any]) -> None:
        super().__init__()
        self.database, self.clock, self.signer, self._run = database, clock, signer, run
        run(database.write(_wipe))
        self.engines = [self._make_engine("s0"), self._make_engine("s1")]
        self.killed: list[PlanEngine] = []
        self.front = self._make_engine("front")
        run(self.front.guard.check())
        self.homes: dict[str, PlanEngine] = {}
        self.job = ""

    def _make_engine(self, name: str) -> PlanEngine:
        return PlanEngine(self.database, self.signer, Path("/nonexistent"), name)

    def do(self, work: Any) -> Any:
        """One step of a server, after which the run is checked."""
        result = self._run(work)
        job, approved, attempts = self._run(self.database.read(self._read))
        self.checks.check(attempts, job.round, approved)
        self.row = job
        STEPS["checked"] += 1
        return result

    def _read(self) -> Transaction[Any]:
        job = yield from self.front.jobs.find(self.job)
        approved = {row.task for row in (yield from self.front.runs.list_approvals(self.job))}
        return job, approved, (yield from read_attempts(self.job))

    # The beginning

    @initialize(seed=st.integers(0, 2**48), is_away=st.sets(nodes, max_size=1))
    def start(self, seed: int, is_away: set[str]) -> None:
        """Start a run; the other rules do nothing if the plan has nothing to do."""
        self.wanted = random_run(seed)
        self._run(self._introduce(self.wanted))
        source = PlanSource("test", [PlanFile("test.yaml", self.wanted.text)])
        request = PlanRequest(
            source,
            TargetsBody([",".join(NODES)]),
            self.wanted.master,
            subset=self.wanted.subset,
            at_once=self.wanted.at_once,
        )
        try:
            view = self._run(self.front.plans.starter.start(request, OPERATOR))
        except (InputError, ConflictError):
            STEPS["nothing to do"] += 1
            return
        STEPS["examples"] += 1
        self.job = view.run.id
        stored = self._run(self.database.read(self.front.runs.find, self.job))
        self.pinned = decode_pinned(stored.document)
        at_once = None if self.wanted.at_once is None else int(self.wanted.at_once)
        self.checks = RunChecks(self.pinned, at_once)
        self.log = TaskLog(self.wanted.failures)
        executions = Executions()
        always = {task.id for task in self.pinned.plan.tasks if task.is_always}
        self.agents = {node: PlanAgent(node, executions, self.log, always) for node in NODES}
        for node in sorted(set(NODES) - is_away):
            self.connect(0, node)

    async def _introduce(self, wanted: RandomRun) -> None:
        await self.front.introduce(*NODES)
        fleet = Fleet(self.database)
        for node, roles in wanted.roles.items():
            classified = NodeClassification("production", None, True, parameters={"roles": roles})
            await self.database.write(fleet.set_classification, node, classified)

    # People

    @rule(what=st.sampled_from(["stop", "abort", "resume", "resume", "retry"]))
    def request(self, what: str) -> None:
        if not self.job:
            return
        changes = self.front.plans.changes
        calls = {
            "stop": lambda: changes.stop(self.job, OPERATOR, states.STOPPING),
            "abort": lambda: changes.stop(self.job, OPERATOR, states.ABORTING),
            "resume": lambda: changes.resume(self.job, OPERATOR),
            "retry": lambda: changes.retry(self.job, [], OPERATOR),
        }
        newest = self._list_newest()
        try:
            self.do(calls[what]())
        except ConflictError:
            STEPS[f"{what} refused"] += 1
        else:
            STEPS[what] += 1
            if what in ("resume", "retry"):
                self.log.begin_round(newest)

    @rule()
    def approve(self) -> None:
        if self.job:
            for approval in self._run(self.front.plans.reading.show(self.job)).approvals:
                if approval.by is None and self.row.ended_at is None:
                    self.do(self.front.plans.changes.approve(self.job, approval.task, OPERATOR))
                    STEPS["approved"] += 1
                    return

    # Servers

    @rule(server=servers)
    def drive(self, server: int) -> None:
        if self.job:
            self.do(self.engines[server].drive())

    @rule(server=servers)
    def kill(self, server: int) -> None:
        """The server is killed and another process starts; it may also only be paused, and go on later."""
        self.killed.append(self.engines[server])
        self.engines[server] = self._make_engine(f"s{len(self.killed) + 1}")

    @rule(data=st.data())
    def wake_killed(self, data: st.DataObject) -> None:
        """A server that was paused goes on with what it believes to own."""
        if self.killed and self.job:
            self.do(data.draw(st.sampled_from(self.killed)).driver.advance(self.job))

    @rule(seconds=st.sampled_from([1, 3, 12, int(LEASE_S) + 1, 35, 70, 700]))
    def pass_time(self, seconds: int) -> None:
        self.clock.advance(seconds)

    # Nodes

    @rule(server=servers, node=nodes)
    def connect(self, server: int, node: str) -> None:
        if self.job:
            self.do(self.engines[server].connect(node))
            self.homes[node] = self.engines[server]
            self.agents[node].restart()

    @rule(node=nodes)
    def leave(self, node: str) -> None:
        if node in self.homes:
            self.do(self.homes.pop(node).leave(node))

    @rule(node=nodes)
    def crash(self, node: str) -> None:
        if self.job:
            self.agents[node].crash(self.clock.now())

    @rule(node=nodes)
    def begin(self, node: str) -> None:
        """A node does all that it can do without an end."""
        if node not in self.homes:
            return
        agent = self.agents[node]
        self._receive(node)
        for claim in agent.make_claims():
            agent.sent.append(claim)
            self.do(self.homes[node].report(node, claim))
        self._receive(node)
        if agent.begin_task(self.clock.now()):
            STEPS["executions"] += 1

    @rule(node=nodes)
    def end(self, node: str) -> None:
        if self.job:
            self.agents[node].end_task(self.clock.now())

    @rule(node=nodes)
    def send(self, node: str) -> None:
        while node in self.homes and self.agents[node].state.unsent:
            report = self.agents[node].state.unsent.pop(0)
            self.agents[node].note_sent(report)
            self.do(self.homes[node].report(node, report))

    @rule(is_ending=st.booleans())
    def work_everywhere(self, is_ending: bool) -> None:
        self.drive(0)
        self.drive(1)
        for node in NODES:
            self.begin(node)
            if is_ending:
                self.end(node)
            self.send(node)

    @rule(node=nodes)
    def repeat(self, node: str) -> None:
        """Results arrive again, long after."""
        for report in list(self.agents[node].sent) if node in self.homes else []:
            if not isinstance(report, Claim):
                self.do(self.homes[node].report(node, report))

    def _receive(self, node: str) -> None:
        agent = self.agents[node]
        for record in self._run(self.front.orders.read(node, agent.state.received, 100)):
            agent.receive(record, self.clock.now())

    # The end

    def teardown(self) -> None:
        """All return, and the person goes on until there is nothing left to do."""
        if not self.job:
            return
        for _ in range(2 + sum(self.wanted.failures.values())):  # each failure may stop a round
            self._end_round()
            newest = self._list_newest()
            try:
                self.do(self.front.plans.changes.resume(self.job, OPERATOR))
            except ConflictError:
                break
            self.log.begin_round(newest)
        else:
            raise AssertionError("there is always something left to do")
        self._check_final_states()

    def _list_newest(self) -> dict[str, int]:
        """The number of the newest attempt of each task on its nodes."""
        tasks = self.pinned.plan.tasks
        return {f"{tasks[key.task - 1].id} on {key.node}": newest.n for key, newest in self.checks.before.items()}

    def _end_round(self) -> None:
        for seconds in [7] * 40 + [1_200] * 20:
            if self.row.ended_at is not None:
                return
            self.clock.advance(seconds)
            for node in NODES:
                self.connect(0, node)
            while any(not row.by for row in self._run(self.front.plans.reading.show(self.job)).approvals):
                self.approve()
            self.work_everywhere(True)
        raise AssertionError(f"the run does not end: {self.row}\n{self.wanted}\n{self.checks.before}")

    def _check_final_states(self) -> None:
        """What was left out is skipped, everything else has succeeded: as in a run that nothing disturbs, resumed as often."""
        left_out, tasks = self.pinned.find_skipped(), self.pinned.plan.tasks
        for key, newest in self.checks.before.items():
            if not tasks[key.task - 1].is_always:
                expected = states.SKIPPED if key in left_out else states.COMPLETED
                assert expected in (newest.state, newest.late), (key, newest, self.wanted)
                title = f"{tasks[key.task - 1].id} on {key.node}"
                assert (title in self.log.succeeded) == (key not in left_out), title


def _wipe() -> Transaction[None]:
    for table in (
        *("plan_program", "plan_run_data", "plan_success", "plan_data", "plan_approval", "plan_run", "job_output"),
        *("task_content", "task_collection"),
        *("node_lock", "attempt_wait", "attempt", "job", "stream_record", "stream", "server", "clock_mark"),
    ):
        yield Query(f"test.wipe_{table}", f"DELETE FROM {table}")()
