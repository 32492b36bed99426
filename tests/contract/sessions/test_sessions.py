"""Sessions on both databases: presence of nodes by the lease of their server, and positions of their streams."""

from datetime import timedelta

import pytest

from precast.base.clock import ManualClock
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.certificates import NodeCertificates
from precast.store.sessions.sessions import LockedStream, PreviousSession, Sessions, SessionStart, StreamPosition


def start(node: str = "web1", server: str = "s1", attempt: str = "a1") -> SessionStart:
    return SessionStart(node, server, "store", [attempt], "", "192.0.2.1", "boot", "0.1")


async def connect(database: Database, who: SessionStart) -> PreviousSession:
    sessions = Sessions(database)

    def begin() -> Transaction[PreviousSession]:
        yield from NodeCertificates(database).lock_or_create(who.node)
        previous = yield from sessions.lock(who.node)
        yield from sessions.begin(who, previous.epoch + 1, 0)
        return previous

    return await database.write(begin)


async def test_epoch_grows_with_each_session(database: Database) -> None:
    assert (await connect(database, start())).epoch == 0
    again = await connect(database, start(attempt="a2"))
    assert (again.epoch, again.attempts, again.instance) == (1, ["a1"], "store")


async def test_presence_follows_the_lease_of_the_server(database: Database, clock: ManualClock) -> None:
    sessions = Sessions(database)
    await sessions.renew_lease("s1", "one:8140", 15, 0)
    await connect(database, start())
    here = await sessions.read_presence("web1")
    assert here is not None
    assert (here.server, here.away_since, here.address) == ("one:8140", None, "192.0.2.1")
    died_at = clock.now() + timedelta(seconds=15)
    clock.advance(20)
    away = await sessions.read_presence("web1")
    assert away is not None
    assert (away.server, away.away_since) == (None, died_at)
    # Another server cleans up, which does not change the presence.
    await sessions.renew_lease("s2", "two:8140", 15, 0)
    assert not (await connect(database, start(server="s2", attempt="a2"))).is_alive
    assert await sessions.read_presence("nobody") is None


async def test_leaving_ends_only_the_session_that_left(database: Database, clock: ManualClock) -> None:
    sessions = Sessions(database)
    await sessions.renew_lease("s1", "one:8140", 60, 1)
    await sessions.renew_lease("s2", "two:8140", 60, 0)
    await connect(database, start())
    await connect(database, start(server="s2", attempt="a2"))
    await sessions.end("s1", [("web1", 1)])
    moved = await sessions.read_presence("web1")
    assert moved is not None
    assert moved.server == "two:8140"
    clock.advance(1)
    await sessions.end("s2", [("web1", 2)])
    gone = await sessions.read_presence("web1")
    assert gone is not None
    assert (gone.server, gone.away_since) == (None, clock.now())


async def test_server_that_ends_its_lease_ends_its_sessions(database: Database, clock: ManualClock) -> None:
    sessions = Sessions(database)
    await sessions.renew_lease("s1", "one:8140", 60, 1)
    await connect(database, start())
    clock.advance(1)
    await sessions.end_lease("s1")
    gone = await sessions.read_presence("web1")
    assert gone is not None
    assert (gone.server, gone.away_since) == (None, clock.now())
    assert [(server.id, server.connections) for server in await sessions.list_servers()] == [("s1", 0)]


async def test_newer_sessions_since_a_time_are_found(database: Database, clock: ManualClock) -> None:
    sessions = Sessions(database)
    await connect(database, start("old1"))
    clock.advance(10)
    since = clock.now()
    await connect(database, start("web1"))
    await connect(database, start("web1", attempt="a2"))
    assert await sessions.find_newer_epochs(since) == {"web1": 2}


async def test_stream_has_a_position_for_each_store(database: Database) -> None:
    sessions = Sessions(database)
    await connect(database, start())

    def store(instance: str, received: int) -> Transaction[int]:
        stream = ("web1", instance)
        stand = yield from sessions.open_stream(*stream)
        held = yield from sessions.lock_streams([stream, ("web1", "never seen"), ("web2", instance)])
        assert held == {stream: LockedStream(stand, 1)}
        moved, is_all = yield from sessions.advance_streams({stream: (stand, received)})
        assert is_all
        assert moved == {stream: (yield from sessions.lock_streams([stream]))[stream].position}
        assert moved[stream].received == received
        return stand.received

    assert await database.write(store, "store", 5) == 0
    assert await database.write(store, "other", 2) == 0
    assert await database.write(store, "store", 9) == 5
    assert await database.write(lambda: sessions.find_received("web1", "other")) == 2
    assert await database.write(lambda: sessions.find_received("web1", "third")) is None


STREAM = ("web1", "store")


@pytest.mark.parametrize("fence", ["moved", "opened", "fenced", "gone"])
@pytest.mark.parametrize("back_s", [0, 3600])
async def test_stream_is_advanced_only_from_its_current_position(
    database: Database, clock: ManualClock, fence: str, back_s: int
) -> None:
    """At the same time or an hour earlier, as clocks differ: the position is a new one each time."""
    sessions = Sessions(database)
    await connect(database, start())
    stand = await database.write(lambda: sessions.open_stream(*STREAM))
    clock.set_back(back_s)

    def interfere() -> Transaction[None]:
        if fence == "moved":
            assert (yield from sessions.advance_streams({STREAM: (stand, 0)}))[1]
        elif fence == "opened":
            yield from sessions.open_stream(*STREAM)
        elif fence == "fenced":
            yield from sessions.fence_stream(*STREAM)
        else:
            yield from sessions.delete_node("web1")

    await database.write(interfere)
    _, is_all = await database.write(lambda: sessions.advance_streams({STREAM: (stand, 4)}))
    assert not is_all
    held = await database.write(lambda: sessions.lock_streams([STREAM]))
    assert [row.position.received for row in held.values()] == ([] if fence == "gone" else [0])


async def test_of_many_streams_only_those_at_the_known_position_are_advanced(database: Database) -> None:
    sessions = Sessions(database)
    names = [f"web{number}" for number in range(90)]

    def open_streams() -> Transaction[dict[tuple[str, str], StreamPosition]]:
        opened = {}
        for node in names:
            opened[node, "store"] = yield from sessions.open_stream(node, "store")
        return opened

    for node in names:
        await connect(database, start(node))
    stands = await database.write(open_streams)
    known = {
        stream: (stand if at % 3 else StreamPosition(stand.received, stand.at - 1), at)
        for at, (stream, stand) in enumerate(stands.items())
    }
    moved, is_all = await database.write(lambda: sessions.advance_streams(known))
    assert not is_all
    held = await database.write(lambda: sessions.lock_streams(list(stands)))
    assert {stream: row.position for stream, row in held.items()} == {
        stream: moved[stream] if at % 3 else stand for at, (stream, stand) in enumerate(stands.items())
    }
    assert [moved[node, "store"].received for node in names] == list(range(len(names)))


async def test_certificates_revoked_since_a_time_are_found(database: Database, clock: ManualClock) -> None:
    assert await NodeCertificates(database).list_revoked(clock.now()) == []
