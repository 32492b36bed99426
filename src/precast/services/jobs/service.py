"""Jobs as people request them: creates, shows and stops them.

A job is created with all of its steps, in one transaction with its entry in the audit log. Nodes that are not connected are left out at
once, unless the request waits for them. The commit wakes the job's driver; this service itself drives nothing.
"""

from collections.abc import Sequence
from datetime import timedelta

import msgspec

from precast.base.ids import Ids
from precast.services import texts
from precast.services.identity.signer.messages import Credential
from precast.services.jobs import issues
from precast.services.jobs.requests import (
    APPLY,
    EXEC,
    JobRequest,
    decode_request,
    request_command,
    request_run,
    resolve_amount,
    why_away,
)
from precast.services.jobs.sealed_commands import CommandSigner, NewCommand, SealedRequest, seal_command
from precast.services.query.targets import TargetService
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import END, AuditLog
from precast.store.jobs import jobs as store
from precast.store.jobs.jobs import CHANGED_PREFIX, JobRow, Jobs, NewStep, OutputRow, StepRow
from precast.store.sessions.sessions import Sessions
from precast.wire.identity.names import is_name
from precast.wire.jobs.orders import OutputLine
from precast.wire.jobs.views import JobChanges, JobView, NewExecJob, NewRunJob, OutputView, StepResult, StepView
from precast.wire.nodes.bodies import TargetsBody

MAX_OPEN = 1_000
LISTED = 50
CHANGES = 500
NAMES_SHOWN = 20
# The longest time that a viewer may wait for a change.
MAX_WAIT_S = 20.0


