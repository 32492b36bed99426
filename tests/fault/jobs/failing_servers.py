"""Servers that are killed and paused while light agents work, and a person who asks whichever server answers."""

import contextlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from lab import fleet
from lab.server_process import PRECAST
from lab.site import Site

DEADLINE_S = 240.0
LEASE_S = 15.0
UNAVAILABLE = 75  # the exit code


@contextlib.contextmanager
def connected(url: str, nodes: Path, count: int, first: int) -> Iterator[None]:
    """A process with light agents, which connect again whenever their server is back."""
    words = [sys.executable, "-m", "lab.swarm", url, str(nodes), str(count), str(first)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    lines = process.stdout
    try:
        until(lambda: json.loads(lines.readline() or "null")["connected"] == count)
        # What it prints from now on is not read: it goes nowhere, so that the process never waits for a reader.
        with subprocess.Popen(["cat"], stdin=process.stdout, stdout=subprocess.DEVNULL):
            try:
                yield
            finally:
                process.stdin.close()
                process.wait(60)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def until(is_so: Callable[[], bool], deadline_s: float = DEADLINE_S) -> None:
    end_s = time.monotonic() + deadline_s
    while not is_so():
        assert time.monotonic() < end_s, "it took too long"


class Person:
    """A person with the role for commands, and a viewer, who ask whichever server answers."""

    def __init__(self, sites: Sequence[Site]) -> None:
        token = sites[0].run("token", "person", "ann", "--role", "commands")["token"]
        self._viewers = [site.environment for site in sites]
        self._callers = [{**site.environment, "PRECAST_TOKEN": str(token)} for site in sites]

    def call(self, *words: str) -> Any:
        return self._call(self._callers, *words)

    def view(self, *words: str) -> Any:
        return self._call(self._viewers, *words)

    def _call(self, environments: Sequence[dict[str, str]], *words: str) -> Any:
        """Ask until a server answers."""
        end_s = time.monotonic() + DEADLINE_S
        for environment in itertools.cycle(environments):
            assert time.monotonic() < end_s, "no server answered"
            with contextlib.suppress(subprocess.TimeoutExpired):
                done = subprocess.run([PRECAST, *words], env=environment, capture_output=True, text=True, timeout=20)
                assert done.returncode in (0, UNAVAILABLE), done.stderr
                if done.returncode == 0:
                    return json.loads(done.stdout)
        raise AssertionError("there is a server")


@contextlib.contextmanager
def failing_sites(directory: Path, database: str | None, count: int, nodes: int) -> Iterator[list[Site]]:
    """Servers on one database, and light agents in `directory/nodes` that are spread over them."""
    with Site(directory / "site", database) as first, contextlib.ExitStack() as stack:
        sites = [first]
        fleet.enrol(first.directory, database or str(first.directory / "precast.db"), directory / "nodes", nodes)
        for _ in range(count - 1):
            twin = stack.enter_context(contextlib.closing(first.twin()))
            twin.start()
            sites.append(twin)
        share = nodes // count
        for number, site in enumerate(sites):
            stack.enter_context(connected(site.url, directory / "nodes", share, number * share))
        yield sites


@contextlib.contextmanager
def restarted(site: Site) -> Iterator[None]:
    """A server after the end of all agents, whose files are complete by then."""
    site.start()
    try:
        yield
    finally:
        site.stop()


def disturb(sites: Sequence[Site], chance: random.Random) -> str:
    """Kill a server and start it again, or pause it for longer than its lease."""
    site = chance.choice(sites)
    time.sleep(chance.uniform(0, 1.5))
    if chance.random() < 0.75:
        site.kill()
        time.sleep(chance.choice([0, 0, 2]))
        site.start()
        return "killed"
    os.kill(site.pid, signal.SIGSTOP)
    time.sleep(LEASE_S + 2)
    os.kill(site.pid, signal.SIGCONT)
    return "paused"


def make_chance() -> random.Random:
    seed = random.randrange(10**6)
    print(f"\nseed {seed}")
    return random.Random(seed)
