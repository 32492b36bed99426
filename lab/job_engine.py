"""One server's job engine on a database, and nodes that claim and report as agents do."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from precast.app.futures import build_joint_checks
from precast.app.jobs import build_job_releases
from precast.base.confinement.confine import Level
from precast.base.ids import CountedIds, TimeOrderedIds
from precast.services.clocks.guard import ClockGuard
from precast.services.identity.signer.client import SignerClient
from precast.services.jobs.creation import JobCreation
from precast.services.jobs.driven_job import FollowChanges, JobStores, MakeWork
from precast.services.jobs.driver import JobDriver
from precast.services.jobs.driving.job_windows import Openings
from precast.services.jobs.flow.intake_lag import IntakeLag
from precast.services.jobs.grants import Grants
from precast.services.jobs.order_signatures import OrderSignatures
from precast.services.jobs.results import AttemptResults, OrderReport
from precast.services.jobs.service import JobService
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.targets import TargetService
from precast.services.sessions.orders import MAX_ORDERS, OrderService
from precast.services.sessions.record_intake import RecordIntake
from precast.services.sessions.sessions import SessionService
from precast.services.windows.openings import NodeOpenings
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import NodeCertificates
from precast.store.jobs.attempts import Attempts
from precast.store.jobs.jobs import Jobs
from precast.store.jobs.node_locks import NodeLocks
from precast.store.nodes.nodes import Fleet
from precast.store.plans.task_content import TaskContents
from precast.store.sessions.sessions import Sessions, SessionStart
from precast.store.sessions.streams import Streams
from precast.wire.jobs import orders as wire
from precast.wire.jobs.order_ids import make_order_id
from precast.wire.jobs.orders import (
    Abort,
    Claim,
    ExecEnded,
    ExecOrder,
    Grant,
    PlainOrder,
    RunOrder,
    SignedExecOrder,
    SignedTaskOrder,
    TaskOrder,
)
from precast.wire.jobs.views import JobLimits, NewRunJob
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.sessions import Hello
from precast.wire.windows.bodies import ActionClass, AtClose
from precast.wire.windows.intervals import Interval

ANN = "person:ann"
LEASE_S = 15.0
_BODIES: dict[str, type[msgspec.Struct]] = {
    wire.RUN: RunOrder,
    wire.GRANT: Grant,
    wire.ABORT: Abort,
    wire.REFRESH_FACTS: PlainOrder,
    wire.RESTART_AGENT: PlainOrder,
    wire.REBOOT: PlainOrder,
}


def order_of(job: str) -> str:
    """The order of a job's one task in its first round."""
    return make_order_id(job, 1, 1)


def _nothing() -> Transaction[str | None]:
    return None
    yield  # a transaction without a statement


class Windows:
    """Windows that the test opens, by node; other nodes are always open."""

    def __init__(self) -> None:
        self.by_node: dict[str, NodeOpenings] = {}
        self.asked: list[str] = []

    def open(self, node: str, opens_at: datetime, minutes: int, at_close: AtClose = "finish") -> None:
        interval = Interval(opens_at, opens_at + timedelta(minutes=minutes))
        self.by_node[node] = NodeOpenings((interval,), at_close, ("night",), (), "night")

    async def openings(
        self, nodes: Sequence[str], class_: ActionClass, start: datetime, end: datetime
    ) -> dict[str, NodeOpenings | None]:
        self.asked.append(class_)
        return {node: self.by_node.get(node) for node in nodes}


