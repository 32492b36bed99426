"""Fuzzes the targets in turn, guided by coverage: `python -m tests.fuzz [--seconds N] [--corpus DIR] [TARGET…]`.

Each target runs in a process of its own with atheris, from its seeds and from the inputs that earlier runs have found worth keeping. An
input that breaks a promise is written to the corpus directory and ends the target. The last line is one JSON object with the figures.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path

from tests.fuzz.registry import TARGETS

_INPUTS = re.compile(r"stat::number_of_executed_units:\s+(\d+)")
_KEPT = re.compile(r"stat::new_units_added:\s+(\d+)")


def fuzz(name: str, seconds: int, corpus: Path) -> dict[str, object]:
    """Fuzz one target; returns its figures."""
    directory = corpus / name
    directory.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(TARGETS[name].seeds):
        (directory / f"seed-{number}").write_bytes(seed)
    began_s = time.monotonic()
    options = [f"-max_total_time={seconds}", "-print_final_stats=1", "-rss_limit_mb=2048", "-timeout=10"]
    argv = [
        sys.executable,
        "-m",
        "tests.fuzz.child",
        name,
        *options,
        f"-artifact_prefix={directory}/broken-",
        str(directory),
    ]
    ended = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)
    inputs, kept = _INPUTS.search(ended.stderr), _KEPT.search(ended.stderr)
    if ended.returncode:
        print(ended.stderr[-3000:], file=sys.stderr)
    return {
        "target": name,
        "inputs": int(inputs[1]) if inputs else 0,
        "kept": int(kept[1]) if kept else 0,
        "seconds": round(time.monotonic() - began_s),
        "is_sound": ended.returncode == 0,
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=int, default=60, help="for each target (default: 60)")
    parser.add_argument(
        "--corpus", type=Path, default=Path(".fuzz"), help="where found inputs are kept (default: .fuzz)"
    )
    arguments = parser.parse_args()
    print(f"{'target':<14}{'inputs':>14}{'kept':>8}{'seconds':>9}  sound")
    rows = []
    for name in arguments.targets or TARGETS:
        row = fuzz(name, arguments.seconds, arguments.corpus)
        rows.append(row)
        print(f"{name:<14}{row['inputs']:>14,}{row['kept']:>8}{row['seconds']:>9}  {row['is_sound']}", flush=True)
    hours = sum(int(str(row["seconds"])) for row in rows) / 3600
    print(
        json.dumps(
            {
                "bench": "fuzz",
                "inputs": sum(int(str(row["inputs"])) for row in rows),
                "hours": round(hours, 2),
                "targets": rows,
            }
        )
    )
    return 0 if all(row["is_sound"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
