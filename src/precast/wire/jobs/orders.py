"""Orders from servers to nodes, and the answers of nodes.

An order is a numbered record, so a node receives it once. The order is a hint: a node that could begin claims it, and begins when the
server has granted that claim. Every answer has the id of the order, and a node also answers an order that it does not carry out.
"""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from precast.wire.jobs.programs import Phase
from precast.wire.sessions import Identifier, Seconds

# Kinds of records from a server: orders, the answer to a claim, and the request to end what was begun.
RUN = "run"
EXEC = "exec"
REFRESH_FACTS = "refresh-facts"
RESTART_AGENT = "restart-agent"
REBOOT = "reboot"
TASK = "task"
GRANT = "grant"
ABORT = "abort"
# Kinds of records from a node; `run-began` and `run-ended` are in `wire.reports`.
CLAIM = "claim"
ORDER_ENDED = "order-ended"
NOT_RUN = "not-run"
EXEC_BEGAN = "exec-began"
EXEC_OUTPUT = "exec-output"
EXEC_ENDED = "exec-ended"
TASK_PHASE = "task-phase"
TASK_ENDED = "task-ended"

# Limits of a command and of its output.
MAX_ARGUMENTS = 1_000
MAX_ARGUMENT_BYTES = 32 * 1024
MAX_LINE_CHARS = 8_000
# The JSON that a node returns as the result of an order.
MAX_RESULT_CHARS = 65_536

Mode = Literal["noop", "enforce"]


class RunOrder(msgspec.Struct, frozen=True):
    """Apply the released catalog now. Kind `run`. The node's own policy decides whether the run may enforce."""

    order: str
    mode: Mode
    expires_at: datetime
    tags: list[str] = []
    why: str = ""


class ExecOrder(msgspec.Struct, frozen=True):
    """Run a command now, if the node's configuration and policy allow it: the document that is signed. `argv` is run without a shell."""

    node: str
    order: Identifier
    argv: Annotated[list[str], msgspec.Meta(min_length=1, max_length=MAX_ARGUMENTS)]
    created_at: datetime
    expires_at: datetime
    timeout_s: Seconds
    output_bytes: int  # the node drops output beyond this, and reports how much
    why: str = ""


class SignedExecOrder(msgspec.Struct, frozen=True):
    """An ordered command as it is sent: the exact text of its `ExecOrder` and the signature in base64. Kind `exec`.

    The other fields let the daemon queue the order. They are not signed, and the process that runs the command does not use them.
    """

    order: Identifier
    expires_at: datetime
    timeout_s: Seconds
    text: str
    signature: Annotated[str, msgspec.Meta(max_length=1_000)]
    why: str = ""


class TaskOrder(msgspec.Struct, frozen=True):
    """Carry out a task of a plan on this node: the document that is signed."""

    node: str
    order: Identifier
    program: str  # the canonical text of a `TaskProgram`
    created_at: datetime
    expires_at: datetime
    timeout_s: Seconds  # of all phases together
    output_bytes: int
    inputs: str = "{}"  # JSON: an object
    catalogs: dict[
        str, str
    ] = {}  # the versions of the catalogs that it applies: by entry point, and the released one by ""
    why: str = ""


class SignedTaskOrder(msgspec.Struct, frozen=True):
    """A task as it is sent: the exact text of its `TaskOrder` and the signature in base64. Kind `task`.

    A program that only applies catalogs and looks needs no signature, as a run needs none; then it is empty.
    """

    order: Identifier
    expires_at: datetime
    timeout_s: Seconds
    text: str
    signature: Annotated[str, msgspec.Meta(max_length=1_000)] = ""
    why: str = ""


class PlainOrder(msgspec.Struct, frozen=True):
    """Do now what the kind says: `refresh-facts`, `restart-agent`, `reboot`."""

    order: Identifier
    expires_at: datetime
    why: str = ""


class Claim(msgspec.Struct, frozen=True):
    """The node could begin an order now, and asks whether it may. Kind `claim`. `number` grows with each claim of the same order."""

    order: Identifier
    number: Annotated[int, msgspec.Meta(ge=1, le=2**31)]
    instance: Identifier  # of the local store
    boot_id: Identifier


