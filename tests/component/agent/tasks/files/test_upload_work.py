"""Files that tasks write: whole or not at all, only if they differ, and never where another user leads root."""

import os
import signal
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from precast.agent.tasks.files.upload_work import upload_file
from precast.resources.files import atomic_writes
from precast.wire.jobs.programs import UploadWork
from tests.component.agent.tasks.files.running_task import AS_ROOT, STRANGER, RunningTask, is_fine, refused

CHANGED, UNCHANGED = '{"changed":true}', '{"changed":false}'


def upload(task: RunningTask, path: str, data: str | None = "text", **more: Any) -> str:
    inputs = more.pop("inputs", {})
    return is_fine(upload_file(task.context, UploadWork(path, data, **more), inputs))


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_new_file_is_written_with_its_mode_and_directories(task: RunningTask) -> None:
    path = "/etc/fuel/cluster/1/cluster.yaml"
    assert upload(task, path, "uid: 1\n", mode="0640", directory_mode="0750") == CHANGED
    file = task.root / path.lstrip("/")
    assert (file.read_text(), mode_of(file), mode_of(file.parent), mode_of(file.parent.parent)) == (
        "uid: 1\n",
        0o640,
        0o750,
        0o755,
    )
    assert task.lines == [f"{path}: created, 7 bytes, mode 0640"]
    assert names_in(file.parent) == ["cluster.yaml"]


def test_file_that_is_equal_is_not_touched(task: RunningTask) -> None:
    upload(task, "/etc/motd", mode="0600")
    before = (task.root / "etc/motd").stat()
    assert upload(task, "/etc/motd", mode="0600") == UNCHANGED
    after = (task.root / "etc/motd").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert task.lines[1:] == ["/etc/motd: unchanged"]


@pytest.mark.parametrize(("data", "mode"), [("other", "0600"), ("longer text", "0600"), ("text", "0644")])
def test_other_text_or_mode_is_corrected_and_the_text_is_never_printed(task: RunningTask, data: str, mode: str) -> None:
    upload(task, "/etc/motd", mode="0600")
    assert upload(task, "/etc/motd", data, mode=mode) == CHANGED
    file = task.root / "etc/motd"
    assert (file.read_text(), mode_of(file)) == (data, int(mode, 8))
    assert task.lines[1:] == [f"/etc/motd: written, {len(data)} bytes, mode {mode}"]


def test_mode_of_an_existing_file_stays_without_another(task: RunningTask) -> None:
    task.place("/etc/motd", "old", 0o640)
    upload(task, "/etc/motd")
    assert mode_of(task.root / "etc/motd") == 0o640
    upload(task, "/etc/motd", mode="u=rw,go=")
    assert mode_of(task.root / "etc/motd") == 0o600
    upload(task, "/etc/new")
    assert mode_of(task.root / "etc/new") == 0o644


def test_text_comes_from_the_input_if_the_plan_has_none(task: RunningTask) -> None:
    upload(task, "/etc/motd", None, inputs={"data": "grüße"})
    assert (task.root / "etc/motd").read_bytes() == "grüße".encode()


@pytest.mark.parametrize("inputs", [{}, {"data": 7}, {"data": {"a": 1}}, {"data": "\ud800"}])
def test_input_that_is_not_a_text_is_refused(task: RunningTask, inputs: dict[str, Any]) -> None:
    assert refused(lambda: upload(task, "/etc/motd", None, inputs=inputs)) == "AGENT-060"
    assert not (task.root / "etc/motd").exists()


@pytest.mark.parametrize(
    ("path", "mode", "code"),
    [
        ("", "", "AGENT-057"),
        ("etc/motd", "", "AGENT-057"),
        ("/etc/", "", "AGENT-057"),
        ("/etc/a\nb", "", "AGENT-057"),
        ("/etc/motd", "rw", "RESOURCE-100"),
        ("/srv", "", "AGENT-058"),
        ("/srv/pipe", "", "AGENT-052"),
        ("/srv/file/below", "", "RESOURCE-111"),
    ],
)
def test_path_or_mode_that_cannot_be_is_refused(task: RunningTask, path: str, mode: str, code: str) -> None:
    task.place("/srv/file", "x")
    os.mkfifo(task.root / "srv/pipe")
    assert refused(lambda: upload(task, path, mode=mode)) == code
    assert names_in(task.root / "srv") == ["file", "pipe"]


