"""How fast the compiler is, beside real Puppet: environments of about 460 and 5,000 resources, and a manifest of 2,000 lines.

    .venv/bin/python bench/compile.py [--quick]

Each compiles in a process of its own, over and over: the first compile reads and translates the code, the others are warm, as in
a server. Times are CPU time of the quickest warm compile, memory is the peak of the process. Both must make the same resources
with the same text in their parameters, or the bench fails. Real Puppet is Debian's puppet-agent; where it is absent, the goals that
compare are left open and say so. The full run writes bench/results/compile.json; the quick one measures only ourselves.
"""

import importlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.compiling.environment import generate, long_manifest, write
from bench.report import Goal, finish, parse_quick, print_rows
from precast.base.spans import Source

HERE = Path(__file__).parent
SIZES = (460, 5_000)
ROUNDS, QUICK_ROUNDS = 12, 4
TARGET_RATIO, TARGET_MEMORY, TARGET_VALIDATE_S = 5.0, 0.5, 0.5
VALIDATE_LINES = 2_000

Figures = dict[str, Any]


def ours(directory: Path, rounds: int) -> Figures:
    return _figures([sys.executable, "-m", "bench.compiling.warm", str(directory), str(rounds)])


def puppets(directory: Path, rounds: int) -> Figures | None:
    """What real Puppet needs; None where it is not installed."""
    if shutil.which("puppet") is None or shutil.which("ruby") is None:
        return None
    script, facts = HERE / "peers" / "puppet_compile.rb", HERE / "compiling" / "facts.json"
    return _figures(["ruby", str(script), str(directory), str(rounds), str(facts)])


def _figures(command: list[str]) -> Figures:
    done = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{done.stderr}")
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def measure(size: int, rounds: int, with_puppet: bool) -> tuple[Figures, Figures | None]:
    """Both compile the same environment, and must agree on what is in its catalog."""
    with tempfile.TemporaryDirectory(prefix="precast-bench-") as place:
        directory = Path(place)
        write(generate(size), directory)
        own = ours(directory, rounds)
        peer = puppets(directory, rounds) if with_puppet else None
    if peer is not None and peer["refs"] != own["refs"]:
        sys.exit(f"the catalogs of {size} resources differ, so their times say nothing")
    return own, peer


def measure_validate() -> tuple[float, int]:
    """Seconds to read and check a long manifest after the modules are loaded, in the least disturbed of three rounds; its lines."""
    checker = importlib.import_module("precast.lang.checker")
    parser = importlib.import_module("precast.lang.parser")
    parser.parse(Source("warm-up.pp", "notice(1)"))
    text = long_manifest(VALIDATE_LINES)
    least = float("inf")
    for _ in range(3):
        started = time.perf_counter()
        found = checker.check(parser.parse(Source("long.pp", text)))
        least = min(least, time.perf_counter() - started)
        assert found.errors == ()
    return least, text.count("\n")


def main() -> None:
    is_quick = parse_quick(__doc__)
    rounds = QUICK_ROUNDS if is_quick else ROUNDS
    validate_s, lines = measure_validate()
    rows: list[tuple[object, ...]] = []
    ratios: list[float] = []
    shares: list[float] = []
    for size in SIZES:
        own, peer = measure(size, rounds, with_puppet=not is_quick)
        rows.append(_row("precast", own))
        if peer is None:
            if not is_quick:
                print("real Puppet is not installed (Debian: puppet-agent), so nothing is compared with it")
            continue
        rows.append(_row(f"puppet {peer['version']}", peer))
        ratios.append(peer["cpu_s"] / own["cpu_s"])
        shares.append(own["rss_mb"] / peer["rss_mb"])
    print_rows(["who", "resources", "first, CPU ms", "warm, CPU ms", "median", "peak MB"], rows)
    for size, ratio, share in zip(SIZES, ratios, shares, strict=False):
        print(f"{size:,} resources: {ratio:.1f} times faster, {share:.2f} of the memory")
    print(f"validate: {lines:,} lines in {validate_s * 1000:.0f} ms")
    why = "only the full run compares with Puppet" if is_quick else "real Puppet is not installed"
    finish(
        "compile",
        is_quick,
        {
            "rows": [
                dict(zip(("who", "resources", "first_ms", "warm_ms", "median_ms", "peak_mb"), row, strict=True))
                for row in rows
            ],
            "validate_lines": lines,
        },
        [
            _compared("compile-vs-puppet", min(ratios, default=None), TARGET_RATIO, why, at_least=True),
            _compared("compile-memory", max(shares, default=None), TARGET_MEMORY, why, at_least=False),
            Goal("validate-2000", round(validate_s, 3), TARGET_VALIDATE_S, validate_s <= TARGET_VALIDATE_S),
        ],
    )


def _row(who: str, figures: Figures) -> tuple[object, ...]:
    times = (round(figures[name] * 1000, 1) for name in ("first_cpu_s", "cpu_s", "median_cpu_s"))
    return (who, figures["resources"], *times, round(figures["rss_mb"], 1))


def _compared(name: str, value: float | None, target: float, why: str, at_least: bool) -> Goal:
    if value is None:
        return Goal(name, None, target, None, why)
    return Goal(name, round(value, 2), target, value >= target if at_least else value <= target)


if __name__ == "__main__":
    main()
