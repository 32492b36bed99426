"""One server with actions: its job engine, its scheduler, and people who create actions."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lab.job_engine import JobEngine
from precast.app.plans import build_plan_actions, build_plan_services, build_plan_work
from precast.app.settings import ServerSettings
from precast.base import digests
from precast.base.clock import ManualClock
from precast.base.errors import PrecastError
from precast.base.ids import CountedIds, TimeOrderedIds
from precast.services.actions.approved_actions import ACTION, ApprovedActions
from precast.services.actions.creation import ActionCreation
from precast.services.actions.due_events import ActionEvents, DueEvents
from precast.services.actions.meters import ActionMeters
from precast.services.actions.plan_dues import PlanDues
from precast.services.actions.rights import ActionRights
from precast.services.actions.scheduler import ActionScheduler
from precast.services.actions.service import ActionService
from precast.services.actions.starting import ActionStarter
from precast.services.actions.views import ActionViews
from precast.services.approvals.approvals import ApprovalService, Participant, RequestBook
from precast.services.code.file_trees import FileTree, TreeFile
from precast.services.identity.signer.client import SignerClient
from precast.services.jobs.requests import PLAN
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.targets import TargetService
from precast.services.windows.cron import parse_cron
from precast.store.actions.actions import ActionRow, Actions
from precast.store.approvals.approvals import Approvals
from precast.store.code.blobs import Blobs
from precast.store.code.environments import Environments, NewVersion
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction
from precast.store.identity.tokens import PersonToken, Tokens
from precast.store.nodes.nodes import Fleet, NodeClassification
from precast.wire.actions.bodies import ActionTimes, ActionView, ActionWork, DueView, NewAction
from precast.wire.nodes.bodies import TargetsBody

ANN, BOB = (Participant(f"person:{name}", "operator", (), f"token-of-{name}") for name in ("ann", "bob"))
RUN = ActionWork("run", "enforce")
FACTS = ActionWork("facts")


class ActionSite(JobEngine):
    """The actions of one server."""

    def __init__(self, database: Database, signer: SignerClient, directory: Path, name: str = "s1") -> None:
        super().__init__(database, signer, name, works={PLAN: build_plan_work(database)})
        self.signer = signer
        self.actions, self.fleet, self.tokens = Actions(database), Fleet(database), Tokens(database)
        self.environments = Environments(database)
        ids, approvals = TimeOrderedIds(database.clock), Approvals()
        self.rights = ActionRights(database.clock, self.tokens, self.environments)
        targets = TargetService(KnownNodes(database, self.fleet, self.sessions), database.clock)
        self.starter = ActionStarter(self.actions, self.jobs, self.creation, self.fleet, self.rights, targets)
        views = ActionViews(self.actions, self.jobs, self.attempts, approvals, self.guard)
        requests = RequestBook(database, approvals, self.audit, ids)
        approved = ApprovedActions(database, self.actions, self.environments, requests, parse_cron)
        self.approvals = ApprovalService(database, approvals, self.tokens, self.audit, {ACTION: approved})
        settings = ServerSettings(data=directory)
        plans, self.plans = build_plan_actions(database, settings), build_plan_services(database, settings, signer)
        self.action_creation = ActionCreation(
            *(database, self.actions, self.starter, self.rights, approved, views, plans, self.audit),
            *(CountedIds(f"action-{name}"), signer, parse_cron),
        )
        self.action_service = ActionService(
            *(database, self.actions, views, self.starter, self.attempts, self.service),
            *(self.plans.changes, self.audit, parse_cron),
        )
        self.plan_dues = PlanDues(database, self.actions, self.starter, plans, self.rights, CountedIds(f"plan-{name}"))
        due_events = DueEvents(database, self.actions, self.starter, self.plan_dues, CountedIds(f"event-{name}"))
        self.scheduler = ActionScheduler(
            database, self.actions, self.starter, due_events, self.guard, CountedIds(f"due-{name}"), parse_cron
        )
        self.events = ActionEvents(self.actions)
        self.meters = ActionMeters(database, self.actions)

    @property
    def now(self) -> datetime:
        return self.database.clock.now()

    async def advance(self, seconds: float) -> None:
        """Let time pass, in which this server keeps its lease."""
        clock = self.database.clock
        assert isinstance(clock, ManualClock)
        clock.advance(seconds)
        await self.renew()

    async def add_person(self, person: Participant, **more: Any) -> None:
        """Store the token of a person."""
        name = person.actor.removeprefix("person:")
        expires_at = more.pop("expires_at", self.now + timedelta(days=365))
        token = PersonToken(person.token, b"hash", name, person.role, list(person.environments), expires_at, b"seal")
        await self.database.write(self.tokens.add_person_token, token, "test")

    async def classify(self, node: str, environment: str) -> None:
        await self.database.write(self.fleet.set_classification, node, NodeClassification(environment, None, True))

    async def add_environment(self, name: str, files: Mapping[str, bytes] | None = None) -> None:
        """Create an environment, or a new version of it; without files it has one that is empty."""
        contents = {"README": b""} if files is None else files
        tree = FileTree({path: TreeFile(digests.of_bytes(data), len(data), False) for path, data in contents.items()})

        def write() -> Transaction[None]:
            blobs = Blobs(self.database)
            for data in contents.values():
                yield from blobs.put(digests.of_bytes(data), data)
            yield from blobs.put(tree.version, tree.encode())
            known = yield from self.environments.find(name)
            new = NewVersion(name, tree.version, "a directory", None, "test")
            assert (yield from self.environments.make_current(new, 1 if known is None else known.current.number + 1))

        await self.database.write(write)

    async def create(
        self,
        *targets: str,
        by: Participant = ANN,
        work: ActionWork = FACTS,
        more: dict[str, Any] | None = None,
        **times: Any,
    ) -> ActionView:
        nodes = TargetsBody(list(targets)) if targets else TargetsBody(all=True)
        return await self.action_creation.create(NewAction(work, nodes, ActionTimes(**times), **(more or {})), by)

    async def show(self, action: str) -> ActionView:
        return await self.action_service.show(action, ())

    async def dues(self, action: str) -> list[DueView]:
        """The due times of an action, the oldest first."""
        return list(reversed((await self.show(action)).due))

    async def outcomes(self, action: str) -> list[tuple[str, str]]:
        """Time of day and state of each due time."""
        return [(f"{due.due_at:%H:%M}", due.state) for due in await self.dues(action)]

    async def row(self, action: str) -> ActionRow:
        found = await self.database.read(self.actions.find, action)
        assert found is not None
        return found

    async def handle_plans(self) -> None:
        """Do what schedulers do: find what is due, and prepare and start plans. A new due time is handled by the pass that it wakes."""
        await self.scheduler.handle_all()
        await self.scheduler.handle_all()
        await self.plan_dues.work_off()

    async def finish(self, job: str) -> None:
        """Let every node of a job carry it out."""
        await self.drive()
        await self.carry_out(job, *(await self.states(job)))
        await self.drive()

    async def break_action(self, action: str) -> None:
        """Store a body that no version can have written."""

        def write() -> Transaction[None]:
            yield Query("test.break", "UPDATE action SET body = :body WHERE id = :id")(body=b"{", id=action)

        await self.database.write(write)


async def code_of(attempt: object) -> str:
    with pytest.raises(PrecastError) as caught:
        await attempt  # type: ignore[misc] # any awaitable
    return caught.value.code
