"""The work of a cluster during an experiment: agents report runs and facts, operators run commands. At the end it is compared with what
the servers have stored, and with what the nodes have executed."""

import asyncio
import contextlib
import json
import random
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from lab.cluster.cluster import COMMAND, EXECUTED, Cluster, CommandFailed
from lab.report_documents import run_of
from precast.agent.state.paths import STATE
from precast.agent.state.spool import Importance, Spool, SpoolLimits
from precast.agent.state.store import LocalStore
from precast.agent.state.wakeup import wake_daemon
from precast.base import canonical, digests
from precast.wire import sessions as session
from precast.wire.jobs import states

# Each agent reports a run this often.
REPORT_EVERY_S = 2.0
# Commands during a fault: how often, and on how many nodes. Each execution costs a node about a second of a core.
COMMAND_EVERY_S, SOME = 10.0, 8
# States of a step: the node was away when it was its turn; its result is stored.
AWAY, DONE = "SKIPPED(away)", states.COMPLETED


N = TypeVar("N", bound=msgspec.Struct)


class Node:
    """The spool of one agent, to which the experiment adds records as other processes of the node do."""

    def __init__(self, number: int, root: Path) -> None:
        self._number, self.root = number, root
        self._store = LocalStore.open(root, lambda: "unused")
        self._spool = Spool(self._store, SpoolLimits())
        self.reports = 0

    def report(self) -> None:
        """Put a run's report and a fact set into the spool."""
        for kind, body in run_of(self._number, self.reports, count=1, resources=3):
            self._spool.put(kind, body, Importance.EVENT)
        self.reports += 1
        stable = {"number": self.reports}
        digest = digests.of_bytes(canonical.encode(stable))
        body = msgspec.json.encode({"digest": digest, "volatile": {}, "stable": stable})
        self._spool.put(session.FACTS, body, Importance.ROUTINE, supersedes=True)
        wake_daemon(self.root / STATE)

    def is_acknowledged(self) -> bool:
        """Whether a server has acknowledged everything."""
        counts = self._spool.counts()
        assert not counts.lost, "the spool is large enough"
        return counts.unsent + counts.unacknowledged == 0

    def read_note(self, kind: type[N]) -> N | None:
        return self._store.read_note(kind)

    def newest_facts(self) -> dict[str, Any]:
        """The stable facts that a server has acknowledged last: those of `report`, or those that the agent has collected since."""
        rows = self._store.read(
            "SELECT body FROM record WHERE kind = ? AND acked_at > 0 ORDER BY number DESC", (session.FACTS,)
        )
        bodies = (json.loads(body) for (body,) in rows)
        return next((body["stable"] for body in bodies if body.get("stable")), {})

    def executed(self) -> list[str]:
        """The orders that this node has carried out, once for each execution."""
        with contextlib.suppress(FileNotFoundError):
            return (self.root / EXECUTED).read_text().split()
        return []

    def close(self) -> None:
        self._store.close()


class Load:
    """The work of all nodes, and of an operator."""

    def __init__(self, cluster: Cluster, chance: random.Random) -> None:
        self._cluster, self._chance = cluster, chance
        self.nodes = {name: Node(number, cluster.root(name)) for number, name in enumerate(cluster.names)}
        self.runs: list[str] = []  # that a server has accepted
        self.refused = 0

    async def report(self) -> None:
        """Let all nodes report again and again, until it is cancelled."""
        while True:
            await asyncio.sleep(REPORT_EVERY_S)
            for node in self.nodes.values():
                node.report()
                await asyncio.sleep(0)

    @contextlib.contextmanager
    def commanding(self) -> Iterator[None]:
        """Let an operator run a command on some nodes again and again during the block, whether they are connected or not."""
        stop = threading.Event()

        def command() -> None:
            while not stop.is_set():
                some = self._chance.sample(self._cluster.names, min(SOME, len(self._cluster.names)))
                self.start_command(*some, "--wait-away", "10m")
                stop.wait(COMMAND_EVERY_S)

        thread = threading.Thread(target=command)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def start_command(self, *words: str) -> str | None:
        """Start a command on nodes, and return its run; None if no server has accepted it."""
        try:
            run: str = self._cluster.command("exec", *words, "--detach", "--begin", "10m", "--", *COMMAND)["id"]
        except (CommandFailed, subprocess.TimeoutExpired):
            self.refused += 1  # or it was accepted, and the answer was lost; then its commands count all the same
            return None
        self.runs.append(run)
        return run

    def steps(self, run: str) -> dict[str, str]:
        """The states of the steps of a run with their reasons, by node."""
        steps = self._cluster.run("run", "show", run)["steps"]
        return {step["node"]: step["state"] + (f"({step['reason']})" if step.get("reason") else "") for step in steps}

    def has_ended(self, run: str) -> bool:
        return self._cluster.run("run", "show", run)["run"]["ended_at"] is not None
