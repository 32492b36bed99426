"""How fast a machine finds its data source and configures itself, compared with Debian's cloud-init. Needs root, for namespaces.

    .venv/bin/python bench/boot.py [--quick]

`boot-sources`: five sources are absent (silent, refused, slow, wrong, redirecting) and the right one comes last. If no source of higher
rank is plausible, the boot may take at most 1.1 times as long as with the right source alone; if the others rank higher, at most the
longest of their deadlines. cloud-init's classes search the same services in the same run; the quick run limits them to 15 seconds.
`boot-modules`: real modules run by the real loop on a copy of this machine's root, compared with their critical path.
The full run writes bench/results/boot.json.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.report import Goal, finish, parse_quick, print_rows

ROOT = Path(__file__).resolve().parents[1]
SOURCES, MODULES = 1.1, 1.2
QUICK_PEER_S, PEER_S = 15, 400


def inside(namespaces: list[str], module: str, *words: str) -> dict[str, Any]:
    """Run a part of the benchmark in its own namespaces, and return its figures."""
    line = ["unshare", *namespaces, sys.executable, "-m", module, *words]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{module} failed:\n{done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    is_quick = parse_quick(__doc__)
    if os.geteuid() != 0:
        raise SystemExit("this benchmark needs root, to create namespaces")
    found = inside(["--net"], "bench.boot_cases.sources", str(QUICK_PEER_S if is_quick else PEER_S))
    ran = inside(["--mount", "--uts"], "bench.boot_cases.modules", "3" if is_quick else "7")
    note = found.get("cloudinit_why", f"found {found.get('cloudinit_found')}")
    print_rows(
        ["what", "seconds", "note"],
        [
            ("precast: the right source alone", found["own_s"], "nocloud-net, 50 ms for each answer"),
            ("precast: five absent ones beside it", found["absent_s"], "goal boot-sources"),
            ("precast: a source of low rank alone", found["own_low_s"], "ec2"),
            ("precast: the firmware names it", found["confirmed_low_s"], "the others are not asked"),
            ("precast: nothing names it", found["higher_plausible_s"], "four that rank higher are heard first"),
            ("cloud-init: five absent ones, then the right one", found.get("cloudinit_s"), note),
            (f"precast: {ran['modules']} modules, {ran['jobs']} jobs", ran["whole_s"], "goal boot-modules"),
            ("their critical path", ran["critical_s"], "with every set of those that share a lock"),
            ("with those that share a lock taken together", ran["with_whole_locks_s"], "a weaker bound"),
            ("the longest chain, as if there were no locks", ran["chain_s"], "a weaker bound"),
            ("one after the other", ran["one_by_one_s"], "the sum of their times"),
        ],
    )
    ratio = round(found["absent_s"] / found["own_s"], 3)
    path = round(ran["whole_s"] / ran["critical_s"], 3)
    longest_s = found["longest_deadline_s"]
    finish(
        "boot",
        is_quick,
        {"sources": found, "modules": ran},
        [
            Goal("boot-sources", ratio, SOURCES, ratio <= SOURCES and found["higher_plausible_s"] <= longest_s),
            Goal("boot-modules", path, MODULES, path <= MODULES and ran["modules"] >= 20),
        ],
    )


if __name__ == "__main__":
    main()
