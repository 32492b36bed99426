"""The job engine as a state machine on both databases: two servers, four nodes, and whatever may happen to them, in any order.

After every single step, all attempts are compared with those before: only legal moves, one attempt at a time on a node and exactly then its
lock, limits and batches as requested. No attempt is executed twice, with one exception: a machine that was set back to an earlier state,
in which it had not begun an attempt that the servers have no result of. The first execution was undone with the machine's state, and the
servers cannot know of it. At the end all nodes return and time passes: every job ends, and every lock is free.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from lab.confirmations import confirm
from lab.job_engine import ANN, LEASE_S, JobEngine
from lab.postgres import PostgresServer
from precast.base.clock import ManualClock
from precast.base.errors import ConflictError
from precast.services.identity.authority import Authority
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.signer.local import open_local_signer
from precast.services.jobs.results import OrderReport
from precast.services.sessions.orders import STREAM_PREFIX
from precast.store.engine.connect import connect
from precast.store.engine.database import Database
from precast.store.engine.location import Location, PostgresLocation, SqliteLocation
from precast.store.engine.query import Query, Transaction
from precast.store.jobs.attempts import purge_node_attempts
from precast.store.schema.schema import Schema
from precast.wire.jobs.orders import Claim
from precast.wire.jobs.views import JobLimits
from tests.property.jobs.engine_checks import Picture, check, take_picture
from tests.property.jobs.model_agent import Executions, ModelAgent

NAMES = ("a", "b", "c", "d")
MAX_JOBS = 4
STEPS = Counter[str]()
nodes = st.sampled_from(NAMES)
servers = st.integers(0, 1)
counts = st.none() | st.integers(1, 3).map(str)
limits = st.builds(
    JobLimits,
    batch=counts,
    at_once=counts,
    tolerate=st.none() | st.integers(0, 2).map(str),
    begin_s=st.just(30.0),
    take_s=st.just(60.0),
    away_s=st.sampled_from([0.0, 0.0, 40.0, 400.0]),
    canary=st.none() | st.just("1"),
    per_minute=st.none() | st.just(60),
    tries=st.none() | st.integers(1, 3),
    try_every_s=st.just(10.0),
)


class EngineMachine(RuleBasedStateMachine):
    """Servers, nodes, jobs and a clock."""

    def __init__(self, database: Database, clock: ManualClock, signer: SignerClient, run: Callable[..., Any]) -> None:
        super().__init__()
        STEPS["examples"] += 1
        self.database, self.clock, self.signer, self.run = database, clock, signer, run
        run(database.write(_wipe))
        self.engines = [self._make_engine("s0"), self._make_engine("s1")]
        self.killed: list[JobEngine] = []
        self.front = self._make_engine("front")
        run(self.front.guard.check())  # the clock is trusted before it jumps
        self.executions = Executions()
        self.agents = {name: ModelAgent(name, self.executions) for name in NAMES}
        self.offset_s = 0
        self.picture = Picture({}, {}, {})
        self.homes: dict[str, JobEngine] = {}
        for name in NAMES:
            self.connect(0, name)

    def _make_engine(self, name: str) -> JobEngine:
        return JobEngine(self.database, self.signer, name)

    def do(self, work: Any) -> Any:
        """One step of an engine, after which everything is checked."""
        result = self.run(work)
        now = self.run(self.database.read(take_picture, self.front.jobs))
        check(self.picture, now)
        for key, stored in now.attempts.items():
            if key not in self.picture.attempts or self.picture.attempts[key].state != stored.state:
                STEPS[f"{stored.state}({stored.reason or ''})"] += 1
        self.picture = now
        STEPS["checked"] += 1
        return result

    # People

    @initialize(wanted=limits, server=servers)
    def begin_with_a_job(self, wanted: JobLimits, server: int) -> None:
        self.create(set(NAMES), wanted)
        self.drive(server)

    @rule(names=st.sets(nodes, min_size=1), wanted=limits)
    def create(self, names: set[str], wanted: JobLimits) -> None:
        if len(self.picture.jobs) < MAX_JOBS:
            self.do(self.front.start(*sorted(names), limits=wanted))

    @rule(data=st.data(), what=st.sampled_from(["stop", "abort", "resume", "retry"]))
    def request(self, data: st.DataObject, what: str) -> None:
        if self.picture.jobs:
            job = data.draw(st.sampled_from(sorted(self.picture.jobs)))
            try:
                self.do(getattr(self.front.service, what)(job, ANN))
            except ConflictError:
                STEPS[f"{what} refused"] += 1
            else:
                STEPS[what] += 1

    # Servers

    @rule(server=servers)
    def drive(self, server: int) -> None:
        self.do(self._drive(self.engines[server]))

    @rule(node=nodes)
    def go_on(self, node: str) -> None:
        """Both servers drive, and a node does all that it can do without an end."""
        self.drive(0)
        self.drive(1)
        self.receive(node, 100)
        self.claim(node)
        self.receive(node, 100)

    @rule(is_success=st.booleans())
    def work_everywhere(self, is_success: bool) -> None:
        self.drive(0)
        self.drive(1)
        for node in NAMES:
            self.work(node, is_success)

    async def _drive(self, engine: JobEngine) -> None:
        await engine.renew()
        await engine.guard.check()
        await engine.driver.follow_returns()
        await engine.driver.take_on(engine.name)
        for job in sorted(self.picture.jobs):
            await engine.driver.advance(job)

    @rule(server=servers)
    def kill(self, server: int) -> None:
        """The server is killed and another process starts; it may also only be paused, and go on later."""
        self.killed.append(self.engines[server])
        self.engines[server] = self._make_engine(f"s{len(self.killed) + 1}")

    @rule(data=st.data())
    def wake_killed(self, data: st.DataObject) -> None:
        """A server that was paused goes on with what it believes to own."""
        if self.killed:
            engine = data.draw(st.sampled_from(self.killed))
            for job in sorted(self.picture.jobs):
                self.do(engine.driver.advance(job))

    # Time

    @rule(seconds=st.sampled_from([1, 3, 12, int(LEASE_S) + 1, 35, 70, 130]))
    def pass_time(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule(seconds=st.sampled_from([-7200, -100, 100, 7200]))
    def jump(self, seconds: int) -> None:
        self.offset_s += seconds
        if seconds > 0:
            self.clock.set_ahead(seconds)
        else:
            self.clock.set_back(-seconds)

    # Connections

    @rule(server=servers, node=nodes)
    def connect(self, server: int, node: str) -> None:
        self.do(self.engines[server].connect(node))
        self.homes[node] = self.engines[server]
        self.agents[node].restart()

    @rule(node=nodes)
    def leave(self, node: str) -> None:
        if node in self.homes:
            self.do(self.homes.pop(node).leave(node))

    @rule(node=nodes)
    def purge(self, node: str) -> None:
        """The node is purged; the machine is enrolled again with an empty store."""
        self.leave(node)
        self.do(self.database.write(_purge, self.front, node))
        self.agents[node].lose_store()

    # Nodes

    def _send(self, node: str, report: OrderReport) -> None:
        """A node's record arrives at its server, after the confirmation of all that the node has received."""
        self.run(confirm(self.front.orders, node, self.agents[node].state.received))
        self.do(self.homes[node].report(node, report))

    @rule(node=nodes, most=st.integers(1, 4))
    def receive(self, node: str, most: int) -> None:
        if node in self.homes:
            agent = self.agents[node]
            for record in self.run(self.front.orders.read(node, agent.state.received, most)):
                agent.receive(record, self.clock.now())

    @rule(node=nodes)
    def claim(self, node: str) -> None:
        if node in self.homes:
            for claim in self.agents[node].make_claims():
                self.agents[node].sent.append(claim)
                self._send(node, claim)

    @rule(node=nodes)
    def begin(self, node: str) -> None:
        STEPS["executions"] += self.agents[node].begin()

    @rule(node=nodes, is_success=st.booleans())
    def end(self, node: str, is_success: bool) -> None:
        self.agents[node].end(is_success, self.clock.now())

    @rule(node=nodes)
    def refuse(self, node: str) -> None:
        self.agents[node].refuse(self.clock.now())

    @rule(node=nodes)
    def send(self, node: str) -> None:
        agent = self.agents[node]
        while node in self.homes and agent.state.unsent:
            report = agent.state.unsent.pop(0)
            agent.sent.append(report)
            self._send(node, report)

    @rule(node=nodes, is_success=st.booleans())
    def work(self, node: str, is_success: bool) -> None:
        """All of it, as long as nothing happens in between."""
        self.receive(node, 100)
        self.claim(node)
        self.receive(node, 100)
        self.begin(node)
        self.end(node, is_success)
        self.send(node)

    @rule(node=nodes)
    def repeat(self, node: str) -> None:
        """The latest record arrives twice."""
        sent = self.agents[node].sent
        if node in self.homes and sent:
            self._send(node, sent[-1])

    @rule(node=nodes)
    def repeat_results(self, node: str) -> None:
        """Results arrive again, long after."""
        for report in list(self.agents[node].sent) if node in self.homes else []:
            if not isinstance(report, Claim):
                self._send(node, report)

    @rule(node=nodes)
    def restart(self, node: str) -> None:
        self.agents[node].restart()

    @rule(node=nodes)
    def crash(self, node: str) -> None:
        self.agents[node].crash(self.clock.now())

    @rule(node=nodes)
    def take_snapshot(self, node: str) -> None:
        self.agents[node].take_snapshot()

    @rule(server=servers, node=nodes)
    def roll_back(self, server: int, node: str) -> None:
        self.leave(node)
        self.agents[node].roll_back()
        self.connect(server, node)

    @rule(server=servers, node=nodes)
    def lose_store(self, server: int, node: str) -> None:
        self.leave(node)
        self.agents[node].lose_store()
        self.connect(server, node)

    @rule(node=nodes, data=st.data(), number=st.integers(1, 5))
    def claim_by_a_copy(self, node: str, data: st.DataObject, number: int) -> None:
        """A copy of the machine with a store of its own claims what the machine may have begun: it must not be granted."""
        mine = sorted(
            key for key, stored in self.picture.attempts.items() if key[2] == node and stored.state == "PICKED_UP"
        )
        if mine and node in self.homes:
            job, task, _, n = data.draw(st.sampled_from(mine))
            self.do(self.homes[node].report(node, Claim(f"{job}.{task}.{n}", number, "copy", "boot")))
            answer = self.run(self.front.grants_of(node))[-1]
            assert (answer.claim, answer.is_granted) == (number, False)

    @invariant()
    def count(self) -> None:
        STEPS["steps"] += 1

    # The end

    def teardown(self) -> None:
        """All nodes return, the clock is right, and time passes: every job ends, and every lock is free."""
        if self.offset_s > 0:
            self.clock.set_back(self.offset_s)
        else:
            self.clock.set_ahead(-self.offset_s)
        # Waits that began while the clock was ahead last longer by that.
        for seconds in [7] * 40 + [1_200] * 40:
            if all(row.ended_at is not None for row in self.picture.jobs.values()):
                break
            self.clock.advance(seconds)
            for node in NAMES:
                self.connect(0, node)
            self.do(self._drive(self.engines[0]))
            self.do(self._drive(self.engines[1]))
            for node in NAMES:
                self.work(node, True)
        stuck = {job: row.state for job, row in self.picture.jobs.items() if row.ended_at is None}
        assert not stuck, (stuck, self.picture.attempts)
        assert not self.picture.locks


