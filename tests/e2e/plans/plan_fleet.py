"""Three nodes with running daemons, their roles and the code that plans use, and the commands of people who run plans."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab.server_process import PRECAST
from tests.e2e.jobs.run_fleet import Fleet, running_fleet

# Web1 and web2 are web servers and allow commands; web3 is a database and allows none.
ROLES = {"web1": "web", "web2": "web", "web3": "db"}
MOTD = """class profile {
  include profile::motd
  file { '/etc/other': content => "other\\n" }
}
"""
FILES = {
    "modules/profile/manifests/motd.pp": "class profile::motd { file { '/etc/motd': content => \"motd\\n\" } }\n",
    "modules/profile/examples/issue.pp": "file { '/etc/issue': content => \"on ${facts['os']['name']}\\n\" }\n",
    "modules/shop/tasks/port.sh": '#!/bin/sh\necho "{\\"port\\": $PT_base$PT_offset}"\n',
    "plans/named.yaml": "- {id: look, type: skipped, roles: [web], test_pre: {fact: os.name}}\n",
}


class PlanFleet:
    """The fleet, and a person with the role for commands."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet, self.site = fleet, fleet.site
        self.person = fleet.token("pia")
        self._plans = 0

    def root(self, node: str) -> Path:
        return self.fleet.agents[node].root

    def write(self, text: str) -> str:
        """A file with a plan; returns its path."""
        self._plans += 1
        path = self.site.directory / f"plan{self._plans}.yaml"
        path.write_text(text)
        return str(path)

    def command(self, *words: str, code: int = 0, token: str = "") -> str:
        """Output and errors of a command of the person, or of another."""
        return self.fleet.command(*words, code=code, token=token or self.person)

    def read(self, *words: str, code: int = 0, token: str = "") -> Any:
        return self.fleet.read(*words, code=code, token=token or self.person)

    def start(self, text: str, *words: str, nodes: str = "web1,web2", code: int = 0) -> Any:
        """Start a plan and follow it to its end; returns the last view of its run."""
        return self.read("plan", "start", self.write(text), "--nodes", nodes, *words, code=code)["run"]

    def begin(self, text: str, *words: str, nodes: str = "web1,web2") -> str:
        """Start a plan and follow it no further; returns the id of its run."""
        run = self.read("plan", "start", self.write(text), "--nodes", nodes, "--detach", *words)["run"]
        return str(run["run"]["id"])

    def deploy(self, name: str, text: str) -> None:
        """Change a file of the environment, and make that version current."""
        (self.fleet.code / name).write_text(text)
        self.site.run("env", "deploy", "production", "--from", str(self.fleet.code))

    def instances(self, run: str) -> dict[str, Any]:
        answer = self.read("plan", "status", run)
        return {f"{instance['task']} on {instance['node']}": instance for instance in answer["instances"]}

    def states(self, run: str) -> dict[str, str]:
        return {title: instance["state"] for title, instance in self.instances(run).items()}

    def until_ended(self, run: str, code: int = 0) -> Any:
        return self.read("plan", "watch", run, code=code)["run"]

    def refused(self, *words: str, token: str = "") -> tuple[int, str]:
        """The exit code of a command that is refused, and its error: one line, with one line of a hint."""
        environment = {**self.site.environment, "PRECAST_TOKEN": token or self.person}
        done = subprocess.run([PRECAST, *words], env=environment, capture_output=True, text=True, timeout=120)
        lines = done.stderr.splitlines()
        assert "Traceback" not in done.stderr
        assert len([line for line in lines if "error:" in line]) == 1, done
        assert lines[-1].startswith("  hint: "), done
        return done.returncode, done.stderr


def runs_of(plan: PlanFleet) -> int:
    """How many runs there are."""
    return len(json.loads(plan.command("plan", "list", "--json")))


@contextmanager
def running_plan_fleet(directory: Path) -> Iterator[PlanFleet]:
    with running_fleet(directory, MOTD, FILES) as fleet:
        for node, role in ROLES.items():
            fleet.site.run("node", "set", node, "role", role)
        assert fleet.until_true(lambda: all(allows_commands(fleet, node) for node in ("web1", "web2")))
        yield PlanFleet(fleet)


def allows_commands(fleet: Fleet, node: str) -> bool:
    """Whether a node has said in its facts that it allows commands."""
    shown = fleet.site.run("facts", "show", node)
    return bool(shown.get("facts", shown).get("precast_agent", {}).get("allow_exec"))
