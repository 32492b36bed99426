"""A real server with a fleet of connected light agents on which plans run, and what a run of a plan costs the server.

Every agent has its own certificate and session over TLS 1.3, receives signed orders, claims them, and reports each phase of a task and its
end as the real agent does (`lab.light_agent`); only the work is left out. The time is that of the whole command `precast plan start`, and
the CPU time is that of all processes of the server: those that prepare the run, the signer, and what serves the command that watches.
"""

import json
import os
import sqlite3
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench.actions_cases.fleet_actions import connected
from bench.facts import family_cpu_s
from bench.fetch import release, send_facts
from bench.plans_cases.fuel import DeployedNode
from lab import fleet
from lab.server_process import PRECAST
from lab.site import Site

DEADLINE_S = 900.0
SETTLE_S = 2.0
MEMORY = Path("/dev/shm")


class PlanCost(NamedTuple):
    """A run of a plan: its id, the tasks on nodes that were carried out, elapsed time and the CPU time of the server."""

    run: str
    carried_out: int
    skipped: int
    wall_s: float
    cpu_s: float

    @property
    def cpu_ms_each(self) -> float:
        return self.cpu_s / self.carried_out * 1e3


class PlanSite:
    """The server and its nodes, and a person who may run commands."""

    def __init__(self, site: Site, master: str) -> None:
        self.site, self.master = site, master
        token = site.run("token", "person", "bench", "--role", "commands")["token"]
        self._environment = {**site.environment, "PRECAST_TOKEN": str(token)}

    @property
    def database(self) -> Path:
        return self.site.directory / "precast.db"

    def start(self, plan: Path, *words: str) -> PlanCost:
        """Run a plan to its end, which must be a success."""
        cpu_s, began_s = family_cpu_s(self.site.pid), time.monotonic()
        command = [PRECAST, "plan", "start", str(plan), "--nodes", "node*", "--json", *words]
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True, timeout=DEADLINE_S)
        wall_s, cpu_s = time.monotonic() - began_s, family_cpu_s(self.site.pid) - cpu_s
        if done.returncode:
            raise SystemExit(f"the plan ended with {done.returncode}: {done.stderr}{done.stdout[:3000]}")
        view: dict[str, Any] = json.loads(done.stdout)["run"]
        counts = view["counts"]
        if set(counts) - {"successful", "skipped"}:
            raise SystemExit(f"not all tasks succeeded: {counts}")
        return PlanCost(view["run"]["id"], counts["successful"], counts.get("skipped", 0), wall_s, cpu_s)

    def read(self, statement: str, *values: object) -> list[Any]:
        """Rows of the server's database."""
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as connection:
            return connection.execute(statement, values).fetchall()


@contextmanager
def running(directory: Path, deployed: Sequence[DeployedNode], processes: int) -> Iterator[PlanSite]:
    """A site with these nodes, whose catalogs are released and whose agents are connected. The first node has no role: it is the master."""
    names = fleet.names(len(deployed) + 1)
    code = directory / "code" / "manifests"
    code.mkdir(parents=True)
    (code / "site.pp").write_text("notify { 'benchmark': }\n")
    with Site(directory / "site") as site, _directory_of_nodes() as nodes:
        fleet.enrol(site.directory, str(site.directory / "precast.db"), nodes, len(names))
        _classify(site, names[1:], deployed)
        send_facts(site, nodes, names)
        site.run("env", "deploy", "production", "--from", str(directory / "code"))
        release(site, len(names))
        with connected(site, nodes, len(names), processes):
            time.sleep(SETTLE_S)
            yield PlanSite(site, names[0])


@contextmanager
def _directory_of_nodes() -> Iterator[Path]:
    """In memory, if there is such a file system: nodes have disks of their own, and on one disk they would wait for each other."""
    place = MEMORY if os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="precast-nodes-", dir=place) as name:
        yield Path(name)


def _classify(site: Site, names: Sequence[str], deployed: Sequence[DeployedNode]) -> None:
    members: dict[str, list[str]] = defaultdict(list)
    for name, node in zip(names, deployed, strict=True):
        members[json.dumps({"roles": list(node.roles), "tags": list(node.tags)})].append(name)
    for parameters, alike in members.items():
        site.run("node", "set", ",".join(alike), "parameters", parameters)
