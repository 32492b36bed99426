"""Many connections are told by one task, and nobody waits for one that takes nothing."""

import asyncio

from precast.api.answers import Answers
from precast.services.sessions import Taken


class Listener:
    """Is told when the test lets it."""

    def __init__(self, told: list[int], *, is_clogged: bool = False) -> None:
        self._told = told
        self.is_clogged = is_clogged
        self.may_take = asyncio.Event()

    async def answer(self, taken: Taken) -> None:
        if self.is_clogged:
            await self.may_take.wait()
        self._told.append(taken.through)


async def test_node_that_takes_nothing_holds_up_nobody_else() -> None:
    told: list[int] = []
    answers, stuck = Answers(), Listener(told, is_clogged=True)
    answers.give(stuck, Taken(1, False, []))
    for number in (2, 3):
        answers.give(Listener(told), Taken(number, False, []))
    async with asyncio.timeout(20):
        while len(told) < 2:
            await asyncio.sleep(0)
        assert told == [2, 3]
        stuck.may_take.set()
        while len(told) < 3:
            await asyncio.sleep(0)
    assert told == [2, 3, 1]


async def test_whoever_comes_after_all_were_told_is_told_too() -> None:
    told: list[int] = []
    answers = Answers()
    for number in range(3):
        answers.give(Listener(told), Taken(number, False, []))
        async with asyncio.timeout(20):
            while len(told) <= number:
                await asyncio.sleep(0)
    assert told == [0, 1, 2]
