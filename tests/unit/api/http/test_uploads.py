"""Slow uploads: they end, and they wait behind themselves only."""

import asyncio
from collections.abc import Sequence

import pytest

from precast.api.http.uploads import ALLOWANCE_S, MIN_BYTES_PER_S, UploadPlaces, read_parts
from precast.base.errors import PrecastError


class TimedBody:
    """A body whose parts arrive with pauses, on a clock of its own."""

    def __init__(self, parts: Sequence[tuple[float, bytes]]) -> None:
        self._parts = list(parts)
        self.now_s = 0.0

    async def readany(self) -> bytes:
        if not self._parts:
            return b""
        pause_s, part = self._parts.pop(0)
        self.now_s += pause_s
        return part


async def received(body: TimedBody) -> bytes:
    return b"".join([part async for part in read_parts(body, lambda: body.now_s)])


def test_body_that_drips_is_given_up() -> None:
    body = TimedBody([(ALLOWANCE_S * 0.9, b"x")] * 1000)
    with pytest.raises(PrecastError) as caught:
        asyncio.run(received(body))
    assert caught.value.code == "API-010"
    assert body.now_s < 2 * ALLOWANCE_S


def test_body_at_the_slowest_accepted_rate_is_received() -> None:
    parts = [(1.0, b"x" * MIN_BYTES_PER_S)] * 600
    assert len(asyncio.run(received(TimedBody(parts)))) == 600 * MIN_BYTES_PER_S


def test_pauses_within_the_allowance_are_accepted() -> None:
    parts = [(0.0, b"x" * 10_000_000), (ALLOWANCE_S * 0.9, b"y")]
    assert len(asyncio.run(received(TimedBody(parts)))) == 10_000_001


def test_uploads_of_one_caller_wait_for_each_other_and_not_for_others() -> None:
    async def story() -> None:
        places = UploadPlaces(2)
        receiving: list[str] = []
        release = asyncio.Event()

        async def upload(who: str) -> None:
            async with places.place(who):
                receiving.append(who)
                await release.wait()

        async with asyncio.TaskGroup() as uploads:
            for _ in range(5):
                uploads.create_task(upload("drip"))
            await asyncio.sleep(0)
            uploads.create_task(upload("other"))
            for _ in range(3):
                await asyncio.sleep(0)
            assert receiving == ["drip", "drip", "other"]
            release.set()
        assert receiving.count("drip") == 5
        assert not places._callers

    asyncio.run(story())
