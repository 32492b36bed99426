"""Warm compiles of the classes and defines of Debian's modules, by real Puppet and by Precast."""

import gc
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.report import Goal, print_rows
from lab.corpus.cases import CorpusCase, cases
from lab.differential import catalogs
from lab.differential.module_declarations import MODULES
from precast.lang.compile import CompileFailure, compile_catalog

TARGET = 10.0
ROUNDS = 2
EACH = 4  # cases of each module
SEED = 1
OTHERS = (Path("/usr/share/puppet/modules.available"),)
QUICK_MODULES = ("ntp", "memcached", "rsync")
FULL_ONLY = "only the full run compiles all modules"
NO_PUPPET = "real Puppet or Debian's modules are not installed"


def measure(*, is_quick: bool) -> tuple[dict[str, Any], list[Goal]]:
    if shutil.which("ruby") is None or shutil.which("puppet") is None or not (MODULES / "stdlib").is_dir():
        return {}, [Goal("modules-compile", None, TARGET, None, NO_PUPPET)]
    chosen = _sample(cases(MODULES, list(OTHERS), SEED, 2, QUICK_MODULES if is_quick else ()))
    with tempfile.TemporaryDirectory(prefix="precast-modules-") as name:
        rows = _compile(Path(name), chosen)
    here, there = sum(own for _, own, _ in rows), sum(theirs for _, _, theirs in rows)
    ratio = there / here if here else 0.0
    worst = sorted((theirs / own, case.declared) for case, own, theirs in rows)[:3]
    heads = ["compiles of modules, warm", "cases", "CPU s here", "CPU s in Puppet", "times"]
    print_rows(heads, [["classes and defines that both compile", len(rows), here, there, ratio]])
    print(f"least: {', '.join(f'{name} {times:.1f}' for times, name in worst)}\n")
    figures = {
        "compile": {
            "cases": len(rows),
            "cpu_here_s": round(here, 3),
            "cpu_puppet_s": round(there, 3),
            "times": round(ratio, 1),
            "load": round(os.getloadavg()[0], 1),
        }
    }
    if is_quick:
        return figures, [Goal("modules-compile", None, TARGET, None, FULL_ONLY)]
    return figures, [Goal("modules-compile", round(ratio, 1), TARGET, ratio >= TARGET)]


def _sample(all_cases: Iterable[CorpusCase]) -> list[CorpusCase]:
    """Some cases of each module, evenly spaced, so that a module with many classes counts no more than others."""
    by_module: dict[str, list[CorpusCase]] = {}
    for case in all_cases:
        by_module.setdefault(case.environment.name, []).append(case)
    return [
        of_module[at * len(of_module) // EACH]
        for of_module in by_module.values()
        for at in range(EACH)
        if at < len(of_module)
    ]


def _compile(place: Path, chosen: Sequence[CorpusCase]) -> list[tuple[CorpusCase, float, float]]:
    """The cases that both compile, with the CPU seconds of the fastest compile here and in Puppet."""
    for environment in {case.environment.name: case.environment for case in chosen}.values():
        environment.write(place)
    requested = [(f"{case.id}/{number}", case.environment, case.machine) for case in chosen for number in range(ROUNDS)]
    answers = catalogs.compile_with_puppet(place, requested, Path("/dev/null"))
    ours = catalogs.PrecastAnswers(place, (MODULES, *OTHERS))
    rows = []
    for case in chosen:
        theirs = [answers[f"{case.id}/{number}"] for number in range(ROUNDS)]
        own = None if any(answer.get("error") for answer in theirs) else _seconds(ours, case)
        if own is not None:
            rows.append((case, own, min(answer["cpu_s"] for answer in theirs)))
    return rows


def _seconds(ours: catalogs.PrecastAnswers, case: CorpusCase) -> float | None:
    """The CPU seconds of the fastest compile; None if it fails."""
    spent = []
    for _ in range(ROUNDS):
        asked = ours.asked(case.environment.name, case.machine)
        gc.collect()
        started = time.process_time()
        try:
            compile_catalog(asked.inputs, asked.settings)
        except CompileFailure:
            return None
        spent.append(time.process_time() - started)
    return min(spent)
