"""The asynchronous runner, with well-behaved programs and with hostile ones."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lab.processes import is_alive
from precast.base import async_programs
from precast.base.async_programs import ProgramOutcome

LIMIT = 1000


async def shell(text: str, *, deadline_s: float = 20, stdin: AsyncIterator[bytes] | None = None) -> ProgramOutcome:
    return await async_programs.run(
        ["/bin/sh", "-c", text], deadline_s=deadline_s, max_out_bytes=LIMIT, environment={"GIVEN": "this"}, stdin=stdin
    )


async def wait_until_dead(note: Path) -> None:
    end_s = time.monotonic() + 30
    while any(map(is_alive, map(int, note.read_text().split()))):
        assert time.monotonic() < end_s  # a killed process needs some time to end
        await asyncio.sleep(0)


async def test_program_that_succeeds_gives_its_output() -> None:
    assert await shell("echo $GIVEN $SECRET; cat") == ProgramOutcome(b"this\n", "")


async def test_program_that_fails_gives_the_end_of_its_errors_or_its_code() -> None:
    assert await shell("echo out; echo why >&2; exit 3") == ProgramOutcome(b"out\n", "why")
    assert await shell("exit 3") == ProgramOutcome(b"", "the process ended with exit code 3")


async def test_program_gets_the_given_input() -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield b"one\n"
        yield b"two\n"

    assert await shell("cat", stdin=parts()) == ProgramOutcome(b"one\ntwo\n", "")


async def test_program_that_is_missing_is_a_failure() -> None:
    outcome = await async_programs.run(["/nowhere/at/all"], deadline_s=1, max_out_bytes=LIMIT, environment={})
    assert outcome == ProgramOutcome(b"", "the process could not be started: No such file or directory")


async def test_program_that_prints_too_much_is_killed() -> None:
    outcome = await async_programs.run(["/usr/bin/yes"], deadline_s=20, max_out_bytes=LIMIT, environment={})
    assert outcome == ProgramOutcome(b"", f"the process printed more than {LIMIT} bytes")


@pytest.mark.parametrize("text", ["wait", "exec >&- 2>&-; exec sleep 600"])
async def test_program_past_its_deadline_is_killed_with_its_children(tmp_path: Path, text: str) -> None:
    note = tmp_path / "pids"
    outcome = await shell(f"sleep 600 & echo $! $$ > {note}; {text}", deadline_s=1.5)
    assert outcome == ProgramOutcome(b"", "the process did not end within 1.5 s")
    await wait_until_dead(note)


async def test_cancelling_kills_the_program_with_its_children(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    task = asyncio.create_task(
        shell(f"sleep 600 & echo $! $$ > {note}.new; mv {note}.new {note}; wait", deadline_s=600)
    )
    while not note.exists():
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await wait_until_dead(note)


async def test_process_outside_the_group_that_keeps_the_output_open_does_not_delay_the_kill(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    started_s = time.monotonic()
    outcome = await shell(f"setsid sleep 600 & echo $! > {note}; wait", deadline_s=1.5)
    os.kill(int(note.read_text()), signal.SIGKILL)
    assert outcome == ProgramOutcome(b"", "the process did not end within 1.5 s")
    assert time.monotonic() - started_s < 30
