"""Runs a program for its output, with a deadline and a limit; never through a shell.

The program gets nothing of ours: no input, no open files, an environment of three variables. It leads a process group of its own, and
whatever is left of that when we are done is killed. A grandchild that keeps the output open cannot hold us up.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from typing import NamedTuple

ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "HOME": "/"}
MAX_ERROR_BYTES = 10_000
REAP_S = 0.2
# How soon it shows that a program has ended whose output somebody else keeps open.
LOOK_S = 0.05


class Ended(NamedTuple):
    """How a program ended. `out` has at most one byte more than was allowed."""

    code: int
    out: bytes
    error: bytes


def run(words: Sequence[str], deadline_s: float, max_bytes: int) -> Ended:
    """Run to the end, to the deadline, or until it has printed too much. Raises OSError, and TimeoutError past the deadline."""
    until_s = time.monotonic() + deadline_s
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        cwd="/",
        start_new_session=True,
        bufsize=0,
    )
    try:
        out, error = _read(process, until_s, max_bytes)
        if len(out) <= max_bytes:
            process.wait(max(0.0, until_s - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    finally:
        _end(process)
    return Ended(-signal.SIGKILL if process.returncode is None else process.returncode, out, error)


def _read(process: "subprocess.Popen[bytes]", until_s: float, max_bytes: int) -> tuple[bytes, bytes]:
    """Output and errors, until both are closed, or the program has ended and nothing is left to read, or there is too much."""
    assert process.stdout is not None
    assert process.stderr is not None
    out, error = bytearray(), bytearray()
    with selectors.DefaultSelector() as ready:
        ready.register(process.stdout, selectors.EVENT_READ, out)
        ready.register(process.stderr, selectors.EVENT_READ, error)
        while ready.get_map() and len(out) <= max_bytes:
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                raise TimeoutError
            has_ended = _has_ended(process.pid)
            events = ready.select(0 if has_ended else min(left_s, LOOK_S))
            if has_ended and not events:
                break
            for key, _ in events:
                if not _take(key):
                    ready.unregister(key.fileobj)
            del error[:-MAX_ERROR_BYTES]
    return bytes(out), bytes(error)


def _has_ended(pid: int) -> bool:
    """Without reaping it: as long as it is there, nobody else gets the number of its group."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _take(key: selectors.SelectorKey) -> bool:
    """Read what there is; whether there may be more."""
    piece = os.read(key.fd, 1 << 16)
    key.data.extend(piece)
    return bool(piece)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kill what is left of the group. The group lives as long as its leader is not reaped, or a member runs."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(REAP_S)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
