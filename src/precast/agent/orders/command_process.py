"""Runs one command to its end, in a session of its own, and hands over what it says while it runs.

There is no shell and no input. A command that takes too long is asked to end with everything it started, then made to. One that has
ended while something it left behind holds its output is not waited for.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from precast.agent.orders.command_output import Output, Stream
from precast.wire.jobs.orders import Line

# Lines are handed over together: so many bytes, or after so long.
BATCH_BYTES = 32 * 1024
BATCH_S = 0.2
# Between asking and making, and for what is still in a pipe after the end.
GRACE_S = 5.0
DRAIN_S = 1.0
READ_BYTES = 64 * 1024

Tell = Callable[[int, list[Line]], None]


class Ran(NamedTuple):
    """How a command ended."""

    code: int | None
    signal: int | None
    is_overdue: bool
    lines: int
    cut_bytes: int


def run_command(
    argv: Sequence[str],
    timeout_s: float,
    output_bytes: int,
    tell: Tell,
    *,
    directory: Path,
    environment: Mapping[str, str],
) -> Ran:
    """Run it; `tell` hears lines with the number of the first. Raises OSError if it cannot be started."""
    process = subprocess.Popen(
        list(argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=directory,
        env=dict(environment),
        start_new_session=True,
    )
    with process:
        run = _Run(process, Output(output_bytes), tell)
        try:
            is_overdue = run.until_over(time.monotonic() + timeout_s)
        finally:
            _kill(process, signal.SIGKILL)
    code = process.returncode
    return Ran(
        None if code < 0 else code, -code if code < 0 else None, is_overdue, run.output.count, run.output.cut_bytes
    )


class _Run:
    def __init__(self, process: "subprocess.Popen[bytes]", output: Output, tell: Tell) -> None:
        self._process = process
        self.output = output
        self._tell = tell
        self._told_s = time.monotonic()

    def until_over(self, end_s: float) -> bool:
        """Read until it has ended; whether it had to be ended."""
        made_to_s: float | None = None
        ended_s: float | None = None
        with selectors.DefaultSelector() as selector:
            for pipe, stream in ((self._process.stdout, "out"), (self._process.stderr, "err")):
                assert pipe is not None, "it was asked for"
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, selectors.EVENT_READ, stream)
            while True:
                for key, _ in selector.select(BATCH_S / 2):
                    data = os.read(key.fd, READ_BYTES)
                    if data:
                        stream_: Stream = key.data
                        self.output.add(stream_, data)
                    else:
                        selector.unregister(key.fileobj)
                self._hand_over()
                now_s = time.monotonic()
                if self._process.poll() is not None:
                    ended_s = ended_s or now_s
                    if not selector.get_map() or now_s > ended_s + DRAIN_S:
                        break
                elif made_to_s is None and now_s > end_s:
                    made_to_s = now_s + GRACE_S
                    _kill(self._process, signal.SIGTERM)
                elif made_to_s is not None and now_s > made_to_s:
                    _kill(self._process, signal.SIGKILL)
                elif not selector.get_map():
                    time.sleep(BATCH_S / 2)  # it has closed its output and goes on
        self.output.finish()
        self._hand_over(is_last=True)
        return made_to_s is not None

    def _hand_over(self, *, is_last: bool = False) -> None:
        now_s = time.monotonic()
        if is_last or self.output.ready_bytes >= BATCH_BYTES or now_s - self._told_s >= BATCH_S:
            self._told_s = now_s
            first, lines = self.output.take()
            if lines:
                self._tell(first, lines)


def _kill(process: "subprocess.Popen[bytes]", number: int) -> None:
    """End it with all that it started, as far as that has not left its session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
