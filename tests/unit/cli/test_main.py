"""The outermost boundary: every error of a command becomes one line and the right exit code."""

import argparse
import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from precast import __version__
from precast.base.errors import (
    CONSEQUENCES,
    ConflictError,
    DeniedError,
    InputError,
    InternalError,
    NotFoundError,
    PrecastError,
    UnavailableError,
)
from precast.base.spans import Source, Span
from precast.cli import main as cli
from precast.cli.main import main

EXIT_CODES: list[tuple[type[PrecastError], int]] = [
    (InputError, 64),
    (NotFoundError, 66),
    (ConflictError, 73),
    (DeniedError, 77),
    (UnavailableError, 75),
    (InternalError, 70),
]
NOT_WRITTEN = """\
precast: error: cannot write the output: No space left on device [CLI-003]
  hint: check where standard output is redirected to
"""

Run = Callable[[argparse.Namespace], int]
Command = Callable[[Run], None]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Command:
    """Defines what `precast try it` does."""
    monkeypatch.delenv("PRECAST_DEBUG", raising=False)

    def install(run: Run) -> None:
        def configure(parser: argparse.ArgumentParser) -> None:
            commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)
            it = commands.add_parser("it")
            it.add_argument("--json", action="store_true")
            it.set_defaults(run=run)

        module = types.ModuleType("precast_try")
        module.configure = configure  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "precast_try", module)
        monkeypatch.setattr(
            cli, "GROUPS", {"try": ("precast_try", "try things"), "other": ("precast_no_such_module", "never loaded")}
        )

    return install


def raising(error: BaseException) -> Run:
    def run(args: argparse.Namespace) -> int:
        raise error

    return run


