"""What can happen to a cluster. A fault begins when its context is entered and has ended when it is left."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path

from lab.cluster.cluster import AGENTS, DATABASE, SERVERS, Cluster
from lab.small_disk import fill

# How long a flush takes while flushes are slow.
FLUSH_S = 4
ATTACHED_S = 30.0

# The cluster, the number of the round, and how long the fault lasts.
Fault = Callable[[Cluster, int, float], AbstractContextManager[None]]


@contextlib.contextmanager
def kill_server(cluster: Cluster, round_: int, lasts_s: float) -> Iterator[None]:
    """Kill one server. It is started again when the context is left."""
    server = cluster.servers[round_ % SERVERS]
    server.kill()
    try:
        yield
    finally:
        server.start()


@contextlib.contextmanager
def pause_server(cluster: Cluster, round_: int, lasts_s: float) -> Iterator[None]:
    # Not the server that was killed last: it has few nodes.
    with stopped(cluster.servers[(round_ + 1) % SERVERS].pid):
        time.sleep(lasts_s)
    yield


@contextlib.contextmanager
def freeze_database(cluster: Cluster, round_: int, lasts_s: float) -> Iterator[None]:
    with stopped(cluster.postgres.pid):
        time.sleep(lasts_s)
    yield


@contextlib.contextmanager
def slow_flushes(cluster: Cluster, round_: int, lasts_s: float) -> Iterator[None]:
    with flushing_slowly(cluster.postgres.pid):
        time.sleep(lasts_s)
    yield


@contextlib.contextmanager
def fill_disk(cluster: Cluster, round_: int, lasts_s: float) -> Iterator[None]:
    """Leave no space to the database. It must be on a disk of its own."""
    ballast = cluster.postgres.directory / "ballast"
    until_s = time.monotonic() + lasts_s
    try:
        while time.monotonic() < until_s:
            fill(Path(f"{ballast}.{round_}.{time.monotonic_ns()}"), 0)
            time.sleep(0.5)
    finally:
        for file in cluster.postgres.directory.glob("ballast.*"):
            file.unlink()
    if not cluster.postgres.is_running():
        cluster.postgres.start()
    cluster.postgres.wait_until_ready()
    yield


@contextlib.contextmanager
def cut_database_link(cluster: Cluster, round_: int, lasts_s: float) -> Iterator[None]:
    """Separate one server from the database; both ends see it."""
    link = cluster.database_links[(round_ + 2) % SERVERS]
    link.cut()
    time.sleep(lasts_s)
    link.restore()
    yield


@contextlib.contextmanager
def hold_database_link(cluster: Cluster, round_: int, lasts_s: float) -> Iterator[None]:
    """Separate one server from the database; neither end sees it."""
    link = cluster.database_links[(round_ + 1) % SERVERS]
    link.hold()
    time.sleep(lasts_s)
    link.release()
    yield


@contextlib.contextmanager
def cut_front(cluster: Cluster, round_: int, lasts_s: float) -> Iterator[None]:
    """Separate all agents from all servers; both ends see it."""
    cluster.front.cut()
    time.sleep(lasts_s)
    cluster.front.restore()
    yield


@contextlib.contextmanager
def hold_front(cluster: Cluster, round_: int, lasts_s: float) -> Iterator[None]:
    """Separate all agents from all servers; neither end sees it."""
    cluster.front.hold()
    time.sleep(lasts_s)
    cluster.front.release()
    yield


def jump_clock(part: str | None, offset: timedelta) -> Fault:
    """The clock of a part is wrong by an offset for a while; without a part, that of one server."""

    @contextlib.contextmanager
    def jump(cluster: Cluster, round_: int, lasts_s: float) -> Iterator[None]:
        clock = cluster.clocks[part or f"server{round_ % SERVERS}"]
        clock.set(offset)
        time.sleep(lasts_s)
        clock.correct()
        yield

    return jump


FAULTS: dict[str, Fault] = {
    "kill a server": kill_server,
    "pause a server": pause_server,
    "freeze the database": freeze_database,
    "slow flushes": slow_flushes,
    "full disk": fill_disk,
    "cut a server from the database": cut_database_link,
    "hold a server's database link": hold_database_link,
    "cut the agents off": cut_front,
    "hold the agents' link": hold_front,
}
HOUR, FORTY_DAYS = timedelta(hours=1), timedelta(days=40)
CLOCK_FAULTS: dict[str, Fault] = {
    f"{name} clock {'forty days' if offset is FORTY_DAYS else 'an hour'} ahead": jump_clock(part, offset)
    for name, part in (("a server's", None), ("the agents'", AGENTS), ("the database's", DATABASE))
    for offset in (HOUR, FORTY_DAYS)
}


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Stop a process and its descendants for the block."""
    pids = [pid, *_descendants(pid)]
    try:
        for each in pids:
            _send(each, signal.SIGSTOP)
        yield
    finally:
        for each in pids:
            _send(each, signal.SIGCONT)


@contextlib.contextmanager
def flushing_slowly(pid: int) -> Iterator[None]:
    """Let every flush of a process and its descendants take four seconds during the block. Needs strace."""
    flushes = "fsync,fdatasync,sync_file_range,msync"
    words = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={flushes}"]
    words += ["-e", f"inject={flushes}:delay_enter={FLUSH_S * 1_000_000}"]
    words += [f"--attach={traced}" for traced in (pid, *_descendants(pid))]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL) as tracer:
        try:
            _wait_until_traced(pid)
            yield
        finally:
            tracer.send_signal(signal.SIGINT)


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
        os.kill(pid, number)


def _descendants(pid: int) -> list[int]:
    found = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError):  # the thread has ended meanwhile
            for child in children.read_text().split():
                found += [int(child), *_descendants(int(child))]
    return found


def _wait_until_traced(pid: int) -> None:
    until_s = time.monotonic() + ATTACHED_S
    while "TracerPid:\t0\n" in Path(f"/proc/{pid}/status").read_text():
        assert time.monotonic() < until_s, "strace cannot attach to the database"
        time.sleep(0.05)
