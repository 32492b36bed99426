"""The wake-up pipe: signals arrive at once, never block the sender, and are harmless without a listener."""

import asyncio
from pathlib import Path

from precast.agent.state.wakeup import NAME, listening, wake_daemon


async def test_signal_arrives_and_many_lead_to_one_call(tmp_path: Path) -> None:
    heard = asyncio.Event()
    with listening(tmp_path, heard.set) as is_open:
        assert is_open
        for _ in range(3):
            wake_daemon(tmp_path)
        async with asyncio.timeout(10):
            await heard.wait()
        heard.clear()
        wake_daemon(tmp_path)
        async with asyncio.timeout(10):
            await heard.wait()


async def test_signal_without_a_listener_does_nothing(tmp_path: Path) -> None:
    wake_daemon(tmp_path)
    with listening(tmp_path, lambda: None):
        pass
    wake_daemon(tmp_path)  # the pipe exists, and no process reads it


async def test_full_pipe_and_a_file_in_its_place_do_no_harm(tmp_path: Path) -> None:
    with listening(tmp_path, lambda: None):
        for _ in range(66_000):
            wake_daemon(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / NAME).mkdir()
    with listening(tmp_path / "other", lambda: None) as is_open:
        assert not is_open
    wake_daemon(tmp_path / "other")
