"""The cost of an orchestration point: all nodes wait until the last has done its part of the catalog, and go on with the next part.

    .venv/bin/python bench/orchestration_point.py [--quick]

A real server drives plans whose tasks are parts of catalogs over 100 light agents: real sessions over TLS 1.3, claims and reports; only the
work is left out. One plan has a point between each two parts, where every node waits for all (`policy: all`); the other has the same parts
without points. The time of a point is from the end of a part on the last node until the next part has begun on the first node, and on all.
Its CPU time is what the server and all its processes take for the run with points beyond the other run, divided by the number of points.
Two runs of the same plan differ by more than that, so each round has both plans, in alternating order, and the figure is the interval that
contains the median of the differences (`bench/paired.py`): where it contains 0, only its upper end says something. A round before
them warms up.
The full run writes bench/results/orchestration_point.json; the quick one (under a minute) has fewer rounds and writes nothing.
"""

import statistics
import tempfile
from pathlib import Path
from typing import Any

from bench.paired import describe, median_interval
from bench.plans_cases.fuel import DeployedNode
from bench.plans_cases.orchestration import PointFigures, measure_points
from bench.plans_cases.plan_site import running
from bench.report import Goal, finish, parse_quick, print_rows

AGENTS = 100
QUICK_PARTS, PARTS = 4, 11
QUICK_ROUNDS, ROUNDS = 1, 16
TARGET_S = 1.0


def main() -> None:
    is_quick = parse_quick(__doc__)
    parts, rounds = (QUICK_PARTS, QUICK_ROUNDS) if is_quick else (PARTS, ROUNDS)
    deployed = [DeployedNode([])] * (AGENTS - 1)
    with tempfile.TemporaryDirectory(prefix="precast-point-") as name, running(Path(name), deployed, 1) as site:
        if not is_quick:
            measure_points(site, Path(name), parts)
        measured = [measure_points(site, Path(name), parts, points_first=bool(each % 2)) for each in range(rounds)]
    figures = summarise(measured, parts)
    print_rows(
        ["a point over 100 nodes", "figure"],
        [
            ["from the last end until the next part begins, ms", figures["begin_first_ms"]],
            ["until it has begun on all nodes, ms", figures["begin_all_ms"]],
            ["longest of all points, ms", figures["longest_ms"]],
            ["server CPU beyond the same work without it, ms", figures["point_cpu"]],
            ["run longer than without it, ms", figures["point_wall"]],
            ["server CPU for each part on a node, ms", figures["part_cpu_ms"]],
        ],
    )
    print(f"median of {rounds} rounds of {parts - 1} points; each is checked by the times in the database\n")
    met = figures["begin_all_ms"] <= TARGET_S * 1e3
    finish(
        "orchestration_point",
        is_quick,
        figures,
        [Goal("orchestration-point", figures["begin_all_ms"] / 1e3, TARGET_S, met)],
    )


def summarise(measured: list[PointFigures], parts: int) -> dict[str, Any]:
    points = parts - 1
    begin_all = [each for figures in measured for each in figures.begin_all_s]
    cpu = median_interval([each.cpu_ms_of_point(points) for each in measured])
    wall = median_interval([each.wall_s_of_point(points) * 1e3 for each in measured])
    begin_first = [each for figures in measured for each in figures.begin_first_s]
    return {
        "agents": AGENTS,
        "parts": parts,
        "rounds": len(measured),
        "begin_first_ms": round(statistics.median(begin_first) * 1e3, 1),
        "begin_all_ms": round(statistics.median(begin_all) * 1e3, 1),
        "longest_ms": round(max(begin_all) * 1e3, 1),
        "point_cpu": describe(cpu),
        "point_cpu_ms_95": _rounded(cpu.low, cpu.high),
        "point_wall": describe(wall),
        "point_wall_ms_95": _rounded(wall.low, wall.high),
        "part_cpu_ms": round(statistics.median(each.without.cpu_ms_each for each in measured), 2),
        "with_points_cpu_s": [round(each.with_points.cpu_s, 2) for each in measured],
        "without_cpu_s": [round(each.without.cpu_s, 2) for each in measured],
        "with_points_s": [round(each.with_points.wall_s, 2) for each in measured],
        "without_s": [round(each.without.wall_s, 2) for each in measured],
    }


def _rounded(*figures: float | None) -> list[float | None]:
    return [None if figure is None else round(figure, 1) for figure in figures]


if __name__ == "__main__":
    main()
