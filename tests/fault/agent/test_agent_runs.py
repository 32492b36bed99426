"""Daemons and runs killed at any time: an order is begun at most once and always answered, and a release is applied in the end."""

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
from pathlib import Path

import msgspec
import pytest
from websockets.exceptions import ConnectionClosed

from lab.agent_process import AgentProcess
from lab.scripted_server import DEADLINE_S, AgentConnection, ScriptedServer
from lab.site import Site
from precast.agent.catalog.cached_catalog import catalog_path
from precast.agent.state.store import LocalStore
from precast.base import digests
from precast.wire.jobs.orders import NOT_RUN, RUN, NotRun, RunOrder
from precast.wire.sessions import Ack, Hello, Record, Welcome

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


class OrderingServer:
    """A server that sends orders, and sends each again until it is acknowledged."""

    def __init__(self) -> None:
        self.orders: list[RunOrder] = []
        self.answers: list[NotRun] = []
        self._through = 0
        self._line: AgentConnection | None = None

    async def order(self) -> None:
        expires_at = datetime.now(UTC) + timedelta(minutes=10)
        self.orders.append(RunOrder(f"o{len(self.orders) + 1}", "noop", expires_at))
        if self._line is not None:
            with contextlib.suppress(ConnectionClosed):
                await self._send(len(self.orders))

    async def _send(self, number: int) -> None:
        assert self._line is not None
        body = msgspec.Raw(msgspec.json.encode(self.orders[number - 1]))
        await self._line.send_message(Record(number, RUN, datetime.now(UTC), body))

    async def serve(self, server: ScriptedServer) -> None:
        while True:
            line = await server.accept()
            with contextlib.suppress(ConnectionClosed):
                await self._listen(line)
            self._line = None

    async def _listen(self, line: AgentConnection) -> None:
        hello = await line.expect(Hello)
        await line.send_message(Welcome(1, hello.epoch + 1, "scripted", self._through, 60.0, 3600.0, 3600.0))
        self._line = line
        for number in range(hello.received + 1, len(self.orders) + 1):
            await self._send(number)
        while True:
            message = await line.receive()
            if not isinstance(message, Record) or message.number <= self._through:
                continue
            self._through = message.number
            if message.kind == NOT_RUN:
                self.answers.append(msgspec.json.decode(message.body, type=NotRun))
            await line.send_message(Ack(message.number))


async def carry_out_orders_while_killed(directory: Path, rounds: int, chance: random.Random) -> None:
    server_side, root = OrderingServer(), directory / "node"
    async with ScriptedServer(directory / "server") as server:
        server.enrol(root, "web1")
        (root / "etc").mkdir()
        server.release(root, json.dumps(CATALOG).encode(), "web1")
        with closing(LocalStore.open(root, lambda: "one")) as store, closing(sqlite3.connect(store.path)) as counter:
            counter.executescript(COUNTING)
        serving = asyncio.create_task(server_side.serve(server))
        agent = AgentProcess(root, server.url, "--apply-interval", "0s")
        with agent:
            for _ in range(rounds):
                await server_side.order()
                await asyncio.sleep(
                    chance.uniform(0, 3)
                )  # any time from the receipt of the order to the end of its run
                kill(agent, with_children=chance.random() < 0.5)
                agent.start()
            async with asyncio.timeout(3 * DEADLINE_S):
                while _states(root) != ["ended"] * rounds:
                    assert not serving.done(), serving.exception()
                    await asyncio.sleep(0.1)
                begun, runs = _counted(root)
                while {answer.order for answer in server_side.answers} | set(begun) != {
                    order.order for order in server_side.orders
                }:
                    await asyncio.sleep(0.1)
        serving.cancel()
        await asyncio.wait([serving])
    assert len(begun) == len(set(begun)), "an order was begun twice"
    assert runs <= len(begun)
    for answer in server_side.answers:
        assert answer.reason == "broken"
    answered = [answer.order for answer in server_side.answers]
    assert len(answered) == len(set(answered))
    print(
        f"\n{rounds} orders, each followed by a kill: {runs} runs to their end, {len(answered)} answered as broken off"
    )


def _states(root: Path) -> list[str]:
    with closing(sqlite3.connect(root / "var/lib/precast/agent/state.db", timeout=30)) as store:
        return [state for (state,) in store.execute("SELECT state FROM queued_order ORDER BY number")]


def _counted(root: Path) -> tuple[list[str], int]:
    with closing(sqlite3.connect(root / "var/lib/precast/agent/state.db", timeout=30)) as store:
        counted = [what for (what,) in store.execute("SELECT what FROM counted")]
    return [what for what in counted if what != "run"], counted.count("run")


@pytest.mark.timeout(300)
async def test_order_is_begun_at_most_once_and_answered_whichever_process_is_killed(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    print(f"\nseed {seed}")
    await carry_out_orders_while_killed(tmp_path, 5, random.Random(seed))


@pytest.mark.soak
@pytest.mark.timeout(3600)
async def test_order_is_begun_at_most_once_for_long(tmp_path: Path) -> None:
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
