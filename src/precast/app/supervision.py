"""Runs several worker processes on one port: the parent starts the workers, restarts those that die, and ends after them.

Each worker listens on the port itself (SO_REUSEPORT), so the kernel distributes the connections and none passes through the parent.
Workers are forked before the process has any thread, connection or event loop. The parent waits only for signals and for the byte by
which a worker reports that it serves; every wait has a timeout.
"""

import contextlib
import ctypes
import logging
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from precast.app import issues
from precast.app.settings import Address
from precast.base.clock import Clock, SystemClock

log = logging.getLogger("precast.workers")

# A worker must report that it serves within this time.
START_S = 60.0
# Workers may finish their requests for this long, then they are killed.
STOP_S = 30.0
# A worker that dies sooner than this is restarted after a pause, which doubles up to the longest.
STEADY_S = 10.0
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 30.0
# The parent checks the deadlines above this often.
TICK_S = 1.0
PR_SET_PDEATHSIG = 1


class Worker(NamedTuple):
    """One of several processes of a server, seen from inside that process."""

    number: int  # from 1
    address: Address | None  # None if this server does not have the role api
    shared_directory: Path  # a directory that only the workers of this server share
    started: Callable[[], None]  # tells the parent that this worker serves


class _Child:
    """A worker, seen from the parent. `ready_pipe` delivers one byte when the worker serves."""

    def __init__(self, number: int, pid: int, began_s: float, pause_s: float, ready_pipe: int) -> None:
        self.number = number
        self.pid = pid
        self.began_s = began_s
        self.pause_s = pause_s
        self.ready_pipe = ready_pipe
        self.is_serving = False


class Supervisor:
    """Owns the workers. `run` returns in the parent when all have ended, and in each child right after the fork."""

    def __init__(self, count: int, address: Address | None, clock: Clock | None = None) -> None:
        self._count = count
        self._address = address
        self._clock = clock or SystemClock()
        self._children: dict[int, _Child] = {}
        # By worker number: the time at which to start it, and the pause before that.
        self._due: dict[int, tuple[float, float]] = {}
        self._has_served = False
        self._is_stopping = False
        self._kill_at_s = float("inf")
        self._code = 0

    def run(self, serving: Callable[[Address | None], None]) -> Worker | int:
        """Return the exit code in the parent, and the worker in a child. `serving` is called once, when all workers serve.

        Raises UnavailableError CLI-026 if another process has the port.
        """
        with contextlib.nullcontext() if self._address is None else reserved(self._address) as address:
            self._address = address
            room = Path(tempfile.mkdtemp(prefix="precast-workers-"))
            with _signal_pipe() as signals:
                # The first worker starts alone: a broken site is reported once, and its schema is migrated once.
                self._due[1] = (self._clock.monotonic_s(), 0.0)
                worker = self._watch(signals, room, serving)
            if worker is not None:
                return worker
        shutil.rmtree(room, ignore_errors=True)
        return self._code

    def _watch(self, signals: int, room: Path, serving: Callable[[Address | None], None]) -> Worker | None:
        is_announced = False
        while True:
            if (worker := self._start_due(room)) is not None:
                return worker
            if not self._children and (self._is_stopping or not self._due):
                return None
            self._wait(signals)
            self._reap()
            self._kill_overdue()
            if not is_announced and self._has_served and all(child.is_serving for child in self._children.values()):
                if len(self._children) == self._count:
                    is_announced = True
                    serving(self._address)
                elif not self._due and not self._is_stopping:
                    now_s = self._clock.monotonic_s()
                    self._due = dict.fromkeys(range(2, self._count + 1), (now_s, 0.0))

    def _start_due(self, room: Path) -> Worker | None:
        now_s = self._clock.monotonic_s()
        for number, (at_s, pause_s) in sorted(self._due.items()):
            if at_s <= now_s and not self._is_stopping:
                del self._due[number]
                if (worker := self._fork(number, pause_s, room)) is not None:
                    return worker
        return None

    def _fork(self, number: int, pause_s: float, room: Path) -> Worker | None:
        ready_pipe, ready_end = os.pipe2(os.O_CLOEXEC)
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        # A signal between the fork and the child's own handlers would reach the parent's handlers in the child.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        pid = os.fork()
        if pid:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            os.close(ready_end)
            self._children[pid] = _Child(number, pid, self._clock.monotonic_s(), pause_s, ready_pipe)
            return None
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)
        os.close(ready_pipe)
        for sibling in self._children.values():
            os.close(sibling.ready_pipe)

        def started() -> None:
            os.write(ready_end, b"!")
            os.close(ready_end)

        return Worker(number, self._address, room, started)

    def _wait(self, signals: int) -> None:
        starting = {child.ready_pipe: child for child in self._children.values() if not child.is_serving}
        readable, _, _ = select.select([signals, *starting], [], [], TICK_S)
        for handle in readable:
            if handle == signals:
                if {signal.SIGTERM, signal.SIGINT} & set(os.read(signals, 4096)):
                    self._stop()
            elif os.read(handle, 1):
                starting[handle].is_serving = self._has_served = True

    def _stop(self) -> None:
        if not self._is_stopping:
            self._is_stopping = True
            self._kill_at_s = self._clock.monotonic_s() + STOP_S
            self._send(signal.SIGTERM, list(self._children.values()))

    def _reap(self) -> None:
        for child in list(self._children.values()):
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if pid:
                del self._children[pid]
                os.close(child.ready_pipe)
                self._handle_exit(child, os.waitstatus_to_exitcode(status))

    def _handle_exit(self, child: _Child, code: int) -> None:
        cause = f"signal {-code}" if code < 0 else f"exit code {code}"
        if self._is_stopping and code in _STOPPED:
            return
        if self._is_stopping or not self._has_served:
            # Before any worker has served, the site itself is broken: the worker has reported the error.
            self._code = self._code or (128 - code if code < 0 else code)
            self._is_stopping = True
            return
        now_s = self._clock.monotonic_s()
        is_steady = now_s - child.began_s >= STEADY_S
        pause_s = 0.0 if is_steady else min(max(child.pause_s * 2, FIRST_PAUSE_S), LONGEST_PAUSE_S)
        self._due[child.number] = (now_s + pause_s, pause_s)
        log.warning(
            "worker %d (process %d) ended with %s; it is restarted in %g s", child.number, child.pid, cause, pause_s
        )

    def _kill_overdue(self) -> None:
        now_s = self._clock.monotonic_s()
        children = list(self._children.values())
        if now_s >= self._kill_at_s:
            self._send(signal.SIGKILL, children)
        overdue = [child for child in children if not child.is_serving and now_s - child.began_s > START_S]
        self._send(signal.SIGKILL, overdue)

    def _send(self, number: signal.Signals, children: list[_Child]) -> None:
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, number)


