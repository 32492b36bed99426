"""Servers killed and paused at random moments while commands run over a fleet of light agents: every attempt is COMPLETED, every node
executes each command once, and nothing is stuck.

Several commands are under way at a time, so nodes also wait for their locks; a limit makes each command need many turns.
"""

import contextlib
import itertools
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lab import fleet
from lab.postgres import PostgresServer
from lab.server_process import PRECAST
from lab.site import Site
from precast.wire.jobs.orders import EXEC_BEGAN, ExecBegan
from precast.wire.sessions import Record

DEADLINE_S = 240.0
LEASE_S = 15.0
UNAVAILABLE = 75  # the exit code
NODES = 24
JOBS = 3
LONG_ROUNDS = int(os.environ.get("PRECAST_JOB_KILLS", "40"))


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


def until(is_so: Callable[[], bool]) -> None:
    end_s = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < end_s, "it took too long"


class Commands:
    """The commands of a person who asks whichever server answers."""

    def __init__(self, sites: Sequence[Site]) -> None:
        token = sites[0].run("token", "person", "ann", "--role", "commands")["token"]
        self._viewers = [site.environment for site in sites]
        self._callers = [{**site.environment, "PRECAST_TOKEN": str(token)} for site in sites]
        self.jobs: list[str] = []

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

    def start(self, names: Sequence[str]) -> None:
        """Start a command that goes over the nodes in small groups."""
        words = ["--at-once", "2", "--wait-away", "10m", "--detach", *names, "--", "prove", secrets.token_hex(16)]
        self.jobs.append(self._call(self._callers, "exec", "--json", *words)["id"])

    def show(self, job: str) -> Any:
        return self._call(self._viewers, "run", "show", job, "--json")

    def have_ended(self) -> bool:
        return all(self.show(job)["run"]["ended_at"] is not None for job in self.jobs)


def executions(directory: Path) -> Counter[str]:
    """How often an agent has begun each order."""
    records = [msgspec.json.decode(line, type=Record) for line in (directory / "orders").read_bytes().splitlines()]
    return Counter(
        msgspec.json.decode(record.body, type=ExecBegan).order for record in records if record.kind == EXEC_BEGAN
    )


def expect_each_executed_once(commands: Commands, nodes: Path, names: Sequence[str]) -> None:
    for job in commands.jobs:
        answer = commands.show(job)
        states = Counter(step["state"] for step in answer["steps"])
        assert (answer["run"]["state"], states) == ("done", {"COMPLETED": len(names)}), answer
    orders = {f"{job}.1.1": 1 for job in commands.jobs}
    for name in names:
        assert executions(nodes / name) == orders, name


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


def run_commands_while_servers_fail(
    directory: Path, database: str | None, count: int, rounds: int, chance: random.Random
) -> None:
    with Site(directory / "site", database) as first, contextlib.ExitStack() as stack:
        nodes, names, sites = directory / "nodes", fleet.names(NODES), [first]
        fleet.enrol(first.directory, database or str(first.directory / "precast.db"), nodes, NODES)
        for _ in range(count - 1):
            twin = stack.enter_context(contextlib.closing(first.twin()))
            twin.start()
            sites.append(twin)
        share = NODES // count
        for number, site in enumerate(sites):
            stack.enter_context(connected(site.url, nodes, share, number * share))
        commands, done = Commands(sites), Counter[str]()
        for number in range(rounds):
            if number % 2 == 0 and number < 2 * JOBS:
                commands.start(names)
            done[disturb(sites, chance)] += 1
        until(commands.have_ended)
    expect_each_executed_once_after(commands, first, nodes, names)
    print(f"\n{len(commands.jobs)} commands on {NODES} nodes of {count} servers, which were {dict(done)}")


def expect_each_executed_once_after(commands: Commands, site: Site, nodes: Path, names: Sequence[str]) -> None:
    """The agents have ended, so their files are complete."""
    site.start()
    try:
        expect_each_executed_once(commands, nodes, names)
    finally:
        site.stop()


def make_chance() -> random.Random:
    seed = random.randrange(10**6)
    print(f"\nseed {seed}")
    return random.Random(seed)


@pytest.mark.timeout(600)
def test_commands_are_executed_once_though_their_server_is_killed(tmp_path: Path) -> None:
    run_commands_while_servers_fail(tmp_path, None, 1, 4, make_chance())


@pytest.mark.timeout(600)
def test_commands_are_executed_once_though_one_of_two_servers_is_killed_or_paused(tmp_path: Path) -> None:
    with PostgresServer(is_in_memory=True) as server:
        run_commands_while_servers_fail(tmp_path, server.url(server.create_database()), 2, 4, make_chance())


@pytest.mark.soak
@pytest.mark.timeout(6 * 3600)
def test_commands_are_executed_once_for_long(tmp_path: Path) -> None:
    run_commands_while_servers_fail(tmp_path, None, 1, LONG_ROUNDS, make_chance())


@pytest.mark.soak
@pytest.mark.timeout(6 * 3600)
def test_commands_on_two_servers_are_executed_once_for_long(tmp_path: Path) -> None:
    with PostgresServer() as server:
        run_commands_while_servers_fail(tmp_path, server.url(server.create_database()), 2, LONG_ROUNDS, make_chance())
