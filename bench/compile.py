"""How fast the compiler is, compared with real Puppet: environments of about 460 and 5,000 resources, a realistic node with real modules,
and a manifest of 2,000 lines.

    .venv/bin/python bench/compile.py [--quick]

Each tool compiles repeatedly in its own process: the first compile reads and translates the code, the others are warm, as in a server.
Times are CPU time of the fastest warm compile, memory is the peak of the process. Both tools must produce the same resources with the
same text in their parameters, or the benchmark fails; the catalogs of the realistic node must be equal in everything. Real Puppet is
Debian's puppet-agent, with the modules of its packages; if they are not installed, the comparing goals have no value, and a reason.
The full run writes bench/results/compile.json; the quick one measures only Precast.
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

import msgspec

from bench.compile_cases import realistic
from bench.compile_cases.environment import generate, long_manifest, write
from bench.report import Goal, finish, parse_quick, print_rows
from lab.differential import catalogs
from lab.differential.comparison import unexpected
from lab.differential.environment import Environment
from precast.base.spans import Source

HERE = Path(__file__).parent
NODE = "testhost.example.com"
SIZES = (460, 5_000)
ROUNDS, QUICK_ROUNDS = 12, 4
TARGET_RATIO, TARGET_MEMORY, TARGET_VALIDATE_S = 5.0, 0.5, 0.5
VALIDATE_LINES = 2_000

Figures = dict[str, Any]


class Subject(msgspec.Struct, frozen=True):
    """An environment on disk, and the node it is compiled for."""

    directory: Path
    node: str
    facts: Path


def ours(subject: Subject, rounds: int) -> Figures:
    return _figures([sys.executable, "-m", "bench.compile_cases.warm", *_arguments(subject, rounds)])


def puppets(subject: Subject, rounds: int) -> Figures | None:
    """Measure real Puppet. None if it is not installed."""
    if shutil.which("puppet") is None or shutil.which("ruby") is None:
        return None
    return _figures(["ruby", str(HERE / "peers" / "puppet_compile.rb"), *_arguments(subject, rounds)])


def _arguments(subject: Subject, rounds: int) -> list[str]:
    return [str(subject.directory), str(rounds), subject.node, str(subject.facts)]


def _figures(command: list[str]) -> Figures:
    done = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{done.stderr}")
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def measure(size: int, rounds: int, with_puppet: bool) -> tuple[Figures, Figures | None]:
    """Compile the same environment with both tools, whose catalogs must agree."""
    with tempfile.TemporaryDirectory(prefix="precast-bench-") as place:
        directory = Path(place) / "production"
        write(generate(size), directory)
        subject = Subject(directory, NODE, HERE / "compile_cases" / "facts.json")
        own = ours(subject, rounds)
        peer = puppets(subject, rounds) if with_puppet else None
    if peer is not None and peer["refs"] != own["refs"]:
        sys.exit(f"the catalogs of {size} resources differ, so their times cannot be compared")
    return own, peer


def measure_realistic(rounds: int, with_puppet: bool) -> tuple[Figures, Figures | None] | None:
    """Measure the realistic node, and compare its whole catalogs. None if its modules are not installed."""
    if not realistic.is_possible():
        return None
    with tempfile.TemporaryDirectory(prefix="precast-bench-") as name:
        place, machine = Path(name), realistic.node()
        environment = Environment("production", realistic.files(), [machine])
        environment.write(place)
        facts = place / "facts.json"
        facts.write_text(json.dumps(machine.facts))
        subject = Subject(place / "production", machine.certname, facts)
        own = ours(subject, rounds)
        peer = puppets(subject, rounds) if with_puppet else None
        if peer is not None:
            _prove_equal(place, environment)
    return own, peer


def _prove_equal(place: Path, environment: Environment) -> None:
    """Compare resources, parameters, edges, tags and order. Exits if they differ."""
    (case,) = catalogs.cases([environment], 1)
    puppets_answer = catalogs.compile_with_puppet(place, [case], place / "templates.jsonl")[case[0]]
    our_answer = catalogs.PrecastAnswers(place).answer(environment.name, environment.machines[0])
    differences = unexpected(puppets_answer, our_answer)
    if differences or puppets_answer.get("error"):
        shown = "\n".join(str(difference)[:300] for difference in differences[:5])
        sys.exit(f"the catalogs of the realistic node differ, so their times cannot be compared\n{shown}")


def measure_validate() -> tuple[float, int]:
    """Seconds to parse and check a long manifest with all modules loaded, in the fastest of three rounds; and its number of lines."""
    checker = importlib.import_module("precast.lang.syntax.checker")
    parser = importlib.import_module("precast.lang.syntax.parser")
    parser.parse(Source("warm-up.pp", "notice(1)"))
    text = long_manifest(VALIDATE_LINES)
    least = float("inf")
    for _ in range(3):
        started = time.perf_counter()
        result = checker.check(parser.parse(Source("long.pp", text)))
        least = min(least, time.perf_counter() - started)
        assert result.errors == ()
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
    real = measure_realistic(rounds, with_puppet=not is_quick)
    real_ratio = _add_realistic(rows, real)
    print_rows(["who", "resources", "first, CPU ms", "warm, CPU ms", "median", "peak MB"], rows)
    for size, ratio, share in zip(SIZES, ratios, shares, strict=False):
        print(f"{size:,} resources: {ratio:.1f} times faster, {share:.2f} of the memory")
    if real_ratio is not None:
        print(f"the realistic node: {real_ratio:.1f} times faster")
    print(f"validate: {lines:,} lines in {validate_s * 1000:.0f} ms")
    why = "only the full run compares with Puppet" if is_quick else "real Puppet is not installed"
    real_why = why if is_quick else "real Puppet or the modules of the realistic node are not installed"
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
            _compared("compile-real-vs-puppet", real_ratio, TARGET_RATIO, real_why, at_least=True),
            _compared("compile-memory", max(shares, default=None), TARGET_MEMORY, why, at_least=False),
            Goal("validate-2000", round(validate_s, 3), TARGET_VALIDATE_S, validate_s <= TARGET_VALIDATE_S),
        ],
    )


def _add_realistic(rows: list[tuple[object, ...]], measured: tuple[Figures, Figures | None] | None) -> float | None:
    """Append the rows of the realistic node. Returns how many times faster Precast is, or None if nothing is compared."""
    if measured is None:
        return None
    own, peer = measured
    rows.append(_row("precast, realistic", own))
    if peer is None:
        return None
    rows.append(_row(f"puppet {peer['version']}, realistic", peer))
    return float(peer["cpu_s"] / own["cpu_s"])


def _row(who: str, figures: Figures) -> tuple[object, ...]:
    times = (round(figures[name] * 1000, 1) for name in ("first_cpu_s", "cpu_s", "median_cpu_s"))
    return (who, figures["resources"], *times, round(figures["rss_mb"], 1))


def _compared(name: str, value: float | None, target: float, why: str, at_least: bool) -> Goal:
    if value is None:
        return Goal(name, None, target, None, why)
    return Goal(name, round(value, 2), target, value >= target if at_least else value <= target)


if __name__ == "__main__":
    main()
