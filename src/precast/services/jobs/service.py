"""Runs as people ask for them: begun, looked at while they go on, stopped.

A run begins with all of its steps, in one transaction with its entry in the audit log. Who is away is said at once and not waited
for, unless that is asked. Whoever drives it is woken after the commit; this service itself drives nothing.
"""

from collections.abc import Sequence
from datetime import timedelta

import msgspec

from precast.base.ids import Ids
from precast.services import texts
from precast.services.jobs import issues as issues
from precast.services.jobs import wanted as bodies
from precast.services.jobs.wanted import APPLY, EXEC, Wanted, amount
from precast.services.query.targets import TargetService
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import END, AuditLog
from precast.store.jobs import runs as store
from precast.store.jobs.runs import SEEN, NewStep, OutputRow, RunRow, Runs, StepRow
from precast.store.sessions.sessions import Sessions
from precast.wire.identity.names import is_name
from precast.wire.jobs.orders import Line
from precast.wire.jobs.views import NewCommand, NewRun, OutputView, RunChanges, RunView, StepResult, StepView
from precast.wire.nodes.bodies import TargetsBody

MAX_OPEN = 1_000
LISTED = 50
CHANGES = 500
NAMES_SHOWN = 20
# How long a viewer may wait for something to change.
MAX_WAIT_S = 20.0