class JobService:
    """Holds no state between calls."""

    def __init__(
        self,
        database: Database,
        jobs: Jobs,
        sessions: Sessions,
        targets: TargetService,
        audit: AuditLog,
        ids: Ids,
        signer: CommandSigner,
    ) -> None:
        self._database, self._jobs, self._sessions = database, jobs, sessions
        self._targets, self._audit, self._ids, self._signer = targets, audit, ids, signer

    async def start(self, body: NewRunJob, actor: str) -> JobView:
        """Have nodes apply their released catalogs. Raises what targets raise, UnavailableError RUN-004."""
        texts.check("the reason", body.why)
        for tag in body.tags:
            texts.check("a tag", tag)
        names = await self._names(body.nodes)
        request = request_run(body, len(names))
        return await self._database.write(
            self._create, self._ids.new(), APPLY, SealedRequest(request, {}), names, actor
        )

    async def command(self, body: NewExecJob, actor: str, credential: Credential | None = None) -> JobView:
        """Have nodes run a command, which the signer seals for the person.

        Raises what targets and the signer raise, InputError RUN-003, UnavailableError RUN-004.
        """
        texts.check("the reason", body.why)
        names = await self._names(body.nodes)
        new = NewCommand(self._ids.new(), request_command(body, len(names)), names, actor)
        sealed = await seal_command(self._signer, new, credential, self._database.clock.now())
        return await self._database.write(self._create, new.job, EXEC, sealed, names, actor)

    async def stop(self, job_id: str, actor: str, kind: str | None = None) -> JobView:
        """Let no other node start; nodes that have started go on. Raises NotFoundError RUN-001, ConflictError RUN-002."""
        return await self._database.write(self._stop, job_id, actor, kind)

    async def show(self, job_id: str, kind: str | None = None) -> JobView:
        """The state of a job. Raises NotFoundError RUN-001."""
        return await self._database.read(self._find_view, job_id, kind)

    async def newest(self, before: str = "") -> list[JobView]:
        """The newest jobs, of those before a given id."""
        return await self._database.read(self._list_newest, before if is_id(before) and before else END)

    async def steps(self, job_id: str, after: str) -> list[StepView]:
        """A page of the nodes of a job, by name. Raises NotFoundError RUN-001."""
        await self.show(job_id)
        steps = await self._database.read(self._jobs.list_steps, job_id, after if is_name(after) else "", CHANGES)
        return [_step_view(step) for step in steps]

    async def changes(
        self, job_id: str, after: int, wait_s: float, kind: str | None = None, *, with_output: bool = False
    ) -> JobChanges:
        """The changes after a number; waits up to `wait_s` for one, unless the job is over. Raises NotFoundError RUN-001."""
        clock = self._database.clock
        until_s = clock.monotonic_s() + min(max(wait_s, 0.0), MAX_WAIT_S)
        with self._database.wakeups.subscribe(CHANGED_PREFIX + job_id) as sleeper:
            while True:
                changes = await self._database.read(self._list_changes, job_id, after, kind, with_output)
                left_s = until_s - clock.monotonic_s()
                if changes.changes or changes.run.is_over or left_s <= 0:
                    return changes
                await sleeper.wait(left_s)

    async def _names(self, nodes: TargetsBody) -> list[str]:
        return (await self._targets.resolve(nodes)).names

    def _create(
        self, job_id: str, kind: str, sealed: SealedRequest, names: Sequence[str], actor: str
    ) -> Transaction[JobView]:
        request = sealed.request
        count = yield from self._jobs.count_open()
        if count >= MAX_OPEN:
            raise issues.TOO_MANY_RUNS.error(count=count)
        available = (yield from self._sessions.filter_connected(names)) if not request.limits.away_s else set(names)
        size = resolve_amount(request.limits.batch, len(available)) or len(names)
        ordered = [name for name in names if name in available]
        steps = [NewStep(name, at // size, seal=sealed.seals.get(name)) for at, name in enumerate(ordered)]
        held = yield from self._sessions.filter_held([name for name in names if name not in available])
        away = [NewStep(name, 0, store.AWAY, why_away(name in held)) for name in names if name not in available]
        yield from self._jobs.create(
            job_id, kind, request.encode(), actor, timedelta(seconds=request.allowed_s), [*steps, *away]
        )
        yield from self._audit_start(job_id, kind, request, names, actor)
        return (yield from self._find_view(job_id, None))

    def _audit_start(
        self, job_id: str, kind: str, request: JobRequest, names: Sequence[str], actor: str
    ) -> Transaction[None]:
        target = names[0] if len(names) == 1 else f"{len(names)} nodes"
        detail = {"run": job_id, "why": request.why, "nodes": list(names[:NAMES_SHOWN]), "count": len(names)}
        if kind == EXEC:
            yield from self._audit.add(actor, "command.run", target, argv=request.argv, **detail)
        else:
            yield from self._audit.add(actor, "run.start", target, mode=request.mode, tags=request.tags, **detail)

    def _stop(self, job_id: str, actor: str, kind: str | None) -> Transaction[JobView]:
        before = yield from self._find_view(job_id, kind)
        if not (yield from self._jobs.request_stop(job_id, actor)):
            raise issues.RUN_OVER.error(run=job_id, state=before.state)
        yield from self._audit.add(actor, "run.stop", job_id)
        return (yield from self._find_view(job_id, kind))

    def _find_view(self, job_id: str, kind: str | None) -> Transaction[JobView]:
        job = (yield from self._jobs.find(job_id)) if is_id(job_id) else None
        if job is None or kind not in (None, job.kind):
            raise issues.NO_SUCH_RUN.error(run=job_id[:80])
        return _view(job, (yield from self._jobs.count_steps(job_id)))

    def _list_newest(self, before: str) -> Transaction[list[JobView]]:
        jobs = yield from self._jobs.list_newest(before, LISTED)
        counts = {}
        for job in jobs:
            counts[job.id] = yield from self._jobs.count_steps(job.id)
        return [_view(job, counts[job.id]) for job in jobs]

    def _list_changes(self, job_id: str, after: int, kind: str | None, with_output: bool) -> Transaction[JobChanges]:
        view = yield from self._find_view(job_id, kind)
        job = yield from self._jobs.find(job_id)
        assert job is not None, "the view was just read"
        steps, outputs = yield from self._jobs.list_changes(job_id, after, CHANGES)
        numbered: list[tuple[int, StepView | OutputView]] = [(step.number or 0, _step_view(step)) for step in steps]
        numbered += [(output.number, _output_view(output)) for output in outputs if with_output]
        page = sorted(numbered, key=lambda pair: pair[0])[:CHANGES]
        is_truncated = len(steps) == CHANGES or len(outputs) == CHANGES or len(numbered) > len(page)
        last = page[-1][0] if is_truncated and page else job.changes
        return JobChanges(view, [change for _, change in page], max(after, last))


def is_id(text: str) -> bool:
    """Whether a text could be the id of a job: the database is asked for nothing else."""
    return len(text) <= 64 and text.isascii() and text.replace("-", "").isalnum()


def _view(job: JobRow, counts: dict[str, int]) -> JobView:
    request = decode_request(job)
    return JobView(
        id=job.id,
        kind=job.kind,
        state=job.state,
        made_by=job.made_by,
        made_at=job.made_at,
        ended_at=job.ended_at,
        stopped_by=job.stopped_by,
        nodes=job.nodes,
        counts=counts,
        limits=request.limits,
        mode=request.mode if job.kind == APPLY else None,
        tags=request.tags,
        argv=request.argv,
        why=request.why,
    )


def _step_view(step: StepRow) -> StepView:
    return StepView(
        node=step.node,
        state=step.state,
        batch=step.batch,
        ordered_at=step.ordered_at,
        began_at=step.began_at,
        ended_at=step.ended_at,
        report=step.report,
        message=step.message,
        result=None if step.result is None else msgspec.json.decode(step.result, type=StepResult),
    )


def _output_view(output: OutputRow) -> OutputView:
    return OutputView(output.node, output.first, msgspec.json.decode(output.lines, type=list[OutputLine]))
