"""The room for what waits to be stored: who finds none waits, and everybody's turn comes."""

import asyncio

from precast.api.sessions.intake import Intake


async def take(intake: Intake, size_bytes: int) -> None:
    await intake.wait()
    intake.take(size_bytes)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_room_that_is_full_is_waited_for_with_or_without_a_need() -> None:
    intake = Intake(100)
    intake.take(150)  # as much as is needed, while there is room at all
    assert intake.is_full
    looking, needing = asyncio.create_task(take(intake, 0)), asyncio.create_task(take(intake, 60))
    await settle()
    assert (looking.done(), needing.done()) == (False, False)
    intake.give(150)
    await settle()
    assert looking.done()
    intake.give(0)  # whoever looked and took nothing keeps nobody out for longer than until the next gives
    await settle()
    assert needing.done()
    assert not intake.is_full


async def test_whoever_is_cancelled_takes_nothing_and_keeps_nobody_out() -> None:
    intake = Intake(10)
    intake.take(10)
    first, second = asyncio.create_task(take(intake, 5)), asyncio.create_task(take(intake, 5))
    await settle()
    first.cancel()
    await settle()
    intake.give(10)
    await settle()
    assert second.done()
    intake.give(5)
    intake.take(10)
    assert intake.is_full


async def test_room_is_given_to_one_after_the_other() -> None:
    intake = Intake(100)
    intake.take(60)
    intake.take(60)  # there was room, and a record is never cut
    waiting = [asyncio.create_task(take(intake, 10)) for _ in range(3)]
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting)
    waiting[0].cancel()
    intake.give(60)
    async with asyncio.timeout(10):
        await waiting[1]
    intake.give(60)
    async with asyncio.timeout(10):
        await waiting[2]
