"""What servers and nodes say to each other about runs that somebody wants now.

An order is a numbered record, so it reaches a node once. It has an end: whoever comes to it later does not begin. Everything a node
answers has the order's id, and an order that was not followed is answered too: silence is never an answer.
"""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from precast.wire.sessions import Word

# Kinds of records. From a server: run, exec. From a node: the others; `run-began` and `run-ended` are in `wire.reports`.
RUN = "run"
EXEC = "exec"
NOT_RUN = "not-run"
EXEC_BEGAN = "exec-began"
EXEC_OUTPUT = "exec-output"
EXEC_ENDED = "exec-ended"

# What a command may have, and what is kept of what it says.
MAX_ARGUMENTS = 1_000
MAX_ARGUMENT_BYTES = 32 * 1024
MAX_LINE_CHARS = 8_000

Mode = Literal["noop", "enforce"]


class RunOrder(msgspec.Struct, frozen=True):
    """Apply the released catalog now. Kind `run`. Whether it may enforce is for the node's own policy to say."""

    order: str
    mode: Mode
    expires_at: datetime
    tags: list[str] = []
    why: str = ""


class ExecOrder(msgspec.Struct, frozen=True):
    """Run a command now, if the node's own configuration allows it. Kind `exec`. There is no shell: these are its arguments."""

    order: Word
    argv: Annotated[list[str], msgspec.Meta(min_length=1, max_length=MAX_ARGUMENTS)]
    expires_at: datetime
    timeout_s: float
    output_bytes: int  # what goes beyond is dropped on the node, and said
    why: str = ""


class NotRun(msgspec.Struct, frozen=True):
    """An order was not followed, and never will be. Kind `not-run`."""

    order: Word
    reason: Literal["expired", "refused", "broken"]
    message: Annotated[str, msgspec.Meta(max_length=2_000)]
    at: datetime


class ExecBegan(msgspec.Struct, frozen=True):
    """A command runs. Kind `exec-began`."""

    order: Word
    at: datetime


class Line(msgspec.Struct, frozen=True, array_like=True):
    """A line that a command has said."""

    stream: Literal["out", "err"]
    text: Annotated[str, msgspec.Meta(max_length=MAX_LINE_CHARS)]


class ExecOutput(msgspec.Struct, frozen=True):
    """Lines of a command, in their order; `first` is the number of the first of them, from 0 on. Kind `exec-output`."""

    order: Word
    first: Annotated[int, msgspec.Meta(ge=0, le=2**31)]
    lines: Annotated[list[Line], msgspec.Meta(max_length=10_000)]


class ExecEnded(msgspec.Struct, frozen=True):
    """A command has ended: by itself with a code, or by a signal. Kind `exec-ended`."""

    order: Word
    at: datetime
    code: int | None = None
    signal: int | None = None
    is_overdue: bool = False  # it was ended because it took too long
    lines: int = 0  # that were sent
    cut_bytes: int = 0  # that were not: it said too much
