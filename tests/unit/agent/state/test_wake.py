"""The knock on the daemon's door: heard at once, never waited for, and harmless where there is no door."""

import asyncio
from pathlib import Path

from precast.agent.state.wake import NAME, knock, listening


async def test_knock_is_heard_and_many_are_one(tmp_path: Path) -> None:
    heard = asyncio.Event()
    with listening(tmp_path, heard.set) as is_open:
        assert is_open
        for _ in range(3):
            knock(tmp_path)
        async with asyncio.timeout(10):
            await heard.wait()
        heard.clear()
        knock(tmp_path)
        async with asyncio.timeout(10):
            await heard.wait()


async def test_knock_without_a_listener_is_nothing(tmp_path: Path) -> None:
    knock(tmp_path)
    with listening(tmp_path, lambda: None):
        pass
    knock(tmp_path)  # the pipe is there, nobody reads


async def test_full_pipe_and_a_file_in_its_place_do_no_harm(tmp_path: Path) -> None:
    with listening(tmp_path, lambda: None):
        for _ in range(66_000):
            knock(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / NAME).mkdir()
    with listening(tmp_path / "other", lambda: None) as is_open:
        assert not is_open
    knock(tmp_path / "other")
