"""Runs a program for its output, with a deadline and a limit; never through a shell.

The program gets nothing of ours: no open files, a small environment, only the input that is meant for it. It leads a process group of its
own. Past the deadline the whole group is killed; of a program that ended in time, what it left behind is killed only if asked for, since
a service that was just started is such a rest. A grandchild that keeps the output open cannot hold us up.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENVIRONMENT: Mapping[str, str] = {"PATH": SEARCH_PATH, "LANG": "C.UTF-8", "HOME": "/"}
MAX_ERROR_BYTES = 10_000
REAP_S = 0.2
# How soon it shows that a program has ended whose output somebody else keeps open, on a kernel that cannot tell at once (before 5.3).
LOOK_S = 0.05
_INPUT = object()


class Ended(NamedTuple):
    """How a program ended. `out` has at most one piece more than was allowed."""

    code: int
    out: bytes
    error: bytes


class Start(NamedTuple):
    """How a program is started. With `is_joined` errors go where the output goes."""

    environment: Mapping[str, str] = ENVIRONMENT
    directory: str = "/"
    user: int | None = None
    group: int | None = None
    groups: Sequence[int] | None = None
    umask: int = -1
    stdin: bytes = b""
    is_joined: bool = False
    keeps_children: bool = False  # what it left running when it ended stays alive
    keeps_last: bool = False  # of too much output the beginning is dropped, and it runs on
    max_error_bytes: int = MAX_ERROR_BYTES


def run(words: Sequence[str], deadline_s: float | None, max_bytes: int, start: Start | None = None) -> Ended:
    """Run to the end, to the deadline, or until it has printed too much. Raises OSError, and TimeoutError past the deadline."""
    start = start or Start()
    until_s = float("inf") if deadline_s is None else time.monotonic() + deadline_s
    process = subprocess.Popen(
        words,
        stdin=subprocess.PIPE if start.stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if start.is_joined else subprocess.PIPE,
        env=start.environment,
        cwd=start.directory,
        user=start.user,
        group=start.group,
        extra_groups=start.groups,
        umask=start.umask,
        start_new_session=True,
        bufsize=0,
    )
    is_over = False
    try:
        out, error = _Conversation(process, start, max_bytes).hold(until_s)
        if len(out) <= max_bytes:
            process.wait(_left(until_s))
            is_over = True
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    finally:
        _end(process, is_killed=not (is_over and start.keeps_children))
    return Ended(-signal.SIGKILL if process.returncode is None else process.returncode, out, error)


def _left(until_s: float) -> float | None:
    return None if until_s == float("inf") else max(0.0, until_s - time.monotonic())


class _Conversation:
    """What goes in and comes out, until all is closed, or the program has ended and nothing is left to read, or there is too much."""

    def __init__(self, process: "subprocess.Popen[bytes]", start: Start, max_bytes: int) -> None:
        self._process = process
        self._max_bytes = max_bytes
        self._max_error_bytes = start.max_error_bytes
        self._keeps_last = start.keeps_last
        self._input = memoryview(start.stdin)
        self._out = bytearray()
        self._error = bytearray()

    def hold(self, until_s: float) -> tuple[bytes, bytes]:
        with selectors.DefaultSelector() as ready, _Ending(self._process.pid) as ending:
            open_streams = self._register(ready)
            if ending.handle is not None:
                ready.register(ending.handle, selectors.EVENT_READ)
            while open_streams and len(self._out) <= self._max_bytes:
                left_s = _left(until_s)
                if left_s == 0:
                    raise TimeoutError
                has_ended = _has_ended(self._process.pid)
                patience_s = left_s if ending.handle is not None else min(left_s or LOOK_S, LOOK_S)
                events = [key for key, _ in ready.select(0 if has_ended else patience_s) if key.data is not None]
                if has_ended and not events:
                    break
                for key in events:
                    if not self._serve(key, ready):
                        open_streams -= 1
                self._trim()
        return bytes(self._out), bytes(self._error)

    def _trim(self) -> None:
        del self._error[: -self._max_error_bytes]
        if self._keeps_last:
            del self._out[: -self._max_bytes]

    def _register(self, ready: selectors.BaseSelector) -> int:
        """How many streams of ours there are to serve."""
        process = self._process
        streams = [(process.stdout, self._out), (process.stderr, self._error)]
        for stream, data in streams:
            if stream is not None:
                ready.register(stream, selectors.EVENT_READ, data)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            ready.register(process.stdin, selectors.EVENT_WRITE, _INPUT)
        return sum(stream is not None for stream in (process.stdout, process.stderr, process.stdin))

    def _serve(self, key: selectors.SelectorKey, ready: selectors.BaseSelector) -> bool:
        """Read what there is, or write what fits; whether the stream stays open."""
        is_open = self._feed(key.fd) if key.data is _INPUT else self._take(key)
        if not is_open:
            ready.unregister(key.fileobj)
            if key.data is _INPUT and self._process.stdin is not None:
                self._process.stdin.close()  # so that it sees the end
        return is_open

    def _take(self, key: selectors.SelectorKey) -> bool:
        piece = os.read(key.fd, 1 << 16)
        key.data.extend(piece)
        return bool(piece)

    def _feed(self, handle: int) -> bool:
        try:
            self._input = self._input[os.write(handle, self._input[: 1 << 16]) :]
        except BrokenPipeError:  # it does not want the rest
            return False
        return bool(self._input)


class _Ending:
    """Becomes readable when a process ends; `handle` is None where the kernel has no such thing."""

    def __init__(self, pid: int) -> None:
        self.handle: int | None = None
        with contextlib.suppress(OSError):
            self.handle = os.pidfd_open(pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.handle is not None:
            os.close(self.handle)


def _has_ended(pid: int) -> bool:
    """Without reaping it: as long as it is there, nobody else gets the number of its group."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end(process: "subprocess.Popen[bytes]", is_killed: bool) -> None:
    """Kill what is left of the group. The group lives as long as its leader is not reaped, or a member runs."""
    if is_killed:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(REAP_S)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
