"""Kill -9 of the server under sessions: acknowledged records are stored, others are sent again, and none is duplicated or lost."""

import asyncio
import os
import random
import ssl
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from lab.postgres import PostgresServer
from lab.session import Peer, Store
from lab.site import Site
from precast.base import canonical, digests
from precast.wire import sessions as session
from precast.wire.sessions import Ack

NODES = ("web1", "web2", "db1", "db2")
DEADLINE_S = 60.0


class Sender:
    """A node that sends records in sequence, and after a reconnect sends again the records that the server does not have."""

    def __init__(self, url: str, context: ssl.SSLContext) -> None:
        self._url, self._context = url, context
        self.store = Store()
        self.acked = 0
        self.has_acked = asyncio.Event()
        self.faults: list[str] = []

    async def run(self) -> None:
        while True:
            try:
                async with Peer(self._url, self._context, self.store) as peer:
                    await self._talk(peer)
            except (ConnectionClosed, InvalidHandshake, OSError):
                await asyncio.sleep(0.05)  # the server is down

    async def _talk(self, peer: Peer) -> None:
        welcome = await peer.greet()
        if welcome.received < self.acked:
            self.faults.append(f"acknowledged through {self.acked}, stored through {welcome.received}")
        for record in self.store.records[welcome.received :]:
            await peer.send_message(record)
        self.acked = welcome.received
        while True:
            if self.store.last - self.acked < 5:
                stable = {"number": self.store.last + 1}
                digest = digests.of_bytes(canonical.encode(stable))
                await peer.send(session.FACTS, {"digest": digest, "volatile": {}, "stable": stable})
            else:
                self.acked = (await peer.expect(Ack)).through
                self.has_acked.set()


async def run_rounds(site: Site, rounds: int, name: str) -> None:
    seed = int.from_bytes(os.urandom(4))
    chance = random.Random(seed)
    senders = [Sender(site.url, site.enrol(node).context()) for node in NODES]
    tasks = [asyncio.create_task(sender.run()) for sender in senders]
    under_way: list[int] = []
    try:
        for _ in range(rounds):
            goals = [sender.acked + chance.randint(1, 40) for sender in senders]
            async with asyncio.timeout(DEADLINE_S):
                for sender, goal in zip(senders, goals, strict=True):
                    while sender.acked < goal:
                        sender.has_acked.clear()
                        await sender.has_acked.wait()
            site.kill()
            under_way.append(sum(sender.store.last - sender.acked for sender in senders))
            site.start()
        async with asyncio.timeout(DEADLINE_S):
            for sender in senders:
                goal = sender.store.last
                while sender.acked < goal:
                    sender.has_acked.clear()
                    await sender.has_acked.wait()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    faults = [fault for sender in senders for fault in sender.faults]
    assert not faults, f"{faults} (seed {seed})"
    print(
        f"\n{name}: {rounds} kills, seed {seed}; {sum(sender.acked for sender in senders)} records acknowledged, none lost; "
        f"unacknowledged at each: {under_way}"
    )
    assert any(under_way), "no record was ever in flight, so it proves nothing"
    await asyncio.to_thread(check_stored, site, senders)


def check_stored(site: Site, senders: list[Sender]) -> None:
    """Check that the newest fact set of each node is stored with a decision in the end."""
    for node, sender in zip(NODES, senders, strict=True):
        for _ in range(200):
            if site.run("facts", "show", node)["facts"]["number"] >= sender.acked:
                break
        else:
            pytest.fail(f"{node} has acknowledged {sender.acked}, and older facts are shown")


@pytest.mark.timeout(300)
async def test_killed_server_on_sqlite_loses_no_acknowledged_record(tmp_path: Path) -> None:
    with Site(tmp_path / "site") as site:
        await run_rounds(site, 3, "kill -9 under sessions, SQLite")


@pytest.mark.timeout(300)
async def test_killed_server_on_postgresql_loses_no_acknowledged_record(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    with Site(tmp_path / "site", postgres.url(postgres.create_database())) as site:
        await run_rounds(site, 3, "kill -9 under sessions, PostgreSQL")


@pytest.mark.soak
@pytest.mark.timeout(3600)
async def test_fifty_kills_of_the_server_under_sessions_on_sqlite(tmp_path: Path) -> None:
    with Site(tmp_path / "site") as site:
        await run_rounds(site, 50, "kill -9 under sessions, SQLite")


@pytest.mark.soak
@pytest.mark.timeout(3600)
async def test_fifty_kills_of_the_server_under_sessions_on_postgresql(tmp_path: Path, postgres: PostgresServer) -> None:
    with Site(tmp_path / "site", postgres.url(postgres.create_database())) as site:
        await run_rounds(site, 50, "kill -9 under sessions, PostgreSQL")
