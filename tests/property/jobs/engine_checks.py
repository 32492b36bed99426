"""What must be true of all attempts after every single step of an engine, compared with what was stored before the step."""

from typing import NamedTuple

from precast.services.jobs.requests import decode_request
from precast.store.engine.query import Query, Transaction
from precast.store.jobs.jobs import JobRow, Jobs
from precast.wire.jobs import states

ATTEMPTS = Query(
    "test.attempts",
    """
    SELECT job, task, node, n, is_newest, batch, state, reason, ordered_at, tries, late FROM attempt ORDER BY job, task, node, n
    """,
)
LOCKS = Query("test.locks", "SELECT node, job, task, n FROM node_lock ORDER BY node")
JOB_IDS = Query("test.jobs", "SELECT id FROM job ORDER BY id")
FAILURES = (states.FAILED, states.EXPIRED)

Key = tuple[str, int, str, int]


class Stored(NamedTuple):
    """An attempt as it is stored."""

    is_newest: bool
    batch: int
    state: str
    reason: str | None
    has_turn: bool
    tries: int
    late: str | None

    @property
    def is_open(self) -> bool:
        return self.state in states.OPEN_STATES

    @property
    def is_running(self) -> bool:
        return self.state == states.PICKED_UP or (self.state == states.QUEUED and self.has_turn)


class Picture(NamedTuple):
    """All jobs, attempts and locks at one time."""

    jobs: dict[str, JobRow]
    attempts: dict[Key, Stored]
    locks: dict[str, Key]

    def round_of(self, job: str) -> dict[Key, Stored]:
        """The attempts of a job's present round."""
        row = self.jobs[job]
        return {key: stored for key, stored in self.attempts.items() if key[0] == job and key[3] == row.round}


def take_picture(jobs: Jobs) -> Transaction[Picture]:
    found = {}
    for (job,) in (yield JOB_IDS()):
        row = yield from jobs.find(job)
        assert row is not None
        found[job] = row
    attempts = {
        (job, task, node, n): Stored(bool(newest), batch, state, reason, ordered is not None, tries, late)
        for job, task, node, n, newest, batch, state, reason, ordered, tries, late in (yield ATTEMPTS())
    }
    locks = {node: (job, task, node, n) for node, job, task, n in (yield LOCKS())}
    return Picture(found, attempts, locks)


def check(before: Picture, now: Picture) -> None:
    """Check one step: from `before` to `now`."""
    assert before.attempts.keys() <= now.attempts.keys(), "an attempt was deleted"
    for key, stored in now.attempts.items():
        if key in before.attempts:
            _check_move(key, before.attempts[key], stored)
    _check_locks(now)
    for job, row in now.jobs.items():
        _check_limits(before, now, row)
        is_open = any(stored.is_open for key, stored in now.attempts.items() if key[0] == job)
        assert row.ended_at is None or not is_open, f"{job} has ended, and has an open attempt"


def _check_move(key: Key, before: Stored, now: Stored) -> None:
    if before.state == now.state:
        assert before.reason == now.reason, f"{key} has another reason"
        return
    assert now.state in states.MOVES[before.state], f"{key} moved from {before.state} to {now.state}"
    if before.state == states.QUEUED and now.state == states.FAILED:
        assert now.reason in states.FAILED_UNSEEN, f"{key} failed unseen because of {now.reason}"


def _check_locks(now: Picture) -> None:
    picked_up = [key for key, stored in now.attempts.items() if stored.state == states.PICKED_UP]
    assert len({key[2] for key in picked_up}) == len(picked_up), "two attempts change a node"
    assert now.locks == {key[2]: key for key in picked_up}


def _check_limits(before: Picture, now: Picture, row: JobRow) -> None:
    request = decode_request(row)
    steps = now.round_of(row.id)
    if request.at_once is not None:
        running = sum(stored.is_running for stored in steps.values())
        assert running <= request.at_once, f"{running} nodes at once, not {request.at_once}"
    started = [key for key, stored in steps.items() if stored.has_turn and not _had_turn(before, key)]
    for key in started:
        stored = steps[key]
        is_in_its_batch = not stored.tries
        for other in steps.values() if is_in_its_batch else ():
            assert other.batch >= stored.batch or not other.is_open or other.tries, f"{key} started before its batch"
    if started and row.id in before.jobs and before.jobs[row.id].round == row.round:
        failed = [stored for stored in before.round_of(row.id).values() if stored.state in FAILURES]
        assert request.tolerate is None or len(failed) <= request.tolerate, "a step started after too many failures"
        has_failed_canary = request.limits.canary is not None and any(stored.batch == 0 for stored in failed)
        assert not has_failed_canary, "a step started after the canary had failed"


def _had_turn(before: Picture, key: Key) -> bool:
    return key in before.attempts and before.attempts[key].has_turn
