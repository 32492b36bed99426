"""Runs each step of a task in a process of its own, and ends it when it is late, with everything that it has started.

The step's process is a fork of the task's process, so it shares the lease. It sends the lines of its output, and at last its outcome. If
the task's process is killed, the step is asked to end. The task's process does nothing but wait, so it ends a step at its deadline whatever
the step waits for: a command, a resource, a file system that hangs. What a step of a work leaves running when it ends in time stays: a
service that it has started is such a process. At the deadline of the task, and when it is aborted, those are killed, too. A test leaves
nothing.
"""

import contextlib
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, NoReturn

import msgspec

from precast.agent.settings import AgentSettings
from precast.agent.state.store import LocalStore
from precast.agent.tasks.context import StepOutcome, TaskContext, failed
from precast.agent.tasks.descendants import FoundProcess, find_children, kill_descendants, reap_orphans
from precast.base.confinement import kernel
from precast.base.errors import PrecastError
from precast.base.frames import LENGTH_BYTES, frame_length, make_frame
from precast.wire.jobs.orders import OutputLine

# How often the task's process looks whether it is to stop.
POLL_S = 0.1
# How long a step that is to end holds the lease, if nobody is left to kill it.
END_S = 60
READ_BYTES = 64 * 1024
MAX_FRAME_BYTES = 16 * 1024 * 1024

Step = Callable[[TaskContext], StepOutcome]
OnLines = Callable[[Sequence[OutputLine]], None]
# ended: the step has come to its end. overdue: the deadline of the task was reached. stopped: the task was asked to stop.
How = Literal["ended", "overdue", "stopped"]


class StepEnd(NamedTuple):
    """How a step came to its end."""

    outcome: StepOutcome
    how: How = "ended"


class StepLimits(NamedTuple):
    """When a step is ended: at the deadline of its task, by `time.monotonic`, and after a time of its own."""

    deadline_s: float
    limit_s: float | None = None
    grace_s: float = 0.0  # between the request to end at the deadline, and the end
    is_test: bool = False  # what it has started ends with it


class StepRunner:
    """Runs the steps of one task, one after the other. No database is open in this process when a step begins."""

    def __init__(
        self, order: str, root: Path, settings: AgentSettings, life: str | None, must_stop: Callable[[], bool]
    ) -> None:
        self._order, self._root, self._settings, self._life = order, root, settings, life
        self._must_stop = must_stop

    def run(self, step: Step, limits: StepLimits, on_lines: OnLines) -> StepEnd:
        """Run a step to its end; `on_lines` is called with its output, `()` when there is none for a while."""
        spared = find_children()
        reading, writing = os.pipe()
        parent, child = os.getpid(), os.fork()
        if child == 0:
            os.close(reading)
            self._serve(step, limits.deadline_s, writing, parent)
        os.close(writing)
        process = _StepProcess(child, reading)
        try:
            return self._wait(process, limits, on_lines, spared)
        except BaseException:
            kill_descendants()
            raise
        finally:
            process.close()

    def _wait(
        self, process: "_StepProcess", limits: StepLimits, on_lines: OnLines, spared: set[FoundProcess]
    ) -> StepEnd:
        now_s = time.monotonic()
        limit_s = float("inf") if limits.limit_s is None else now_s + limits.limit_s
        how = process.follow(min(limit_s, limits.deadline_s), self._must_stop, on_lines)
        if how == "overdue" and time.monotonic() < limits.deadline_s:  # its own limit, not that of the task
            kill_descendants(spared)
            return StepEnd(failed(f"it took more than {limits.limit_s:g} s"))
        if how != "ended":
            process.request_end()
            process.follow(time.monotonic() + limits.grace_s, lambda: False, on_lines)
            left = kill_descendants()
            return StepEnd(_with_survivors(process.find_outcome(on_lines) or failed("it was ended"), left), how)
        outcome = process.find_outcome(on_lines)
        if limits.is_test or outcome is None:
            kill_descendants(spared)
        reap_orphans()
        return StepEnd(outcome or failed(f"its process {process.describe_end()}"))

    def _serve(self, step: Step, deadline_s: float, handle: int, parent: int) -> NoReturn:
        """The process of a step. It ends with the task's process, and never returns into its code."""
        code = 1
        try:
            stops: list[int] = []
            signal.signal(signal.SIGTERM, lambda number, frame: stops.append(number))
            signal.signal(signal.SIGUSR1, _end_alone)
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGUSR1)
            if os.getppid() == parent:  # otherwise it has ended before the call

                def emit(lines: Sequence[OutputLine]) -> None:
                    _send(handle, _Lines(list(lines)))

                def make_context() -> TaskContext:
                    store = LocalStore.open(self._root, lambda: os.urandom(16).hex(), life=self._life)
                    return TaskContext(
                        self._order,
                        self._root,
                        self._settings,
                        store,
                        deadline_s,
                        lambda: bool(stops),
                        emit,
                        (handle,),
                    )

                _send(handle, _Ended(_carry_out(step, make_context)))
                code = 0
        finally:
            os._exit(code)


