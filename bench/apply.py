"""How fast Precast applies a catalog, compared with real Puppet (and pyinfra and salt-call, if `make peers` installed them).

    .venv/bin/python bench/apply.py [--quick]

It measures whole processes including the compile: 1,000 files that do not exist (first), 1,000 files that are in sync (no change, the
fastest of a few rounds), 200 commands that sleep. A run of Precast without a change skips the compile if no input of the compile has
changed; a separate row shows the run with a compile. Puppet has no modules on its path, whose facts would slow its start. Peak memory is
that of the run without a change. `apply-honest`: one byte of one file is changed while size and modification time stay the same, and the
run must find it. `apply-mixed` is a catalog of 460 resources of many types on a copy of this machine's root, without a change; it needs
root. The full run writes bench/results/apply.json; the quick one measures only Precast.
"""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.apply_cases import tools
from bench.apply_cases.mixed import measure_mixed
from bench.apply_cases.process import best, measure
from bench.apply_cases.tools import FILE_COUNT, Tool
from bench.report import Goal, finish, parse_quick, print_rows
from precast.agent.state.paths import STATE
from precast.cli.compile.local_compile import DIRECTORY

ROUNDS, QUICK_ROUNDS, PEER_ROUNDS = 5, 3, 2
SLOWER_COUNT = 100
SLEEPERS, SLEEP_S = 200, 0.05
NOCHANGE, FIRST, MEMORY, MIXED = 20.0, 5.0, 0.5, 10.0


class Figures(dict[str, Any]):
    """The measurements of one tool."""


def measure_files(tool: Tool, directory: Path, rounds: int, count: int = FILE_COUNT) -> Figures:
    """Create the files, then measure runs that find them in sync."""
    shutil.rmtree(directory, ignore_errors=True)
    first = best(tool.command, 1, tool.environment)
    created = sum(1 for _ in directory.iterdir())
    if created != count:
        raise SystemExit(f"{tool.name} created {created} files instead of {count}:\n{first.out[-2000:]}")
    nothing = best(tool.command, rounds, tool.environment)
    return Figures(
        who=tool.name,
        files=count,
        first_s=round(first.wall_s, 3),
        nochange_s=round(nothing.wall_s, 3),
        nochange_cpu_s=round(nothing.cpu_s, 3),
        peak_mb=round(nothing.peak_mb, 1),
    )


def measure_compiling(tool: Tool, place: Path, rounds: int) -> Figures:
    """Measure a run without a change that must compile: the cached compile is deleted before each round."""
    cache = place / "state" / STATE / DIRECTORY
    ran = best(tool.command, rounds, tool.environment, lambda: shutil.rmtree(cache, ignore_errors=True))
    return Figures(
        who="precast, compiling",
        files=FILE_COUNT,
        first_s=None,
        nochange_s=round(ran.wall_s, 3),
        nochange_cpu_s=round(ran.cpu_s, 3),
        peak_mb=round(ran.peak_mb, 1),
    )


def is_honest(place: Path, directory: Path) -> bool:
    """Whether a run finds and corrects one changed byte although size and modification time are unchanged, and changes nothing else."""
    victim = directory / "500.conf"
    before = victim.stat()
    data = victim.read_bytes()
    victim.write_bytes(data.replace(b"value", b"vAlue", 1))
    os.utime(victim, ns=(before.st_atime_ns, before.st_mtime_ns))
    tool = tools.precast(place, directory, "--json", "--no-diff")
    ran = measure(tool.command, tool.environment)
    changed = [each["resource"] for each in json.loads(ran.out)["resources"] if each["status"] == "changed"]
    return changed == [f"File[{victim}]"] and victim.read_bytes() == data


