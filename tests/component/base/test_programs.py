"""The synchronous runner, with well-behaved programs and with hostile ones."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from lab.processes import is_alive
from precast.base.programs import ENVIRONMENT, StartOptions, run

LIMIT = 1000


def shell(text: str, deadline_s: float = 20) -> tuple[int, bytes, bytes]:
    return run(["/bin/sh", "-c", text], deadline_s, LIMIT)


def test_program_that_ends_gives_output_errors_and_code() -> None:
    assert shell("echo out; echo err >&2; exit 3") == (3, b"out\n", b"err\n")


def test_program_gets_a_clean_environment_and_no_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "hunter2")
    _, out, _ = run(["/usr/bin/env"], 20, LIMIT)
    assert dict(line.split("=", 1) for line in out.decode().splitlines()) == ENVIRONMENT
    assert shell("pwd; cat")[1] == b"/\n"


def test_program_past_its_deadline_is_killed_with_its_children(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    with pytest.raises(TimeoutError):
        shell(f"sleep 600 & echo $! $$ > {note}; wait", deadline_s=1.5)
    end_s = time.monotonic() + 30
    while any(map(is_alive, map(int, note.read_text().split()))):
        assert time.monotonic() < end_s  # a killed process needs some time to end


def test_program_that_closed_its_output_and_lives_on_is_killed() -> None:
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        shell("exec >&- 2>&-; exec sleep 600", deadline_s=0.3)
    assert time.monotonic() - started < 10


def test_program_that_prints_without_end_is_stopped_at_the_limit() -> None:
    _, out, _ = run(["/usr/bin/yes"], 20, LIMIT)
    assert LIMIT < len(out) <= LIMIT + (1 << 16)


def test_errors_without_end_are_kept_to_their_last_part() -> None:
    code, _, error = shell("head -c 1000000 /dev/zero >&2; echo last >&2")
    assert code == 0
    assert error.endswith(b"last\n")
    assert len(error) <= 10_000


def test_grandchild_that_keeps_the_output_open_does_not_hold_us_up() -> None:
    code, out, _ = shell("setsid sleep 600 & echo $!", deadline_s=60)
    os.kill(int(out), signal.SIGKILL)
    assert code == 0


def test_program_that_is_missing_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        run(["/nowhere/at/all"], 1, LIMIT)


def test_program_that_crashes_has_a_negative_code() -> None:
    assert shell("kill -SEGV $$")[0] == -signal.SIGSEGV


@pytest.mark.parametrize("joins_group", [False, True])
def test_program_leads_a_group_unless_it_ends_with_ours(joins_group: bool) -> None:
    argv = [sys.executable, "-c", "import os; print(os.getpgid(0), os.getpid())"]
    group, own = run(argv, 30, LIMIT, StartOptions(joins_group=joins_group)).out.split()
    assert (int(group) == os.getpgid(0)) is joins_group
    assert (group == own) is not joins_group
