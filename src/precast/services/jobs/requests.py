"""What a job shall do, as it is stored with it. `order_bodies` makes the orders of it."""

from datetime import datetime
from math import ceil

import msgspec

from precast.base import digests
from precast.services.jobs import issues
from precast.services.jobs.driving.job_net import NetLimits
from precast.store.jobs.jobs import JobRow
from precast.wire.jobs import orders as wire
from precast.wire.jobs.orders import Mode
from precast.wire.jobs.views import JobLimits, NewExecJob, NewRunJob, StaleValues

# Kinds of jobs. `release` releases the staged catalog of each node at its turn, and has it applied.
APPLY, EXEC, FACTS, RESTART, REBOOT, RELEASE = "apply", "exec", "facts", "restart", "reboot", "release"
PLAN = "plan"
# Runs, commands and actions have one task; plans have many.
ONLY_TASK = 1
# A node ends a command that takes too long, and needs this time to report it.
EXEC_GRACE_S = 30.0
# How long work takes of which nothing is known.
USUAL_S = 600.0


class StandingSeal(msgspec.Struct, frozen=True):
    """An action whose command was sealed for every due time until a time."""

    action: str
    until: datetime


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
    standing: StandingSeal | None = None  # of a command that an action repeats
    # Attempts that no node has picked up until then expire.
    until: datetime | None = None
    overrides_window: bool = False
    overrides_futures: bool = False
    stale_values: StaleValues = "rerun"
    needs_s: float = USUAL_S  # declared, or as long as it has taken before

    def encode(self) -> bytes:
        return msgspec.json.encode(self)

    @property
    def allowed_s(self) -> float:
        """How long the driver waits for a node that has picked up its order."""
        return self.limits.take_s + (EXEC_GRACE_S if self.argv else 0.0)

    @property
    def net_limits(self) -> NetLimits:
        limits = self.limits
        return NetLimits(self.at_once, self.tolerate, limits.canary is not None, limits.per_minute is not None)


def decode_request(job: JobRow) -> JobRequest:
    return msgspec.json.decode(job.body, type=JobRequest)


def request_job(limits: JobLimits, count: int, why: str) -> JobRequest:
    """The request of a job over `count` nodes that needs no more than limits."""
    return JobRequest(limits, resolve_amount(limits.at_once, count), resolve_tolerance(limits, count), why=why)


def request_run(body: NewRunJob, count: int) -> JobRequest:
    """The request of a run over `count` nodes."""
    request = request_job(body.limits, count, body.why)
    return msgspec.structs.replace(
        request,
        mode=body.mode,
        tags=body.tags,
        overrides_window=body.overrides_window,
        overrides_futures=body.overrides_futures,
        stale_values=body.stale_values,
    )


def request_command(body: NewExecJob, count: int) -> JobRequest:
    """The request of a command over `count` nodes. Raises InputError RUN-003 for an invalid argument."""
    for number, argument in enumerate(body.argv):
        if "\0" in argument or len(argument.encode(errors="surrogateescape")) > wire.MAX_ARGUMENT_BYTES:
            reason = "it contains a NUL" if "\0" in argument else f"it is longer than {wire.MAX_ARGUMENT_BYTES} bytes"
            raise issues.BAD_ARGUMENT.error(number=number, reason=reason)
    if not body.argv[0]:
        raise issues.BAD_ARGUMENT.error(number=0, reason="it is empty")
    request = request_job(body.limits, count, body.why)
    return msgspec.structs.replace(
        request, argv=body.argv, output_bytes=body.output_bytes, overrides_window=body.overrides_window
    )


def digest_work(kind: str, request: JobRequest, name: str = "") -> str:
    """What jobs have in common whose nodes do the same: how long they took says how long the next one takes."""
    return digests.of_value([kind, name, request.mode, request.tags, request.argv])


def explain(request: JobRequest, made_by: str) -> str:
    """The reason that nodes are told: the one that was given, or who ordered it."""
    return request.why or made_by


def assign_batches(limits: JobLimits, count: int) -> list[int]:
    """The number of the batch of each of `count` steps: the canary first, then batches of the given size."""
    canary = min(count, resolve_amount(limits.canary, count) or 0)
    size = resolve_amount(limits.batch, count) or max(1, count)
    return [0] * canary + [int(bool(canary)) + at // size for at in range(count - canary)]


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
    """Why a node gets no order now, as the message of its attempt."""
    return (
        "it is on hold: two machines use its certificate, see `precast node show`" if is_held else "it is not connected"
    )
