"""Does to a cluster what can happen to one, and prints what came of it, one JSON line for each fault and one at the end.

    unshare --mount --pid --fork --kill-child --mount-proc python -m lab.cluster.experiment DIRECTORY --agents 8 --rounds 1

It runs as root in namespaces of its own: its disks and processes disappear with it. `--kinds` selects faults, `--clocks` adds those of
clocks. A fault lasts for `--lasts` seconds; longer than a server's lease, or there is nothing to heal.
"""

import argparse
import asyncio
import json
import random
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from lab.cluster.cluster import Cluster
from lab.cluster.faults import CLOCK_FAULTS, FAULTS, Fault
from lab.cluster.load import AWAY, DONE, Load
from lab.small_disk import mount
from precast.agent.state.status_notes import ConnectionNote
from precast.base import https
from precast.base.errors import PrecastError
from precast.store.engine.connect import connect
from precast.store.engine.database import Database
from precast.store.engine.location import parse
from precast.store.engine.query import Query, Transaction
from precast.store.sessions.sessions import Sessions
from precast.wire.jobs.order_ids import make_order_id

DISK_MB = 1024
# How long the experiment waits for what should take seconds, so that it can say how long it took.
PRESENT_S = 300.0
SETTLED_S = 900.0
FACTS_S = 60.0
REPORTS = Query("lab.reports", "SELECT node, count(*) FROM report GROUP BY node ORDER BY node")


class Experiment:
    """The faults of one cluster and their consequences."""

    def __init__(self, cluster: Cluster, load: Load, lasts_s: float) -> None:
        self._cluster, self._load, self._lasts_s = cluster, load, lasts_s
        self._stored: Database | None = None

    async def run(self, faults: dict[str, Fault], rounds: int) -> None:
        """Run all faults in each round, and print the figures."""
        self._stored = await connect(parse(self._cluster.location))
        reporting = asyncio.create_task(self._load.report())
        for round_ in range(rounds):
            for kind, fault in faults.items():
                show(await self._run_fault(kind, fault, round_))
        reporting.cancel()
        await asyncio.wait([reporting])
        figures = await self._settle()
        show({"rounds": rounds, **figures})
        await self._stored.close()

    async def _run_fault(self, kind: str, fault: Fault, round_: int) -> dict[str, Any]:
        with self._load.commanding():
            context = fault(self._cluster, round_, self._lasts_s)
            await asyncio.to_thread(context.__enter__)
            try:
                ended_s = time.monotonic()
                right_s = await wait_until(self._is_right, PRESENT_S, ended_s)
                back_s = await wait_until(self._is_whole, PRESENT_S, ended_s)
                away = [] if back_s is not None else sorted(set(self._cluster.names) - await self._find_present())
            finally:
                await asyncio.to_thread(context.__exit__, None, None, None)
        run = await asyncio.to_thread(self._load.start_command, *self._cluster.names)
        steps = {} if run is None else await asyncio.to_thread(self._load.steps, run)
        passed = [node for node, state in steps.items() if state == AWAY]
        return {
            "fault": kind,
            "round": round_,
            "right_s": right_s,
            "back_s": back_s,
            "away": away,
            "passed_over": len(self._cluster.names) if run is None else len(passed),
        }

    async def _is_right(self) -> bool:
        """Whether the database says of each agent what the agent itself says."""
        before = self._find_connected()
        return before == await self._find_present() and before == self._find_connected()

    async def _is_whole(self) -> bool:
        """Whether every agent is connected, and the database says so."""
        return await self._find_present() == set(self._cluster.names) == self._find_connected()

    async def _find_present(self) -> set[str]:
        assert self._stored is not None, "the experiment runs"
        try:
            return await self._stored.read(Sessions(self._stored).filter_connected, self._cluster.names)
        except PrecastError:
            return set()

    def _find_connected(self) -> set[str]:
        return {name for name in self._cluster.names if self._is_connected(name)}

    def _is_connected(self, name: str) -> bool:
        note = self._load.nodes[name].read_note(ConnectionNote)
        return note is not None and note.is_connected

    async def _settle(self) -> dict[str, Any]:
        """Wait until everything under way has ended, and compare what was sent and executed with what is stored."""
        load = self._load
        nodes = load.nodes.values()
        settled_s = await wait_until(lambda: all(node.is_acknowledged() for node in nodes), SETTLED_S)
        for run in load.runs:
            await wait_until(partial(load.has_ended, run), SETTLED_S)
        stored = await self._count_reports()
        sent = {name: node.reports for name, node in load.nodes.items()}
        executed = {name: Counter(node.executed()) for name, node in load.nodes.items()}
        states: Counter[str] = Counter()
        lost_results = 0
        for run in load.runs:
            for name, state in (await asyncio.to_thread(load.steps, run)).items():
                states[state] += 1
                lost_results += (state == DONE) is not bool(executed[name][make_order_id(run, 1, 1)])
        return {
            "settled_s": settled_s,
            "reports_acknowledged": sum(sent.values()),
            "reports_lost": sum(max(0, sent[name] - stored.get(name, 0)) for name in sent),
            "reports_twice": sum(max(0, stored.get(name, 0) - sent[name]) for name in sent),
            "facts_lost": await self._count_lost_facts(),
            "runs": len(load.runs),
            "runs_refused": load.refused,
            "steps": dict(states),
            "results_lost": lost_results,
            "executed": sum(times.total() for times in executed.values()),
            "executed_twice": sum(times.total() - len(times) for times in executed.values()),
        }

    async def _count_reports(self) -> dict[str, int]:
        assert self._stored is not None, "the experiment runs"

        def count() -> Transaction[dict[str, int]]:
            return dict((yield REPORTS()))

        return await self._stored.read(count)

    async def _count_lost_facts(self) -> int:
        """How many nodes have other facts stored than were acknowledged last. Facts are processed after they are acknowledged."""
        left = set(self._load.nodes)

        def are_current() -> bool:
            for name in sorted(left):
                expected, stored = self._load.nodes[name].newest_facts(), self._read_facts(name)
                if expected and all(stored.get(key) == value for key, value in expected.items()):
                    left.discard(name)
            return not left

        await wait_until(are_current, FACTS_S)
        return len(left)

    def _read_facts(self, name: str) -> dict[str, Any]:
        environment = self._cluster.environment
        context = https.trust_authority(Path(environment["PRECAST_CA"]).read_text())
        headers = {"Authorization": f"Bearer {environment['PRECAST_TOKEN']}"}
        answer = https.call(self._cluster.url, context, "GET", f"/v1/nodes/{name}/facts", headers=headers)
        facts: dict[str, Any] = https.read_answer(self._cluster.url, answer, dict[str, Any])["facts"]
        return facts


