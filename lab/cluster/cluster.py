"""A site of three servers, each with a link to one PostgreSQL, behind one haproxy, with real agents that connect through it."""

import contextlib
import json
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lab.agent_process import AgentProcess
from lab.cluster.links import Link
from lab.postgres import USER, PostgresServer
from lab.server_process import PRECAST
from lab.site import Site
from lab.wrong_clock import WrongClock
from precast.agent.identity.enrolment import Identity

SERVERS = 3
# Agents that are started at the same time: each needs about a second of a core.
AT_ONCE = 4
STARTED_S = 300.0
# The parts of a site that have a clock, beside server0 and so on.
AGENTS, DATABASE = "agents", "database"
# A command that leaves a line for each execution in the root of its node.
COMMAND = ("sh", "-c", "echo $PRECAST_ORDER >> executed")
EXECUTED = "executed"


class CommandFailed(Exception):
    """A command printed no document, but this error."""


class Cluster:
    """A context manager. Inside the block everything runs, and all agents have connected once."""

    def __init__(self, directory: Path, agents: int, *, has_clocks: bool = False) -> None:
        """With `has_clocks`, each server, all agents together, and the database have a clock of their own that can be set."""
        self._directory = directory
        self._has_clocks = has_clocks
        self.clocks: dict[str, WrongClock] = {}
        self.postgres = PostgresServer(directory=directory / "pg")
        self.names = [f"node{number:04d}" for number in range(agents)]
        self.servers: list[Site] = []
        self.database_links: list[Link] = []
        self.agents: dict[str, AgentProcess] = {}
        self.location = ""
        self._token = ""
        self._exit = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as started:
            self._start(started)
            self._exit = started.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exit.close()

    @property
    def environment(self) -> dict[str, str]:
        """The environment of an administrator's command, which any server may answer."""
        return {**self.servers[0].environment, "PRECAST_URL": self.url}

    def root(self, name: str) -> Path:
        return self._directory / "nodes" / name

    def command(self, *words: str) -> Any:
        """As `run`, by a person who may run commands on nodes."""
        return self.run(*words, token=self._token)

    def run(self, *words: str, token: str = "", deadline_s: float = 120.0) -> Any:
        """Run a `precast` command with --json and return the decoded output. Raises CommandFailed, TimeoutExpired."""
        at = words.index("--") if "--" in words else len(words)
        done = subprocess.run(
            [PRECAST, *words[:at], "--json", *words[at:]],
            env={**self.environment, **({"PRECAST_TOKEN": token} if token else {})},
            capture_output=True,
            text=True,
            timeout=deadline_s,
        )
        # A run in which a node failed also prints its document.
        if not done.stdout:
            raise CommandFailed(f"{' '.join(words)}: {done.stderr}")
        return json.loads(done.stdout)

    def _start(self, started: contextlib.ExitStack) -> None:
        for part in (*(f"server{number}" for number in range(SERVERS)), AGENTS, DATABASE) if self._has_clocks else ():
            self.clocks[part] = started.enter_context(contextlib.closing(WrongClock()))
        (self._directory / "pg").mkdir(parents=True, exist_ok=True)
        if DATABASE in self.clocks:
            self.postgres.prefix = self.clocks[DATABASE].prefix
        started.enter_context(self.postgres)
        name = self.postgres.create_database()
        self.location = self.postgres.url(name)
        links = self._directory / "links"
        socket_path = f"unix@{self.postgres.directory}/.s.PGSQL.5432"
        for number in range(SERVERS):
            link = started.enter_context(Link(links, f"database{number}", [socket_path]))
            self.database_links.append(link)
            database = f"postgresql://{USER}@127.0.0.1:{link.port}/{name}"
            site = Site(self._directory / "site", database) if number == 0 else self.servers[0].twin()
            site.database_words = ["--database", database]
            if (clock := self.clocks.get(f"server{number}")) is not None:
                site.run_by(clock.prefix)
            self.servers.append(site)
            if number == 0:
                started.enter_context(site)
            else:
                site.start()
                started.callback(site.close)
        front = Link(links, "front", [f"127.0.0.1:{site.port}" for site in self.servers], is_checked=True)
        self.front = started.enter_context(front)
        self.url = f"https://127.0.0.1:{front.port}"
        self._token = self.run("token", "person", "operator", "--role", "commands")["token"]
        self._enrol()
        self.run("node", "policy", "set", *self.names, "--enforce", "triggered")  # without it, no command runs
        started.callback(self._end_agents)
        self._start_agents()

    def _enrol(self) -> None:
        count = str(len(self.names))
        token = self.servers[0].run("token", "enrol", "node*", "--uses", count)["token"]
        for name in self.names:
            root = self.root(name)
            Identity(root).enrol(self.servers[0].url, token, name)
            (root / "etc/precast").mkdir(parents=True, exist_ok=True)
            (root / "etc/os-release").write_text('ID=debian\nVERSION_ID="12"\n')
            (root / "etc/precast/agent.toml").write_text("allow_exec = true\n")

    def _start_agents(self) -> None:
        until_s = time.monotonic() + STARTED_S
        for group in _groups(self.names, AT_ONCE):
            for name in group:
                agent = self.agents[name] = AgentProcess(self.root(name), self.url)
                if AGENTS in self.clocks:
                    agent.environment = self.clocks[AGENTS].environment
                agent.start()
            for name in group:
                while "), epoch " not in self.agents[name].log:
                    if time.monotonic() > until_s:
                        raise TimeoutError(self.agents[name].log)
                    time.sleep(0.1)

    def _end_agents(self) -> None:
        for agent in self.agents.values():
            if agent.process is not None:
                agent.process.send_signal(signal.SIGKILL)
        for agent in self.agents.values():
            if agent.process is not None:
                agent.process.wait()


def _groups(names: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for first in range(0, len(names), size):
        yield names[first : first + size]
