"""Several processes on one port: a parent that starts workers, starts those anew that died, and ends with them.

Each worker listens on the port by itself (SO_REUSEPORT), so the kernel spreads connections and the parent touches none. It is
forked before it has any thread, connection or event loop. The parent waits for signals and for the word that a worker serves,
nothing else; every wait has an end.
"""

import contextlib
import ctypes
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

from precast.app.settings import Address
from precast.base.clock import Clock, SystemClock
from precast.cli import issues

# A worker must say that it serves within this time.
START_S = 60.0
# What is under way may end; then they are killed.
STOP_S = 30.0
# Who dies sooner than this is started anew after a pause that doubles up to the longest.
STEADY_S = 10.0
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 30.0
# The parent looks at its clock this often, for the deadlines above.
TICK_S = 1.0
PR_SET_PDEATHSIG = 1


class Worker(NamedTuple):
    """One of several processes of a server, as it sees itself."""

    number: int  # from 1
    address: Address | None  # none if this server has no API
    room: Path  # a directory that all of them share, and nobody else
    started: Callable[[], None]


class _Child:
    """A worker, as the parent sees it."""

    def __init__(self, number: int, pid: int, began_s: float, pause_s: float, word: int) -> None:
        self.number = number
        self.pid = pid
        self.began_s = began_s
        self.pause_s = pause_s
        self.word = word
        self.serves = False


class Supervisor:
    """Owns the workers. `run` is left in the parent at the end of all, and in each child at its beginning."""

    def __init__(self, count: int, address: Address | None, clock: Clock | None = None) -> None:
        self._count = count
        self._address = address
        self._clock = clock or SystemClock()
        self._children: dict[int, _Child] = {}
        # By number: when it is to be started, and the pause before that.
        self._due: dict[int, tuple[float, float]] = {}
        self._has_served = False
        self._is_stopping = False
        self._kill_at_s = float("inf")
        self._code = 0

    def run(self, serving: Callable[[Address | None], None]) -> Worker | int:
        """In the parent, the exit code at the end; `serving` is called once when all serve. In a child, who it is.

        Raises UnavailableError CLI-026 if somebody else has the port.
        """
        with contextlib.nullcontext() if self._address is None else reserved(self._address) as address:
            self._address = address
            room = Path(tempfile.mkdtemp(prefix="precast-workers-"))
            with _heard_signals() as heard:
                # The first one alone: what is wrong with a site is said once, and its schema is migrated once.
                self._due[1] = (self._clock.monotonic_s(), 0.0)
                worker = self._watch(heard, room, serving)
            if worker is not None:
                return worker
        shutil.rmtree(room, ignore_errors=True)
        return self._code

    def _watch(self, heard: int, room: Path, serving: Callable[[Address | None], None]) -> Worker | None:
        has_told = False
        while True:
            if (worker := self._start_due(room)) is not None:
                return worker
            if not self._children and (self._is_stopping or not self._due):
                return None
            self._wait(heard)
            self._reap()
            self._end_late()
            if not has_told and self._has_served and all(one.serves for one in self._children.values()):
                if len(self._children) == self._count:
                    has_told = True
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
        word, say = os.pipe2(os.O_CLOEXEC)
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        # A signal between fork and the child's own handlers would be heard by the wrong one.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        pid = os.fork()
        if pid:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            os.close(say)
            self._children[pid] = _Child(number, pid, self._clock.monotonic_s(), pause_s, word)
            return None
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)
        os.close(word)
        for one in self._children.values():
            os.close(one.word)

        def started() -> None:
            os.write(say, b"!")
            os.close(say)

        return Worker(number, self._address, room, started)

    def _wait(self, heard: int) -> None:
        words = {one.word: one for one in self._children.values() if not one.serves}
        ready, _, _ = select.select([heard, *words], [], [], TICK_S)
        for handle in ready:
            if handle == heard:
                if {signal.SIGTERM, signal.SIGINT} & set(os.read(heard, 4096)):
                    self._stop()
            elif os.read(handle, 1):
                words[handle].serves = self._has_served = True

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
                os.close(child.word)
                self._note_end(child, os.waitstatus_to_exitcode(status))

    def _note_end(self, child: _Child, code: int) -> None:
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        if self._is_stopping and code in _TOLD:
            return
        if self._is_stopping or not self._has_served:
            # Before anyone serves, a failure is the site's: the worker has said what it is.
            self._code = self._code or (128 - code if code < 0 else code)
            self._is_stopping = True
            return
        now_s = self._clock.monotonic_s()
        is_steady = now_s - child.began_s >= STEADY_S
        pause_s = 0.0 if is_steady else min(max(child.pause_s * 2, FIRST_PAUSE_S), LONGEST_PAUSE_S)
        self._due[child.number] = (now_s + pause_s, pause_s)
        print(
            f"precast: worker {child.number} (process {child.pid}) ended with {how}; started anew in {pause_s:g} s",
            file=sys.stderr,
            flush=True,
        )

    def _end_late(self) -> None:
        now_s = self._clock.monotonic_s()
        if now_s >= self._kill_at_s:
            self._send(signal.SIGKILL, list(self._children.values()))
        mute = [one for one in self._children.values() if not one.serves and now_s - one.began_s > START_S]
        self._send(signal.SIGKILL, mute)

    def _send(self, number: signal.Signals, children: list[_Child]) -> None:
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, number)


# How a worker ends that was told to before it could listen to it.
_TOLD = (-signal.SIGTERM, -signal.SIGINT, 130)
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)


@contextlib.contextmanager
def _heard_signals() -> Iterator[int]:
    """Inside, signals are bytes that can be read from this handle. A child leaves with the handlers of before."""
    heard, say = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    before = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}
    wakeup = signal.set_wakeup_fd(say)
    try:
        yield heard
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        os.close(heard)
        os.close(say)


@contextlib.contextmanager
def reserved(address: Address) -> Iterator[Address]:
    """The address with its port, which stays ours inside: bound, but nobody is answered here.

    Raises UnavailableError CLI-026 if somebody has it: SO_REUSEPORT alone would share it with another server of ours.
    """
    with contextlib.ExitStack() as held:
        try:
            found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            for at, (family, kind, _, _, place) in enumerate(found):
                where = (place[0], address.port, *place[2:])
                with socket.socket(family, kind) as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    _bind(probe, where)
                    where = probe.getsockname() if at == 0 else where
                one = held.enter_context(socket.socket(family, kind))
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                _bind(one, where)
                address = address._replace(port=one.getsockname()[1])
        except OSError as error:
            raise issues.CANNOT_LISTEN.error(address=address, reason=error.strerror) from error
        yield address


def _bind(one: socket.socket, where: tuple[object, ...]) -> None:
    if one.family == socket.AF_INET6:
        one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    one.bind(where)
