"""Runs are killed with SIGKILL, many times: no file is ever half written, and the next run finishes."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

PRECAST = str(Path(sys.executable).with_name("precast"))
FILES = 60
ROUNDS = int(os.environ.get("PRECAST_APPLY_KILLS", "10"))


def content(number: int, version: int) -> str:
    """A text that is long enough to be written in several pieces, and shows where it was cut off."""
    return f"{number} {version} " * 20_000 + "end"


def manifest(version: int) -> str:
    files = [f"file {{ '/d/{number}': content => '{content(number, version)}' }}" for number in range(FILES)]
    return "\n".join(["file { '/d': ensure => directory }", *files])


def start(root: Path, manifest: Path) -> "subprocess.Popen[bytes]":
    argv = [PRECAST, "apply", str(manifest), "--root", str(root), "--no-diff"]
    return subprocess.Popen(argv, stdout=subprocess.PIPE)


def count_versions(root: Path, versions: list[int]) -> dict[int, int]:
    """Count the files of each version; every file must have exactly one version, complete."""
    counts: dict[int, int] = {}
    for number in range(FILES):
        path = root / "d" / str(number)
        if not path.exists():
            continue
        text = path.read_text()
        complete = [version for version in versions if text == content(number, version)]
        assert complete, f"{path} is half written: {len(text)} characters, {text[:20]!r}…{text[-20:]!r}"
        counts[complete[0]] = counts.get(complete[0], 0) + 1
    return counts


def finish(root: Path, manifest: Path) -> int:
    with start(root, manifest) as process:
        process.communicate(timeout=120)
        return process.returncode


def kill_after(root: Path, manifest: Path, lines: int) -> None:
    """Kill a run after it has printed this many changes; the next change is under way by then."""
    with start(root, manifest) as process:
        assert process.stdout is not None
        for _ in range(lines):
            assert b"changed" in process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.wait(60)


def test_killed_runs_leave_whole_files_and_the_next_one_finishes(tmp_path: Path) -> None:
    seed = int.from_bytes(os.urandom(4))
    chance = random.Random(seed)
    manifest_path = tmp_path / "site.pp"
    manifest_path.write_text(manifest(0))
    assert finish(tmp_path, manifest_path) == 0
    counts: dict[int, int] = {}
    for number in range(1, ROUNDS + 1):
        manifest_path.write_text(manifest(number))
        kill_after(tmp_path, manifest_path, chance.randrange(1, FILES // 2))
        counts = count_versions(tmp_path, list(range(number + 1)))
        assert counts[number] < FILES, f"the run ended before it was killed, which proves nothing (seed {seed})"
    assert finish(tmp_path, manifest_path) == 0, f"seed {seed}"
    assert count_versions(tmp_path, [ROUNDS]) == {ROUNDS: FILES}, f"seed {seed}"
    left = [path.name for path in (tmp_path / "d").iterdir() if not path.name.isdigit()]
    assert left == [], f"seed {seed}"
    print(
        f"\n{ROUNDS} kills in the middle of runs over {FILES} files, none half written, the next run finished; seed {seed}"
    )
