"""Jobs as people request them: starts, shows, ends and repeats them.

The commit wakes the job's driver; this service itself drives nothing. A token for some environments starts jobs on nodes of these, and
sees jobs of these; a job whose nodes are of several environments belongs to none.
"""

from collections.abc import Sequence
from typing import Protocol

from precast.base.ids import Ids
from precast.services import texts
from precast.services.futures.members import KEEP, RERUN, find_stale_consumers
from precast.services.identity.signer.messages import Credential
from precast.services.jobs import issues
from precast.services.jobs.creation import JobCreation, NewJob
from precast.services.jobs.driving.job_windows import Openings, find_held
from precast.services.jobs.node_environments import require_environments
from precast.services.jobs.requests import (
    APPLY,
    EXEC,
    PLAN,
    RELEASE,
    JobRequest,
    decode_request,
    request_command,
    request_run,
)
from precast.services.jobs.sealed_commands import CommandSigner, NewCommand, SealedRequest, seal_command
from precast.services.jobs.views import view_job, view_output, view_step, view_wait, view_window
from precast.services.query.targets import ResolvedTargets, TargetService
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import END, AuditLog
from precast.store.jobs.attempts import Attempts
from precast.store.jobs.jobs import CHANGED_PREFIX, ENDED_PREFIX, JobRow, Jobs
from precast.store.jobs.node_locks import NodeLocks
from precast.wire.identity.names import is_name
from precast.wire.jobs import states
from precast.wire.jobs.order_ids import MAX_TASK
from precast.wire.jobs.views import JobChanges, JobView, NewExecJob, NewRunJob, OutputView, StepView
from precast.wire.nodes.bodies import TargetsBody

LISTED = 50
CHANGES = 500
# The longest time that a viewer may wait for a change.
MAX_WAIT_S = 20.0
# Changes within this time are answered together, unless the job ends or a page is full.
COLLECT_S = 0.1
# The steps that another round concerns.
RESUMED = (states.CANCELLED, states.SKIPPED)
RETRIED = (states.FAILED, states.EXPIRED)


class WaitCheck(Protocol):
    """Finds nodes that would wait for each other for ever."""

    async def require_sound(self, nodes: Sequence[str], run_tags: Sequence[str] = ()) -> None:
        """Raises ConflictError FUTURE-050, UnavailableError FUTURE-051."""


