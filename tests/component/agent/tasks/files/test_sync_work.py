"""Directories that tasks make equal to a source, by the real rsync."""

import json
import os
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from precast.agent.tasks.context import StepOutcome
from precast.agent.tasks.files import sync_work
from precast.agent.tasks.files.sync_work import sync_directory
from precast.wire.jobs.programs import SyncWork
from tests.component.agent.tasks.files.running_task import AS_ROOT, STRANGER, RunningTask, is_fine, refused

NEEDS_RSYNC = pytest.mark.needs("rsync")
TARGET = "/etc/puppet/modules"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A directory with modules."""
    made = tmp_path / "modules"
    (made / "nova/manifests").mkdir(parents=True)
    (made / "nova/manifests/init.pp").write_text("class nova {}\n")
    (made / "run.sh").write_text("#!/bin/sh\n")
    (made / "run.sh").chmod(0o755)
    (made / "link").symlink_to("run.sh")
    return made


@pytest.fixture
def daemon(source: Path) -> Iterator[str]:
    """The address of a real rsync daemon that offers the modules."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    settings = source.parent / "rsyncd.conf"
    settings.write_text(f"use chroot = no\n[puppet]\npath = {source.parent}\nuid = 0\ngid = 0\n")
    argv = ["rsync", "--daemon", "--no-detach", "--address=127.0.0.1", f"--port={port}", f"--config={settings}"]
    with subprocess.Popen(argv) as process:
        while True:  # the deadline of the test ends this
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                continue
        yield f"rsync://127.0.0.1:{port}/puppet/modules"
        process.terminate()


def sync(task: RunningTask, source: str, target: str = TARGET) -> StepOutcome:
    return sync_directory(task.context, SyncWork(source, target))


def counts(outcome: StepOutcome) -> tuple[int, int]:
    found = json.loads(is_fine(outcome))
    return found["changed"], found["deleted"]


def tree(directory: Path) -> dict[str, tuple[int, str]]:
    """Everything below a directory, with its mode and content."""
    return {
        str(path.relative_to(directory)): (
            stat.S_IMODE(path.lstat().st_mode),
            str(path.readlink()) if path.is_symlink() else path.read_text() if path.is_file() else "",
        )
        for path in directory.rglob("*")
    }


@NEEDS_RSYNC
@pytest.mark.parametrize("ending", ["", "/"])
def test_directory_becomes_equal_to_a_source_on_this_machine(task: RunningTask, source: Path, ending: str) -> None:
    task.place(f"{TARGET}/old/file", "to be deleted")
    changed, deleted = counts(sync(task, f"{source}{ending}"))
    assert tree(task.root / TARGET[1:]) == tree(source)
    assert (changed > 0, deleted) == (True, 2)
    assert task.lines == [f"{TARGET}: {changed} entries written, 2 deleted"]


@NEEDS_RSYNC
def test_directory_becomes_equal_to_a_source_of_a_daemon(task: RunningTask, daemon: str, source: Path) -> None:
    assert counts(sync(task, daemon))[0] > 0
    assert tree(task.root / TARGET[1:]) == tree(source)


@NEEDS_RSYNC
def test_directory_that_is_equal_is_not_changed(task: RunningTask, source: Path) -> None:
    sync(task, str(source))
    assert counts(sync(task, str(source))) == (0, 0)
    assert task.lines[1:] == [f"{TARGET}: unchanged"]
    # Size and time of a file say nothing of its content.
    file = task.root / TARGET[1:] / "run.sh"
    status = file.stat()
    file.write_text("#!/bin/no\n")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert counts(sync(task, str(source)))[0] == 1
    assert file.read_text() == "#!/bin/sh\n"


@NEEDS_RSYNC
@AS_ROOT
def test_files_belong_to_root_whoever_owns_the_source(task: RunningTask, source: Path) -> None:
    os.chown(source / "run.sh", STRANGER, STRANGER)
    sync(task, str(source))
    assert (task.root / TARGET[1:] / "run.sh").stat().st_uid == 0