def _wipe() -> Transaction[None]:
    for table in (
        "task_content",
        "task_collection",
        "job_output",
        "node_lock",
        "attempt_wait",
        "attempt",
        "job",
        "stream_record",
        "stream",
        "server",
        "clock_mark",
    ):
        yield Query(f"test.wipe_{table}", f"DELETE FROM {table}")()


def _purge(engine: JobEngine, node: str) -> Transaction[None]:
    yield from purge_node_attempts(node, engine.database.clock.now())
    yield from engine.sessions.delete_node(node)
    yield from engine.streams.delete(STREAM_PREFIX + node)
    yield from engine.nodes.lock_or_create(node)


@contextmanager
def machines(location: Location, directory: Path) -> Iterator[Callable[[], EngineMachine]]:
    """A factory of machines on one database."""
    with asyncio.Runner() as runner:
        clock = ManualClock()
        database = runner.run(connect(location, may_create=True, clock=clock))
        runner.run(Schema(database).expand())
        files = AuthorityFiles(directory / "authority")
        with files.created(Authority.new(clock.now())):
            pass
        signer = runner.run(open_local_signer(files, clock))
        yield partial(EngineMachine, database, clock, signer, runner.run)
        runner.run(database.close())


def explore(location: Location, directory: Path, name: str, examples: int, steps: int) -> None:
    STEPS.clear()
    with machines(location, directory) as factory:
        run_state_machine_as_test(
            cast("type[EngineMachine]", factory),  # anything that makes one when called will do
            settings=settings(
                max_examples=examples,
                stateful_step_count=steps,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
    print(f"\njob engine on {name}: {dict(STEPS)}")
    assert STEPS["executions"] > examples // 4


@pytest.mark.timeout(600)
def test_engine_on_sqlite_holds_its_guarantees(tmp_path: Path) -> None:
    explore(SqliteLocation(tmp_path / "jobs.db"), tmp_path, "SQLite", 60, 50)


@pytest.mark.timeout(600)
def test_engine_on_postgresql_holds_its_guarantees(postgres: PostgresServer, tmp_path: Path) -> None:
    explore(PostgresLocation(postgres.url(postgres.create_database())), tmp_path, "PostgreSQL", 20, 50)


# Steps that the long tests take on each database.
LONG_STEPS = int(os.environ.get("PRECAST_JOB_STEPS", "500000"))


@pytest.mark.soak
@pytest.mark.timeout(12 * 3600)
def test_engine_on_sqlite_holds_its_guarantees_for_long(tmp_path: Path) -> None:
    explore(SqliteLocation(tmp_path / "jobs.db"), tmp_path, "SQLite", LONG_STEPS // 100, 100)


@pytest.mark.soak
@pytest.mark.timeout(12 * 3600)
def test_engine_on_postgresql_holds_its_guarantees_for_long(postgres: PostgresServer, tmp_path: Path) -> None:
    explore(PostgresLocation(postgres.url(postgres.create_database())), tmp_path, "PostgreSQL", LONG_STEPS // 100, 100)