def test_path_cannot_leave_the_root(task: RunningTask) -> None:
    (task.root / "etc").mkdir()
    (task.root / "etc/out").symlink_to("/etc/outside")
    upload(task, "/../../etc/motd")
    assert (task.root / "etc/motd").exists()
    upload(task, "/etc/out")
    assert (task.root / "etc/outside").read_text() == "text"


def test_link_of_root_stays_and_its_target_is_written(task: RunningTask) -> None:
    task.place("/run/real", "old", 0o600)
    (task.root / "etc").mkdir()
    (task.root / "etc/resolv.conf").symlink_to("../run/real")
    upload(task, "/etc/resolv.conf", "new")
    assert (task.root / "etc/resolv.conf").is_symlink()
    assert ((task.root / "run/real").read_text(), mode_of(task.root / "run/real")) == ("new", 0o600)


@AS_ROOT
def test_link_of_another_user_is_not_followed_to_what_they_could_not_write(task: RunningTask) -> None:
    shadow = task.place("/etc/shadow", "secret", 0o600)
    home = task.home("/home/bob")
    (home / "link").symlink_to("/etc/shadow")
    (home / "ahead").symlink_to("/etc/new")
    (home / "etc").symlink_to("/etc")
    for link in ("link", "ahead", "etc"):
        os.chown(home / link, STRANGER, STRANGER, follow_symlinks=False)
    assert refused(lambda: upload(task, "/home/bob/link")) == "RESOURCE-109"
    assert refused(lambda: upload(task, "/home/bob/etc/shadow")) == "RESOURCE-109"
    assert refused(lambda: upload(task, "/home/bob/ahead")) == "AGENT-059"
    assert (shadow.read_text(), names_in(task.root / "etc")) == ("secret", ["shadow"])


@AS_ROOT
@pytest.mark.parametrize("directory_mode", [0o755, 0o1777])
def test_file_that_waits_in_a_directory_of_others_does_not_get_the_text(task: RunningTask, directory_mode: int) -> None:
    owner = STRANGER if directory_mode == 0o755 else 0
    task.home("/spool", directory_mode, owner)
    waiting = task.place("/spool/key", "text", 0o666, STRANGER)
    with waiting.open() as opened:
        assert upload(task, "/spool/key", "the new key") == CHANGED
        assert opened.read() == "text"
    status = (task.root / "spool/key").stat()
    assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (0, 0o644)
    assert upload(task, "/spool/key", "the new key") == UNCHANGED


@AS_ROOT
def test_hard_link_of_another_user_is_replaced_and_not_read(task: RunningTask) -> None:
    shadow = task.place("/etc/shadow", "text", 0o600)
    home = task.home("/home/bob")
    os.link(shadow, home / "linked")
    assert upload(task, "/home/bob/linked", "text", mode="0600") == CHANGED
    assert not os.path.samestat(shadow.stat(), (home / "linked").stat())
    assert shadow.stat().st_nlink == 1


@AS_ROOT
def test_owner_of_a_file_in_a_directory_of_root_stays(task: RunningTask) -> None:
    file = task.place("/etc/nova.conf", "old", 0o640, STRANGER)
    upload(task, "/etc/nova.conf", "new")
    assert (file.stat().st_uid, file.stat().st_gid, mode_of(file)) == (STRANGER, STRANGER, 0o640)


@AS_ROOT
def test_full_disk_leaves_the_file_as_it_was(task: RunningTask) -> None:
    disk = task.root / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("tmpfs cannot be mounted here")
    try:
        task.place("/disk/file", "old")
        assert refused(lambda: upload(task, "/disk/file", "x" * 200_000)) == "AGENT-056"
        assert ((disk / "file").read_text(), names_in(disk)) == ("old", ["file"])
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("moment", ["before the rename", "after the rename"])
def test_process_that_is_killed_leaves_the_old_file_or_the_new_one(
    task: RunningTask, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = task.place("/etc/motd", "old")
    real = os.rename

    def rename(*arguments: Any, **more: Any) -> None:
        if moment == "after the rename":
            real(*arguments, **more)
        os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        monkeypatch.setattr(os, "rename", rename)
        upload(task, "/etc/motd", "new")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert file.read_text() == ("old" if moment == "before the rename" else "new")
    # The next attempt completes it and removes what is left.
    upload(task, "/etc/motd", "new")
    assert (file.read_text(), names_in(file.parent)) == ("new", ["motd"])


def test_names_of_a_new_file_are_flushed(task: RunningTask, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda handle: flushed.append(Path(f"/proc/self/fd/{handle}").readlink()))
    upload(task, "/etc/motd")
    assert flushed == [task.root / "etc" / atomic_writes.temporary_name("motd"), task.root / "etc"]
