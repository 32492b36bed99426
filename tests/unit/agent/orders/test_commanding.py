"""One command to its end: its output in order and within bounds, its end however it comes."""

import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.processes import is_alive
from precast.agent.orders.command_output import Output
from precast.agent.orders.command_process import Ran, run_command
from precast.wire.jobs.orders import MAX_LINE_CHARS, Line


def run(script: str, *, timeout_s: float = 30.0, output_bytes: int = 10_000) -> tuple[Ran, list[Line]]:
    said: list[Line] = []

    def tell(first: int, lines: list[Line]) -> None:
        assert first == len(said)
        said.extend(lines)

    argv = [sys.executable, "-c", script]
    ran = run_command(argv, timeout_s, output_bytes, tell, directory=Path("/"), environment={"GIVEN": "this"})
    return ran, said


def is_soon_gone(pid: int) -> bool:
    """One that was killed needs a moment of the processor to go."""
    end_s = time.monotonic() + 20
    while is_alive(pid):
        if time.monotonic() > end_s:
            return False
        time.sleep(0.01)
    return True


def test_both_streams_and_the_code_are_told() -> None:
    ran, said = run(
        "import os, sys; print('one'); print(os.environ['GIVEN'], file=sys.stderr); print(os.getcwd(), end='');"
        "sys.exit(3)"
    )
    assert ran == Ran(3, None, False, 3, 0)
    assert [line.text for line in said if line.stream == "out"] == ["one", "/"]
    assert [line.text for line in said if line.stream == "err"] == ["this"]


def test_nothing_is_read_from_anywhere() -> None:
    ran, said = run("import sys; print(repr(sys.stdin.read()))")
    assert (ran.code, [line.text for line in said]) == (0, ["''"])


def test_what_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    ran, _ = run(
        "import subprocess, sys; other = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        f"open({str(pid)!r}, 'w').write(str(other.pid)); other.wait()",
        timeout_s=3.0,
    )
    assert (ran.code, ran.signal, ran.is_overdue) == (None, 15, True)
    assert is_soon_gone(int(pid.read_text()))


def test_what_is_left_behind_with_the_output_is_not_waited_for() -> None:
    ran, said = run(
        "import subprocess, sys; print('gone', flush=True);"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)"
    )
    assert (ran.code, ran.is_overdue, [line.text for line in said]) == (0, False, ["gone"])


def test_too_much_is_cut_and_counted() -> None:
    ran, said = run("print('x' * 99 + '\\n' + 'y' * 99 + '\\n' + 'z' * 99)", output_bytes=150)
    assert [line.text[0] for line in said] == ["x"]
    assert (ran.code, ran.lines, ran.cut_bytes) == (0, 1, 200)


def test_what_cannot_be_started_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        run_command(["/no/such"], 1.0, 10, lambda first, lines: None, directory=Path("/"), environment={})


@given(st.lists(st.tuples(st.sampled_from(["out", "err"]), st.binary(max_size=60)), max_size=20), st.integers(0, 300))
def test_lines_are_those_of_each_stream_and_nothing_beyond_the_bound(
    parts: list[tuple[str, bytes]], limit: int
) -> None:
    whole, bounded = Output(10**9), Output(limit)
    for stream, data in parts:
        whole.add(stream, data)  # type: ignore[arg-type] # one of two words
        bounded.add(stream, data)  # type: ignore[arg-type]
    whole.finish()
    bounded.finish()
    _, every = whole.take()
    first, kept = bounded.take()
    for stream in ("out", "err"):
        data = b"".join(data for one, data in parts if one == stream)
        expected = data.split(b"\n")
        if expected[-1] == b"":
            expected.pop()
        assert [line.text for line in every if line.stream == stream] == [
            text.decode(errors="replace") for text in expected
        ]
    assert (first, kept) == (0, every[: len(kept)])
    said = sum(len(data) for _, data in parts)
    assert bounded.cut_bytes == 0 or bounded.cut_bytes <= said + 2
    assert (bounded.cut_bytes > 0) == (len(kept) < len(every))


def test_line_without_end_is_cut_into_parts() -> None:
    output = Output(10**6)
    output.add("out", b"x" * (2 * MAX_LINE_CHARS + 5))
    output.finish()
    _, lines = output.take()
    assert [len(line.text) for line in lines] == [MAX_LINE_CHARS, MAX_LINE_CHARS, 5]