class RunService:
    """Holds no state between calls."""

    def __init__(
        self,
        database: Database,
        runs: Runs,
        sessions: Sessions,
        targets: TargetService,
        audit: AuditLog,
        ids: Ids,
    ) -> None:
        self._database, self._runs, self._sessions = database, runs, sessions
        self._targets, self._audit, self._ids = targets, audit, ids

    async def start(self, body: NewRun, actor: str) -> RunView:
        """Have nodes apply what was released to them. Raises what targets raise, UnavailableError RUN-004."""
        texts.check("the reason", body.why)
        for tag in body.tags:
            texts.check("a tag", tag)
        names = await self._names(body.nodes)
        wanted = bodies.of_run(body, len(names))
        return await self._make(APPLY, wanted, names, actor)

    async def command(self, body: NewCommand, actor: str) -> RunView:
        """Have nodes run a command. Raises what targets raise, InputError RUN-003, UnavailableError RUN-004."""
        texts.check("the reason", body.why)
        names = await self._names(body.nodes)
        wanted = bodies.of_command(body, len(names))
        return await self._make(EXEC, wanted, names, actor)

    async def stop(self, run: str, actor: str, kind: str | None = None) -> RunView:
        """Let nobody else begin; who has begun goes on. Raises NotFoundError RUN-001, ConflictError RUN-002."""
        return await self._database.write(self._stopping, run, actor, kind)

    async def show(self, run: str, kind: str | None = None) -> RunView:
        """How a run stands. Raises NotFoundError RUN-001."""
        return await self._database.read(self._showing, run, kind)

    async def newest(self, before: str = "") -> list[RunView]:
        """The newest runs, from before one on."""
        return await self._database.read(self._listing, before if is_id(before) and before else END)

    async def steps(self, run: str, after: str) -> list[StepView]:
        """The nodes of a run by name, a page of them. Raises NotFoundError RUN-001."""
        await self.show(run)
        found = await self._database.read(self._runs.steps, run, after if is_name(after) else "", CHANGES)
        return [_step(one) for one in found]

    async def changes(
        self, run: str, after: int, wait_s: float, kind: str | None = None, *, with_output: bool = False
    ) -> RunChanges:
        """What has changed after a number; waits for it as long as it may, unless the run is over. Raises NotFoundError RUN-001."""
        clock = self._database.clock
        until_s = clock.monotonic_s() + min(max(wait_s, 0.0), MAX_WAIT_S)
        with self._database.wakeups.subscribe(SEEN + run) as sleeper:
            while True:
                found = await self._database.read(self._changing, run, after, kind, with_output)
                left_s = until_s - clock.monotonic_s()
                if found.changes or found.run.is_over or left_s <= 0:
                    return found
                await sleeper.wait(left_s)

    async def _names(self, nodes: TargetsBody) -> list[str]:
        return (await self._targets.names(nodes)).names

    async def _make(self, kind: str, wanted: Wanted, names: Sequence[str], actor: str) -> RunView:
        return await self._database.write(self._making, self._ids.new(), kind, wanted, names, actor)

    def _making(self, run: str, kind: str, wanted: Wanted, names: Sequence[str], actor: str) -> Transaction[RunView]:
        count = yield from self._runs.open_count()
        if count >= MAX_OPEN:
            raise issues.TOO_MANY_RUNS.error(count=count)
        present = (yield from self._sessions.present(names)) if not wanted.limits.away_s else set(names)
        size = amount(wanted.limits.batch, len(present)) or len(names)
        here = [name for name in names if name in present]
        steps = [NewStep(name, at // size) for at, name in enumerate(here)]
        away = [NewStep(name, 0, store.AWAY, "it is not connected") for name in names if name not in present]
        yield from self._runs.making(
            run, kind, wanted.encoded(), actor, timedelta(seconds=wanted.allowed_s), [*steps, *away]
        )
        yield from self._noting(run, kind, wanted, names, actor)
        return (yield from self._showing(run, None))

    def _noting(self, run: str, kind: str, wanted: Wanted, names: Sequence[str], actor: str) -> Transaction[None]:
        target = names[0] if len(names) == 1 else f"{len(names)} nodes"
        about = {"run": run, "why": wanted.why, "nodes": list(names[:NAMES_SHOWN]), "count": len(names)}
        if kind == EXEC:
            yield from self._audit.adding(actor, "command.run", target, argv=wanted.argv, **about)
        else:
            yield from self._audit.adding(actor, "run.start", target, mode=wanted.mode, tags=wanted.tags, **about)

    def _stopping(self, run: str, actor: str, kind: str | None) -> Transaction[RunView]:
        before = yield from self._showing(run, kind)
        if not (yield from self._runs.asking_to_stop(run, actor)):
            raise issues.RUN_OVER.error(run=run, state=before.state)
        yield from self._audit.adding(actor, "run.stop", run)
        return (yield from self._showing(run, kind))

    def _showing(self, run: str, kind: str | None) -> Transaction[RunView]:
        found = (yield from self._runs.showing(run)) if is_id(run) else None
        if found is None or kind not in (None, found.kind):
            raise issues.NO_SUCH_RUN.error(run=run[:80])
        return _view(found, (yield from self._runs.counts(run)))

    def _listing(self, before: str) -> Transaction[list[RunView]]:
        found = yield from self._runs.listing(before, LISTED)
        counts = {}
        for one in found:
            counts[one.id] = yield from self._runs.counts(one.id)
        return [_view(one, counts[one.id]) for one in found]

    def _changing(self, run: str, after: int, kind: str | None, with_output: bool) -> Transaction[RunChanges]:
        view = yield from self._showing(run, kind)
        row = yield from self._runs.showing(run)
        assert row is not None, "it was just shown"
        steps, said = yield from self._runs.changes(run, after, CHANGES)
        numbered: list[tuple[int, StepView | OutputView]] = [(one.number or 0, _step(one)) for one in steps]
        numbered += [(one.number, _output(one)) for one in said if with_output]
        chosen = sorted(numbered, key=lambda pair: pair[0])[:CHANGES]
        is_cut = len(steps) == CHANGES or len(said) == CHANGES or len(numbered) > len(chosen)
        last = chosen[-1][0] if is_cut and chosen else row.changes
        return RunChanges(view, [change for _, change in chosen], max(after, last))


def is_id(run: str) -> bool:
    """Whether it could be the id of a run: nothing else is asked of a database."""
    return len(run) <= 64 and run.isascii() and run.replace("-", "").isalnum()


def _view(run: RunRow, counts: dict[str, int]) -> RunView:
    wanted = bodies.decode(run)
    return RunView(
        id=run.id,
        kind=run.kind,
        state=run.state,
        made_by=run.made_by,
        made_at=run.made_at,
        ended_at=run.ended_at,
        stopped_by=run.stopped_by,
        nodes=run.nodes,
        counts=counts,
        limits=wanted.limits,
        mode=wanted.mode if run.kind == APPLY else None,
        tags=wanted.tags,
        argv=wanted.argv,
        why=wanted.why,
    )


def _step(one: StepRow) -> StepView:
    return StepView(
        node=one.node,
        state=one.state,
        batch=one.batch,
        ordered_at=one.ordered_at,
        began_at=one.began_at,
        ended_at=one.ended_at,
        report=one.report,
        message=one.message,
        result=None if one.result is None else msgspec.json.decode(one.result, type=StepResult),
    )


def _output(one: OutputRow) -> OutputView:
    return OutputView(one.node, one.first, msgspec.json.decode(one.lines, type=list[Line]))
