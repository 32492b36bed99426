"""Runs one ordered command to its end and passes its output on while it runs.

There is no shell. A command that takes too long, or is to stop, gets SIGTERM together with everything it started, and SIGKILL
after a grace period. A command that has ended while a process that it left behind keeps the output open is not waited for.
`base.programs` starts, reads and kills it; this module adds the lines, their batches and the grace period.
"""

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from precast.agent.orders.command_output import CommandOutput
from precast.base.programs import RunningProgram, StartOptions, Stream
from precast.wire.jobs.orders import OutputLine

# Lines are passed on in batches: of this many bytes, or after this time.
BATCH_BYTES = 32 * 1024
BATCH_S = 0.2
# Between SIGTERM and SIGKILL, and for output that is still in a pipe after the end.
GRACE_S = 5.0
DRAIN_S = 1.0

# The variables of our own environment that a command inherits.
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME")

# Called with the number of the first line, and the lines.
OnLines = Callable[[int, list[OutputLine]], None]
# Called with each piece of output as it was read.
OnPiece = Callable[[Stream, bytes], None]
# Asked while the command runs.
MustStop = Callable[[], bool]


class CommandResult(NamedTuple):
    """How a command ended."""

    code: int | None
    signal: int | None
    is_overdue: bool
    lines: int
    cut_bytes: int
    is_stopped: bool = False  # it was ended because `must_stop` said so


def command_environment(order: str) -> dict[str, str]:
    """The environment of an ordered command: what it inherits, and the id of its order."""
    return {**{name: os.environ[name] for name in PASSED_ON if name in os.environ}, "PRECAST_ORDER": order}


def run_command(
    argv: Sequence[str],
    timeout_s: float,
    output_bytes: int,
    on_lines: OnLines,
    *,
    directory: Path,
    environment: Mapping[str, str],
    must_stop: MustStop = lambda: False,
    stdin: bytes = b"",
    on_piece: OnPiece = lambda stream, piece: None,
) -> CommandResult:
    """Run the command; `on_lines` is called with its output. Raises OSError if it cannot be started."""
    options = StartOptions(environment=dict(environment), directory=str(directory), stdin=stdin)
    with RunningProgram(list(argv), options) as program:
        follower = _Follower(program, CommandOutput(output_bytes), on_lines, must_stop, on_piece)
        follower.wait_until(time.monotonic() + timeout_s)
        program.wait(None)
    code = program.code
    assert code is not None, "the program was waited for"
    output = follower.output
    return CommandResult(
        code=None if code < 0 else code,
        signal=-code if code < 0 else None,
        is_overdue=follower.is_overdue,
        lines=output.count,
        cut_bytes=output.cut_bytes,
        is_stopped=follower.is_stopped,
    )


class _Follower:
    """Reads a command's output until it has ended, and ends it when it is late or is to stop."""

    def __init__(
        self,
        program: RunningProgram,
        output: CommandOutput,
        on_lines: OnLines,
        must_stop: MustStop,
        on_piece: OnPiece,
    ) -> None:
        self._program = program
        self.output = output
        self._on_lines = on_lines
        self._must_stop = must_stop
        self._on_piece = on_piece
        self._flushed_s = time.monotonic()
        self.is_overdue = False  # it missed the deadline and was terminated
        self.is_stopped = False

    def wait_until(self, deadline_s: float) -> None:
        """Read the output until the command has ended."""
        kill_s: float | None = None
        ended_s: float | None = None
        while True:
            self._read()
            self._flush()
            now_s = time.monotonic()
            if self._program.has_ended():
                ended_s = ended_s or now_s
                if not self._program.has_open_streams or now_s > ended_s + DRAIN_S:
                    break
            elif kill_s is None and (now_s > deadline_s or self._must_stop()):
                self.is_overdue = now_s > deadline_s
                self.is_stopped = not self.is_overdue
                kill_s = now_s + GRACE_S
                self._program.signal(signal.SIGTERM)
            elif kill_s is not None and now_s > kill_s:
                self._program.signal(signal.SIGKILL)
        self.output.finish()
        self._flush(is_last=True)

    def _read(self) -> None:
        data: dict[Stream, bytearray] = {"out": bytearray(), "err": bytearray()}
        self._program.serve(BATCH_S / 2, data)
        for stream, piece in data.items():
            if piece:
                self.output.add(stream, bytes(piece))
                self._on_piece(stream, bytes(piece))

    def _flush(self, *, is_last: bool = False) -> None:
        now_s = time.monotonic()
        if is_last or self.output.ready_bytes >= BATCH_BYTES or now_s - self._flushed_s >= BATCH_S:
            self._flushed_s = now_s
            first, lines = self.output.take()
            if lines:
                self._on_lines(first, lines)
