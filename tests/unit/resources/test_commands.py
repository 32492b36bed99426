"""Programs as handlers run them: locale, input, identity, deadlines, and inside a root."""

import os
import signal
from pathlib import Path

import pytest

from precast.base.errors import UnavailableError
from precast.resources import commands
from precast.resources.contract import CommandResult

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def sh(text: str, **more: object) -> CommandResult:
    return commands.run(["/bin/sh", "-c", text], **more)  # type: ignore[arg-type]


def test_output_and_errors_come_as_one_text_in_their_order() -> None:
    assert sh("echo one; echo two >&2; echo three; exit 4") == (4, "one\ntwo\nthree\n", "")


def test_errors_are_kept_apart_when_asked_for() -> None:
    assert sh("echo one; echo two >&2", is_split=True) == (0, "one\n", "two\n")


def test_environment_is_clean_and_in_locale_c(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "hunter2")
    shown = commands.run(["env"], environment={"MORE": "x"}).output
    assert dict(line.split("=", 1) for line in shown.splitlines()) == {**commands.ENVIRONMENT, "MORE": "x"}


def test_input_larger_than_a_pipe_reaches_the_program_whole() -> None:
    assert commands.run(["wc", "-c"], stdin=b"x" * 1_000_000).output.strip() == "1000000"


def test_input_that_nobody_reads_is_no_error() -> None:
    assert commands.run(["true"], stdin=b"x" * 1_000_000).is_success


def test_words_are_never_a_shells() -> None:
    assert commands.run(["echo", "$HOME;", "*"]).output == "$HOME; *\n"


def test_missing_program_is_named() -> None:
    with pytest.raises(UnavailableError, match="cannot run no-such-program: there is no such program"):
        commands.run(["no-such-program"])


def test_missing_user_and_directory_are_named() -> None:
    with pytest.raises(UnavailableError, match="there is no user nobody-at-all"):
        commands.run(["true"], user="nobody-at-all")
    with pytest.raises(UnavailableError, match="No such file or directory"):
        commands.run(["true"], directory="/nowhere")


def test_program_past_its_deadline_dies_with_its_children(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "alive")
    # The child holds the pipe open: it is read to its end only when nobody is left who could write.
    alive = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(UnavailableError, match="was killed after 2"):
        sh(f"exec 9> {tmp_path}/alive; echo started >&9; sleep 600 & wait", deadline_s=2)
    os.set_blocking(alive, True)
    with open(alive) as told:  # noqa: PTH123 - a descriptor
        assert told.read() == "started\n"


def test_what_a_program_started_lives_on_and_holds_nobody_up() -> None:
    pid = int(sh("sleep 600 & echo $!", deadline_s=60).output)
    os.kill(pid, 0)
    os.kill(pid, signal.SIGKILL)


def test_of_endless_output_the_last_part_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "MAX_BYTES", 1000)
    done = sh("head -c 1000000 /dev/zero | tr '\\0' x; echo last")
    assert done.is_success
    assert done.output.endswith("xlast\n")
    assert len(done.output) == 1000


@AS_ROOT
def test_user_group_umask_and_directory_are_as_given(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    done = sh("id -un; id -gn; umask; pwd", user="nobody", group="daemon", umask=0o27, directory="/usr")
    assert done.output.split() == ["nobody", "daemon", "0027", "/usr"]


@AS_ROOT
def test_search_path_of_a_command_is_not_ours_inside_a_root() -> None:
    done = sh("pwd; echo $PATH", root="/.", is_chroot=True, environment={"PATH": "/nowhere"}, directory="/usr")
    assert done == (0, "/usr\n/nowhere\n", "")
