"""Wake-ups within one process: one flag for each subscriber, and no topic outlives its last subscriber."""

import asyncio

from precast.store.engine.wakeups import Wakeups

# So long that only a lost wake-up leads to a timeout.
LONG_S = 60.0


async def test_publish_wakes_every_subscriber_of_the_topic_and_no_other() -> None:
    wakeups = Wakeups()
    with wakeups.subscribe("a") as first, wakeups.subscribe("a", "b") as second, wakeups.subscribe("c") as third:
        wakeups.publish(["a"])
        assert await first.wait(LONG_S)
        assert await second.wait(LONG_S)
        assert not await third.wait(0)


async def test_publish_of_several_topics_wakes_a_subscriber_once() -> None:
    wakeups = Wakeups()
    with wakeups.subscribe("a", "b") as sleeper:
        wakeups.publish(["a", "b", "a"])
        assert await sleeper.wait(LONG_S)
        assert not await sleeper.wait(0)
        wakeups.publish(iter(["b"]))
        assert await sleeper.wait(LONG_S)


async def test_publish_wakes_a_subscriber_that_waits_already() -> None:
    wakeups = Wakeups()
    with wakeups.subscribe("a") as sleeper:
        waiting = asyncio.create_task(sleeper.wait(LONG_S))
        await asyncio.sleep(0)
        assert not waiting.done()
        wakeups.publish(["a"])
        assert await waiting


async def test_publish_before_the_subscription_is_not_received() -> None:
    wakeups = Wakeups()
    wakeups.publish(["a"])
    with wakeups.subscribe("a") as sleeper:
        assert not await sleeper.wait(0)


async def test_publish_without_subscribers_leaves_no_topic() -> None:
    wakeups = Wakeups()
    wakeups.publish(f"topic{number}" for number in range(1000))
    assert wakeups._by_topic == {}


async def test_subscriber_that_left_is_not_woken_and_its_topics_are_removed() -> None:
    wakeups = Wakeups()
    with wakeups.subscribe("a", "b") as left, wakeups.subscribe("b") as stays:
        wakeups.remove(left)
        assert set(wakeups._by_topic) == {"b"}
        wakeups.publish(["a", "b"])
        assert not await left.wait(0)
        assert await stays.wait(LONG_S)
        wakeups.add(left)
    assert wakeups._by_topic == {}


async def test_subscriber_that_raises_is_removed_too() -> None:
    wakeups = Wakeups()
    try:
        with wakeups.subscribe("a"):
            raise RuntimeError("in the block")
    except RuntimeError:
        pass
    assert wakeups._by_topic == {}


async def test_cancelled_wait_keeps_a_wakeup_received_meanwhile() -> None:
    wakeups = Wakeups()
    with wakeups.subscribe("a") as sleeper:
        waiting = asyncio.create_task(sleeper.wait(LONG_S))
        await asyncio.sleep(0)
        waiting.cancel()
        wakeups.publish(["a"])
        await asyncio.wait([waiting])
        assert waiting.cancelled()
        assert await sleeper.wait(LONG_S)
