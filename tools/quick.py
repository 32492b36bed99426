"""Chooses the tests that a change most likely breaks: `make quick` runs them while `make test` stays the judge.

A changed file is one that differs from `--base` (default: the last commit) or that git does not track yet. A test file is a candidate
if it imports a changed module, directly or through other modules; its distance is the number of imports in between. The nearest tests
run first, and the choice ends where the recorded durations of earlier runs fill the budget, so that the command stays under a minute.
Tests that start whole programs (`e2e`, `fault`, `differential`) import little of what they test: they run only if they changed themselves.
"""

import argparse
import ast
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Where tests/conftest.py records how long each test file took.
DURATIONS = ROOT / ".pytest_cache" / "durations.json"
TREES = {"precast": ROOT / "src", **dict.fromkeys(("tests", "lab", "bench", "demo", "tools"), ROOT)}
WHOLE_PROGRAMS = ("tests/e2e/", "tests/fault/", "tests/differential/")
# Wall time for tests, on two cores; format, lint and types take the rest of the minute.
BUDGET_S = 60.0
# Assumed for a test file that no earlier run has measured.
UNMEASURED_S = 1.0


def read_changed_files(base: str) -> set[str]:
    """The paths below the root that differ from `base`, deleted ones left out."""
    tracked = _git("diff", "--name-only", "--diff-filter=d", base)
    return {*tracked, *_git("ls-files", "--others", "--exclude-standard")}


def _git(*words: str) -> list[str]:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()


def read_import_graph() -> dict[str, set[str]]:
    """For every Python file the files that import it, as paths below the root."""
    importers = defaultdict(set)
    for name, base in TREES.items():
        for path in (base / name).rglob("*.py"):
            relative = str(path.relative_to(ROOT))
            for imported in _read_imports(path):
                importers[imported].add(relative)
    return importers


def _read_imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            if (file := _find_module(name)) is not None:
                yield file


def _find_module(name: str) -> str | None:
    base = TREES.get(name.partition(".")[0])
    if base is None:
        return None
    stem = base / name.replace(".", "/")
    for path in (stem.with_suffix(".py"), stem / "__init__.py"):
        if path.is_file():
            return str(path.relative_to(ROOT))
    return None


def measure_distances(changed: Iterable[str], importers: dict[str, set[str]]) -> dict[str, int]:
    """How many imports lie between each file and the nearest changed one."""
    distances = dict.fromkeys(changed, 0)
    waiting = list(distances)
    for path in waiting:
        for importer in sorted(importers.get(path, ())):
            if importer not in distances:
                distances[importer] = distances[path] + 1
                waiting.append(importer)
    return distances


def choose_tests(distances: dict[str, int], durations: dict[str, float], budget_s: float) -> tuple[list[str], int]:
    """The test files to run, nearest first, and how many candidates the budget left out."""
    candidates = sorted(
        (distance, path)
        for path, distance in distances.items()
        if path.startswith("tests/") and Path(path).name.startswith("test_")
        if distance == 0 or not path.startswith(WHOLE_PROGRAMS)
    )
    chosen: list[str] = []
    spent_s = 0.0
    for _, path in candidates:
        spent_s += durations.get(path, UNMEASURED_S)
        if chosen and spent_s > budget_s:
            break
        chosen.append(path)
    return chosen, len(candidates) - len(chosen)


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the tests nearest to what changed.")
    parser.add_argument("--base", default="HEAD", help="the commit to compare with (default: HEAD)")
    parser.add_argument("--list", action="store_true", help="print the chosen test files and run nothing")
    args = parser.parse_args()
    changed = read_changed_files(args.base)
    durations = json.loads(DURATIONS.read_text()) if DURATIONS.is_file() else {}
    chosen, left_out = choose_tests(measure_distances(changed, read_import_graph()), durations, BUDGET_S)
    print(
        f"{len(changed)} changed files, {len(chosen)} test files nearest to them; {left_out} more only in `make test`"
    )
    if args.list or not chosen:
        print(*chosen, sep="\n")
        return 0
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", *chosen], cwd=ROOT
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
