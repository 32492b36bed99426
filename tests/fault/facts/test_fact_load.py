"""Kill -9 of servers and restarts of the database under fact load: an acknowledged set, or a newer set of its node, is stored."""

import asyncio
import contextlib
import itertools
import os
import random
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import pytest

from lab.postgres import PostgresServer
from lab.site import Site
from precast.agent.facts import submission
from precast.agent.identity.enrolment import Identity
from precast.agent.network.http_client import DirectHttp
from precast.base.errors import NotFoundError, PrecastError
from precast.services.facts.intake import FACTS
from precast.services.facts.reads import TracedReads
from precast.services.facts.service import FactService
from precast.services.work_kinds import DECIDE
from precast.store.engine.connect import connect
from precast.store.engine.location import Location, PostgresLocation, SqliteLocation
from precast.store.facts.facts import Facts
from precast.store.queue.queue import WorkQueue

# Of a connection whose server is killed between accepting it and the handshake, the standard library drops the socket without closing it.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <ssl.SSLSocket:ResourceWarning")

NODES = ("web1", "web2", "db1", "db2")
DEADLINE_S = 60.0


class Sender(threading.Thread):
    """A node that sends numbered sets in sequence, and remembers the last acknowledged number.

    If a server is down, the node switches to the next one.
    """

    def __init__(self, identity: Identity, urls: Sequence[str], has_acked: threading.Condition) -> None:
        super().__init__(daemon=True)
        self._identity, self._urls, self._has_acked = identity, urls, has_acked
        self.is_told_to_stop = threading.Event()
        self.sent = 0
        self.acked = 0

    def run(self) -> None:
        urls = itertools.cycle(self._urls)
        url = next(urls)
        while not self.is_told_to_stop.is_set():
            number = self.sent + 1
            self.sent = number
            try:
                submission.send_facts(DirectHttp(self._identity.context()), url, {"number": number})
            except PrecastError:
                url = next(urls)
                self.is_told_to_stop.wait(0.05)  # the server is down
                continue
            with self._has_acked:
                self.acked = number
                self._has_acked.notify_all()


class Crash(Protocol):
    """Kills a process and starts it again. Calls `between` while the process is down."""

    def __call__(self, between: Callable[[], None]) -> None: ...


def of_server(site: Site) -> Crash:
    def crash(between: Callable[[], None]) -> None:
        site.kill()
        between()
        site.start()

    return crash


def of_database(server: PostgresServer) -> Crash:
    """Restart PostgreSQL, alternately with an orderly stop and with kill -9; the Precast server keeps running."""
    ends = itertools.cycle([server.stop, server.kill])

    def crash(between: Callable[[], None]) -> None:
        next(ends)()
        between()
        server.start()

    return crash


def run_rounds(sites: Sequence[Site], location: Location, rounds: int, name: str, crash: Crash) -> None:
    seed = int.from_bytes(os.urandom(4))
    chance = random.Random(seed)
    has_acked = threading.Condition()
    urls = [site.url for site in sites]
    senders = {
        node: Sender(sites[0].enrol(node), urls[at % len(urls) :] + urls[: at % len(urls)], has_acked)
        for at, node in enumerate(NODES)
    }
    for sender in senders.values():
        sender.start()
    unacknowledged: list[int] = []
    promised: dict[str, int] = {}

    def note_promises() -> None:
        promised.update({node: sender.acked for node, sender in senders.items()})
        unacknowledged.append(sum(sender.sent > promised[node] for node, sender in senders.items()))

    for _ in range(rounds):
        goal = {node: sender.acked + chance.randint(1, 20) for node, sender in senders.items()}
        with has_acked:
            met = has_acked.wait_for(
                lambda: all(sender.acked >= goal[node] for node, sender in senders.items()),  # noqa: B023 - called in this round only
                DEADLINE_S,
            )
        assert met, f"the senders got nowhere (seed {seed})"
        crash(note_promises)
        stored = asyncio.run(until_stored(location, promised))
        assert all(stored[node] >= number for node, number in promised.items()), (
            f"lost: {promised} {stored} (seed {seed})"
        )
    for sender in senders.values():
        sender.is_told_to_stop.set()
        sender.join(DEADLINE_S)
    print(
        f"\n{name}: {rounds} rounds, seed {seed}; {sum(promised.values())} sets acknowledged, none lost;"
        f" unacknowledged at each: {unacknowledged}"
    )
    assert any(unacknowledged), "no set was ever in flight, so it proves nothing"


async def until_stored(location: Location, promised: dict[str, int]) -> dict[str, int]:
    """Wait until every acknowledged number is stored or the deadline has passed, and return the stored number of each node."""
    database = await connect(location)
    service = FactService(database, Facts(database), WorkQueue(database, [FACTS, DECIDE]), TracedReads(database))
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


def kill_server_on_sqlite(directory: Path, rounds: int) -> None:
    with Site(directory / "site") as site:
        location = SqliteLocation(directory / "site" / "precast.db")
        run_rounds([site], location, rounds, "kill -9 of the server, SQLite", of_server(site))


def kill_server_on_postgresql(directory: Path, rounds: int, postgres: PostgresServer) -> None:
    url = postgres.url(postgres.create_database())
    with Site(directory / "site", url) as site:
        run_rounds([site], PostgresLocation(url), rounds, "kill -9 of the server, PostgreSQL", of_server(site))


def kill_one_of_two_servers(directory: Path, rounds: int, postgres: PostgresServer) -> None:
    url = postgres.url(postgres.create_database())
    with Site(directory / "site", url) as first, contextlib.closing(first.twin()) as second:
        second.start()
        name = "kill -9 of one of two servers, PostgreSQL"
        run_rounds([first, second], PostgresLocation(url), rounds, name, of_server(second))


def restart_database(directory: Path, rounds: int) -> None:
    with PostgresServer() as server:
        url = server.url(server.create_database())
        with Site(directory / "site", url) as site:
            pid = site.pid
            run_rounds([site], PostgresLocation(url), rounds, "restart of PostgreSQL", of_database(server))
            assert site.is_running(), "the server ends only when it is told"
            assert site.pid == pid


@pytest.mark.timeout(300)
def test_killed_server_on_sqlite_loses_no_acknowledged_facts(tmp_path: Path) -> None:
    kill_server_on_sqlite(tmp_path, 3)


@pytest.mark.timeout(300)
def test_killed_server_on_postgresql_loses_no_acknowledged_facts(tmp_path: Path, postgres: PostgresServer) -> None:
    kill_server_on_postgresql(tmp_path, 3, postgres)


@pytest.mark.timeout(300)
def test_killed_server_beside_another_loses_no_acknowledged_facts(tmp_path: Path, postgres: PostgresServer) -> None:
    kill_one_of_two_servers(tmp_path, 3, postgres)


@pytest.mark.timeout(300)
def test_restarted_database_loses_no_acknowledged_facts(tmp_path: Path) -> None:
    restart_database(tmp_path, 3)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_fifty_kills_of_the_server_on_sqlite_lose_no_acknowledged_facts(tmp_path: Path) -> None:
    kill_server_on_sqlite(tmp_path, 50)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_fifty_kills_of_the_server_on_postgresql_lose_no_acknowledged_facts(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    kill_server_on_postgresql(tmp_path, 50, postgres)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_fifty_kills_of_one_of_two_servers_lose_no_acknowledged_facts(tmp_path: Path, postgres: PostgresServer) -> None:
    kill_one_of_two_servers(tmp_path, 50, postgres)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_fifty_restarts_of_the_database_lose_no_acknowledged_facts(tmp_path: Path) -> None:
    restart_database(tmp_path, 50)
