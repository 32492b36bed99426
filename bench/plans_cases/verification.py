"""Checks a run by the times of its attempts in the server's database: its order, and that no limit was exceeded.

A task is at work on a node from the time its claim was granted until its end was stored. Every time is of the server's clock.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bench.plans_cases.plan_site import PlanSite
from precast.plans.model import SYNC_NODE, Expansion, InstanceKey
from precast.services.plans.pinned import decode_pinned
from precast.store.engine.compression import decompress

_TIMES = "SELECT task, node, ordered_at, picked_at, ended_at FROM attempt WHERE job = ? AND picked_at IS NOT NULL"


class WorkTimes(NamedTuple):
    """When a task was ordered from its node, begun and ended, in microseconds."""

    ordered_at: int
    picked_at: int
    ended_at: int


class Verified(NamedTuple):
    """What was checked: pairs of a task and one that it waits for, nodes, and tasks with a limit."""

    orders: int
    nodes: int
    limits: int


def verify(site: PlanSite, run: str) -> Verified:
    """Check a run. Raises SystemExit for the first violation."""
    expansion, times = read_run(site, run)
    orders = _verify_order(expansion, times)
    by_node: dict[str, list[WorkTimes]] = defaultdict(list)
    by_task: dict[int, list[WorkTimes]] = defaultdict(list)
    for key, worked in times.items():
        by_node[key.node].append(worked)
        by_task[key.task].append(worked)
    for node, works in by_node.items():
        if (most := find_most(works)) > 1:
            raise SystemExit(f"{most} tasks were at work on {node} at the same time")
    for task, limit in expansion.at_once.items():
        if (most := find_most(by_task.get(task, ()))) > limit:
            raise SystemExit(
                f"{expansion.plan.tasks[task - 1].id} was at work on {most} nodes, and its limit is {limit}"
            )
    return Verified(orders, len(by_node), len(expansion.at_once))


def read_run(site: PlanSite, run: str) -> tuple[Expansion, dict[InstanceKey, WorkTimes]]:
    """The expansion of a run and the times of its attempts."""
    ((document,),) = site.read("SELECT document FROM plan_run WHERE job = ?", run)
    times = {InstanceKey(task, node): WorkTimes(*at) for task, node, *at in site.read(_TIMES, run)}
    return decode_pinned(decompress(document)).expand(), times


def find_most(works: Sequence[WorkTimes]) -> int:
    """How many of these were at work at the same time. What ends in the microsecond in which another begins is over before that."""
    steps = sorted([*((work.picked_at, 1) for work in works), *((work.ended_at, -1) for work in works)])
    most = at_work = 0
    for _, change in steps:
        at_work += change
        most = max(most, at_work)
    return most


def _verify_order(expansion: Expansion, times: Mapping[InstanceKey, WorkTimes]) -> int:
    """No task is ordered before all that it waits for has ended; returns the number of such pairs.

    An instance without an order, a stage or a skipped task, is over when all that it waits for is.
    """
    ends: list[int] = []
    whole: dict[int, int] = {}
    pairs = 0
    for instance in expansion.instances:
        for joint in instance.joins:
            whole.setdefault(joint, max((ends[member] for member in expansion.joints[joint]), default=0))
        waited = [*(ends[needed] for needed in instance.needs), *(whole[joint] for joint in instance.joins)]
        waited += [min(ends[member] for member in members) for members in instance.needs_any]
        latest = max(waited, default=0)
        pairs += len(waited)
        worked = times.get(instance.key)
        if worked is not None and worked.ordered_at < latest:
            name = expansion.plan.tasks[instance.key.task - 1].id
            raise SystemExit(
                f"{name} on {instance.key.node or SYNC_NODE} was ordered before its dependencies had ended"
            )
        ends.append(latest if worked is None else worked.ended_at)
    return pairs
