"""Plans of part catalogs, with an orchestration point between two parts or without, and the time that a point takes.

At a point every node waits until all nodes have done the part before it. Without points each node goes through its parts in the same order,
independent of the others.
"""

import json
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from bench.plans_cases.plan_site import PlanCost, PlanSite
from bench.plans_cases.verification import WorkTimes, read_run, verify


class PointFigures(NamedTuple):
    """A run with points, and one without: the cost of each, and how long each point took from the end of a part on the last node."""

    with_points: PlanCost
    without: PlanCost
    begin_first_s: list[float]  # until the next part begins on the first node
    begin_all_s: list[float]  # until it has begun on all

    def cpu_ms_of_point(self, points: int) -> float:
        """The CPU time of the server for one point: what the run takes beyond the same work without points."""
        return (self.with_points.cpu_s - self.without.cpu_s) / points * 1e3

    def wall_s_of_point(self, points: int) -> float:
        return (self.with_points.wall_s - self.without.wall_s) / points


def write_plan(path: Path, parts: int, *, has_points: bool) -> Path:
    """A plan of so many parts of each node's catalog, in order."""
    tasks = []
    for number in range(1, parts + 1):
        task: dict[str, object] = {
            "id": f"part{number}",
            "type": "catalog",
            "roles": ["*"],
            "parameters": {"tags": [f"part{number}"]},
        }
        if number > 1:
            before = f"part{number - 1}"
            task |= {"cross_depends": [{"name": before, "policy": "all"}]} if has_points else {"requires": [before]}
        tasks.append(task)
    path.write_text(json.dumps(tasks))
    return path


def measure_points(site: PlanSite, directory: Path, parts: int, *, points_first: bool = False) -> PointFigures:
    """Run both plans once, one after the other, and check the order of both."""
    costs = {
        has_points: site.start(write_plan(directory / f"points-{has_points}.yaml", parts, has_points=has_points))
        for has_points in (points_first, not points_first)
    }
    with_points, without = costs[True], costs[False]
    for cost in (without, with_points):
        verify(site, cost.run)
    _, times = read_run(site, with_points.run)
    by_part: dict[int, list[WorkTimes]] = defaultdict(list)
    for key, worked in times.items():
        by_part[key.task].append(worked)
    ends = {part: max(work.ended_at for work in works) for part, works in by_part.items()}
    first = [min(work.picked_at for work in by_part[part + 1]) - ends[part] for part in range(1, parts)]
    last = [max(work.picked_at for work in by_part[part + 1]) - ends[part] for part in range(1, parts)]
    return PointFigures(with_points, without, [each / 1e6 for each in first], [each / 1e6 for each in last])