def test_main_of_a_command_returns_its_exit_code(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    def run(args: argparse.Namespace) -> int:
        print("found", args.json)
        return 3

    command(run)
    assert main(["try", "it", "--json"]) == 3
    assert capsys.readouterr() == ("found True\n", "")


@pytest.mark.parametrize(("kind", "code"), EXIT_CODES)
def test_main_of_an_error_of_each_kind_returns_its_exit_code(
    kind: type[PrecastError], code: int, command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    command(raising(kind("TEST-001", "it is odd\n", "say it")))
    assert main(["try", "it"]) == CONSEQUENCES[kind.kind].exit_code == code
    assert capsys.readouterr() == ("", "precast: error: it is odd\\u{a} [TEST-001]\n  hint: say it\n")


def test_main_of_an_error_in_a_file_begins_its_line_with_the_place(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    command(raising(InputError("TEST-001", "it is odd", "", Source("a.pp", "x = y"), Span(4, 5))))
    assert main(["try", "it"]) == 64
    assert capsys.readouterr().err.startswith("a.pp:1:5: error: it is odd [TEST-001]\n    1 | x = y\n")


def test_main_of_an_interrupted_command_returns_130(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    command(raising(KeyboardInterrupt()))
    assert main(["try", "it"]) == 130
    assert capsys.readouterr() == ("", "")


def test_main_of_errors_of_several_tasks_reports_our_own(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    lost = UnavailableError("TEST-001", "the database is away", "wait")

    def fail(args: argparse.Namespace) -> int:
        raise ExceptionGroup("tasks", [ValueError("x"), ExceptionGroup("inner", [lost])])

    command(fail)
    assert main(["try", "it"]) == 75
    assert capsys.readouterr().err == "precast: error: the database is away [TEST-001]\n  hint: wait\n"


def test_main_of_errors_of_several_tasks_that_are_not_ours_is_internal(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(args: argparse.Namespace) -> int:
        raise ExceptionGroup("tasks", [ZeroDivisionError("no")])

    command(fail)
    assert main(["try", "it"]) == 70
    assert "internal error: ZeroDivisionError: no [CLI-002]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ZeroDivisionError("one\ntwo"), "ZeroDivisionError: one\\u{a}two"),
        (AssertionError(), "AssertionError: "),
        (BrokenPipeError(32, "Broken pipe"), "BrokenPipeError: [Errno 32] Broken pipe"),
        (FileNotFoundError(2, "No such file", "/x"), "FileNotFoundError: [Errno 2] No such file: '/x'"),
        (ConnectionResetError(104, "Connection reset"), "ConnectionResetError: [Errno 104] Connection reset"),
        (RecursionError("deep"), "RecursionError: deep"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_main_of_an_unexpected_error_is_one_line_and_internal(
    error: Exception, line: str, command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    command(raising(error))
    assert main(["try", "it"]) == 70
    out, err = capsys.readouterr()
    first, hint, end = err.split("\n")
    assert (out, first, end) == ("", f"precast: error: internal error: {line} [CLI-002]", "")
    assert "PRECAST_DEBUG=1" in hint


def test_main_with_debugging_prints_the_traceback_too(
    command: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command(raising(ZeroDivisionError("no")))
    monkeypatch.setenv("PRECAST_DEBUG", "1")
    assert main(["try", "it"]) == 70
    err = capsys.readouterr().err
    assert err.startswith("Traceback (most recent call last):\n")
    assert "precast: error: internal error: ZeroDivisionError: no [CLI-002]\n" in err


@pytest.mark.parametrize("value", ["", "0"])
def test_main_with_debugging_turned_off_prints_no_traceback(
    value: str, command: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command(raising(ZeroDivisionError("no")))
    monkeypatch.setenv("PRECAST_DEBUG", value)
    assert main(["try", "it"]) == 70
    assert "Traceback" not in capsys.readouterr().err


def test_main_of_a_misspelt_group_guesses_the_right_one(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    command(lambda args: 0)
    assert main(["trry", "it"]) == 64
    assert capsys.readouterr().err == (
        "precast: error: unknown command 'trry'; did you mean 'try'? [CLI-001]\n  hint: see `precast --help`\n"
    )


def test_main_of_a_misspelt_command_guesses_the_right_one(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    command(lambda args: 0)
    assert main(["try", "its"]) == 64
    assert capsys.readouterr().err == (
        "precast: error: unknown command 'its'; did you mean 'it'? [CLI-001]\n  hint: see `precast try --help`\n"
    )


@pytest.mark.parametrize("argv", [[], ["--no-such"], ["try"], ["try", "it", "more"]])
def test_main_of_a_wrong_command_line_returns_64(
    argv: list[str], command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    command(lambda args: 0)
    assert main(argv) == 64
    assert "[CLI-001]\n  hint: see `precast" in capsys.readouterr().err


def test_main_with_an_unknown_option_before_the_group_names_the_option(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    command(lambda args: 0)
    assert main(["--verison", "try", "it"]) == 64
    assert "unknown option '--verison'; did you mean '--version'? [CLI-001]" in capsys.readouterr().err


def test_main_asked_for_its_version_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr() == (f"precast {__version__}\n", "")


@pytest.mark.parametrize(
    ("argv", "word"), [(["--help"], "never loaded"), (["try", "--help"], "it"), (["try", "it", "-h"], "--json")]
)
def test_main_asked_for_help_prints_it_and_loads_no_other_group(
    argv: list[str], word: str, command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    command(lambda args: 1)
    assert main(argv) == 0
    out, err = capsys.readouterr()
    assert word in out
    assert err == ""


@pytest.mark.parametrize(("name", "group"), cli.GROUPS.items())
def test_group_of_the_product_configures_and_shows_its_help(
    name: str, group: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "--help"]) == 0
    assert f"usage: precast {name}" in capsys.readouterr().out


# A whole process, because only there the interpreter flushes standard output at exit, with an exit code of its own.
PROGRAM = """
import sys, types
from precast.__main__ import main
from precast.base.errors import Issue, Kind
from precast.cli import main as cli

def run(args):
    {body}

group = types.ModuleType("precast_try")
group.configure = lambda parser: parser.set_defaults(run=run)
sys.modules["precast_try"] = group
cli.GROUPS = {{"try": ("precast_try", "try things")}}
sys.argv = ["precast", *{argv!r}]
main()
"""


# Buffered, as by default, because only then a write fails after the command has returned.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("PYTHONUNBUFFERED", "PRECAST_DEBUG")}


def program(body: str, argv: tuple[str, ...] = ("try",)) -> list[str]:
    return [sys.executable, "-c", PROGRAM.format(body=body, argv=argv)]


@pytest.fixture
def broken_pipe() -> int:
    """The writing end of a pipe without a reader."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def run_with_stdout(command: list[str], stdout: int) -> tuple[int, str]:
    try:
        done = subprocess.run(
            command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, timeout=30, env=ENVIRONMENT
        )
    finally:
        os.close(stdout)
    return done.returncode, done.stderr


@pytest.mark.parametrize("body", ["print('x'); return 0", "print('x' * 1_000_000); return 0"], ids=["short", "long"])
def test_process_whose_reader_has_gone_ends_quietly_with_0(body: str, broken_pipe: int) -> None:
    assert run_with_stdout(program(body), broken_pipe) == (0, "")


def test_process_whose_reader_has_gone_keeps_the_exit_code_of_the_command(broken_pipe: int) -> None:
    assert run_with_stdout(program("print('x'); return 3"), broken_pipe) == (3, "")


def test_process_whose_reader_has_gone_keeps_the_exit_code_of_an_error(broken_pipe: int) -> None:
    body = "print('x'); raise Issue('T-001', Kind.DENIED, 'no', 'ask').error()"
    assert run_with_stdout(program(body), broken_pipe) == (77, "precast: error: no [T-001]\n  hint: ask\n")


def test_process_whose_reader_has_gone_prints_help_quietly(broken_pipe: int) -> None:
    assert run_with_stdout(program("return 0", ("--help",)), broken_pipe) == (0, "")


@pytest.mark.parametrize(
    ("body", "argv"),
    [
        ("print('x'); return 0", ("try",)),
        ("print('x' * 1_000_000); return 0", ("try",)),
        ("print('x'); return 3", ("try",)),
        ("return 0", ("--version",)),
    ],
    ids=["short", "long", "with findings", "version"],
)
def test_process_whose_output_does_not_fit_says_so(body: str, argv: tuple[str, ...]) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    assert run_with_stdout(program(body, argv), full) == (75, NOT_WRITTEN)


def test_process_whose_standard_error_is_gone_keeps_its_exit_code(broken_pipe: int) -> None:
    body = "raise Issue('T-001', Kind.DENIED, 'no', 'ask').error()"
    try:
        done = subprocess.run(
            program(body), stdout=subprocess.PIPE, stderr=broken_pipe, check=False, timeout=30, env=ENVIRONMENT
        )
    finally:
        os.close(broken_pipe)
    assert (done.returncode, done.stdout) == (77, b"")


def test_process_with_its_output_closed_runs_its_command(tmp_path: Path) -> None:
    there = tmp_path / "there"
    body = f"print('x'); open({str(there)!r}, 'x').close(); return 4"
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *program(body)],
        stderr=subprocess.PIPE,
        check=False,
        timeout=30,
        env=ENVIRONMENT,
    )
    assert (done.returncode, done.stderr) == (4, b"")
    assert there.exists()


def test_process_interrupted_by_a_signal_returns_130_quietly() -> None:
    body = "import os, signal; os.kill(os.getpid(), signal.SIGINT); return 0"
    done = subprocess.run(program(body), capture_output=True, check=False, timeout=30, env=ENVIRONMENT)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")
