"""Wake-ups between processes that share a SQLite file; here two instances in one process, over the same sockets."""

import asyncio
from pathlib import Path

from precast.store.engine.local_wakeups import MAX_BYTES, LocalWakeups
from precast.store.engine.wakeups import Wakeups

DEADLINE_S = 30.0


async def heard(wakeups: Wakeups, topic: str, publish: Wakeups, topics: list[str]) -> bool:
    with wakeups.subscribe(topic) as sleeper:
        publish.publish(topics)
        return await sleeper.wait(DEADLINE_S)


async def test_topic_wakes_the_other_process_and_its_own(tmp_path: Path) -> None:
    first, second = LocalWakeups(tmp_path), LocalWakeups(tmp_path)
    assert await heard(second, "work.facts", first, ["work.facts"])
    assert await heard(first, "work.facts", first, ["work.facts"])
    assert await heard(first, "müde", second, ["other", "müde"])
    await first.close()
    await second.close()
    assert list(tmp_path.iterdir()) == []


async def test_many_topics_go_in_several_datagrams(tmp_path: Path) -> None:
    first, second = LocalWakeups(tmp_path), LocalWakeups(tmp_path)
    topics = [f"node{number:05d}" * 20 for number in range(1000)]
    assert sum(map(len, topics)) > 3 * MAX_BYTES
    assert await heard(second, topics[0], first, topics)
    assert await heard(second, "last", first, ["x" * (MAX_BYTES + 1), "last"])
    await first.close()
    await second.close()


async def test_socket_of_a_dead_process_is_removed(tmp_path: Path) -> None:
    first, second = LocalWakeups(tmp_path), LocalWakeups(tmp_path)
    # As after kill -9: the socket file stays, but no process has it open.
    asyncio.get_running_loop().remove_reader(second._socket.fileno())
    second._socket.close()
    assert len(list(tmp_path.iterdir())) == 2
    first.publish(["x"])
    assert len(list(tmp_path.iterdir())) == 1
    await first.close()


async def test_directory_path_may_be_long(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120) / ("e" * 120)
    deep.mkdir(parents=True)
    first, second = LocalWakeups(deep), LocalWakeups(deep)
    assert await heard(second, "x", first, ["x"])
    await first.close()
    await second.close()


async def test_process_that_does_not_read_blocks_no_other(tmp_path: Path) -> None:
    first, second = LocalWakeups(tmp_path), LocalWakeups(tmp_path)
    for _ in range(5000):  # the other does not get its turn meanwhile
        first.publish(["x" * 1000])
    assert await heard(second, "x" * 1000, first, [])
    await first.close()
    await second.close()
