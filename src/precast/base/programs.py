"""The synchronous runner of programs: argv without a shell, a deadline, a bound on the output, an environment that the caller gives.

A program inherits nothing from us: no open files, a small environment, only the input that is meant for it. It leads a session and a
process group of its own. Past the deadline the whole group is killed. When a program ends in time, the processes that it left running are
killed unless the caller keeps them, because a service that was just started is such a process. A grandchild that keeps the output open
cannot delay the caller. `run` collects the output; a caller that needs it earlier reads from a `RunningProgram`.
`async_programs` is the same for code with an event loop.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Self

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENVIRONMENT: Mapping[str, str] = {"PATH": SEARCH_PATH, "LANG": "C.UTF-8", "HOME": "/"}
MAX_ERROR_BYTES = 10_000
READ_BYTES = 64 * 1024
REAP_S = 0.2
# On a kernel without pidfds (before 5.3), how often we check whether a program has ended while another process keeps its output open.
POLL_S = 0.05

Stream = Literal["out", "err"]


class ProgramResult(NamedTuple):
    """How a program ended. `out` exceeds the limit by at most one piece."""

    code: int
    out: bytes
    error: bytes


class StartOptions(NamedTuple):
    """How a program is started. With `is_joined` its errors go to its output."""

    environment: Mapping[str, str] = ENVIRONMENT
    directory: str = "/"
    user: int | None = None
    group: int | None = None
    groups: Sequence[int] | None = None
    umask: int = -1
    stdin: bytes = b""
    is_joined: bool = False
    keeps_children: bool = False  # processes that it left running when it ended stay alive
    keeps_last: bool = False  # output past the limit drops the beginning, and the program runs on
    max_error_bytes: int = MAX_ERROR_BYTES
    # It stays in our session and group: for a process that is itself limited and killed with its group.
    joins_group: bool = False


def run(
    argv: Sequence[str], deadline_s: float | None, max_bytes: int, options: StartOptions | None = None
) -> ProgramResult:
    """Run a program until it ends, reaches the deadline or has printed too much.

    Raises OSError if it cannot be started, and TimeoutError past the deadline.
    """
    options = options or StartOptions()
    until_s = float("inf") if deadline_s is None else time.monotonic() + deadline_s
    output: dict[Stream, bytearray] = {"out": bytearray(), "err": bytearray()}
    is_finished = False
    program = RunningProgram(argv, options)
    try:
        _collect(program, output, until_s, max_bytes, options)
        if len(output["out"]) <= max_bytes:
            program.wait(_left(until_s))
            is_finished = True
    finally:
        program.close(is_killed=not (is_finished and options.keeps_children))
    code = -signal.SIGKILL if program.code is None else program.code
    return ProgramResult(code, bytes(output["out"]), bytes(output["err"]))


def _collect(
    program: "RunningProgram",
    output: dict[Stream, bytearray],
    until_s: float,
    max_bytes: int,
    options: StartOptions,
) -> None:
    """Read until all streams are closed, or the program has ended and nothing is left to read, or there is too much."""
    while program.has_open_streams and len(output["out"]) <= max_bytes:
        left_s = _left(until_s)
        if left_s == 0:
            raise TimeoutError
        has_ended = program.has_ended()
        is_idle = not program.serve(0 if has_ended else left_s, output)
        if has_ended and is_idle:
            break
        del output["err"][: -options.max_error_bytes]
        if options.keeps_last:
            del output["out"][:-max_bytes]


def _left(until_s: float) -> float | None:
    return None if until_s == float("inf") else max(0.0, until_s - time.monotonic())


class RunningProgram:
    """A program that was started, with its streams. It must be closed. Raises OSError if it cannot be started."""

    def __init__(self, argv: Sequence[str], options: StartOptions) -> None:
        self._selector = selectors.DefaultSelector()
        try:
            self._process = _spawn(argv, options)
        except BaseException:
            self._selector.close()
            raise
        self._input = memoryview(options.stdin)
        self._leads_group = not options.joins_group
        self._open_streams = 0
        self._pidfd: int | None = None
        self._register()

    def _register(self) -> None:
        process = self._process
        for stream, event, name in (
            (process.stdout, selectors.EVENT_READ, "out"),
            (process.stderr, selectors.EVENT_READ, "err"),
            (process.stdin, selectors.EVENT_WRITE, "in"),
        ):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                self._selector.register(stream, event, name)
                self._open_streams += 1
        with contextlib.suppress(OSError):
            self._pidfd = os.pidfd_open(process.pid)
            self._selector.register(self._pidfd, selectors.EVENT_READ, None)

    @property
    def has_open_streams(self) -> bool:
        return self._open_streams > 0

    @property
    def code(self) -> int | None:
        """The exit code, negative for a signal; None until the program was waited for."""
        return self._process.returncode

    def has_ended(self) -> bool:
        """Whether it has ended. This does not reap it: until it is reaped, no other process gets the number of its group."""
        if self._process.returncode is not None:
            return True
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def serve(self, timeout_s: float | None, output: Mapping[Stream, bytearray]) -> bool:
        """Write input that fits and append output that has come to `output`; whether any stream was ready.

        Returns as soon as a stream is ready or the program ends, at the latest after `timeout_s`.
        """
        if self._pidfd is None:
            timeout_s = POLL_S if timeout_s is None else min(timeout_s, POLL_S)
        is_served = False
        for key, _ in self._selector.select(timeout_s):
            if key.data is None:
                self._selector.unregister(key.fileobj)  # an ended program stays ready for ever
                continue
            is_served = True
            if not (self._feed(key.fd) if key.data == "in" else _receive(key.fd, output[key.data])):
                self._selector.unregister(key.fileobj)
                self._open_streams -= 1
                if key.data == "in" and self._process.stdin is not None:
                    self._process.stdin.close()  # so that the program reads the end of its input
        return is_served

    def _feed(self, handle: int) -> bool:
        """Write the next piece of input; whether there is more."""
        try:
            self._input = self._input[os.write(handle, self._input[:READ_BYTES]) :]
        except BrokenPipeError:  # the program does not read the rest
            return False
        return bool(self._input)

    def wait(self, timeout_s: float | None) -> None:
        """Wait until it has ended. Raises TimeoutError."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError from None

    def signal(self, number: int) -> None:
        """Send a signal to the program and to everything that it started in its group, if it leads one."""
        if self._leads_group:
            signal_group(self._process.pid, number)
        else:
            self._process.send_signal(number)

    def close(self, *, is_killed: bool = True) -> None:
        """Kill what is left of the group, if asked for, and close the streams. The program must have been waited for otherwise."""
        if is_killed:
            self.signal(signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(REAP_S)
        self._selector.close()
        if self._pidfd is not None:
            os.close(self._pidfd)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def signal_group(pid: int, number: int) -> None:
    """Send a signal to a process group by its leader. A group that no longer exists, or is not ours, is left alone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _spawn(argv: Sequence[str], options: StartOptions) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        argv,
        stdin=subprocess.PIPE if options.stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if options.is_joined else subprocess.PIPE,
        env=options.environment,
        cwd=options.directory,
        user=options.user,
        group=options.group,
        extra_groups=options.groups,
        umask=options.umask,
        start_new_session=not options.joins_group,
        bufsize=0,
    )


def _receive(handle: int, data: bytearray) -> bool:
    """Read the next piece; whether the stream stays open."""
    piece = os.read(handle, READ_BYTES)
    data += piece
    return bool(piece)