def _end_alone(number: int, frame: object) -> None:
    """The task's process has ended: ask this one to end, and let the kernel kill it if it does not."""
    signal.alarm(END_S)
    os.kill(os.getpid(), signal.SIGTERM)


def _with_survivors(outcome: StepOutcome, left: int) -> StepOutcome:
    """The outcome, and how many processes are still there although they were killed."""
    if not left:
        return outcome
    count = f"{left} process{'' if left == 1 else 'es'}"
    message = f"{outcome.message}; {count} that it has started could not be killed"
    return msgspec.structs.replace(outcome, message=message)


def _reap_other(pid: int) -> None:
    """Take note of the end of one orphan, if one has ended: a step may leave many."""
    with contextlib.suppress(ChildProcessError):
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is not None and ended.si_pid != pid:
            os.waitpid(ended.si_pid, 0)


def _carry_out(step: Step, make_context: Callable[[], TaskContext]) -> StepOutcome:
    try:
        return step(make_context())
    except PrecastError as error:
        return failed(f"{error.message} [{error.code}]")
    except OSError as error:
        return failed(f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error))
    except Exception as error:  # noqa: BLE001 - the boundary of the process: the task's process tells the server
        traceback.print_exc(file=sys.stderr)
        return failed(f"{type(error).__name__}: {error}; please report this bug", is_final=True)


class _Lines(msgspec.Struct, tag=True):
    lines: list[OutputLine]


class _Ended(msgspec.Struct, tag=True):
    outcome: StepOutcome


_DECODER: "msgspec.msgpack.Decoder[_Lines | _Ended]" = msgspec.msgpack.Decoder(_Lines | _Ended)


def _send(handle: int, message: _Lines | _Ended) -> None:
    data = memoryview(make_frame(msgspec.msgpack.encode(message)))
    while data:
        data = data[os.write(handle, data) :]


class _StepProcess:
    """The process of one step, and the pipe from it."""

    def __init__(self, pid: int, handle: int) -> None:
        self._pid, self._handle = pid, handle
        os.set_blocking(handle, False)
        self._data = bytearray()
        self._outcome: StepOutcome | None = None
        self._status: int | None = None

    def follow(self, until_s: float, must_stop: Callable[[], bool], on_lines: OnLines) -> How:
        """Pass its output on until it has ended, is late or is to stop."""
        while not self._has_ended():
            if must_stop():
                return "stopped"
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return "overdue"
            # A signal does not end the wait, so it is short.
            select.select([self._handle], [], [], min(left_s, POLL_S))
            if not self._read(on_lines):
                time.sleep(min(left_s, POLL_S / 10))  # the pipe is closed: its process ends now
            on_lines(())
            _reap_other(self._pid)
        return "ended"

    def find_outcome(self, on_lines: OnLines) -> StepOutcome | None:
        """What it has sent last; None if it did not come to that. Called when it has ended."""
        self._read(on_lines)
        return self._outcome

    def request_end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGTERM)

    def describe_end(self) -> str:
        assert self._status is not None, "it has ended"
        code = os.waitstatus_to_exitcode(self._status)
        return f"was ended by signal {-code}" if code < 0 else f"ended with {code}"

    def close(self) -> None:
        os.close(self._handle)
        if not self._has_ended():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)

    def _has_ended(self) -> bool:
        if self._status is None:
            try:
                pid, status = os.waitpid(self._pid, os.WNOHANG)
            except ChildProcessError:  # it was reaped with the orphans
                pid, status = self._pid, signal.SIGKILL
            self._status = status if pid else None
        return self._status is not None

    def _read(self, on_lines: OnLines) -> bool:
        """Handle all frames that are complete; False if the pipe is closed."""
        is_open = True
        with contextlib.suppress(BlockingIOError):
            while is_open:
                piece = os.read(self._handle, READ_BYTES)
                is_open = bool(piece)
                self._data += piece
                self._handle_frames(on_lines)
        return is_open

    def _handle_frames(self, on_lines: OnLines) -> None:
        while len(self._data) >= LENGTH_BYTES:
            end = LENGTH_BYTES + frame_length(bytes(self._data[:LENGTH_BYTES]), MAX_FRAME_BYTES)
            if len(self._data) < end:
                return
            message = _DECODER.decode(bytes(self._data[LENGTH_BYTES:end]))
            del self._data[:end]
            if isinstance(message, _Ended):
                self._outcome = message.outcome
            else:
                on_lines(message.lines)
