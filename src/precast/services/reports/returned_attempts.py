"""The outcome of an attempt as returners send it: what became of one node in a job, with what its task has returned.

An attempt is named by the id of its order and its node. It is read when it is sent, so a result that came late is in what is sent then; a
receiver may get the same attempt again, with more.
"""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from precast.services.jobs.requests import decode_request
from precast.services.jobs.views import view_step
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.jobs.attempts import Attempts, StepState
from precast.store.jobs.jobs import JobRow, Jobs
from precast.wire.jobs import states
from precast.wire.jobs.order_ids import make_order_id, parse_order_id
from precast.wire.jobs.views import StepView

# Between the id of the order and the node. Neither has it, and no id of a report has it.
_MARK = "@"


class ReturnedJob(msgspec.Struct, frozen=True):
    """The job of an attempt."""

    id: str
    kind: str
    action: str | None
    environment: str | None
    made_by: str
    made_at: datetime
    why: str


class AttemptDocument(msgspec.Struct, frozen=True):
    """The outcome of an attempt as receivers get it."""

    attempt: StepView
    job: ReturnedJob

    @property
    def is_failed(self) -> bool:
        return self.attempt.state in (states.FAILED, states.EXPIRED)

    @property
    def is_eventful(self) -> bool:
        """Whether something has failed or changed, or a command or task was carried out."""
        result = self.attempt.result
        is_run = result is not None and result.code is None and not result.returned
        return self.is_failed or (result is not None and (not is_run or bool(result.changed or result.pending)))


def list_ended(job: JobRow, steps: Iterable[StepState]) -> list[str]:
    """The keys of the steps that have ended."""
    return [
        f"{make_order_id(job.id, step.task, step.n)}{_MARK}{step.node}"
        for step in steps
        if step.state in states.END_STATES
    ]


class ReturnedAttempts:
    """Reads what is sent; holds no state between calls."""

    def __init__(self, database: Database, jobs: Jobs, attempts: Attempts) -> None:
        self._database, self._jobs, self._attempts = database, jobs, attempts

    def is_attempt(self, key: str) -> bool:
        return _MARK in key

    async def find(self, key: str) -> AttemptDocument | None:
        """The outcome of an attempt; None if it was deleted, or a later attempt of the same step was begun."""
        return await self._database.read(self._find, key)

    def _find(self, key: str) -> Transaction[AttemptDocument | None]:
        text, _, node = key.partition(_MARK)
        order = parse_order_id(text)
        job = None if order is None else (yield from self._jobs.find(order.job))
        if order is None or job is None:
            return None
        step = yield from self._attempts.find_step(order.job, order.task, node)
        if step is None or step.n != order.n:
            return None
        about = (job.id, job.kind, job.action, job.environment, job.made_by, job.made_at, decode_request(job).why)
        return AttemptDocument(view_step(step, with_output=True), ReturnedJob(*about))