# How a worker ends that is stopped before its signal handlers are installed.
_STOPPED = (-signal.SIGTERM, -signal.SIGINT, 130)
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)


@contextlib.contextmanager
def _signal_pipe() -> Iterator[int]:
    """A handle from which each signal can be read as a byte. Leaving restores the earlier handlers, also in a child."""
    read_end, write_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    before = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}
    wakeup = signal.set_wakeup_fd(write_end)
    try:
        yield read_end
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        os.close(read_end)
        os.close(write_end)


@contextlib.contextmanager
def reserved(address: Address) -> Iterator[Address]:
    """The address with its real port. The port is bound until the context ends, but not listened on.

    Raises UnavailableError CLI-026 if another process has it. A probe without SO_REUSEPORT finds out: with that option alone the port
    would be shared with another server.
    """
    with contextlib.ExitStack() as sockets:
        try:
            resolved = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            for index, (family, kind, _, _, socket_address) in enumerate(resolved):
                bind_to = (socket_address[0], address.port, *socket_address[2:])
                with socket.socket(family, kind) as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    _bind(probe, bind_to)
                    bind_to = probe.getsockname() if index == 0 else bind_to
                bound = sockets.enter_context(socket.socket(family, kind))
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                _bind(bound, bind_to)
                address = address._replace(port=bound.getsockname()[1])
        except OSError as error:
            raise issues.CANNOT_LISTEN.error(address=address, reason=error.strerror) from error
        yield address


def _bind(unbound: socket.socket, socket_address: tuple[object, ...]) -> None:
    if unbound.family == socket.AF_INET6:
        unbound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    unbound.bind(socket_address)
