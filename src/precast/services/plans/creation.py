"""Stores runs of plans: a run is stored whole, with its attempts and all that it has pinned, in the transaction that starts it."""

from collections.abc import Sequence
from typing import NamedTuple

from precast.services.futures.members import add_plan_members
from precast.services.jobs.creation import JobCreation
from precast.services.jobs.requests import EXEC_GRACE_S, PLAN, JobRequest, digest_work
from precast.services.plans.pinned import PinnedPlan
from precast.services.plans.preparing.catalogs import CatalogPins
from precast.services.plans.preparing.preparation import Instances, PreparedPlan
from precast.services.plans.seals import SealedPrograms
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.jobs.attempts import Attempts, NewAttempt
from precast.store.jobs.jobs import NewJobRow
from precast.store.plans.runs import PlanRunRow, PlanRuns
from precast.store.plans.task_content import TaskContents
from precast.wire.jobs.programs import CatalogWork, ManifestWork, parse_program

NAMES_SHOWN = 20


class RunStores(NamedTuple):
    """The stores that runs are written to."""

    creation: JobCreation
    attempts: Attempts
    runs: PlanRuns
    contents: TaskContents
    catalogs: CatalogPins
    audit: AuditLog


class PlanRunCreation:
    """Holds no state between calls."""

    def __init__(self, stores: RunStores) -> None:
        self._stores = stores

    def create(
        self,
        job: str,
        request: JobRequest,
        prepared: PreparedPlan,
        sealed: SealedPrograms,
        actor: str,
        action: str | None = None,
    ) -> Transaction[None]:
        """Store a run with the attempts of its first round. Raises UnavailableError PLAN-109, RUN-004."""
        pinned, stores = prepared.pinned, self._stores
        work = digest_work(PLAN, request, pinned.plan.name)
        request = yield from stores.creation.estimate(work, request)
        row = NewJobRow(job, PLAN, request.encode(), pinned.environment, action, actor, work)
        yield from stores.creation.create_empty(row, len(pinned.nodes))
        yield from self.pin(job, prepared)
        yield from self.add_round(job, 1, request, pinned, prepared.instances, sealed)
        nodes = [node.name for node in pinned.nodes]
        detail = {
            "run": job,
            "why": request.why,
            "nodes": nodes[:NAMES_SHOWN],
            "count": len(nodes),
            "overrides_window": request.overrides_window,
            "overrides_futures": request.overrides_futures,
        }
        yield from stores.audit.add(
            actor, "plan.start", pinned.plan.name, digest=prepared.check.digest, mode=pinned.mode, **detail
        )

    def pin(self, job: str, prepared: PreparedPlan) -> Transaction[None]:
        """Store what a run uses from now on."""
        stores, pinned = self._stores, prepared.pinned
        row = PlanRunRow(job, pinned.plan.name, prepared.check.digest, pinned.encode())
        yield from stores.runs.pin(row, prepared.programs, prepared.data)
        if pinned.replays:
            yield from stores.catalogs.copy_holds(pinned.replays, job, pinned.catalogs)
        else:
            yield from stores.catalogs.hold(job, pinned.catalogs)
        if prepared.executables:
            yield from stores.contents.allow(job, prepared.executables)
        if prepared.sending:
            yield from stores.contents.expect(job, prepared.sending)

    def add_round(
        self,
        job: str,
        n: int,
        request: JobRequest,
        pinned: PinnedPlan,
        instances: Sequence[Instances],
        sealed: SealedPrograms,
    ) -> Transaction[None]:
        """Add an attempt for each of these steps. Those of the first round are no changes: a large run would begin with as many."""
        attempts = [
            NewAttempt(
                group.task,
                node,
                place,
                0,
                seal=sealed.seals.get((group.task, node)),
                allowed_s=pinned.plan.tasks[group.task - 1].timeout_s + EXEC_GRACE_S,
                is_known=n == 1,
            )
            for group in instances
            for place, node in enumerate(group.nodes)
        ]
        yield from self._stores.attempts.add(job, n, request.allowed_s, attempts)
        if pinned.catalogs and pinned.mode != "noop":
            applied = yield from self._find_applied(job, pinned, instances)
            yield from add_plan_members(job, n, applied, self._stores.attempts.now())

    def _find_applied(
        self, job: str, pinned: PinnedPlan, instances: Sequence[Instances]
    ) -> Transaction[list[tuple[int, str, str]]]:
        """The steps that apply catalogs and may fulfil promises: each by task, node and the digest of the catalog."""
        applied: list[tuple[int, str, str]] = []
        for task, names in instances:
            nodes = {node for node in names if node in pinned.catalogs}
            for row in (yield from self._stores.runs.list_programs(job, task)) if nodes else ():
                work = parse_program(row.program).work
                if isinstance(work, CatalogWork | ManifestWork) and work.mode == "enforce":
                    entry = work.entry if isinstance(work, ManifestWork) else ""
                    versions = [(node, pinned.catalogs[node].get(entry)) for node in row.nodes if node in nodes]
                    applied += [(task, node, digest) for node, digest in versions if digest]
        return applied
