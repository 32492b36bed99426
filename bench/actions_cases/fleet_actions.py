"""One command over a fleet of light agents, through a real server: its time, the server's memory, and the cost of schedules that wait.

Each agent is a session over TLS 1.3 with its own certificate, stores every step of an order durably and returns a proof of the command's
challenge with its own nonce (`lab.light_agent`); every proof is checked. The time is that of the whole command, from its start to its exit,
and it exits when the last node is COMPLETED.
"""

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from lab import fleet
from lab.light_agent import prove
from lab.server_process import PRECAST
from lab.site import Site
from lab.waiting_schedules import copy_action

DEADLINE_S = 240.0
SETTLE_S = 3.0
FEW = 50
NEXT_YEAR = "0 4 1 1 *"


class Swarm:
    """Processes with light agents."""

    def __init__(self, site: Site, nodes: Path, count: int, processes: int) -> None:
        self._shares = shares = [count // processes + (number < count % processes) for number in range(processes)]
        words = [sys.executable, "-m", "lab.swarm", site.url, str(nodes)]
        self._processes = [
            subprocess.Popen(
                [*words, str(share), str(sum(shares[:number]))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for number, share in enumerate(shares)
        ]

    def wait_until_connected(self) -> None:
        """Read what the processes report until all nodes are connected."""
        until_s = time.monotonic() + DEADLINE_S
        for process, share in zip(self._processes, self._shares, strict=True):
            assert process.stdout is not None
            said = {"connected": 0}
            while said["connected"] < share:
                line = process.stdout.readline()
                if not line or time.monotonic() > until_s:
                    raise SystemExit(f"the swarm did not connect: {said}")
                said = json.loads(line)

    def end(self) -> None:
        for process in self._processes:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.close()
            process.stdout.close()
        for process in self._processes:
            process.wait(60)


@contextmanager
def connected(site: Site, nodes: Path, count: int, processes: int) -> Iterator[None]:
    swarm = Swarm(site, nodes, count, processes)
    try:
        swarm.wait_until_connected()
        time.sleep(SETTLE_S)
        yield
    finally:
        swarm.end()


class Commander:
    """A person who may run commands."""

    def __init__(self, site: Site) -> None:
        token = site.run("token", "person", "bench", "--role", "commands")["token"]
        self._environment = {**site.environment, "PRECAST_TOKEN": str(token)}

    def run(self, nodes: Path, count: int) -> float:
        """Run one command on the first nodes, check every proof, and return the seconds that it took."""
        challenge = secrets.token_hex(16)
        names = fleet.names(count)
        command = [PRECAST, "exec", "--json", *names, "--", "prove", challenge]
        began_s = time.monotonic()
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True, timeout=DEADLINE_S)
        took_s = time.monotonic() - began_s
        if done.returncode:
            raise SystemExit(f"the command ended with {done.returncode}: {done.stderr}{done.stdout[-2000:]}")
        _check(json.loads(done.stdout), nodes, names, challenge)
        return took_s


def _check(answer: dict[str, Any], nodes: Path, names: Sequence[str], challenge: str) -> None:
    """Every node is COMPLETED, and has returned its own proof. Raises SystemExit otherwise."""
    states = {step["node"]: step["state"] for step in answer["steps"]}
    proofs = {output["node"]: output["lines"][0][1] for output in answer["output"]}
    for name in names:
        if states.get(name) != "COMPLETED":
            raise SystemExit(f"{name} is {states.get(name)}")
        if proofs.get(name) != prove((nodes / name / "nonce").read_text(), name, challenge):
            raise SystemExit(f"{name} has returned another proof")


class FleetFigures(NamedTuple):
    """The seconds of each round, and the server's memory for each node beyond the first few, after as many rounds."""

    rounds_s: list[float]
    kb_each: float


def measure_fleet(directory: Path, count: int, rounds: int, processes: int) -> FleetFigures:
    with Site(directory / "site") as site:
        nodes = directory / "nodes"
        fleet.enrol(site.directory, str(site.directory / "precast.db"), nodes, count)
        commander = Commander(site)
        with connected(site, nodes, FEW, 1):
            for _ in range(rounds):
                commander.run(nodes, FEW)
            before_kb = memory_kb(site.pid)
        with connected(site, nodes, count, processes):
            rounds_s = [commander.run(nodes, count) for _ in range(rounds)]
            time.sleep(SETTLE_S)
            return FleetFigures(rounds_s, (memory_kb(site.pid) - before_kb) / (count - FEW))


def measure_idle(directory: Path, schedules: int, watched_s: float) -> dict[str, float]:
    """The part of a core that a server uses whose actions all wait, and that of a server without actions."""
    with Site(directory / "idle") as site:
        database = str(site.directory / "precast.db")
        fleet.enrol(site.directory, database, directory / "idle-nodes", 1)
        without_pct = _cpu_pct(site.pid, watched_s / 2)
        words = ["--cron", NEXT_YEAR, "--detach", fleet.names(1)[0]]
        action = site.run("action", "create", "facts", *words)["id"]
        copy_action(database, action, schedules - 1)
        time.sleep(SETTLE_S)
        return {"idle_cpu_pct": _cpu_pct(site.pid, watched_s), "idle_cpu_without_pct": without_pct}


def _cpu_pct(pid: int, watched_s: float) -> float:
    before_s, began_s = _cpu_s(pid), time.monotonic()
    time.sleep(watched_s)
    return 100 * (_cpu_s(pid) - before_s) / (time.monotonic() - began_s)


def _cpu_s(pid: int) -> float:
    """The CPU time of a process and its descendants."""
    ticks = 0
    for each in _family(pid):
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def memory_kb(pid: int) -> int:
    """The proportional set size of a process and its descendants."""
    total = 0
    for each in _family(pid):
        lines = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
        total += int(next(line.split()[1] for line in lines if line.startswith("Pss:")))
    return total


def _family(pid: int) -> list[int]:
    children = [
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]
    return [pid, *(each for child in children for each in _family(child))]
