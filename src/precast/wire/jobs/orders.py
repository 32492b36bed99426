"""Orders from servers to nodes, and the answers of nodes.

An order is a numbered record, so a node receives it once. It expires: a node that receives it later does not begin. Every answer has the
id of the order, and a node also answers an order that it does not carry out.
"""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from precast.wire.sessions import Identifier

# Kinds of records. From a server: run, exec. From a node: the others; `run-began` and `run-ended` are in `wire.reports`.
RUN = "run"
EXEC = "exec"
NOT_RUN = "not-run"
EXEC_BEGAN = "exec-began"
EXEC_OUTPUT = "exec-output"
EXEC_ENDED = "exec-ended"

# Limits of a command and of its output.
MAX_ARGUMENTS = 1_000
MAX_ARGUMENT_BYTES = 32 * 1024
MAX_LINE_CHARS = 8_000

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
    timeout_s: float
    output_bytes: int  # the node drops output beyond this, and reports how much
    why: str = ""


class SignedExecOrder(msgspec.Struct, frozen=True):
    """An ordered command as it is sent: the exact text of its `ExecOrder` and the signature in base64. Kind `exec`.

    The other fields let the daemon queue the order. They are not signed, and the process that runs the command does not use them.
    """

    order: Identifier
    expires_at: datetime
    timeout_s: float
    text: str
    signature: Annotated[str, msgspec.Meta(max_length=1_000)]
    why: str = ""


class NotRun(msgspec.Struct, frozen=True):
    """The node does not carry out an order, and never will. Kind `not-run`."""

    order: Identifier
    reason: Literal["expired", "refused", "broken"]
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


class ExecEnded(msgspec.Struct, frozen=True):
    """A command has ended: by itself with a code, or by a signal. Kind `exec-ended`."""

    order: Identifier
    at: datetime
    code: int | None = None
    signal: int | None = None
    is_overdue: bool = False  # the node killed it because it took too long
    lines: int = 0  # lines that were sent
    cut_bytes: int = 0  # output that was dropped, because it exceeded the limit
