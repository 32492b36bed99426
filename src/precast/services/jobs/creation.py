"""Creates jobs: a job is stored with the first attempts of all of its steps, in one transaction with its entry in the audit log."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import NamedTuple

import msgspec

from precast.services.futures.members import Round, add_members
from precast.services.jobs import issues
from precast.services.jobs.requests import (
    APPLY,
    EXEC,
    ONLY_TASK,
    RELEASE,
    USUAL_S,
    JobRequest,
    assign_batches,
    digest_work,
    why_away,
)
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.jobs.attempts import Attempts, NewAttempt
from precast.store.jobs.jobs import JobRow, Jobs, NewJobRow
from precast.store.plans.task_content import TaskContents
from precast.store.sessions.sessions import Sessions
from precast.wire.jobs import states

MAX_OPEN = 100_000
NAMES_SHOWN = 20
# Of how many of the newest jobs with the same work, and how many attempts, durations are compared; of fewer attempts they say too little.
JOBS_COMPARED, DURATIONS, LEAST_DURATIONS = 10, 1_000, 5


class NewJob(NamedTuple):
    """A job that is to be created. The nodes are in the order of their turns; the seals are those of a command, by node."""

    id: str
    kind: str
    request: JobRequest
    nodes: Sequence[str]
    made_by: str
    environment: str | None = None
    action: str | None = None
    seals: Mapping[str, bytes] = {}


class JobCreation:
    """Holds no state between calls."""

    def __init__(
        self, jobs: Jobs, attempts: Attempts, sessions: Sessions, contents: TaskContents, audit: AuditLog
    ) -> None:
        self._jobs, self._attempts, self._sessions, self._audit = jobs, attempts, sessions, audit
        self._contents = contents

    def create(self, new: NewJob) -> Transaction[JobRow]:
        """Create a job. Raises UnavailableError RUN-004."""
        work = digest_work(new.kind, new.request)
        request = yield from self.estimate(work, new.request)
        row = NewJobRow(new.id, new.kind, request.encode(), new.environment, new.action, new.made_by, work)
        job = yield from self.create_empty(row, len(new.nodes))
        yield from self.add_round(new.id, 1, new.kind, request, new.nodes, new.seals)
        if new.kind == EXEC:  # its nodes may send output that is too large for lines
            yield from self._contents.expect(new.id, [ONLY_TASK])
        yield from self._audit_start(new)
        return job

    def estimate(self, work: str, request: JobRequest) -> Transaction[JobRequest]:
        """The request with the time that its work needs: as declared, or within which 95 of 100 nodes have ended such work before."""
        needs_s = request.limits.needs_s
        if needs_s is None:
            durations = yield from self._attempts.list_durations(work, JOBS_COMPARED, DURATIONS)
            needs_s = find_usual_s(durations)
        return msgspec.structs.replace(request, needs_s=needs_s)

    def create_empty(self, row: NewJobRow, count: int) -> Transaction[JobRow]:
        """Create a job over `count` nodes whose attempts the caller adds in the same transaction. Raises UnavailableError RUN-004."""
        open_jobs = yield from self._jobs.count_open()
        if open_jobs >= MAX_OPEN:
            raise issues.TOO_MANY_RUNS.error(count=open_jobs)
        yield from self._jobs.create(row, count)
        job = yield from self._jobs.find(row.id)
        assert job is not None, "it was just created"
        return job

    def add_round(
        self, job: str, n: int, kind: str, request: JobRequest, nodes: Sequence[str], seals: Mapping[str, bytes]
    ) -> Transaction[None]:
        """Add an attempt for each node. Nodes that are away are skipped at once, unless the request waits for them."""
        waits = request.limits.away_s or request.limits.tries
        present = set(nodes) if waits else (yield from self._sessions.filter_connected(nodes))
        away = [node for node in nodes if node not in present]
        held = yield from self._sessions.filter_held(away)
        going = [node for node in nodes if node in present]
        if waits and request.limits.canary is not None:
            # A canary tells nothing while it is away.
            connected = yield from self._sessions.filter_connected(going)
            going.sort(key=lambda node: node not in connected)
        attempts = [
            NewAttempt(ONLY_TASK, node, place, batch, seal=seals.get(node))
            for place, (node, batch) in enumerate(zip(going, assign_batches(request.limits, len(going)), strict=True))
        ]
        attempts += [
            NewAttempt(ONLY_TASK, node, len(going) + place, 0, states.SKIPPED, states.AWAY, why_away(node in held))
            for place, node in enumerate(away)
        ]
        yield from self._attempts.add(job, n, request.allowed_s, attempts, request.until)
        if kind in (APPLY, RELEASE) and request.mode != "noop":
            reasons = {node: why_away(node in held) for node in away}
            members = Round(job, ONLY_TASK, n, going, reasons, is_staged=kind == RELEASE)
            yield from add_members(members, self._attempts.now())

    def fail_stale(self, job: str, n: int, stale: Sequence[tuple[str, str]], place: int) -> Transaction[None]:
        """Add failed attempts for nodes that were given values which are promised again, each with its reason."""
        failed = [
            NewAttempt(ONLY_TASK, node, place + at, 0, states.FAILED, states.STALE_VALUE, reason)
            for at, (node, reason) in enumerate(stale)
        ]
        if failed:
            yield from self._attempts.add(job, n, 0.0, failed)

    def _audit_start(self, new: NewJob) -> Transaction[None]:
        names, request = new.nodes, new.request
        target = names[0] if len(names) == 1 else f"{len(names)} nodes"
        detail = {
            "run": new.id,
            "why": request.why,
            "nodes": list(names[:NAMES_SHOWN]),
            "count": len(names),
            "overrides_window": request.overrides_window,
            "overrides_futures": request.overrides_futures,
        }
        if new.kind == EXEC:
            yield from self._audit.add(new.made_by, "command.run", target, argv=request.argv, **detail)
        elif new.kind in (APPLY, RELEASE):
            yield from self._audit.add(new.made_by, "run.start", target, mode=request.mode, tags=request.tags, **detail)
        else:
            yield from self._audit.add(new.made_by, f"{new.kind}.order", target, **detail)


def find_usual_s(durations: Sequence[float]) -> float:
    """The time within which 95 of 100 attempts have ended; the default if there were too few."""
    if len(durations) < LEAST_DURATIONS:
        return USUAL_S
    return float(max(1, ceil(sorted(durations)[ceil(len(durations) * 0.95) - 1])))
