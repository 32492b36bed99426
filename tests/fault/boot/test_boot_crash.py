"""A boot that is killed in the middle of a module. A module run that had ended is never repeated. One that had only begun counts as run if
it runs the user's commands, as in cloud-init; other modules bring about a declared state and are repeated, a bounded number of times."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lab.strace_log import Call, read_calls
from precast.boot.module_runs import MOST_BEGINNINGS
from precast.boot.modules.mounts import SWAP_SCRIPT

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = """
import asyncio, os, signal, sys
from pathlib import Path
from tests.unit.boot.scenes import Frequency, Scene, ScriptedSource, data, module

place, is_deadly, kind = Path(sys.argv[1]), sys.argv[2] == "die", sys.argv[3]
frequency = Frequency[kind.upper()] if kind in ("boot", "once") else Frequency.INSTANCE

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
    modules = [
        module(name, run(name), after=names, is_repeatable=kind == "declared" or name != "second", frequency=frequency)
        for name, names in after.items()
    ]
    print(await Scene(place, [ScriptedSource("source", 1, data()).now()], modules, is_retry="retry" in sys.argv).run())

asyncio.run(main())
"""


def boot(place: Path, how: str, kind: str, *more: str, prefix: tuple[str, ...] = ()) -> tuple[int, str]:
    """Boot, and return the exit code of the process, and whether the boot was complete."""
    words = [*prefix, sys.executable, "-c", SCRIPT, str(place), how, kind, *more]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (0, -signal.SIGKILL, 128 + signal.SIGKILL), done.stderr
    return done.returncode, done.stdout.strip()


def ran(place: Path) -> list[str]:
    return (place / "log").read_text().split()


def status(place: Path) -> tuple[int, str]:
    words = [str(Path(sys.executable).with_name("precast")), "boot", "status", "--root", str(place)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout


def test_declared_state_that_was_cut_off_is_brought_about_by_the_next_boot(tmp_path: Path) -> None:
    assert boot(tmp_path, "die", "declared")[0] == -signal.SIGKILL
    assert boot(tmp_path, "live", "declared") == (0, "True")
    assert ran(tmp_path) == ["first", "second", "second", "third"]
    assert boot(tmp_path, "live", "declared") == (0, "True")
    assert ran(tmp_path) == ["first", "second", "second", "third"]


def test_module_that_brings_the_machine_down_each_time_is_not_repeated_for_ever(tmp_path: Path) -> None:
    for _ in range(MOST_BEGINNINGS):
        assert boot(tmp_path, "die", "declared")[0] == -signal.SIGKILL
    assert boot(tmp_path, "die", "declared") == (0, "False")
    assert ran(tmp_path) == ["first", *["second"] * MOST_BEGINNINGS, "third"]
    assert "second: cut off: " in status(tmp_path)[1]


@pytest.mark.parametrize("kind", ["instance", "once"])
def test_commands_that_were_cut_off_count_as_run_and_the_next_boot_shows_it(tmp_path: Path, kind: str) -> None:
    assert boot(tmp_path, "die", kind)[0] == -signal.SIGKILL
    code, said = status(tmp_path)
    assert code == 1
    assert "second: cut off or still running: it began and has not ended" in said
    assert "0 not run, 1 not ended" in said
    assert boot(tmp_path, "live", kind) == (0, "False")
    assert ran(tmp_path) == ["first", "second", "third"]
    code, said = status(tmp_path)
    assert code == 1
    assert "second: cut off: it began earlier and did not end" in said
    # From then on it is known: it still shows, and a boot in which all went well is complete.
    assert boot(tmp_path, "live", kind) == (0, "True")
    code, said = status(tmp_path)
    assert code == 0
    assert "second: not run: it has already run " in said
    assert "it was cut off" in said
    assert ran(tmp_path) == ["first", "second", "third"]


def test_commands_that_were_cut_off_are_repeated_on_request(tmp_path: Path) -> None:
    assert boot(tmp_path, "die", "instance")[0] == -signal.SIGKILL
    assert boot(tmp_path, "live", "instance", "retry") == (0, "True")
    assert boot(tmp_path, "live", "instance", "retry") == (0, "True")
    assert ran(tmp_path) == ["first", "second", "second", "third"]


def test_commands_of_every_boot_run_in_the_next_boot_though_they_were_cut_off(tmp_path: Path) -> None:
    assert boot(tmp_path, "die", "boot")[0] == -signal.SIGKILL
    assert boot(tmp_path, "live", "boot") == (0, "True")
    assert ran(tmp_path) == ["first", "second", "first", "second", "third"]


def test_line_that_a_crash_cut_off_counts_as_not_written(tmp_path: Path) -> None:
    assert boot(tmp_path, "live", "declared") == (0, "True")
    lines = tmp_path / "var/lib/precast/boot/instances/i-1/ran.jsonl"
    lines.write_bytes(lines.read_bytes()[:-10])
    assert boot(tmp_path, "live", "declared") == (0, "True")
    assert ran(tmp_path) == ["first", "second", "third", "third"]


def test_swap_file_that_was_cut_off_is_not_taken_for_a_whole_one(tmp_path: Path) -> None:
    """The next boot repeats `mounts`, and what exists is used."""
    programs, file = tmp_path / "bin", tmp_path / "swap"
    programs.mkdir()
    (programs / "mkswap").write_text("#!/bin/sh\nkill -9 $PPID\n")
    (programs / "mkswap").chmod(0o755)
    argv = ["/bin/sh", "-c", SWAP_SCRIPT, "sh", str(file), "1"]
    killed = subprocess.run(argv, env={"PATH": f"{programs}:/usr/bin:/bin"}, check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert not file.exists()
    (programs / "mkswap").write_text("#!/bin/sh\nexit 0\n")
    assert subprocess.run(argv, env={"PATH": f"{programs}:/usr/bin:/bin"}, check=False, timeout=60).returncode == 0
    assert (file.stat().st_size, file.stat().st_mode & 0o777) == (1 << 20, 0o600)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["swap"]


@pytest.mark.needs("strace")
@pytest.mark.parametrize("kind", ["instance", "once", "boot"])
def test_beginning_is_on_the_disk_before_the_module_begins(tmp_path: Path, kind: str) -> None:
    """kill -9 cannot show it, because the kernel still has the written pages."""
    place, trace = tmp_path / "root", tmp_path / "trace"
    place.mkdir()
    prefix = ("strace", "-f", "-y", "-s", "200", "-e", "trace=write,fsync,openat,mkdir", "-o", str(trace))
    boot(place, "die", kind, prefix=prefix)
    calls = [call for call in read_calls(trace) if call.result >= 0]
    state = place / "var/lib/precast/boot"
    file = {"instance": state / "instances/i-1/ran.jsonl", "once": state / "once.jsonl", "boot": state / "latest.jsonl"}
    effect = next(
        index for index, call in enumerate(calls) if call.name == "write" and f'{place}/log>, "second' in call.args
    )
    assert is_flushed(calls[:effect], file[kind]), "the line itself"
    parents = [
        parent for parent in (file[kind], *file[kind].parents) if parent.is_relative_to(place) and parent != place
    ]
    for path in parents:  # each name on the way to it, up to the root that existed before
        assert is_name_flushed(calls[:effect], path), path


def is_flushed(calls: list[Call], path: Path) -> bool:
    wrote = [index for index, call in enumerate(calls) if call.name == "write" and f"<{path}>" in call.args]
    return bool(wrote) and any(call.name == "fsync" and f"<{path}>" in call.args for call in calls[wrote[-1] :])


def is_name_flushed(calls: list[Call], path: Path) -> bool:
    made = [
        index
        for index, call in enumerate(calls)
        if f'"{path}"' in call.args and (call.name == "mkdir" or (call.name == "openat" and "O_CREAT" in call.args))
    ]
    return bool(made) and any(call.name == "fsync" and f"<{path.parent}>" in call.args for call in calls[made[0] :])
