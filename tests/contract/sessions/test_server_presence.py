"""Presence on both databases: each renewal of a server's lease makes the registered sessions equal to the open ones."""

from collections.abc import Mapping

import pytest

from precast.base.clock import ManualClock
from precast.services.sessions.server_presence import LEASE_S, NoSessions, ServerPresence
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.certificates import NodeCertificates
from precast.store.sessions.sessions import Sessions, SessionStart


class Connections:
    """The open connections of one server: epochs by node."""

    def __init__(self, database: Database, name: str) -> None:
        self._database, self.server_name, self.id = database, f"{name}:8140", name
        self.epochs: dict[str, int] = {}
        self.beginning: set[str] = set()
        self.closed: dict[str, tuple[int, int]] = {}  # with their own epoch and the stored one
        self.presence = ServerPresence(Sessions(database), name, self)

    def list_epochs(self) -> dict[str, int]:
        return dict(self.epochs)

    def is_beginning(self, node: str) -> bool:
        return node in self.beginning

    def close_stale(self, stale: Mapping[str, int], stored: Mapping[str, int]) -> None:
        self.closed.update({node: (epoch, stored[node]) for node, epoch in stale.items()})

    async def connect(self, *nodes: str) -> None:
        for node in nodes:
            self.epochs[node] = await self._database.write(self._begin, node)

    def _begin(self, node: str) -> Transaction[int]:
        sessions = Sessions(self._database)
        yield from NodeCertificates(self._database).lock_or_create(node)
        epoch = (yield from sessions.lock(node)).epoch + 1
        yield from sessions.begin(SessionStart(node, self.id, "store", ["a"], "", "192.0.2.1", "boot", "0.1"), epoch, 0)
        return epoch


@pytest.fixture
async def here(database: Database) -> Connections:
    here = Connections(database, "s1")
    await here.presence.renew()
    return here


@pytest.fixture
async def elsewhere(other_database: Database) -> Connections:
    return Connections(other_database, "s2")


async def test_registered_server_has_its_lease_before_it_renews_one(database: Database) -> None:
    server = Connections(database, "s1")
    await server.connect("web1")
    assert await connected(database, "web1") == []
    await server.presence.register()
    assert await connected(database, "web1") == ["web1"]


async def connected(database: Database, *nodes: str) -> list[str]:
    return sorted(await database.read(Sessions(database).filter_connected, nodes))


async def lose_lease(clock: ManualClock, elsewhere: Connections) -> None:
    """The lease of the first server runs out, and the second server ends its sessions."""
    clock.advance(LEASE_S + 1)
    await elsewhere.presence.renew()


async def test_sessions_ended_with_a_lost_lease_are_registered_again(
    database: Database, clock: ManualClock, here: Connections, elsewhere: Connections
) -> None:
    nodes = [f"web{number}" for number in range(70)]
    await here.connect(*nodes)
    await lose_lease(clock, elsewhere)
    assert await connected(database, *nodes) == []
    await here.presence.renew()
    assert await connected(database, *nodes) == sorted(nodes)
    presence = await Sessions(database).read_presence("web7")
    assert presence is not None
    assert (presence.server, presence.epoch, presence.away_since) == ("s1:8140", 1, None)
    assert here.closed == {}


async def test_lease_that_nobody_has_ended_needs_only_a_renewal(
    database: Database, clock: ManualClock, here: Connections
) -> None:
    await here.connect("web1")
    clock.advance(LEASE_S + 1)
    assert await connected(database, "web1") == []
    await here.presence.renew()
    assert await connected(database, "web1") == ["web1"]


@pytest.mark.parametrize("has_left", [False, True])
async def test_session_that_began_elsewhere_is_not_taken_back(
    database: Database, clock: ManualClock, here: Connections, elsewhere: Connections, has_left: bool
) -> None:
    await here.connect("web1", "web2")
    await lose_lease(clock, elsewhere)
    await elsewhere.connect("web1")
    if has_left:
        await Sessions(database).end("s2", [("web1", 2)])
    await here.presence.renew()
    assert await connected(database, "web1", "web2") == (["web2"] if has_left else ["web1", "web2"])
    presence = await Sessions(database).read_presence("web1")
    assert presence is not None
    assert (presence.server, presence.epoch) == (None if has_left else "s2:8140", 2)
    assert here.closed == {"web1": (1, 2)}


async def test_session_whose_end_was_not_stored_is_ended(database: Database, here: Connections) -> None:
    await here.connect("web1", "web2", "web3")
    del here.epochs["web1"], here.epochs["web2"]
    here.beginning.add("web2")
    await here.presence.renew()
    assert await connected(database, "web1", "web2", "web3") == ["web2", "web3"]
    here.beginning.clear()
    await here.presence.renew()
    assert await connected(database, "web1", "web2", "web3") == ["web3"]


async def test_session_that_the_database_does_not_know_is_closed(database: Database, here: Connections) -> None:
    """The database was restored to an earlier time, or the node was purged."""
    await here.connect("web1", "web2")
    here.epochs["web1"] = 7
    await database.write(Sessions(database).delete_node, "web2")
    await here.presence.renew()
    assert here.closed == {"web1": (7, 1), "web2": (1, 0)}


async def test_server_that_has_ended_its_lease_does_not_renew_it(
    database: Database, clock: ManualClock, here: Connections
) -> None:
    await here.connect("web1")
    await here.presence.end()
    await here.presence.renew()
    assert await connected(database, "web1") == []
    (server,) = await Sessions(database).list_servers()
    assert server.lease_until <= clock.now()


async def test_more_sessions_than_one_page_are_compared(
    database: Database, here: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("precast.store.sessions.sessions.PAGE", 3)
    nodes = [f"web{number}" for number in range(6)]
    await here.connect(*nodes)
    assert await Sessions(database).list_registered("s1") == here.epochs
    del here.epochs["web5"]
    await here.presence.renew()
    assert await connected(database, *nodes) == nodes[:5]


async def test_server_without_connections_ends_no_session_of_others(database: Database, here: Connections) -> None:
    await here.connect("web1")
    await ServerPresence(Sessions(database), "s3", NoSessions("s3 [compiler]")).renew()
    assert await connected(database, "web1") == ["web1"]