async def wait_until(is_so: Callable[[], Any], deadline_s: float, began_s: float | None = None) -> float | None:
    """Wait until a condition holds, and return how long it took from the beginning or from now; None after the deadline."""
    began_s = time.monotonic() if began_s is None else began_s
    while time.monotonic() - began_s < deadline_s:
        holds = is_so()
        if await holds if asyncio.iscoroutine(holds) else holds:
            return round(time.monotonic() - began_s, 1)
        await asyncio.sleep(0.1)
    return None


def show(figures: dict[str, Any]) -> None:
    print(json.dumps(figures), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--agents", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--lasts", type=float, default=17.0)
    parser.add_argument("--kinds", action="append", choices=[*FAULTS, *CLOCK_FAULTS])
    parser.add_argument("--clocks", action="store_true")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    args = parser.parse_args()
    faults = {**FAULTS, **(CLOCK_FAULTS if args.clocks else {})}
    faults = {kind: fault for kind, fault in faults.items() if not args.kinds or kind in args.kinds}
    show({"seed": args.seed, "agents": args.agents})
    database = args.directory / "pg"
    database.mkdir(parents=True)
    mount(database, DISK_MB)
    subprocess.run(["chmod", "777", str(database)], check=True)
    with Cluster(args.directory, args.agents, has_clocks=args.clocks) as cluster:
        load = Load(cluster, random.Random(args.seed))
        asyncio.run(Experiment(cluster, load, args.lasts).run(faults, args.rounds))


if __name__ == "__main__":
    main()
