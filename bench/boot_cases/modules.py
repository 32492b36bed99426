"""Runs real modules in the real loop on a copy of this machine's root (an overlay in a mount namespace), against their critical path.

The critical path follows from the durations of the module runs and from their locks: runs that share a lock cannot overlap. The time beyond
the critical path is overhead of the loop. Two weaker bounds are printed too, to show the influence of the locks.
It prints one JSON object.
"""

import asyncio
import functools
import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from precast.base.errors import PrecastError
from precast.boot import assembly, events, plan
from precast.boot.events import AnyEvent
from precast.boot.loop import Boot, Options
from precast.boot.plan import ModuleRun
from precast.boot.settings import BootSettings

NAMES = ("ada", "bob", "cleo", "dan", "eve", "fay")
USER_DATA = {
    "hostname": "bench",
    "manage_etc_hosts": True,
    "growpart": {"mode": "off"},
    "resize_rootfs": False,
    "timezone": "Europe/Berlin",
    "bootcmd": ["sleep 0.1"],
    "groups": ["crew"],
    "users": [{"name": name, "groups": "crew", "shell": "/bin/sh"} for name in NAMES],
    "chpasswd": {"expire": False, "users": [{"name": name, "password": "x-y-z-1", "type": "text"} for name in NAMES]},
    "write_files": [{"path": f"/opt/bench/{n}", "content": "x\n", "defer": n % 2 == 0} for n in range(20)],
    "random_seed": {"data": "some"},
    "manage_resolv_conf": True,
    "resolv_conf": {"nameservers": ["192.0.2.1"]},
    "apt": {"conf": 'APT::Get::Assume-Yes "true";\n', "preserve_sources_list": True},
    "runcmd": ["sleep 0.5"],
    "final_message": "done",
}


def overlay(place: Path) -> Path:
    """Mount an overlay over this machine's root, so that writes do not change it."""
    for name in ("upper", "work", "root"):
        (place / name).mkdir()
    options = f"lowerdir=/,upperdir={place}/upper,workdir={place}/work"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, str(place / "root")], check=True)
    return place / "root"


class Bounds(NamedTuple):
    """Lower bounds for the duration of the module runs under any schedule. The first bound is the tightest."""

    critical_s: float  # chains, and every subset of the runs that share a lock
    with_whole_locks_s: (
        float  # chains, and all runs that share a lock: the earliest of them may start long before the others
    )
    chain_s: float  # chains alone, without locks


def bounds(module_runs: Mapping[str, ModuleRun], took_s: Mapping[str, float]) -> Bounds:
    """Compute bounds from the longest chain of dependent runs and from the locks.

    Runs that share a lock cannot overlap. For any set of them, the first cannot start before its dependencies have ended, and the
    dependants of the last run after it. So every such set gives a bound (Carlier's, for one machine); the relevant sets are those with
    late heads and long tails.
    """
    before = _before(module_runs)
    after = {name: [other for other in module_runs if name in before[other]] for name in module_runs}

    @functools.cache
    def head_s(name: str) -> float:
        return max((head_s(other) + took_s[other] for other in before[name]), default=0.0)

    @functools.cache
    def tail_s(name: str) -> float:
        return max((took_s[other] + tail_s(other) for other in after[name]), default=0.0)

    chain_s = max(head_s(name) + took_s[name] + tail_s(name) for name in module_runs)
    sets, whole = [chain_s], [chain_s]
    for lock in {lock for module_run in module_runs.values() for lock in module_run.module.locks}:
        holders = [name for name, module_run in module_runs.items() if lock in module_run.module.locks]
        whole.append(min(map(head_s, holders)) + sum(took_s[name] for name in holders) + min(map(tail_s, holders)))
        for first, last in itertools.product(holders, holders):
            since_s, rest_s = head_s(first), tail_s(last)
            subset = [name for name in holders if head_s(name) >= since_s and tail_s(name) >= rest_s]
            sets.append(since_s + sum(took_s[name] for name in subset) + rest_s if subset else 0.0)
    return Bounds(max(sets), max(whole), chain_s)


def _before(module_runs: Mapping[str, ModuleRun]) -> dict[str, list[str]]:
    """The dependencies of each module run."""
    dependencies = {}
    for name, module_run in module_runs.items():
        modules = {dependency.module for dependency in module_run.module.after}
        dependencies[name] = [
            other
            for other, each in module_runs.items()
            if other != name
            and (each.module.name in modules or set(each.part.provides) & set(module_run.part.waits_for))
        ]
    return dependencies


def measure(root: Path) -> dict[str, Any]:
    data = b"#cloud-config\n" + json.dumps(USER_DATA).encode()
    seen: list[AnyEvent] = []
    parts = assembly.assemble(assembly.BootTarget(root, user_data=data), BootSettings(sources=("nocloud",)))
    is_complete = asyncio.run(_run(parts, seen))
    assert parts.given is not None
    ended = {event.module_run: event for event in seen if isinstance(event, events.ModuleEnded)}
    started = {event.module_run: event.at_s for event in seen if isinstance(event, events.ModuleStarted)}
    if not is_complete:
        raise SystemExit("; ".join(f"{name}: {event.reason}" for name, event in ended.items() if event.reason))
    module_runs = {
        module_run.name: module_run
        for module_run in plan.make_module_runs(parts.modules, parts.given.config)
        if module_run.name in started
    }
    took_s = {name: ended[name].at_s - started[name] for name in module_runs}
    configured_s = next(event.at_s for event in seen if isinstance(event, events.ConfigurationMade))
    whole_s = max(event.at_s for event in ended.values()) - configured_s
    least = bounds(module_runs, took_s)
    assert max(least) <= whole_s, f"{least} are no bounds of {whole_s}"
    return {
        "jobs": len(module_runs),
        "modules": len({module_run.module.name for module_run in module_runs.values()}),
        "whole_s": round(whole_s, 4),
        **{name: round(bound_s, 4) for name, bound_s in least._asdict().items()},
        "one_by_one_s": round(sum(took_s.values()), 4),
    }


async def _run(parts: Any, seen: list[AnyEvent]) -> bool:
    return await Boot(parts, Options(), seen.append).run()


def main(rounds: Sequence[int]) -> None:
    results = []
    for _ in rounds:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", name], check=True)
            root = overlay(Path(name))
            try:
                results.append(measure(root))
            except PrecastError as error:
                raise SystemExit(error.render()) from None
            finally:
                subprocess.run(["umount", "-R", "-l", name], check=True)
    results.sort(key=lambda result: result["whole_s"] / result["critical_s"])
    print(json.dumps({**results[len(results) // 2], "rounds": results}))  # the median round


if __name__ == "__main__":
    main(range(int(sys.argv[1])))