class JobService:
    """Holds no state between calls."""

    def __init__(
        self,
        database: Database,
        jobs: Jobs,
        attempts: Attempts,
        locks: NodeLocks,
        creation: JobCreation,
        targets: TargetService,
        audit: AuditLog,
        ids: Ids,
        signer: CommandSigner,
        windows: Openings,
        waits: WaitCheck,
    ) -> None:
        self._database, self._jobs, self._attempts, self._locks = database, jobs, attempts, locks
        self._creation, self._windows, self._waits = creation, windows, waits
        self._targets, self._audit, self._ids, self._signer = targets, audit, ids, signer

    # Starting

    async def start(self, body: NewRunJob, actor: str, environments: Sequence[str] = ()) -> JobView:
        """Have nodes apply their released catalogs.

        Raises what targets raise, DeniedError RUN-006, UnavailableError RUN-004; ConflictError FUTURE-050 or UnavailableError FUTURE-051
        if they would wait for each other for ever, or that could not be checked.
        """
        texts.check("the reason", body.why)
        for tag in body.tags:
            texts.check("a tag", tag)
        resolved = await self._resolve(body.nodes, environments)
        if body.mode == "enforce" and not body.overrides_futures:
            await self._waits.require_sound(resolved.names, body.tags)
        request = request_run(body, len(resolved.names))
        new = NewJob(self._ids.new(), APPLY, request, resolved.names, actor, resolved.environment)
        return await self._database.write(self._create, new)

    async def command(self, body: NewExecJob, actor: str, credential: Credential | None = None) -> JobView:
        """Have nodes run a command, which the signer seals for the person.

        Raises what targets and the signer raise, InputError RUN-003, UnavailableError RUN-004.
        """
        texts.check("the reason", body.why)
        resolved = await self._resolve(body.nodes, ())
        names = resolved.names
        new = NewCommand(self._ids.new(), 1, request_command(body, len(names)), names, actor)
        sealed = await seal_command(self._signer, new, credential, self._database.clock.now())
        return await self._database.write(
            self._create, NewJob(new.job, EXEC, sealed.request, names, actor, resolved.environment, None, sealed.seals)
        )

    async def _resolve(self, nodes: TargetsBody, environments: Sequence[str]) -> ResolvedTargets:
        resolved = await self._targets.resolve(nodes)
        if environments and not resolved.environments <= set(environments):
            raise issues.OTHER_ENVIRONMENT.error()  # which environment that is, is not for the person to know
        return resolved

    def _create(self, new: NewJob) -> Transaction[JobView]:
        job = yield from self._creation.create(new)
        return (yield from self._view(job))

    # Ending and repeating

    async def stop(self, job_id: str, actor: str, kind: str | None = None, environments: Sequence[str] = ()) -> JobView:
        """Let no other node begin; what was picked up goes on. Raises NotFoundError RUN-001, ConflictError RUN-002."""
        return await self._database.write(self._request_end, job_id, actor, states.STOPPING, kind, environments)

    async def abort(
        self, job_id: str, actor: str, kind: str | None = None, environments: Sequence[str] = ()
    ) -> JobView:
        """Let no other node begin, and end what was picked up. Raises NotFoundError RUN-001, ConflictError RUN-002."""
        return await self._database.write(self._request_end, job_id, actor, states.ABORTING, kind, environments)

    async def resume(
        self,
        job_id: str,
        actor: str,
        credential: Credential | None = None,
        environments: Sequence[str] = (),
        kind: str | None = None,
    ) -> JobView:
        """Go on with a job that was stopped, aborted or halted: with the nodes that have not begun. Raises RUN-001, RUN-007 to RUN-009."""
        return await self._repeat(job_id, actor, "resume", RESUMED, credential, environments, kind)

    async def retry(
        self,
        job_id: str,
        actor: str,
        credential: Credential | None = None,
        environments: Sequence[str] = (),
        kind: str | None = None,
    ) -> JobView:
        """Repeat a job that has ended on the nodes that failed. Raises RUN-001, RUN-007 to RUN-009."""
        return await self._repeat(job_id, actor, "retry", RETRIED, credential, environments, kind)

    async def _repeat(
        self,
        job_id: str,
        actor: str,
        verb: str,
        ended: Sequence[str],
        credential: Credential | None,
        environments: Sequence[str],
        kind: str | None,
    ) -> JobView:
        """Open another round of a job, for the steps that ended in one of these states."""
        job, nodes = await self._database.read(self._find_repeatable, job_id, verb, ended, environments, kind)
        await require_environments(self._targets, nodes, environments)
        request = decode_request(job)
        sealed = SealedRequest(request, {})
        if job.kind == EXEC:
            new = NewCommand(job.id, job.round + 1, request, nodes, job.made_by)
            sealed = await seal_command(self._signer, new, credential, self._database.clock.now())
        return await self._database.write(self._open_round, job, sealed, nodes, actor, verb)

    def _find_repeatable(
        self, job_id: str, verb: str, ended: Sequence[str], environments: Sequence[str], kind: str | None
    ) -> Transaction[tuple[JobRow, list[str]]]:
        job = yield from self._find(job_id, kind, environments)
        if job.kind == PLAN:
            raise issues.RUN_OF_PLAN.error(run=job_id, verb=verb)
        if job.ended_at is None:
            raise issues.RUN_OPEN.error(run=job_id, verb=verb)
        steps = yield from self._attempts.list_states(job.id)
        nodes = [step.node for step in steps if step.state in ended]
        if not nodes:
            raise issues.NOTHING_TO_REPEAT.error(run=job_id, verb=verb, states=" or ".join(ended))
        return job, nodes

    def _open_round(
        self, job: JobRow, sealed: SealedRequest, nodes: Sequence[str], actor: str, verb: str
    ) -> Transaction[JobView]:
        if not (yield from self._jobs.reopen(job, sealed.request.encode())):
            raise issues.RUN_OPEN.error(run=job.id, verb=verb)
        n, stale = job.round + 1, list[tuple[str, str]]()
        if job.kind in (APPLY, RELEASE) and verb == "retry":
            stale = yield from self._find_stale(job, sealed.request, nodes)
        again = [node for node, _ in stale] if sealed.request.stale_values == RERUN else []
        yield from self._creation.add_round(job.id, n, job.kind, sealed.request, [*nodes, *again], sealed.seals)
        if not again:
            yield from self._creation.fail_stale(job.id, n, stale, len(nodes))
        yield from self._audit.add(actor, f"run.{verb}", job.id, count=len(nodes))
        found = yield from self._find(job.id, None, ())
        return (yield from self._view(found))

    def _find_stale(self, job: JobRow, request: JobRequest, nodes: Sequence[str]) -> Transaction[list[tuple[str, str]]]:
        """The nodes that were given values which these nodes promise again, unless the job leaves them as they are."""
        if request.stale_values == KEEP:
            return []
        return (yield from find_stale_consumers(job.id, nodes))

    def _request_end(
        self, job_id: str, actor: str, state: str, kind: str | None, environments: Sequence[str]
    ) -> Transaction[JobView]:
        before = yield from self._find(job_id, kind, environments)
        if not (yield from self._jobs.request_end(job_id, actor, state)):
            raise issues.RUN_OVER.error(run=job_id, state=before.state)
        yield from self._audit.add(actor, "run.abort" if state == states.ABORTING else "run.stop", job_id)
        found = yield from self._find(job_id, kind, ())
        return (yield from self._view(found))

    # Showing

    async def show(self, job_id: str, kind: str | None = None, environments: Sequence[str] = ()) -> JobView:
        """The state of a job. Raises NotFoundError RUN-001."""
        return await self._database.read(self._find_view, job_id, kind, environments)

    async def newest(self, before: str = "", environments: Sequence[str] = ()) -> list[JobView]:
        """The newest jobs, of those before a given id."""
        return await self._database.read(self._list_newest, before if is_id(before) and before else END, environments)

    async def steps(self, job_id: str, after: str, environments: Sequence[str] = ()) -> list[StepView]:
        """A page of the nodes of a job, by name. Raises NotFoundError RUN-001."""
        job, steps = await self._database.read(self._list_steps, job_id, after if is_name(after) else "", environments)
        return await self._explain_windows(job, steps)

    async def _explain_windows(self, job: JobRow, steps: list[StepView]) -> list[StepView]:
        """Say of steps that wait for a window that they do."""
        waiting = [step.node for step in steps if step.reason == states.TURN]
        held = (await find_held(self._windows, self._database.clock, job, waiting)) if waiting else {}
        return [
            view_window(step, held[step.node]) if step.reason == states.TURN and step.node in held else step
            for step in steps
        ]

    async def changes(
        self,
        job_id: str,
        after: int,
        wait_s: float,
        kind: str | None = None,
        *,
        with_output: bool = False,
        environments: Sequence[str] = (),
    ) -> JobChanges:
        """The changes after a number; waits up to `wait_s` for one, and a moment for more, unless the job is over.

        Raises NotFoundError RUN-001.
        """
        database, clock = self._database, self._database.clock
        until_s = clock.monotonic_s() + min(max(wait_s, 0.0), MAX_WAIT_S)
        has_collected = False
        with (
            database.wakeups.subscribe(CHANGED_PREFIX + job_id) as changed,
            database.wakeups.subscribe(ENDED_PREFIX + job_id) as ended,
        ):
            while True:
                job = await database.read(self._find, job_id, kind, environments)
                new, left_s = job.changes - after, until_s - clock.monotonic_s()
                if job.ended_at is not None or left_s <= 0 or new >= CHANGES or has_collected:
                    return await database.read(self._list_changes, job_id, after, kind, with_output, environments)
                has_collected = new > 0
                await (ended.wait(min(COLLECT_S, left_s)) if has_collected else changed.wait(left_s))

    def _find(self, job_id: str, kind: str | None, environments: Sequence[str]) -> Transaction[JobRow]:
        job = (yield from self._jobs.find(job_id)) if is_id(job_id) else None
        if job is None or kind not in (None, job.kind) or not is_visible(job, environments):
            raise issues.NO_SUCH_RUN.error(run=job_id[:80])
        return job

    def _view(self, job: JobRow) -> Transaction[JobView]:
        return view_job(job, (yield from self._attempts.count(job.id)))

    def _find_view(self, job_id: str, kind: str | None, environments: Sequence[str]) -> Transaction[JobView]:
        job = yield from self._find(job_id, kind, environments)
        return (yield from self._view(job))

    def _list_newest(self, before: str, environments: Sequence[str]) -> Transaction[list[JobView]]:
        views: list[JobView] = []
        for job in (yield from self._jobs.list_newest(before, LISTED, environments)):
            views.append((yield from self._view(job)))  # noqa: PERF401 - a comprehension cannot yield
        return views

    def _list_steps(
        self, job_id: str, after: str, environments: Sequence[str]
    ) -> Transaction[tuple[JobRow, list[StepView]]]:
        """A page of steps; one that waits for its node's lock says who has it."""
        job = yield from self._find(job_id, None, environments)
        steps = yield from self._attempts.list_steps(job_id, after, MAX_TASK, CHANGES)
        views = [view_step(step, with_output=job.kind != PLAN) for step in steps]
        waiting = [view.node for view in views if view.reason == states.LOCK]
        holders = (yield from self._locks.find_holders(waiting)) if waiting else {}
        return job, [view_wait(view, holders.get(view.node)) for view in views]

    def _list_changes(
        self, job_id: str, after: int, kind: str | None, with_output: bool, environments: Sequence[str]
    ) -> Transaction[JobChanges]:
        job = yield from self._find(job_id, kind, environments)
        view = yield from self._view(job)
        steps, outputs = yield from self._attempts.list_changes(job_id, after, CHANGES)
        sees_output = with_output or job.kind != PLAN
        numbered: list[tuple[int, StepView | OutputView]] = [
            (step.number or 0, view_step(step, with_output=sees_output)) for step in steps
        ]
        numbered += [(output.number, view_output(output)) for output in outputs if with_output]
        page = sorted(numbered, key=lambda pair: pair[0])[:CHANGES]
        is_truncated = len(steps) == CHANGES or len(outputs) == CHANGES or len(numbered) > len(page)
        last = page[-1][0] if is_truncated and page else job.changes
        return JobChanges(view, [change for _, change in page], max(after, last))


def is_id(text: str) -> bool:
    """Whether a text could be the id of a job: the database is asked for nothing else."""
    return len(text) <= 64 and text.isascii() and text.replace("-", "").isalnum()


def is_visible(job: JobRow, environments: Sequence[str]) -> bool:
    """Whether a person may see a job whose token is limited to these environments; none means all."""
    return not environments or job.environment in environments
