"""How many nodes of each group may fail before a run stops.

A tolerance is a number of nodes, or a percentage of the nodes of the group, rounded down; a negative one is what must be left over, so -1
of five nodes tolerates four. A group without a tolerance never stops a run. Nodes in no group are critical: none of them may fail.
"""

import re

from precast.plans import issues
from precast.plans.expanding.placement import Placement
from precast.plans.model import Plan, ToleranceGroup

_FORM = re.compile(r"([+-]?[0-9]{1,9})\s*(%?)")


def count_tolerated(tolerance: str | None, total: int) -> int | None:
    """How many of `total` nodes may fail; None for any number. Raises InputError PLAN-032 for an invalid tolerance."""
    if tolerance is None:
        return None
    match = _FORM.fullmatch(tolerance.strip())
    if match is None:
        raise issues.BAD_TOLERANCE.error(tolerance=tolerance)
    number = int(match[1])
    count = abs(number) * total // 100 if match[2] else abs(number)
    return max(0, total - count) if number < 0 else count


def list_tolerances(plan: Plan, placement: Placement) -> list[ToleranceGroup]:
    """The groups of a plan, and the nodes in none of them, if there are any. Raises InputError PLAN-032."""
    groups = [
        ToleranceGroup(group.id, nodes, count_tolerated(group.fault_tolerance, len(nodes)))
        for group, nodes in zip(plan.groups, placement.group_nodes, strict=True)
    ]
    critical = placement.all_nodes.difference(*placement.group_nodes)
    return [*groups, ToleranceGroup("", critical, 0)] if critical else groups