def measure_sleepers(place: Path, is_quick: bool) -> list[Figures]:
    """Measure commands that only sleep, in sequence and with several concurrent slots."""
    count = SLEEPERS // 4 if is_quick else SLEEPERS
    manifest = place / "sleepers.pp"
    manifest.write_text("\n".join(f"exec {{ 'sleeper {n}': command => '/bin/sleep {SLEEP_S}' }}" for n in range(count)))
    program = str(Path(sys.executable).with_name("precast"))
    own = [program, "apply", str(manifest), "--state", str(place / "state")]
    variants: list[tuple[str, list[str]]] = [
        ("precast, manifest", own),
        ("precast, graph, 8", [*own, "--ordering", "graph"]),
        ("precast, graph, 50", [*own, "--ordering", "graph", "--at-once", "50"]),
    ]
    if shutil.which("puppet") is not None and not is_quick:
        variants.append(("puppet", ["puppet", "apply", *tools.puppet_options(place), str(manifest)]))
    return [Figures(who=name, commands=count, seconds=round(best(command, 1).wall_s, 2)) for name, command in variants]


def main() -> None:
    is_quick = parse_quick(__doc__)
    with tempfile.TemporaryDirectory(prefix="precast-bench-") as name:
        place, directory = Path(name), Path(name) / "files"
        tool, rounds = tools.precast(place, directory), QUICK_ROUNDS if is_quick else ROUNDS
        own = measure_files(tool, directory, rounds)
        compiling = measure_compiling(tool, place, rounds)
        honest = is_honest(place, directory)
        peers = [] if is_quick else _peers(place, directory)
        sleepers = measure_sleepers(place, is_quick)
    mixed = None if is_quick else measure_mixed()
    rows = [own, compiling, *peers]
    _print(rows, sleepers, mixed)
    goals = [
        *_goals(own, peers, is_quick),
        _mixed_goal(mixed, is_quick),
        Goal("apply-honest", float(honest), 1.0, honest),
    ]
    finish("apply", is_quick, {"files": rows, "sleepers": sleepers, "mixed": mixed}, goals)


def _peers(place: Path, directory: Path) -> list[Figures]:
    puppet = tools.puppet(place, directory)
    figures = [] if puppet is None else [measure_files(puppet, directory, PEER_ROUNDS)]
    # These tools take minutes for a thousand files.
    slower = [make(place, directory, SLOWER_COUNT) for make in (tools.pyinfra, tools.salt)]
    return figures + [measure_files(tool, directory, 1, SLOWER_COUNT) for tool in slower if tool is not None]


def _goals(own: Figures, peers: list[Figures], is_quick: bool) -> list[Goal]:
    puppet = next((each for each in peers if each["who"] == "puppet"), None)
    if puppet is None:
        why = "only the full run compares with Puppet" if is_quick else "real Puppet is not installed"
        wanted = (("apply-nochange", NOCHANGE), ("apply-first", FIRST), ("apply-memory", MEMORY))
        return [Goal(name, None, target, None, why) for name, target in wanted]
    nochange, first = puppet["nochange_s"] / own["nochange_s"], puppet["first_s"] / own["first_s"]
    memory = own["peak_mb"] / puppet["peak_mb"]
    return [
        Goal("apply-nochange", round(nochange, 1), NOCHANGE, nochange >= NOCHANGE),
        Goal("apply-first", round(first, 1), FIRST, first >= FIRST),
        Goal("apply-memory", round(memory, 2), MEMORY, memory <= MEMORY),
    ]


def _mixed_goal(mixed: "dict[str, Any] | None", is_quick: bool) -> Goal:
    if mixed is None or mixed.get("puppet_s") is None:
        why = "only the full run measures it" if is_quick else "it needs root and real Puppet"
        return Goal("apply-mixed", None, MIXED, None, why)
    ratio = mixed["puppet_s"] / mixed["precast_s"]
    return Goal("apply-mixed", round(ratio, 1), MIXED, ratio >= MIXED)


def _print(rows: list[Figures], sleepers: list[Figures], mixed: "dict[str, Any] | None") -> None:
    heads = ["who", "files", "first, s", "no change, s", "no change, CPU s", "peak MB"]
    print_rows(heads, [tuple(each.values()) for each in rows])
    print(f"\ncommands that sleep {SLEEP_S} s")
    print_rows(["who", "commands", "s"], [tuple(each.values()) for each in sleepers])
    if mixed is not None:
        print(f"\nmixed catalog: {mixed}")


if __name__ == "__main__":
    main()
