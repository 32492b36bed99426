"""Random histories over two servers: fulfil, put, expire, subscribe, reconnect, lose wake-ups. The end is what is stored."""

import asyncio
import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from lab.future_site import FutureSite, Recorder
from precast.base.clock import ManualClock

KEYS = ("a", "b", "c")
PRODUCERS = ("db1", "db2")
WAITERS = ("web1", "web2")
STEPS = 60


class History:
    """What happened, and what it must have led to: a model of the standing values."""

    def __init__(self, sites: list[FutureSite], clock: ManualClock, chance: random.Random) -> None:
        self._sites, self._clock, self._chance = sites, clock, chance
        self.model: dict[str, tuple[int, float | None]] = {}
        self.waiters: dict[str, Recorder] = {}
        self._turn = 0

    async def begin(self) -> None:
        for name in PRODUCERS:
            await self._release(name, list(KEYS), [])
        for name in WAITERS:
            await self._release(name, [], list(KEYS))

    async def _release(self, name: str, promises: list[str], needs: list[str]) -> None:
        digest = await self._sites[0].release(name, promises, needs)
        for site in self._sites:
            site.digests[name] = digest

    async def step(self) -> None:
        match self._chance.choice(["fulfil", "fulfil", "fulfil", "expire", "reconnect", "pause", "read"]):
            case "fulfil":
                await self._fulfil()
            case "expire":
                self._clock.advance(self._chance.choice([1.0, 7.0]))
            case "reconnect":
                await self.reconnect(self._chance.choice(WAITERS))
            case "pause":
                if self.waiters:
                    self._chance.choice(list(self.waiters.values())).reads.clear()
            case "read":
                for waiter in self.waiters.values():
                    waiter.reads.set()

    async def _fulfil(self) -> None:
        self._turn += 1
        node, key = self._chance.choice(PRODUCERS), self._chance.choice(KEYS)
        ttl_s = self._chance.choice([None, None, 5.0])
        site = self._chance.choice(self._sites)
        await site.promise(node, key, self._turn, fence=self._turn, ttl_s=ttl_s)
        until_s = None if ttl_s is None else self._clock.monotonic_s() + ttl_s
        self.model[f"{key}@{node}"] = self._turn, until_s

    async def reconnect(self, name: str) -> None:
        """The node loses its connection, and has another one to any server."""
        if name in self.waiters:
            for site in self._sites:
                site.hub.forget(self.waiters[name])
            self.waiters[name].reads.set()
        recorder = await self._chance.choice(self._sites).subscribe(name)
        self.waiters[name] = recorder

    def expected(self) -> dict[str, int]:
        now_s = self._clock.monotonic_s()
        return {name: value for name, (value, until_s) in self.model.items() if until_s is None or until_s > now_s}

    def usable(self, recorder: Recorder) -> dict[str, Any]:
        """What the node may use: values that the server's bound lets it use now."""
        now = self._clock.now()
        shown = recorder.shown()
        return {
            f"{key}@{node}": shown[f"{key}@{node}"]
            for (key, node), value in recorder.values.items()
            if value.state == "fulfilled" and (value.expires_at is None or value.expires_at > now)
        }


def losing(publish: Callable[[Iterable[str]], None], chance: random.Random) -> Callable[[Iterable[str]], None]:
    """A publisher of wake-ups that loses a third of them."""
    return lambda topics: publish([topic for topic in topics if chance.random() > 0.33])


@pytest.mark.parametrize("seed", range(4))
async def test_waiters_end_with_what_is_stored_whatever_happens_in_between(
    site: FutureSite, other: FutureSite, clock: ManualClock, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    history = History([site, other], clock, chance)
    await history.begin()
    for each in (site, other):  # a third of the wake-ups is lost
        monkeypatch.setattr(each.database.wakeups, "publish", losing(each.database.wakeups.publish, chance))
    for _ in range(STEPS):
        await history.step()
    for name in WAITERS:
        if name not in history.waiters:
            await history.reconnect(name)
    expected = history.expected()
    for waiter in history.waiters.values():
        waiter.reads.set()
        async with asyncio.timeout(15):
            while history.usable(waiter) != expected:
                waiter.arrived.clear()
                await waiter.arrived.wait()
    assert await site.standing() == await other.standing()
