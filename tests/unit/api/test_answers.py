"""Many connections are told by one task."""

import asyncio

from precast.api.answers import Answers
from precast.services.sessions import Taken


class Listener:
    """Notes what it is told; fails if the test wants that."""

    def __init__(self, told: list[int], *, is_broken: bool = False) -> None:
        self._told = told
        self._is_broken = is_broken

    async def answer(self, taken: Taken) -> None:
        if self._is_broken:
            raise asyncio.CancelledError
        self._told.append(taken.through)


async def until_told(told: list[int], count: int) -> None:
    async with asyncio.timeout(20):
        while len(told) < count:
            await asyncio.sleep(0)


async def test_all_are_told_in_their_order_and_whoever_comes_later_too() -> None:
    told: list[int] = []
    answers = Answers()
    for first in (0, 3):
        for number in range(first, first + 3):
            answers.give(Listener(told), Taken(number, False, []))
        await until_told(told, first + 3)
    assert told == list(range(6))


async def test_one_who_ends_the_telling_does_not_end_it_for_ever() -> None:
    told: list[int] = []
    answers = Answers()
    answers.give(Listener(told, is_broken=True), Taken(1, False, []))
    answers.give(Listener(told), Taken(2, False, []))
    for _ in range(5):
        await asyncio.sleep(0)
    answers.give(Listener(told), Taken(3, False, []))
    await until_told(told, 2)
    assert told == [2, 3]