class Grant(msgspec.Struct, frozen=True):
    """The answer to the claim with this number. Kind `grant`. If it is not granted the node forgets the order; `message` says why.

    `instance` is that of the claim. A machine with a copy of the node's certificate has another one, and ignores the answer.
    """

    order: Identifier
    claim: Annotated[int, msgspec.Meta(ge=1, le=2**31)]
    instance: Identifier
    is_granted: bool
    message: str = ""


class Abort(msgspec.Struct, frozen=True):
    """End an order: one that was begun as soon as possible, another one at once. Kind `abort`."""

    order: Identifier
    why: str = ""


class OrderEnded(msgspec.Struct, frozen=True):
    """A plain order has ended. Kind `order-ended`. `result` is JSON."""

    order: Identifier
    is_success: bool
    at: datetime
    message: Annotated[str, msgspec.Meta(max_length=2_000)] = ""
    result: Annotated[str, msgspec.Meta(max_length=MAX_RESULT_CHARS)] = ""


class NotRun(msgspec.Struct, frozen=True):
    """The node does not carry out an order, and never will; or it began and cannot say how it ended. Kind `not-run`."""

    order: Identifier
    reason: Literal["expired", "refused", "broken", "interrupted", "aborted"]
    message: Annotated[str, msgspec.Meta(max_length=2_000)]
    at: datetime


class ExecBegan(msgspec.Struct, frozen=True):
    """A command has begun. Kind `exec-began`."""

    order: Identifier
    at: datetime


class OutputLine(msgspec.Struct, frozen=True, array_like=True):
    """A line of a command's output."""

    stream: Literal["out", "err"]
    text: Annotated[str, msgspec.Meta(max_length=MAX_LINE_CHARS)]


class ExecOutput(msgspec.Struct, frozen=True):
    """Lines of output in order; `first` is the number of the first, counted from 0. Kind `exec-output`."""

    order: Identifier
    first: Annotated[int, msgspec.Meta(ge=0, le=2**31)]
    lines: Annotated[list[OutputLine], msgspec.Meta(max_length=10_000)]


class WholeOutput(msgspec.Struct, frozen=True, omit_defaults=True):
    """All output of a command or task, of which only the beginning was sent as lines. It is stored as content, or has an error."""

    size: Annotated[int, msgspec.Meta(ge=0, le=2**62)]
    digest: Annotated[str, msgspec.Meta(pattern=r"\A([0-9a-f]{64})?\Z")] = ""
    error: Annotated[str, msgspec.Meta(max_length=2_000)] = ""  # why it is not stored


class ExecEnded(msgspec.Struct, frozen=True):
    """A command has ended: by itself with a code, or by a signal. Kind `exec-ended`."""

    order: Identifier
    at: datetime
    code: int | None = None
    signal: int | None = None
    is_overdue: bool = False  # the node killed it because it took too long
    lines: int = 0  # lines that were sent
    cut_bytes: int = 0  # output that was not sent as lines, because it exceeded the limit
    whole: WholeOutput | None = None  # if the lines are not all of it


class TaskPhase(msgspec.Struct, frozen=True):
    """A phase of a task has begun. Kind `task-phase`. `message` says what the phase does, or that the work is repeated."""

    order: Identifier
    phase: Phase
    at: datetime
    message: Annotated[str, msgspec.Meta(max_length=2_000)] = ""


class TaskEnded(msgspec.Struct, frozen=True):
    """A task has ended, in this phase. Kind `task-ended`. `result` is the JSON object that the work has returned."""

    order: Identifier
    at: datetime
    is_success: bool
    phase: Phase
    message: Annotated[str, msgspec.Meta(max_length=2_000)] = ""
    code: int | None = None  # of the command of the work, or of the test that failed
    signal: int | None = None
    is_overdue: bool = False
    lines: int = 0
    cut_bytes: int = 0
    whole: WholeOutput | None = None  # if the lines are not all of its output
    result: Annotated[str, msgspec.Meta(max_length=MAX_RESULT_CHARS)] = ""
    report: str = ""  # the id of the node's own run, of work that applies a catalog
    # Of the output of a command that has failed: people who may not see output are not shown it.
    telling_line: Annotated[str, msgspec.Meta(max_length=2_000)] = ""
