"""The agent loses no record: daemons and child processes are killed at any time, and a store is damaged."""

import asyncio
import json
import random
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from lab.agent_process import AgentProcess
from lab.scripted_server import DEADLINE_S, AgentConnection, ScriptedServer
from lab.server_process import PRECAST
from lab.site import Site
from precast.agent.state.spool import Importance, Spool, SpoolLimits
from precast.agent.state.store import LocalStore, store_path
from precast.wire.sessions import Ack, Hello, Record, Welcome

EVENT = "event"


class Archive:
    """A server that stores records, each number once and in order."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.records: list[Record] = []
        self.hellos = 0

    def texts(self) -> list[str]:
        return [json.loads(bytes(record.body)) for record in self.records if record.kind == EVENT]

    async def serve(self, server: ScriptedServer) -> None:
        while True:
            line = await server.accept()
            try:
                await self._listen(line)
            except ConnectionClosed:
                continue

    async def _listen(self, line: AgentConnection) -> None:
        hello = await line.expect(Hello)
        self.hellos += 1
        assert hello.last >= len(self.records), "the agent has forgotten what it sent"
        # Sometimes it has lost its newest records, like a standby that lagged behind.
        if self._chance.random() < 0.3:
            del self.records[len(self.records) - self._chance.randrange(min(5, len(self.records) + 1)) :]
        assert hello.first <= len(self.records) + 1, "the agent has dropped what the server lacks"
        await line.send_message(Welcome(1, hello.epoch + 1, "archive", len(self.records), 60.0, 3600.0, 3600.0))
        while True:
            record = await line.expect(Record)
            if record.number <= len(self.records):
                assert bytes(record.body) == bytes(self.records[record.number - 1].body), (
                    "a number stands for another record than before"
                )
            else:
                assert record.number == len(self.records) + 1, "there is a gap"
                self.records.append(record)
            await line.send_message(Ack(len(self.records)))


async def kill_again_and_again(directory: Path, rounds: int, chance: random.Random) -> Archive:
    archive = Archive(chance)
    made = 0
    left: list[int] = []
    async with ScriptedServer(directory / "server") as server:
        server.enrol(directory / "node", "web1")
        serving = asyncio.create_task(archive.serve(server))
        agent = AgentProcess(directory / "node", server.url)
        with closing(LocalStore.open(directory / "node", lambda: "one")) as store:
            spool = Spool(store, SpoolLimits())
            for _ in range(rounds):
                with agent:
                    seen = archive.hellos
                    # The daemon is killed at any time from its start until everything is sent, most often while it sends.
                    is_connected = chance.random() < 0.8
                    async with asyncio.timeout(DEADLINE_S):
                        while is_connected and archive.hellos == seen:
                            await asyncio.sleep(0.01)
                    for _ in range(chance.randrange(5, 60)):
                        made += 1
                        spool.put(EVENT, json.dumps(str(made)).encode(), Importance.EVENT)
                        await asyncio.sleep(0)
                    until = len(archive.texts()) + chance.randrange(30)
                    async with asyncio.timeout(DEADLINE_S):
                        while is_connected and len(archive.texts()) < min(until, made):
                            await asyncio.sleep(0)
                counts = spool.counts()
                left.append(counts.unsent + counts.unacknowledged)
            with agent:
                async with asyncio.timeout(DEADLINE_S):
                    while len(archive.texts()) < made:
                        assert not serving.done(), serving.exception()
                        await asyncio.sleep(0.05)
            serving.cancel()
            await asyncio.wait([serving])
            assert archive.texts() == [str(number) for number in range(1, made + 1)]
            store.check()
    print(f"\n{rounds} kills with {left} unacknowledged records: the server has all {made} once and in order")
    return archive


@pytest.mark.timeout(300)
async def test_daemon_killed_at_any_time_loses_no_record_and_repeats_none(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    print(f"\nseed {seed}")
    await kill_again_and_again(tmp_path, 3, random.Random(seed))


@pytest.mark.soak
@pytest.mark.timeout(3600)
async def test_daemon_killed_at_any_time_for_long_loses_no_record(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    print(f"\nseed {seed}")
    await kill_again_and_again(tmp_path, 50, random.Random(seed))


def test_child_killed_while_it_collects_leaves_the_store_whole(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    print(f"\nseed {seed}")
    with closing(LocalStore.open(tmp_path, lambda: "one")) as store:
        for _ in range(8):
            child = subprocess.Popen(
                [PRECAST, "agent", "facts", "--spool", "--root", str(tmp_path)], stdout=subprocess.DEVNULL
            )
            # It is killed at some moment, mostly between the start of the collection and the write to the store.
            try:
                child.wait(chance.uniform(0.05, 0.5))
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            store.check()
            records = store.read("SELECT number, kind, body FROM record")
            assert len(records) <= 1
            assert all(json.loads(body)["digest"] for _, _, body in records)
        subprocess.run(
            [PRECAST, "agent", "facts", "--spool", "--root", str(tmp_path)], check=True, stdout=subprocess.DEVNULL
        )
        assert len(store.read("SELECT 1 FROM record")) == 1


@pytest.mark.timeout(180)
def test_damaged_store_is_set_aside_and_facts_are_sent_again(tmp_path: Path) -> None:
    with Site(tmp_path / "data") as site:
        site.enrol("web1")
        agent = AgentProcess(site.directory / "nodes" / "web1", site.url)
        with agent:
            first = agent.until_settled()
            agent.stop()
            path = store_path(agent.root)
            path.write_bytes(b"no database" * 1000)
            agent.start()
            again = agent.until_settled()
            assert again["facts"]["collected_at"] > first["facts"]["collected_at"]
            (damaged,) = path.parent.glob("state.db.damaged-*Z")
            assert damaged.read_bytes().startswith(b"no database")
            assert "is damaged; it is kept as" in agent.log
