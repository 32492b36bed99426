"""Daemons and runs killed at any time: an order begins only when it is granted, is repeated a few times and always answered, and a release
is applied in the end."""

import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from lab.agent_process import AgentProcess
from lab.ordering_server import OrderingServer
from lab.scripted_server import ScriptedServer
from lab.site import Site
from precast.agent.catalog.cached_catalog import catalog_path
from precast.agent.orders.order_queue import MAX_BEGINS, MAX_WAITING
from precast.agent.state.store import LocalStore
from precast.base import digests
from precast.wire.jobs.orders import NOT_RUN, RUN, NotRun, RunOrder
from precast.wire.reports.records import ENDED, RunEnded

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "site"
CATALOG = {"resources": [{"type": "File", "title": "/etc/motd", "parameters": {"content": "hello\n"}}]}
# Triggers in the node's store count what happens there, whichever process does it.
COUNTING = """
CREATE TABLE IF NOT EXISTS counted (what TEXT);
CREATE TRIGGER IF NOT EXISTS begins AFTER UPDATE OF state ON queued_order WHEN NEW.state = 'begun'
  BEGIN INSERT INTO counted VALUES (NEW.id); END;
CREATE TRIGGER IF NOT EXISTS runs AFTER INSERT ON note WHEN NEW.name = 'RunNote' BEGIN INSERT INTO counted VALUES ('run'); END;
"""


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    pids = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(status.read_text().rpartition(")")[2].split()[1]) == pid:
                pids.append(int(status.parent.name))
    return pids


def kill(agent: AgentProcess, *, with_children: bool) -> None:
    assert agent.process is not None
    running = children(agent.process.pid)
    agent.kill()
    for pid in running if with_children else []:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def answered(server: OrderingServer) -> list[str]:
    """The orders that the node has answered, each as often as it was: by the report of a run that ended, or as interrupted."""
    reports = [report.began.order for report in server.sent(ENDED, RunEnded) if report.how == "ended"]
    return sorted(reports + [answer.order for answer in server.sent(NOT_RUN, NotRun)])


async def carry_out_orders_while_killed(directory: Path, rounds: int, chance: random.Random) -> None:
    orders, root = [f"o{number:03}" for number in range(rounds)], directory / "node"
    async with ScriptedServer(directory / "server") as scripted:
        scripted.enrol(root, "web1")
        (root / "etc").mkdir()
        scripted.release(root, json.dumps(CATALOG).encode(), "web1")
        with closing(LocalStore.open(root, lambda: "one")) as store, closing(sqlite3.connect(store.path)) as counter:
            counter.executescript(COUNTING)
        server, agent = OrderingServer(), AgentProcess(root, scripted.url, "--apply-interval", "0s")
        async with server.serving(scripted):
            with agent:
                for posted, order in enumerate(orders):
                    # A node that is killed all the time may fall behind, and refuses an order while too many wait.
                    await server.until(partial(_has_room, root, posted))
                    await server.post(RUN, RunOrder(order, "noop", datetime.now(UTC) + timedelta(minutes=10)))
                    # Any time from the receipt of the order to the end of its run.
                    await asyncio.sleep(chance.uniform(0, 3))
                    kill(agent, with_children=chance.random() < 0.5)
                    agent.start()
                await server.until(lambda: _states(root) == ["ended"] * rounds)
                await server.until(lambda: answered(server) == orders)
    begun, runs = _counted(root)
    grants = [grant.order for grant in server.grants]
    for order in orders:
        assert begun.count(order) <= min(MAX_BEGINS, grants.count(order))
    interrupted = server.sent(NOT_RUN, NotRun)
    assert {answer.reason for answer in interrupted} <= {"interrupted"}
    assert runs <= len(begun)
    print(
        f"\n{rounds} orders, each followed by a kill: {len(begun)} begins, {runs} runs to their end,"
        f" {len(interrupted)} answered as interrupted"
    )


def _has_room(root: Path, posted: int) -> bool:
    return posted - _states(root).count("ended") < MAX_WAITING


def _states(root: Path) -> list[str]:
    with closing(sqlite3.connect(root / "var/lib/precast/agent/state.db", timeout=30)) as store:
        return [state for (state,) in store.execute("SELECT state FROM queued_order ORDER BY number")]


def _counted(root: Path) -> tuple[list[str], int]:
    with closing(sqlite3.connect(root / "var/lib/precast/agent/state.db", timeout=30)) as store:
        counted = [what for (what,) in store.execute("SELECT what FROM counted")]
    return [what for what in counted if what != "run"], counted.count("run")


@pytest.mark.timeout(300)
async def test_order_is_begun_when_granted_and_answered_once_whichever_process_is_killed(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    print(f"\nseed {seed}")
    await carry_out_orders_while_killed(tmp_path, 5, random.Random(seed))


@pytest.mark.soak
@pytest.mark.timeout(3600)
async def test_order_is_begun_when_granted_and_answered_once_for_long(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    print(f"\nseed {seed}")
    await carry_out_orders_while_killed(tmp_path, 60, random.Random(seed))


@pytest.mark.timeout(300)
def test_release_is_fetched_and_applied_in_the_end_whichever_process_is_killed(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    print(f"\nseed {seed}")
    code = tmp_path / "code"
    shutil.copytree(EXAMPLE, code)
    data = code / "data" / "common.yaml"
    with Site(tmp_path / "site") as site:
        site.enrol("web1")
        root = site.directory / "nodes" / "web1"
        (root / "etc").mkdir()
        (root / "etc/os-release").write_text("ID=debian\n")
        site.run("node", "policy", "set", "web1", "--enforce", "always")
        site.run("env", "deploy", "production", "--from", str(code))
        site.run("env", "policy", "production", "automatic")
        with AgentProcess(root, site.url) as agent:
            agent.until_settled()
            for number in range(4):
                data.write_text((EXAMPLE / "data" / "common.yaml").read_text().replace("Welcome", f"Hello {number}"))
                site.run("env", "deploy", "production", "--from", str(code))
                # The kill may come during the compile, the hint, the fetch or the run.
                assert agent.process is not None
                with pytest.raises(subprocess.TimeoutExpired):
                    agent.process.wait(chance.uniform(0, 4))
                kill(agent, with_children=chance.random() < 0.5)
                cached = catalog_path(root)
                if cached.exists():
                    json.loads(cached.read_bytes())  # complete, whichever release it is of
                agent.start()
            status = agent.until(lambda status: _says(root, "Hello 3"))
            served = site.run("catalog", "show", "web1")["released"]
            agent.until(lambda status: status["catalog"]["digest"] == served == status["run"]["catalog"])
            assert digests.of_bytes(catalog_path(root).read_bytes()) == served
            assert not status["run"]["is_noop"]


def _says(root: Path, text: str) -> bool:
    motd = root / "etc/motd"
    return motd.exists() and motd.read_text().startswith(text)
