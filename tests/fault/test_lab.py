"""The lab's PostgreSQL dies with the process that started it, however that process ends; the scripted server leaves no connection open; a
wrong clock costs no CPU time.

After SIGKILL no process removes the directory, so the tests remove it themselves.
"""

import asyncio
import contextlib
import gc
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.scripted_server import ScriptedServer
from lab.wrong_clock import WrongClock

DEADLINE_S = 30

# Prints the server's directory, starts the server, prints that it has started, and waits.
STARTER = """
import sys
from lab.postgres import PostgresServer
server = PostgresServer()
print(server.directory, flush=True)
with server:
    print("started", flush=True)
    sys.stdin.read()
"""
ORDINARY = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
PREFIXES = {"as we are": [], "ordinary": ORDINARY if os.geteuid() == 0 else []}


class Starter:
    """A process that starts a server, in its own process group as under `make`."""

    def __init__(self, prefix: list[str]) -> None:
        self.process = subprocess.Popen(
            [*prefix, sys.executable, "-c", STARTER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self.directory = Path(self.process.stdout.readline().strip())
        assert self.directory.is_dir()

    def wait_until_started(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "started\n"

    def end(self, number: signal.Signals) -> None:
        os.killpg(self.process.pid, number)
        self.process.communicate(timeout=DEADLINE_S)

    def servers(self) -> list[int]:
        """The pids of the processes that work in the directory or name it: the server, its helpers, initdb."""
        pids = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == self.process.pid:
                continue
            with contextlib.suppress(OSError):
                works_there = str((entry / "cwd").readlink()).startswith(str(self.directory))
                if works_there or os.fsencode(self.directory) in (entry / "cmdline").read_bytes():
                    pids.append(int(entry.name))
        return pids


@pytest.fixture(params=list(PREFIXES))
def starter(request: pytest.FixtureRequest) -> Iterator[Starter]:
    if request.param == "ordinary" and os.geteuid() != 0:
        pytest.skip("we are an ordinary user already")
    started = Starter(PREFIXES[request.param])
    yield started
    if started.process.poll() is None:
        started.end(signal.SIGKILL)
    for pid in started.servers():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(started.directory, ignore_errors=True)


def until(is_so: Callable[[], bool], what: str) -> None:
    end_s = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < end_s, what
        time.sleep(0.02)


@pytest.mark.needs("unshare")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_server_whose_starter_is_ended_is_gone_too(starter: Starter, number: signal.Signals) -> None:
    starter.wait_until_started()
    assert len(starter.servers()) > 3
    starter.end(number)
    until(lambda: starter.servers() == [], "a server outlived the process that started it")
    assert starter.directory.exists() == (number is not signal.SIGINT)


@pytest.mark.needs("unshare")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("moment", ["data", "data/postmaster.pid"])
def test_server_whose_starter_is_ended_while_it_starts_is_gone_too(
    starter: Starter, number: signal.Signals, moment: str
) -> None:
    until(lambda: (starter.directory / moment).exists(), "the server never began")
    starter.end(number)
    until(lambda: starter.servers() == [], "a server outlived the process that started it")
    assert number is signal.SIGKILL or not starter.directory.exists()


@pytest.mark.parametrize("turns", range(6))
async def test_scripted_server_closes_connections_that_arrive_while_it_stops(tmp_path: Path, turns: int) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", ResourceWarning)
        async with ScriptedServer(tmp_path / "server") as server:
            with socket.create_connection(("127.0.0.1", server.port)):
                pass
            for _ in range(turns):
                await asyncio.sleep(0)
        gc.collect()
    assert [str(warning.message) for warning in seen] == []


# A thread sorts, which holds the interpreter's lock, while the first thread waits for that lock. Prints the CPU times of both.
WAITER = """
import random, threading, time
numbers = [random.random() for _ in range(1_000_000)]
times_s = []
def sort():
    numbers.sort()
    times_s.append(time.thread_time())
sorting = threading.Thread(target=sort)
before_s = time.thread_time()
sorting.start()
sorting.join()
print(time.thread_time() - before_s, *times_s)
"""


@pytest.mark.needs("faketime")
def test_thread_that_waits_under_a_wrong_clock_uses_no_cpu_time() -> None:
    """By default the library's condition variables time out at once, so that a thread that waits for another one spins."""
    with contextlib.closing(WrongClock()) as clock:
        done = subprocess.run(
            [*clock.prefix, sys.executable, "-c", WAITER],
            capture_output=True,
            text=True,
            check=True,
            timeout=DEADLINE_S,
        )
    waiting_s, sorting_s = map(float, done.stdout.split())
    assert waiting_s < sorting_s / 4
