"""Plans: Fuel's graphs are loaded and drawn; the server's cost of each task on 500 nodes; a plan of 100,000 tasks on nodes.

    PRECAST_CORPORA=DIRECTORY .venv/bin/python bench/plans.py [--quick]

`plans-load`: every graph of the Fuel corpus is loaded, expanded over a master and five nodes, checked and drawn; all oddities are warnings.
`plans-cpu`: a real server runs Fuel's deployment graph over 500 light agents, with real sessions over TLS 1.3, signed orders, claims and
reports of each phase; the work of the tasks is replaced, as a cluster's data would be needed for it. The CPU time is that of all processes
of the server, from the start of the command that starts and watches the run until its end, divided by the tasks that were carried out. The
times in the database are then checked: one task on a node at a time, no limit exceeded, everything in order.
`plans-large`: the check of a plan of 100,000 tasks on nodes, and the longest pass of the driver over it.

No tool that is installed here runs Fuel's graphs over nodes (Fuel's own needs a cluster with its database and message broker), and a
scheduler of one process does not do what is measured: sessions, claims, durable states. So nothing is measured beside us. The full run
writes bench/results/plans.json; the quick one (under a minute) has fewer nodes and writes nothing.
"""

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from bench.plans_cases.fuel import describe_deployment, find_corpus, replace_work
from bench.plans_cases.large import LargeRun, measure
from bench.plans_cases.loading import GraphFigures, measure_corpus
from bench.plans_cases.plan_site import PlanCost, running
from bench.plans_cases.verification import Verified, verify
from bench.report import Goal, finish, parse_quick, print_rows

OTHERS = 5
TARGET_LOAD_S, TARGET_CPU_MS, TARGET_CHECK_S, TARGET_PASS_MS = 10.0, 2.0, 10.0, 50.0
NO_CORPUS = "PRECAST_CORPORA names no directory with Fuel's task files"
FULL_ONLY = "only the full run has so many nodes"
PROCESSES = 1


class Size(NamedTuple):
    """The size of a run: nodes of the fleet, runs over it, tasks and nodes of the large plan, and rounds of passes after so many ends."""

    nodes: int
    runs: int
    tasks: int
    large_nodes: int
    rounds: list[tuple[int, int]]


QUICK = Size(10, 1, 200, 500, [(1, 10), (20, 10), (100, 10)])
FULL = Size(500, 3, 200, 500, [(1, 200), (20, 200), (100, 300)])


class FleetFigures(NamedTuple):
    """Runs of the deployment graph over a fleet, and what was checked of them."""

    runs: list[PlanCost]
    verified: list[Verified]

    @property
    def cpu_ms(self) -> float:
        return statistics.median(run.cpu_ms_each for run in self.runs)


def main() -> None:
    is_quick = parse_quick(__doc__)
    size, corpus = (QUICK if is_quick else FULL), find_corpus()
    with tempfile.TemporaryDirectory(prefix="precast-plans-") as name:
        graphs, loaded_s = ([], 0.0) if corpus is None else load(corpus)
        large = asyncio.run(measure(Path(name), size.tasks, size.large_nodes, size.rounds))
        fleet = None if corpus is None else run_fleet(Path(name), corpus, size)
    _print_graphs(graphs)
    _print_large(large)
    _print_fleet(fleet)
    figures = {
        "load_s": round(loaded_s, 2),
        "graphs": [_rounded(graph) for graph in graphs],
        "fleet": None if fleet is None else _describe_fleet(fleet, size),
        "large": _describe_large(large),
    }
    goals = [_load_goal(graphs, loaded_s), _cpu_goal(fleet, is_quick=is_quick), *_large_goals(large)]
    finish("plans", is_quick, figures, goals)


def load(corpus: Path) -> tuple[list[GraphFigures], float]:
    began_s = time.monotonic()
    return measure_corpus(corpus, OTHERS), time.monotonic() - began_s


def run_fleet(directory: Path, corpus: Path, size: Size) -> FleetFigures:
    plan = directory / "fuel.yaml"
    plan.write_text(replace_work(corpus))
    with running(directory, describe_deployment(size.nodes - 1), PROCESSES) as site:
        runs = [site.start(plan, "--master", site.master) for _ in range(size.runs)]
        return FleetFigures(runs, [verify(site, run.run) for run in runs])


# What is printed, and the goals


