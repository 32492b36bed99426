"""Measures a whole process from its start to its end: wall time, CPU time, peak memory, output."""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple


class ProcessCost(NamedTuple):
    """The cost of a command. The peak is that of the process itself, not of its children."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    code: int
    out: str


def measure(command: Sequence[str], environment: Mapping[str, str] | None = None) -> ProcessCost:
    """Run a command to its end."""
    with tempfile.TemporaryFile() as out:
        started_s = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - started_s
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode(errors="replace")
    return ProcessCost(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, process.returncode, text)


def best(
    command: Sequence[str],
    rounds: int,
    environment: Mapping[str, str] | None = None,
    before: Callable[[], None] = lambda: None,
) -> ProcessCost:
    """The fastest of some rounds, all of which must succeed. `before` is called before each round and is not measured."""
    runs = []
    for _ in range(rounds):
        before()
        runs.append(measure(command, environment))
    for run in runs:
        if run.code not in (0, 2):
            raise SystemExit(f"{' '.join(command)} ended with {run.code}:\n{run.out[-2000:]}")
    return min(runs, key=lambda run: run.wall_s)
