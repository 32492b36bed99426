"""Sessions on both databases: who is where, by whose lease, and how far their records came."""

from datetime import timedelta

import pytest

from precast.base.clock import ManualClock
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.certificates import Nodes
from precast.store.sessions.sessions import Arrival, Held, Previous, Sessions, Stand


def arrival(node: str = "web1", server: str = "s1", attempt: str = "a1") -> Arrival:
    return Arrival(node, server, "store", attempt, "192.0.2.1", "boot", "0.1")


async def come(database: Database, who: Arrival) -> Previous:
    sessions = Sessions(database)

    def coming() -> Transaction[Previous]:
        yield from Nodes(database).taking(who.node)
        previous = yield from sessions.taking(who.node)
        yield from sessions.beginning(who, previous.epoch + 1, 0)
        return previous

    return await database.write(coming)


async def test_epoch_grows_with_each_arrival(database: Database) -> None:
    assert (await come(database, arrival())).epoch == 0
    again = await come(database, arrival(attempt="a2"))
    assert (again.epoch, again.attempt, again.instance) == (1, "a1", "store")


async def test_presence_follows_the_lease_of_the_server(database: Database, clock: ManualClock) -> None:
    sessions = Sessions(database)
    await sessions.renew_lease("s1", "one:8140", 15, 0)
    await come(database, arrival())
    here = await sessions.presence("web1")
    assert here is not None
    assert (here.server, here.away_since, here.address) == ("one:8140", None, "192.0.2.1")
    died_at = clock.now() + timedelta(seconds=15)
    clock.advance(20)
    away = await sessions.presence("web1")
    assert away is not None
    assert (away.server, away.away_since) == (None, died_at)
    # Another server cleans up, and what it writes says the same.
    await sessions.renew_lease("s2", "two:8140", 15, 0)
    assert not (await come(database, arrival(server="s2", attempt="a2"))).is_alive
    assert await sessions.presence("nobody") is None


async def test_leaving_ends_only_the_session_that_left(database: Database, clock: ManualClock) -> None:
    sessions = Sessions(database)
    await sessions.renew_lease("s1", "one:8140", 60, 1)
    await sessions.renew_lease("s2", "two:8140", 60, 0)
    await come(database, arrival())
    await come(database, arrival(server="s2", attempt="a2"))
    await sessions.end("s1", [("web1", 1)])
    moved = await sessions.presence("web1")
    assert moved is not None
    assert moved.server == "two:8140"
    clock.advance(1)
    await sessions.end("s2", [("web1", 2)])
    gone = await sessions.presence("web1")
    assert gone is not None
    assert (gone.server, gone.away_since) == (None, clock.now())


async def test_server_that_says_goodbye_takes_its_sessions_with_it(database: Database, clock: ManualClock) -> None:
    sessions = Sessions(database)
    await sessions.renew_lease("s1", "one:8140", 60, 1)
    await come(database, arrival())
    clock.advance(1)
    await sessions.end_lease("s1")
    gone = await sessions.presence("web1")
    assert gone is not None
    assert (gone.server, gone.away_since) == (None, clock.now())
    assert [(one.id, one.connections) for one in await sessions.servers()] == [("s1", 0)]


async def test_newer_tells_who_came_since(database: Database, clock: ManualClock) -> None:
    sessions = Sessions(database)
    await come(database, arrival("old1"))
    clock.advance(10)
    since = clock.now()
    await come(database, arrival("web1"))
    await come(database, arrival("web1", attempt="a2"))
    assert await sessions.newer(since) == {"web1": 2}


async def test_stream_remembers_how_far_it_came_for_each_store(database: Database) -> None:
    sessions = Sessions(database)
    await come(database, arrival())

    def storing(instance: str, received: int) -> Transaction[int]:
        stream = ("web1", instance)
        stand = yield from sessions.opening_stream(*stream)
        held = yield from sessions.holding_streams([stream, ("web1", "never seen"), ("web2", instance)])
        assert held == {stream: Held(stand, 1)}
        moved, is_all = yield from sessions.moving_streams({stream: (stand, received)})
        assert is_all
        assert moved == {stream: (yield from sessions.holding_streams([stream]))[stream].stand}
        assert moved[stream].received == received
        return stand.received

    assert await database.write(storing, "store", 5) == 0
    assert await database.write(storing, "other", 2) == 0
    assert await database.write(storing, "store", 9) == 5
    assert await database.write(lambda: sessions.knowing_instance("web1", "other"))
    assert not await database.write(lambda: sessions.knowing_instance("web1", "third"))


STREAM = ("web1", "store")


@pytest.mark.parametrize("fence", ["moved", "opened", "fenced", "gone"])
@pytest.mark.parametrize("back_s", [0, 3600])
async def test_stream_is_moved_only_by_who_knows_where_it_stands(
    database: Database, clock: ManualClock, fence: str, back_s: int
) -> None:
    """At the same moment or an hour before, as clocks go: what stands there is another stand each time."""
    sessions = Sessions(database)
    await come(database, arrival())
    stand = await database.write(lambda: sessions.opening_stream(*STREAM))
    clock.set_back(back_s)

    def meanwhile() -> Transaction[None]:
        if fence == "moved":
            assert (yield from sessions.moving_streams({STREAM: (stand, 0)}))[1]
        elif fence == "opened":
            yield from sessions.opening_stream(*STREAM)
        elif fence == "fenced":
            yield from sessions.fencing_stream(*STREAM)
        else:
            yield from sessions.forgetting("web1")

    await database.write(meanwhile)
    _, is_all = await database.write(lambda: sessions.moving_streams({STREAM: (stand, 4)}))
    assert not is_all
    held = await database.write(lambda: sessions.holding_streams([STREAM]))
    assert [one.stand.received for one in held.values()] == ([] if fence == "gone" else [0])


async def test_of_many_streams_those_are_moved_that_are_where_they_were(database: Database) -> None:
    sessions = Sessions(database)
    names = [f"web{number}" for number in range(90)]

    def opening() -> Transaction[dict[tuple[str, str], Stand]]:
        opened = {}
        for node in names:
            opened[node, "store"] = yield from sessions.opening_stream(node, "store")
        return opened

    for node in names:
        await come(database, arrival(node))
    stands = await database.write(opening)
    known = {
        stream: (stand if at % 3 else Stand(stand.received, stand.at - 1), at)
        for at, (stream, stand) in enumerate(stands.items())
    }
    moved, is_all = await database.write(lambda: sessions.moving_streams(known))
    assert not is_all
    held = await database.write(lambda: sessions.holding_streams(list(stands)))
    assert {stream: one.stand for stream, one in held.items()} == {
        stream: moved[stream] if at % 3 else stand for at, (stream, stand) in enumerate(stands.items())
    }
    assert [moved[node, "store"].received for node in names] == list(range(len(names)))


async def test_revoked_certificates_are_told_since_a_moment(database: Database, clock: ManualClock) -> None:
    assert await Nodes(database).revoked(clock.now()) == []
