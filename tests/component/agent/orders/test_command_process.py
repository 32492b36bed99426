"""Runs of one command: its output is in order and within bounds, and its end is reported."""

import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.processes import is_alive
from precast.agent.orders import command_process
from precast.agent.orders.command_output import CommandOutput
from precast.agent.orders.command_process import CommandResult, run_command
from precast.wire.jobs.orders import MAX_LINE_CHARS, OutputLine


def run(script: str, *, timeout_s: float = 30.0, output_bytes: int = 10_000) -> tuple[CommandResult, list[OutputLine]]:
    """Run a Python script as a command. Returns its result and all lines of its output."""
    received: list[OutputLine] = []

    def on_lines(first: int, lines: list[OutputLine]) -> None:
        assert first == len(received)
        received.extend(lines)

    argv = [sys.executable, "-c", script]
    ran = run_command(argv, timeout_s, output_bytes, on_lines, directory=Path("/"), environment={"GIVEN": "this"})
    return ran, received


def ends_soon(pid: int) -> bool:
    """Wait until a killed process has ended."""
    end_s = time.monotonic() + 20
    while is_alive(pid):
        if time.monotonic() > end_s:
            return False
        time.sleep(0.01)
    return True


def test_both_streams_and_the_exit_code_are_reported() -> None:
    ran, lines = run(
        "import os, sys; print('one'); print(os.environ['GIVEN'], file=sys.stderr); print(os.getcwd(), end='');"
        "sys.exit(3)"
    )
    assert ran == CommandResult(3, None, False, 3, 0)
    assert [line.text for line in lines if line.stream == "out"] == ["one", "/"]
    assert [line.text for line in lines if line.stream == "err"] == ["this"]


def test_command_has_no_input() -> None:
    ran, lines = run("import sys; print(repr(sys.stdin.read()))")
    assert (ran.code, [line.text for line in lines]) == (0, ["''"])


def test_command_that_takes_too_long_is_terminated_with_its_children(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    ran, _ = run(
        "import subprocess, sys; other = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        f"open({str(pid)!r}, 'w').write(str(other.pid)); other.wait()",
        timeout_s=3.0,
    )
    assert (ran.code, ran.signal, ran.is_overdue) == (None, 15, True)
    assert ends_soon(int(pid.read_text()))


def test_command_that_is_to_stop_is_terminated_and_killed_if_it_does_not_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_process, "GRACE_S", 0.1)
    ready = tmp_path / "ready"
    script = (
        "import pathlib, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        f"pathlib.Path({str(ready)!r}).touch(); time.sleep(600)"
    )
    argv = [sys.executable, "-c", script]
    ran = run_command(
        argv, 300.0, 10, lambda first, lines: None, directory=Path("/"), environment={}, must_stop=ready.exists
    )
    assert ran == CommandResult(None, 9, False, 0, 0, is_stopped=True)


def test_process_left_behind_with_the_output_is_not_waited_for() -> None:
    ran, lines = run(
        "import subprocess, sys; print('gone', flush=True);"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)"
    )
    assert (ran.code, ran.is_overdue, [line.text for line in lines]) == (0, False, ["gone"])


def test_output_beyond_the_bound_is_dropped_and_counted() -> None:
    ran, lines = run("print('x' * 99 + '\\n' + 'y' * 99 + '\\n' + 'z' * 99)", output_bytes=150)
    assert [line.text[0] for line in lines] == ["x"]
    assert (ran.code, ran.lines, ran.cut_bytes) == (0, 1, 200)


def test_command_that_cannot_be_started_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        run_command(["/no/such"], 1.0, 10, lambda first, lines: None, directory=Path("/"), environment={})


@given(st.lists(st.tuples(st.sampled_from(["out", "err"]), st.binary(max_size=60)), max_size=20), st.integers(0, 300))
def test_lines_are_those_of_each_stream_and_nothing_beyond_the_bound(
    parts: list[tuple[str, bytes]], limit: int
) -> None:
    whole, bounded = CommandOutput(10**9), CommandOutput(limit)
    for stream, data in parts:
        whole.add(stream, data)  # type: ignore[arg-type] # one of two words
        bounded.add(stream, data)  # type: ignore[arg-type]
    whole.finish()
    bounded.finish()
    _, every = whole.take()
    first, kept = bounded.take()
    for stream in ("out", "err"):
        data = b"".join(data for source, data in parts if source == stream)
        expected = data.split(b"\n")
        if expected[-1] == b"":
            expected.pop()
        assert [line.text for line in every if line.stream == stream] == [
            text.decode(errors="replace") for text in expected
        ]
    assert (first, kept) == (0, every[: len(kept)])
    lines = sum(len(data) for _, data in parts)
    assert bounded.cut_bytes == 0 or bounded.cut_bytes <= lines + 2
    assert (bounded.cut_bytes > 0) == (len(kept) < len(every))


def test_long_line_is_split_into_parts() -> None:
    output = CommandOutput(10**6)
    output.add("out", b"x" * (2 * MAX_LINE_CHARS + 5))
    output.finish()
    _, lines = output.take()
    assert [len(line.text) for line in lines] == [MAX_LINE_CHARS, MAX_LINE_CHARS, 5]
