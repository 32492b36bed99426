"""A boot that is killed in the middle of a module resumes: a module run that had ended is not repeated, one that had only begun is."""

import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = """
import asyncio, os, signal, sys
from pathlib import Path
from tests.unit.boot.scenes import Scene, ScriptedSource, data, module

place, is_deadly = Path(sys.argv[1]), sys.argv[2] == "die"

def run(name):
    def work(context):
        with (place / "log").open("a") as log:
            print(name, file=log, flush=True)
        if name == "second" and is_deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return context.outcome
    return work

async def main():
    after = {"first": [], "second": ["first"], "third": ["second"]}
    modules = [module(name, run(name), after=names) for name, names in after.items()]
    print(await Scene(place, [ScriptedSource("source", 1, data()).now()], modules).run())

asyncio.run(main())
"""


def boot(place: Path, how: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", SCRIPT, str(place), how]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def test_boot_that_was_killed_resumes_where_it_was(tmp_path: Path) -> None:
    assert boot(tmp_path, "die").returncode == -signal.SIGKILL
    again = boot(tmp_path, "live")
    assert again.stdout == "True\n", again.stderr
    assert (tmp_path / "log").read_text().split() == ["first", "second", "second", "third"]
    assert boot(tmp_path, "live").stdout == "True\n"
    assert (tmp_path / "log").read_text().split() == ["first", "second", "second", "third"]


def test_line_that_a_crash_cut_off_counts_as_not_written(tmp_path: Path) -> None:
    assert boot(tmp_path, "live").returncode == 0
    ran = tmp_path / "var/lib/precast/boot/instances/i-1/ran.jsonl"
    ran.write_bytes(ran.read_bytes()[:-10])
    assert boot(tmp_path, "live").stdout == "True\n"
    assert (tmp_path / "log").read_text().split() == ["first", "second", "third", "third"]