@NEEDS_RSYNC
def test_failure_of_rsync_is_one_line(task: RunningTask) -> None:
    outcome = sync(task, "rsync://127.0.0.1:1/puppet/modules")
    assert (outcome.is_success, outcome.code) == (False, 10)
    assert outcome.message == f"{TARGET}: rsync has ended with 10"
    assert outcome.telling_line.startswith("rsync: ")
    assert "Connection refused" in outcome.telling_line
    assert "\n" not in outcome.message
    outcome = sync(task, "/no/such/source")
    assert (outcome.code, "No such file" in outcome.telling_line) == (23, True)


def test_missing_rsync_is_one_line(task: RunningTask, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync_work, "SEARCH_PATH", "/nowhere")
    assert refused(lambda: sync(task, str(source))) == "AGENT-065"


def test_rsync_is_not_looked_for_on_the_path_of_the_caller(
    task: RunningTask, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rsync").write_text("#!/bin/sh\n")
    (tmp_path / "rsync").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sync_work, "SEARCH_PATH", "/nowhere")
    assert refused(lambda: sync(task, str(source))) == "AGENT-065"


def test_rsync_that_does_not_end_is_killed_before_the_deadline(
    task: RunningTask, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rsync").write_text("#!/bin/sh\nsleep 1000 & echo $! > ended; sleep 1000\n")
    (tmp_path / "rsync").chmod(0o755)
    monkeypatch.setattr(sync_work, "SEARCH_PATH", str(tmp_path))
    task.left_s = sync_work.RESERVE_S + 0.2
    outcome = sync(task, str(source))
    assert (outcome.is_success, "was killed" in outcome.message) == (False, True)


@NEEDS_RSYNC
@pytest.mark.parametrize(
    ("given", "target"),
    [
        ("--rsh=/bin/evil", TARGET),
        ("", TARGET),
        ("relative", TARGET),
        ("rsync://x/a\nb", TARGET),
        ("/srv", ""),
        ("/srv", "/"),
        ("/srv", "//../"),
        ("/srv", "etc"),
        ("/srv", "/etc/file"),
    ],
)
def test_source_or_directory_that_cannot_be_is_refused(task: RunningTask, given: str, target: str) -> None:
    file = task.place("/etc/file", "kept")
    assert refused(lambda: sync(task, given, target)) == "AGENT-066"
    assert file.read_text() == "kept"


@NEEDS_RSYNC
@AS_ROOT
@pytest.mark.parametrize(("mode", "owner"), [(0o755, STRANGER), (0o777, 0)])
def test_directory_that_other_users_can_change_is_refused(
    task: RunningTask, source: Path, mode: int, owner: int
) -> None:
    task.home("/srv/shared", mode, owner)
    for target in ("/srv/shared", "/srv/shared/below"):
        assert refused(lambda target=target: sync(task, str(source), target)) == "AGENT-067"
    assert list((task.root / "srv/shared").iterdir()) == []


@NEEDS_RSYNC
def test_link_of_root_leads_to_the_directory_below_the_root(task: RunningTask, source: Path) -> None:
    (task.root / "etc").mkdir()
    (task.root / "srv/modules").mkdir(parents=True)
    (task.root / "etc/modules").symlink_to("/srv/modules")
    sync(task, str(source), "/etc/modules")
    assert tree(task.root / "srv/modules") == tree(source)


@NEEDS_RSYNC
@AS_ROOT
def test_directory_behind_a_link_that_another_user_can_replace_is_refused(task: RunningTask, source: Path) -> None:
    task.home("/home/ann", 0o755, STRANGER)
    (task.root / "home/ann/modules").mkdir()
    (task.root / "srv").mkdir()
    (task.root / "srv/modules").symlink_to("/home/ann/modules")
    assert refused(lambda: sync(task, str(source), "/srv/modules")) == "AGENT-067"
    assert refused(lambda: sync(task, str(source), "/srv/modules/below")) == "AGENT-067"
    assert list((task.root / "home/ann/modules").iterdir()) == []