def _print_graphs(graphs: list[GraphFigures]) -> None:
    heads = ["graph", "tasks", "on nodes", "load ms", "expand ms", "check ms", "draw ms", "errors", "warnings"]
    print_rows(heads, [[*graph[:-1], sum(graph.warnings.values())] for graph in graphs])
    print()


def _print_large(large: LargeRun) -> None:
    rows: list[list[object]] = [
        ["check", large.check.wall_s * 1e3, large.check.cpu_s * 1e3],
        ["start", large.start.wall_s * 1e3, large.start.cpu_s * 1e3],
        ["first turns of the driver", large.take_on.wall_s * 1e3, large.take_on.cpu_s * 1e3],
        ["of that, longest time without other work", None, large.blocked_ms],
    ]
    rows += [
        [f"pass after {times.ends} ends, longest of {times.passes}", None, times.worst_ms] for times in large.passes
    ]
    print_rows([f"a plan of {large.instances:,} tasks on nodes", "ms", "CPU ms"], rows)
    print()


def _print_fleet(fleet: FleetFigures | None) -> None:
    if fleet is None:
        print(f"not measured: {NO_CORPUS}\n")
        return
    heads = ["Fuel's deployment over nodes", "nodes", "tasks on nodes", "seconds", "server CPU s", "CPU ms for each"]
    rows = [
        ["a run", checked.nodes, run.carried_out, run.wall_s, run.cpu_s, run.cpu_ms_each]
        for run, checked in zip(fleet.runs, fleet.verified, strict=True)
    ]
    print_rows(heads, rows)
    checked = fleet.verified[0]
    what = (
        f"{checked.orders} dependencies, {checked.limits} limits, one task at a time on each of {checked.nodes} nodes"
    )
    print(f"checked by the times in the database: {what}\n")


def _rounded(graph: GraphFigures) -> dict[str, Any]:
    return {name: round(value, 1) if isinstance(value, float) else value for name, value in graph._asdict().items()}


def _describe_fleet(fleet: FleetFigures, size: Size) -> dict[str, Any]:
    return {
        "nodes": size.nodes,
        "tasks_on_nodes": fleet.runs[0].carried_out,
        "skipped": fleet.runs[0].skipped,
        "cpu_ms_each": [round(run.cpu_ms_each, 3) for run in fleet.runs],
        "wall_s": [round(run.wall_s, 1) for run in fleet.runs],
        "dependencies_checked": fleet.verified[0].orders,
        "limits_checked": fleet.verified[0].limits,
    }


def _describe_large(large: LargeRun) -> dict[str, Any]:
    return {
        "tasks_on_nodes": large.instances,
        **{
            name: {"wall_s": round(spent.wall_s, 2), "cpu_s": round(spent.cpu_s, 2)}
            for name, spent in (("check", large.check), ("start", large.start), ("first_turns", large.take_on))
        },
        "blocked_ms": round(large.blocked_ms, 1),
        "passes": [
            {**times._asdict(), "median_ms": round(times.median_ms, 2), "worst_ms": round(times.worst_ms, 2)}
            for times in large.passes
        ],
    }


def _load_goal(graphs: list[GraphFigures], loaded_s: float) -> Goal:
    if not graphs:
        return Goal("plans-load", None, TARGET_LOAD_S, None, NO_CORPUS)
    is_met = loaded_s <= TARGET_LOAD_S and not any(graph.errors for graph in graphs)
    return Goal("plans-load", round(loaded_s, 2), TARGET_LOAD_S, is_met)


def _cpu_goal(fleet: FleetFigures | None, *, is_quick: bool) -> Goal:
    if fleet is None:
        return Goal("plans-cpu", None, TARGET_CPU_MS, None, NO_CORPUS)
    is_met = None if is_quick else fleet.cpu_ms <= TARGET_CPU_MS
    return Goal("plans-cpu", round(fleet.cpu_ms, 3), TARGET_CPU_MS, is_met, FULL_ONLY if is_quick else None)


def _large_goals(large: LargeRun) -> list[Goal]:
    """The check, which is met only together with the longest pass; and the longest pass."""
    check_s, pass_ms = large.check.wall_s, max([large.blocked_ms, *(times.worst_ms for times in large.passes)])
    is_fast = pass_ms <= TARGET_PASS_MS
    return [
        Goal("plans-large", round(check_s, 2), TARGET_CHECK_S, check_s <= TARGET_CHECK_S and is_fast),
        Goal("plans-large-pass", round(pass_ms, 1), TARGET_PASS_MS, is_fast),
    ]


if __name__ == "__main__":
    main()
