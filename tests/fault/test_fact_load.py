"""Kill -9 of the server under fact load: a set that was acknowledged is stored, or a newer one of the same node."""

import asyncio
import os
import random
import threading
import time
from pathlib import Path

import pytest

from lab.postgres import PostgresServer
from lab.site import Site
from precast.agent import submission
from precast.agent.enrolment import Identity
from precast.base.errors import NotFoundError, PrecastError
from precast.services.fact_decisions import EveryChange
from precast.services.facts import COMPILE, FACTS, FactService
from precast.store.connect import connect
from precast.store.facts import Facts
from precast.store.location import Location, PostgresLocation, SqliteLocation
from precast.store.work import WorkQueue

NODES = ("web1", "web2", "db1", "db2")
DEADLINE_S = 60.0


class Sender(threading.Thread):
    """A node that sends one set after another, each with the next number, and remembers what was acknowledged."""

    def __init__(self, identity: Identity, url: str, has_acked: threading.Condition) -> None:
        super().__init__(daemon=True)
        self._identity, self._url, self._has_acked = identity, url, has_acked
        self.is_told_to_stop = threading.Event()
        self.sent = 0
        self.acked = 0

    def run(self) -> None:
        while not self.is_told_to_stop.is_set():
            number = self.sent + 1
            self.sent = number
            try:
                submission.send(self._identity, self._url, {"number": number})
            except PrecastError:
                self.is_told_to_stop.wait(0.05)  # the server is away
                continue
            with self._has_acked:
                self.acked = number
                self._has_acked.notify_all()


def run_rounds(site: Site, location: Location, rounds: int, name: str) -> None:
    seed = int.from_bytes(os.urandom(4))
    chance = random.Random(seed)
    has_acked = threading.Condition()
    senders = {node: Sender(site.enrol(node), site.url, has_acked) for node in NODES}
    for sender in senders.values():
        sender.start()
    under_way: list[int] = []
    promised: dict[str, int] = {}
    for _ in range(rounds):
        goal = {node: sender.acked + chance.randint(1, 20) for node, sender in senders.items()}
        with has_acked:
            met = has_acked.wait_for(lambda: all(one.acked >= goal[node] for node, one in senders.items()), DEADLINE_S)  # noqa: B023
        assert met, f"the senders got nowhere (seed {seed})"
        site.kill()
        promised = {node: sender.acked for node, sender in senders.items()}
        under_way.append(sum(sender.sent > promised[node] for node, sender in senders.items()))
        site.start()
        stored = asyncio.run(until_stored(location, promised))
        assert all(stored[node] >= number for node, number in promised.items()), (
            f"lost: {promised} {stored} (seed {seed})"
        )
    for sender in senders.values():
        sender.is_told_to_stop.set()
        sender.join(DEADLINE_S)
    print(
        f"\n{name}: {rounds} kills, seed {seed}; {sum(promised.values())} sets acknowledged, none lost; under way at each: {under_way}"
    )
    assert any(under_way), "nothing was ever under way, it proves nothing"


async def until_stored(location: Location, promised: dict[str, int]) -> dict[str, int]:
    """The number stored for each node, when all are as far as was promised or the deadline has passed."""
    database = await connect(location)
    service = FactService(database, Facts(database), WorkQueue(database, [FACTS, COMPILE]), EveryChange())
    end_s = time.monotonic() + DEADLINE_S
    stored = dict.fromkeys(promised, 0)
    while any(stored[node] < number for node, number in promised.items()) and time.monotonic() < end_s:
        for node in promised:
            try:
                stored[node] = (await service.show(node)).facts["number"]
            except NotFoundError:
                await asyncio.sleep(0.01)
    await database.close()
    return stored


@pytest.mark.timeout(300)
def test_killed_server_on_sqlite_loses_no_acknowledged_facts(tmp_path: Path) -> None:
    with Site(tmp_path / "site") as site:
        run_rounds(site, SqliteLocation(tmp_path / "site" / "precast.db"), 3, "kill -9 of the server, SQLite")


@pytest.mark.timeout(300)
def test_killed_server_on_postgresql_loses_no_acknowledged_facts(tmp_path: Path, postgres: PostgresServer) -> None:
    url = postgres.url(postgres.create_database())
    with Site(tmp_path / "site", url) as site:
        run_rounds(site, PostgresLocation(url), 3, "kill -9 of the server, PostgreSQL")


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_fifty_kills_of_the_server_on_sqlite_lose_no_acknowledged_facts(tmp_path: Path) -> None:
    with Site(tmp_path / "site") as site:
        run_rounds(site, SqliteLocation(tmp_path / "site" / "precast.db"), 50, "kill -9 of the server, SQLite")


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_fifty_kills_of_the_server_on_postgresql_lose_no_acknowledged_facts(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    url = postgres.url(postgres.create_database())
    with Site(tmp_path / "site", url) as site:
        run_rounds(site, PostgresLocation(url), 50, "kill -9 of the server, PostgreSQL")
