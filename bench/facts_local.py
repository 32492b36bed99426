"""Time and memory of one collection of facts on a node, compared with facter if it is installed.

    .venv/bin/python bench/facts_local.py [--quick]

"Again" is what the daemon does: one more collection in a process that has everything loaded. The large machine consists of files: 256
processors, 500 interfaces, 1,000 mounts. CPU is user plus system time; for commands it includes their child processes.
"""

import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.report import Goal, finish, parse_quick, print_rows
from precast.agent.facts.collection import Collector, all_sources
from precast.agent.facts.machine import Machine, NoKernel
from precast.agent.facts.running_kernel import RunningKernel

PRECAST = str(Path(sys.executable).with_name("precast"))
TARGET_CPU_MS = 200

Cost = dict[str, float]

# Prints the memory of a process in KB: before and after it has loaded the collector, after the collections, and at its peak.
MEMORY = """
import re
from pathlib import Path
def kb(name):
    return int(re.search(name + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
before = kb("VmRSS")
from precast.agent.facts.collection import Collector, all_sources
from precast.agent.facts.machine import Machine
from precast.agent.facts.running_kernel import RunningKernel
loaded = kb("VmRSS")
collector = Collector(all_sources(Machine(Path("/"), RunningKernel())))
for _ in range(50):
    collector.collect()
print(before, loaded, kb("VmRSS"), kb("VmHWM"))
"""


def measure(rounds: int, work: Callable[[], object], whose: int) -> Cost:
    """Medians over rounds, in milliseconds. `whose` is RUSAGE_SELF or RUSAGE_CHILDREN."""
    wall, cpu = [], []
    for _ in range(rounds):
        started, used = time.perf_counter(), _cpu_s(whose)
        work()
        wall.append((time.perf_counter() - started) * 1e3)
        cpu.append((_cpu_s(whose) - used) * 1e3)
    return {"wall_ms": round(statistics.median(wall), 2), "cpu_ms": round(statistics.median(cpu), 2)}


def _cpu_s(whose: int) -> float:
    usage = resource.getrusage(whose)
    return usage.ru_utime + usage.ru_stime


def command(rounds: int, *words: str) -> Cost:
    def run() -> None:
        # Facter exits with 1 if it could not read a file, and prints the facts anyway.
        done = subprocess.run(words, capture_output=True, timeout=60, check=False)
        assert json.loads(done.stdout)

    return measure(rounds, run, resource.RUSAGE_CHILDREN)


def large_machine(root: Path) -> Machine:
    """Write the files of a large machine."""
    zero = "0" * 32
    files = {
        "etc/os-release": 'ID=debian\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\n',
        "proc/cpuinfo": "".join(
            f"processor\t: {n}\nmodel name\t: Xeon\nphysical id\t: {n // 64}\nflags\t: {'flag ' * 150}\n\n"
            for n in range(256)
        ),
        "proc/self/mounts": "".join(f"/dev/sda{n} /srv/{n} ext4 rw,relatime 0 0\n" for n in range(1000)),
        "proc/net/if_inet6": "".join(f"20010db8{n:024x} {n:x} 40 00 80 eth{n}\n" for n in range(500)),
        "proc/net/ipv6_route": f"{zero} 00 {zero} 00 {zero} 00000400 1 0 0 eth0\n",
    }
    for n in range(500):
        files |= {f"sys/class/net/eth{n}/{name}": "1500\n" for name in ("address", "ifindex", "mtu")}
    for name, text in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return Machine(root, NoKernel())


def memory() -> dict[str, int]:
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, timeout=60, check=True)
    before, loaded, after, most = map(int, done.stdout.split())
    return {"before_kb": before, "loaded_kb": loaded, "after_50_collections_kb": after, "most_kb": most}


def main() -> None:
    is_quick = parse_quick(__doc__)
    rounds = 5 if is_quick else 30
    here = Collector(all_sources(Machine(Path("/"), RunningKernel())))
    costs: dict[str, Cost] = {"precast, again": measure(rounds * 4, here.collect, resource.RUSAGE_SELF)}
    with tempfile.TemporaryDirectory() as name:
        large = Collector(all_sources(large_machine(Path(name))))
        costs["precast, large machine"] = measure(rounds, large.collect, resource.RUSAGE_SELF)
    costs["precast facts local --json"] = command(rounds, PRECAST, "facts", "local", "--json")
    if shutil.which("facter"):
        costs["facter --json"] = command(rounds, "facter", "--json")
    print_rows(["one collection", "wall ms", "CPU ms"], [(what, *cost.values()) for what, cost in costs.items()])
    held = memory()
    print()
    print_rows(["memory of a process", "KB"], list(held.items()))
    figures: dict[str, Any] = {"collections": costs, "memory": held, "facts": len(here.collect().facts)}
    cpu_ms = costs["precast, again"]["cpu_ms"]
    finish(
        "facts_local", is_quick, figures, [Goal("facts-local-cpu-ms", cpu_ms, TARGET_CPU_MS, cpu_ms <= TARGET_CPU_MS)]
    )


if __name__ == "__main__":
    main()
