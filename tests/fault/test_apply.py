"""Kill -9 in the middle of a run, again and again: no file is ever half written, and the next run finishes."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

PRECAST = str(Path(sys.executable).with_name("precast"))
FILES = 60
ROUNDS = int(os.environ.get("PRECAST_APPLY_KILLS", "12"))


def content(number: int, version: int) -> str:
    """Long enough to be written in several pieces, and to show where it was cut off."""
    return f"{number} {version} " * 20_000 + "end"


def manifest(version: int) -> str:
    files = [f"file {{ '/d/{number}': content => '{content(number, version)}' }}" for number in range(FILES)]
    return "\n".join(["file { '/d': ensure => directory }", *files])


def start(root: Path, manifest: Path) -> "subprocess.Popen[bytes]":
    words = [PRECAST, "apply", str(manifest), "--root", str(root), "--no-diff"]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL)


def look(root: Path, versions: list[int]) -> dict[int, int]:
    """How many files hold each version; every one holds exactly one, whole."""
    found: dict[int, int] = {}
    for number in range(FILES):
        path = root / "d" / str(number)
        if not path.exists():
            continue
        text = path.read_text()
        whole = [version for version in versions if text == content(number, version)]
        assert whole, f"{path} is half written: {len(text)} characters, {text[:20]!r}…{text[-20:]!r}"
        found[whole[0]] = found.get(whole[0], 0) + 1
    return found


def test_killed_runs_leave_whole_files_and_the_next_one_finishes(tmp_path: Path) -> None:
    seed = int.from_bytes(os.urandom(4))
    chance = random.Random(seed)
    place = tmp_path / "site.pp"
    started_s = time.monotonic()
    place.write_text(manifest(0))
    assert start(tmp_path, place).wait(120) == 0
    usual_s = time.monotonic() - started_s
    in_the_middle = 0
    for round_number in range(1, ROUNDS + 1):
        place.write_text(manifest(round_number))
        process = start(tmp_path, place)
        # The moment is chance and decides nothing: whatever it is, what is found must be whole.
        try:
            process.wait(chance.uniform(0.2, 1.0) * usual_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.wait(60)
        found = look(tmp_path, list(range(round_number + 1)))
        in_the_middle += len(found) > 1
    assert start(tmp_path, place).wait(120) == 0, f"seed {seed}"
    assert look(tmp_path, [ROUNDS]) == {ROUNDS: FILES}, f"seed {seed}"
    left = [path.name for path in (tmp_path / "d").iterdir() if not path.name.isdigit()]
    print(f"\n{ROUNDS} kills, {in_the_middle} between the first and the last file, seed {seed}; left behind: {left}")
    assert start(tmp_path, place).wait(120) == 0