class JobEngine:
    """One server: its job engine on a database, and nodes that report."""

    def __init__(
        self,
        database: Database,
        signer: SignerClient,
        name: str = "s1",
        windows: Openings | None = None,
        works: Mapping[str, MakeWork] | None = None,
        on_changes: Sequence[FollowChanges] = (),
    ) -> None:
        self.database, self.name = database, name
        self.sessions, self.jobs, self.attempts = Sessions(database), Jobs(database), Attempts(database)
        self.audit = AuditLog(database, TimeOrderedIds(database.clock))
        self.nodes, self.streams, self.locks = (
            NodeCertificates(database),
            Streams(database, MAX_ORDERS),
            NodeLocks(database),
        )
        self.session_service = SessionService(
            database, self.sessions, self.streams, self.audit, lambda node: _nothing()
        )
        self.orders = OrderService(self.nodes, self.streams, self.audit, OrderSignatures(signer).prepare)
        self.records = RecordIntake(database, self.sessions)
        self.grants = Grants(database.clock, self.attempts, self.locks, self.orders)
        self.results = AttemptResults(self.jobs, self.attempts, self.grants)
        self.creation = JobCreation(self.jobs, self.attempts, self.sessions, TaskContents(database), self.audit)
        targets = TargetService(KnownNodes(database, Fleet(database), self.sessions), database.clock)
        self.service = JobService(
            database,
            self.jobs,
            self.attempts,
            self.locks,
            self.creation,
            targets,
            self.audit,
            CountedIds("run"),
            signer,
            windows or Windows(),
            build_joint_checks(database, Level.BEST),
        )
        self.guard = ClockGuard(database, "boot")
        stores = JobStores(
            database,
            self.jobs,
            self.attempts,
            self.sessions,
            self.orders,
            self.grants,
            self.guard,
            windows or Windows(),
            build_job_releases(database),
            works or {},
            on_changes=on_changes,
        )
        self.driver = JobDriver(stores, IntakeLag(database.clock.monotonic_s))
        self._claims: dict[tuple[str, str], int] = {}

    # Servers and nodes that connect

    async def renew(self) -> None:
        """Renew the lease of this server."""
        await self.sessions.renew_lease(self.name, self.name, LEASE_S, 0)

    async def connect(self, *names: str) -> None:
        await self.renew()
        for name in names:
            await self.database.write(self.nodes.lock_or_create, name)
            hello = Hello([1], "store", ["a"], "boot", "1")
            await self.session_service.begin(
                SessionStart(name, self.name, "store", ["a"], "", "192.0.2.1", "boot", "1"), hello
            )
            self.driver.note_connected(name)

    async def introduce(self, *names: str) -> None:
        """Create nodes that are not connected."""
        for name in names:
            await self.database.write(self.nodes.lock_or_create, name)

    async def leave(self, *names: str) -> None:
        """End the sessions of nodes."""
        epochs = await self.sessions.list_registered(self.name)
        await self.sessions.end(self.name, [(name, epochs[name]) for name in names if name in epochs])

    # Jobs

    async def start(self, *names: str, limits: JobLimits | None = None, **more: Any) -> str:
        body = NewRunJob(TargetsBody([",".join(names)]), limits=limits or JobLimits(), **more)
        return (await self.service.start(body, ANN)).id

    async def drive(self) -> None:
        """Do what the driver does when it is woken."""
        await self.renew()
        await self.guard.check()
        await self.driver.follow_returns()
        await self.driver.take_on(self.name)
        for job in await self.service.newest():
            await self.driver.advance(job.id)

    async def states(self, job: str) -> dict[str, str]:
        """The state of each node, with the reason if it has ended with one."""
        steps = await self.service.steps(job, "")
        return {step.node: step.state + (f"({step.reason})" if step.ended_at and step.reason else "") for step in steps}

    async def message(self, job: str, node: str) -> str | None:
        return next(step.message for step in await self.service.steps(job, "") if step.node == node)

    # What nodes receive and send

    async def received(self, node: str) -> list[Any]:
        """What a node receives; of a command, the text that is signed."""
        bodies: list[Any] = []
        for record in await self.orders.read(node, 0, 1_000):
            if record.kind == wire.TASK:
                ordered = msgspec.json.decode(record.body, type=SignedTaskOrder)
                bodies.append(msgspec.json.decode(ordered.text, type=TaskOrder))
            elif record.kind == wire.EXEC:
                signed = msgspec.json.decode(record.body, type=SignedExecOrder)
                bodies.append(msgspec.json.decode(signed.text, type=ExecOrder))
            else:
                bodies.append(msgspec.json.decode(record.body, type=_BODIES[record.kind]))
        return bodies

    async def orders_of(self, node: str) -> list[Any]:
        return [body for body in await self.received(node) if not isinstance(body, Grant | Abort)]

    async def grants_of(self, node: str) -> list[Grant]:
        return [body for body in await self.received(node) if isinstance(body, Grant)]

    async def ordered(self, *names: str) -> list[str]:
        return [name for name in names if await self.orders_of(name)]

    async def report(self, node: str, report: OrderReport) -> None:
        await self.database.write(self.results.update_from_order, node, report)

    async def claim(self, job: str, *names: str, n: int = 1, instance: str = "store") -> None:
        """Nodes claim the order of a job."""
        order = make_order_id(job, 1, n)
        for name in names:
            number = self._claims[name, order] = self._claims.get((name, order), 0) + 1
            await self.report(name, Claim(order, number, instance, "boot"))

    async def end(self, job: str, *names: str, is_success: bool = True, n: int = 1) -> None:
        """Nodes report that they have ended the order of a job."""
        for name in names:
            ended = ExecEnded(make_order_id(job, 1, n), self.database.clock.now(), code=0 if is_success else 1)
            await self.report(name, ended)

    async def carry_out(self, job: str, *names: str, is_success: bool = True, n: int = 1) -> None:
        await self.claim(job, *names, n=n)
        await self.end(job, *names, is_success=is_success, n=n)
