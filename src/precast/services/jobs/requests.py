"""What a job shall do, as it is stored with it, and the orders it sends to nodes. A new kind of job is added here."""

from datetime import datetime
from math import ceil

import msgspec

from precast.services.jobs import issues
from precast.store.jobs.jobs import JobRow
from precast.wire.jobs import orders as wire
from precast.wire.jobs.orders import ExecOrder, Mode, RunOrder
from precast.wire.jobs.views import JobLimits, NewExecJob, NewRunJob

APPLY, EXEC = "apply", "exec"
# A node ends a command that takes too long, and needs this time to report it.
EXEC_GRACE_S = 30.0


class JobRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """The stored request of a job: its limits, and what each node shall do."""

    limits: JobLimits
    at_once: int | None = None
    tolerate: int | None = None
    mode: Mode = "noop"
    tags: list[str] = []
    argv: list[str] = []
    output_bytes: int = 0
    why: str = ""
    # Of a command: the id of the token by which it was ordered, and until when the signer signs orders.
    token: str = ""
    sealed_until: datetime | None = None

    def encode(self) -> bytes:
        return msgspec.json.encode(self)

    @property
    def allowed_s(self) -> float:
        """How long the driver waits for a node that has started."""
        return self.limits.take_s + (EXEC_GRACE_S if self.argv else 0.0)


def decode_request(job: JobRow) -> JobRequest:
    return msgspec.json.decode(job.body, type=JobRequest)


def request_run(body: NewRunJob, count: int) -> JobRequest:
    """The request of a run over `count` nodes."""
    return JobRequest(
        body.limits,
        resolve_amount(body.limits.at_once, count),
        resolve_tolerance(body.limits, count),
        mode=body.mode,
        tags=body.tags,
        why=body.why,
    )


def request_command(body: NewExecJob, count: int) -> JobRequest:
    """The request of a command over `count` nodes. Raises InputError RUN-003 for an invalid argument."""
    for number, argument in enumerate(body.argv):
        if "\0" in argument or len(argument.encode(errors="surrogateescape")) > wire.MAX_ARGUMENT_BYTES:
            reason = "it contains a NUL" if "\0" in argument else f"it is longer than {wire.MAX_ARGUMENT_BYTES} bytes"
            raise issues.BAD_ARGUMENT.error(number=number, reason=reason)
    if not body.argv[0]:
        raise issues.BAD_ARGUMENT.error(number=0, reason="it is empty")
    return JobRequest(
        body.limits,
        resolve_amount(body.limits.at_once, count),
        resolve_tolerance(body.limits, count),
        argv=body.argv,
        output_bytes=body.output_bytes,
        why=body.why,
    )


def make_exec_order(job: JobRow, request: JobRequest, node: str, now: datetime, expires_at: datetime) -> ExecOrder:
    """The order of a command for one node."""
    take_s = request.limits.take_s
    why = explain(request, job.made_by)
    return ExecOrder(node, job.id, request.argv, now, expires_at, take_s, request.output_bytes, why)


def make_run_order(job: JobRow, request: JobRequest, expires_at: datetime) -> RunOrder:
    """The order of a run."""
    return RunOrder(job.id, request.mode, expires_at, request.tags, explain(request, job.made_by))


def explain(request: JobRequest, made_by: str) -> str:
    """The reason that nodes are told: the one that was given, or who ordered it."""
    return request.why or made_by


def resolve_amount(text: str | None, count: int) -> int | None:
    """The number of nodes that a number or a percentage of `count` means; at least one."""
    if text is None:
        return None
    return max(1, ceil(count * int(text[:-1]) / 100)) if text.endswith("%") else int(text)


def resolve_tolerance(limits: JobLimits, count: int) -> int | None:
    """How many nodes may fail before no other node starts. By default a job with batches or `at_once` halts at the first failure."""
    if limits.tolerate is None:
        return 0 if limits.batch is not None or limits.at_once is not None else None
    text = limits.tolerate
    return count * int(text[:-1]) // 100 if text.endswith("%") else int(text)


def why_away(is_held: bool) -> str:
    """Why a node gets no order now, as the message of its step."""
    return (
        "it is on hold: two machines use its certificate, see `precast node show`" if is_held else "it is not connected"
    )
