"""Servers killed and paused at random moments while commands run over a fleet of light agents: every attempt is COMPLETED, every node
executes each command once, and nothing is stuck.

Several commands are under way at a time, so nodes also wait for their locks; a limit makes each command need many turns.
"""

import os
import random
import secrets
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lab import fleet
from lab.postgres import PostgresServer
from precast.wire.jobs.orders import EXEC_BEGAN, ExecBegan
from precast.wire.sessions import Record
from tests.fault.jobs.failing_servers import Person, disturb, failing_sites, make_chance, restarted, until

NODES = 24
JOBS = 3
LONG_ROUNDS = int(os.environ.get("PRECAST_JOB_KILLS", "40"))


class Commands:
    """The commands of a person."""

    def __init__(self, person: Person) -> None:
        self._person = person
        self.jobs: list[str] = []

    def start(self, names: Sequence[str]) -> None:
        """Start a command that goes over the nodes in small groups."""
        words = ["--at-once", "2", "--wait-away", "10m", "--detach", *names, "--", "prove", secrets.token_hex(16)]
        self.jobs.append(self._person.call("exec", "--json", *words)["id"])

    def show(self, job: str) -> Any:
        return self._person.view("run", "show", job, "--json")

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


def run_commands_while_servers_fail(
    directory: Path, database: str | None, count: int, rounds: int, chance: random.Random
) -> None:
    nodes, names, done = directory / "nodes", fleet.names(NODES), Counter[str]()
    with failing_sites(directory, database, count, NODES) as sites:
        commands = Commands(Person(sites))
        for number in range(rounds):
            if number % 2 == 0 and number < 2 * JOBS:
                commands.start(names)
            done[disturb(sites, chance)] += 1
        until(commands.have_ended)
    with restarted(sites[0]):
        expect_each_executed_once(commands, nodes, names)
    print(f"\n{len(commands.jobs)} commands on {NODES} nodes of {count} servers, which were {dict(done)}")


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
