"""A run is killed at each system call that writes a file: the old or the new file is there, never half of one, and the next run finishes.

strace kills the process before it makes a call for the nth time, for each call and for n from 1 until a run is not killed.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

OLD, NEW = "old " * 5000, "new " * 5000
CALLS = (
    "fsync",
    "fchmod",
    "fchown",
    "renameat",
    "renameat2",
    "unlinkat",
    "mkdirat",
    "symlinkat",
    "linkat",
    "ftruncate",
)
SCRIPT = f"""
import sys
from precast.agent.applying.machine import Machine
from precast.base.clock import SystemClock
from precast.resources.contract import DesiredResource
from precast.resources.file import File
from precast.resources.file_line import FileLine

place = sys.argv[1]
machine = Machine("", place + "/state", SystemClock())
for kind, name, given in (
    (File, "changed", {{"content": {NEW!r}, "mode": "0600", "backup": ".bak"}}),
    (File, "bucketed", {{"content": {NEW!r}, "backup": "puppet"}}),
    (File, "new", {{"content": {NEW!r}, "owner": 1, "mode": "0640"}}),
    (File, "directory", {{"ensure": "directory", "mode": "0750", "owner": 1}}),
    (File, "link", {{"ensure": "link", "target": "new"}}),
    (File, "tree", {{"content": {NEW!r}, "force": True}}),
    (File, "gone", {{"ensure": "absent", "force": True}}),
    (FileLine, "edited", {{"path": place + "/d/edited", "line": "added"}}),
):
    handler = kind(DesiredResource("file", f"{{place}}/d/{{name}}", given), machine)
    for change in handler.compare(handler.read()):
        handler.apply(change)
machine.finish()
"""

pytestmark = [
    pytest.mark.needs("strace"),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: owners"),
]


def make_files(place: Path) -> Path:
    directory = place / "d"
    directory.mkdir(parents=True)
    for name in ("changed", "bucketed", "directory", "link"):
        (directory / name).write_text(OLD)
    (directory / "edited").write_text("first\n")
    for name in ("tree", "gone"):
        (directory / name / "inner").mkdir(parents=True)
        (directory / name / "inner/file").write_text(OLD)
    return directory


def run(place: Path, *tracer: str) -> int:
    command = [*tracer, sys.executable, "-c", SCRIPT, str(place)]
    return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode


def read_state(path: Path) -> str:
    if path.is_symlink():
        return f"-> {path.readlink()}"
    if path.is_dir():
        return "/"
    return (
        {OLD: "old", NEW: "new", "first\n": "old", "first\nadded\n": "new"}.get(path.read_text(), "HALF")
        if path.exists()
        else ""
    )


# The states that are allowed at any time. A directory that a file replaces is emptied first, and then absent for a short time.
ALLOWED = {
    "changed": {"old", "new"},
    "bucketed": {"old", "new"},
    "new": {"", "new"},
    "directory": {"old", "", "/"},
    "link": {"old", "-> new"},
    "tree": {"/", "", "new"},
    "gone": {"/", ""},
    "edited": {"old", "new"},
}
DONE = {"changed": "new", "changed.bak": "old", "bucketed": "new", "new": "new", "directory": "/", "link": "-> new", "tree": "new",
        "edited": "new"}  # fmt: skip


def test_run_killed_at_any_call_leaves_old_or_new_and_the_next_finishes(tmp_path: Path) -> None:
    killed: dict[str, int] = {}
    for call in CALLS:
        for count in range(1, 40):
            place = tmp_path / f"{call}-{count}"
            directory = make_files(place)
            code = run(place, "strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject={call}:signal=KILL:when={count}")
            at = f"{call} number {count}"
            if code == 0:
                break
            assert code in (-9, 137), at
            killed[call] = count
            states = {name: read_state(directory / name) for name in ALLOWED}
            assert {name: state for name, state in states.items() if state not in ALLOWED[name]} == {}, at
            new = directory / "new"
            assert not new.exists() or (new.stat().st_uid, new.stat().st_mode & 0o777) == (1, 0o640), at
            assert run(place) == 0, at
            assert {path.name: read_state(path) for path in directory.iterdir()} == DONE, at
            assert (directory / "directory").stat().st_mode & 0o777 == 0o750, at
            shutil.rmtree(place)
        else:
            pytest.fail(f"{call} never succeeded")
        assert {path.name: read_state(path) for path in directory.iterdir()} == DONE
        shutil.rmtree(place)
    print(f"killed {sum(killed.values())} times: {killed}")
    assert killed.keys() >= {"fsync", "fchmod", "renameat", "unlinkat", "mkdirat", "symlinkat", "linkat"}
