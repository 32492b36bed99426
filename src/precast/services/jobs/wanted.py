"""What a run is to do, as it is stored with it, and the orders that follow. A new front end of the engine adds its kind here."""

from datetime import datetime
from math import ceil

import msgspec

from precast.services.jobs import issues as issues
from precast.store.jobs.runs import RunRow
from precast.wire.jobs import orders as wire
from precast.wire.jobs.orders import ExecOrder, Mode, RunOrder
from precast.wire.jobs.views import NewCommand, NewRun, RunLimits

APPLY, EXEC = "apply", "exec"
# A command that took too long is ended by its node, which then says so.
EXEC_GRACE_S = 30.0


class Wanted(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of a run."""

    limits: RunLimits
    at_once: int | None = None
    tolerate: int | None = None
    mode: Mode = "noop"
    tags: list[str] = []
    argv: list[str] = []
    output_bytes: int = 0
    why: str = ""

    def encoded(self) -> bytes:
        return msgspec.json.encode(self)

    @property
    def allowed_s(self) -> float:
        """How long a node that has begun is waited for."""
        return self.limits.take_s + (EXEC_GRACE_S if self.argv else 0.0)


def decode(run: RunRow) -> Wanted:
    return msgspec.json.decode(run.body, type=Wanted)


def of_run(body: NewRun, count: int) -> Wanted:
    """What is stored of a run over so many nodes."""
    return Wanted(
        body.limits,
        amount(body.limits.at_once, count),
        tolerance(body.limits, count),
        mode=body.mode,
        tags=body.tags,
        why=body.why,
    )


def of_command(body: NewCommand, count: int) -> Wanted:
    """The same of a command. Raises InputError RUN-003 for words that can be none of a command's."""
    for number, word in enumerate(body.argv):
        if "\0" in word or len(word.encode(errors="surrogateescape")) > wire.MAX_ARGUMENT_BYTES:
            reason = "it has a NUL in it" if "\0" in word else f"it is longer than {wire.MAX_ARGUMENT_BYTES} bytes"
            raise issues.BAD_ARGUMENT.error(number=number, reason=reason)
    if not body.argv[0]:
        raise issues.BAD_ARGUMENT.error(number=0, reason="it is empty")
    return Wanted(
        body.limits,
        amount(body.limits.at_once, count),
        tolerance(body.limits, count),
        argv=body.argv,
        output_bytes=body.output_bytes,
        why=body.why,
    )


def order_of(run: RunRow, wanted: Wanted, expires_at: datetime) -> tuple[str, msgspec.Struct]:
    """What a node is told: the kind of the record, and its body."""
    if run.kind == EXEC:
        order = ExecOrder(
            run.id, wanted.argv, expires_at, wanted.limits.take_s, wanted.output_bytes, wanted.why or run.made_by
        )
        return wire.EXEC, order
    return wire.RUN, RunOrder(run.id, wanted.mode, expires_at, wanted.tags, wanted.why or run.made_by)


def amount(text: str | None, count: int) -> int | None:
    """How many of so many nodes are meant; at least one."""
    if text is None:
        return None
    return max(1, ceil(count * int(text[:-1]) / 100)) if text.endswith("%") else int(text)


def tolerance(limits: RunLimits, count: int) -> int | None:
    """How many may fail before nobody else begins. Whoever goes step by step wants the first failure to stop it."""
    if limits.tolerate is None:
        return 0 if limits.batch is not None or limits.at_once is not None else None
    text = limits.tolerate
    return count * int(text[:-1]) // 100 if text.endswith("%") else int(text)
