"""Wake-ups between processes that share a SQLite file; here between two in one process, over the same sockets."""

import asyncio
from pathlib import Path

from precast.store.engine.local_wakeups import MAX_BYTES, LocalWakeups
from precast.store.engine.wakeups import Wakeups

DEADLINE_S = 30.0


async def heard(wakeups: Wakeups, topic: str, publish: Wakeups, topics: list[str]) -> bool:
    with wakeups.subscribe(topic) as sleeper:
        publish.publish(topics)
        return await sleeper.wait(DEADLINE_S)


async def test_topic_wakes_the_neighbour_and_oneself(tmp_path: Path) -> None:
    one, two = LocalWakeups(tmp_path), LocalWakeups(tmp_path)
    assert await heard(two, "work.facts", one, ["work.facts"])
    assert await heard(one, "work.facts", one, ["work.facts"])
    assert await heard(one, "müde", two, ["other", "müde"])
    await one.close()
    await two.close()
    assert list(tmp_path.iterdir()) == []


async def test_many_topics_go_in_several_datagrams(tmp_path: Path) -> None:
    one, two = LocalWakeups(tmp_path), LocalWakeups(tmp_path)
    topics = [f"node{number:05d}" * 20 for number in range(1000)]
    assert sum(map(len, topics)) > 3 * MAX_BYTES
    assert await heard(two, topics[0], one, topics)
    assert await heard(two, "last", one, ["x" * (MAX_BYTES + 1), "last"])
    await one.close()
    await two.close()


async def test_neighbour_that_died_is_forgotten(tmp_path: Path) -> None:
    one, two = LocalWakeups(tmp_path), LocalWakeups(tmp_path)
    # As kill -9 leaves it: the name stays, nobody is behind it.
    asyncio.get_running_loop().remove_reader(two._socket.fileno())
    two._socket.close()
    assert len(list(tmp_path.iterdir())) == 2
    one.publish(["x"])
    assert len(list(tmp_path.iterdir())) == 1
    await one.close()


async def test_directory_may_lie_deep(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120) / ("e" * 120)
    deep.mkdir(parents=True)
    one, two = LocalWakeups(deep), LocalWakeups(deep)
    assert await heard(two, "x", one, ["x"])
    await one.close()
    await two.close()


async def test_neighbour_that_does_not_read_holds_nobody_up(tmp_path: Path) -> None:
    one, two = LocalWakeups(tmp_path), LocalWakeups(tmp_path)
    for _ in range(5000):  # the other does not get its turn meanwhile
        one.publish(["x" * 1000])
    assert await heard(two, "x" * 1000, one, [])
    await one.close()
    await two.close()
