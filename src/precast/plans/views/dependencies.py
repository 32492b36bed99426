"""The dependencies of a plan as it is written, whatever the nodes.

An expansion has the dependencies between tasks that share nodes, or whose nodes a field means. Authors want to see their plan before there
are nodes: it is placed on two nodes that have all roles.
"""

from collections.abc import Sequence

from precast.plans.expanding.dependencies import find_dependencies
from precast.plans.expanding.placement import place_tasks
from precast.plans.model import PlacedDependency, Plan, PlanNode
from precast.plans.names import is_expression
from precast.plans.roles import ALL, MASTER

# Two, because a task that waits for one of several nodes waits for each if there is only one.
_NODES = ("one", "other")


def list_roles(plan: Plan) -> list[str]:
    """The roles and tags that the tasks and groups of a plan name, without patterns."""
    named = [name for task in plan.tasks for name in task.selectors]
    named += [name for group in plan.groups for name in (group.selectors or (group.id,))]
    return [name for name in dict.fromkeys(named) if not is_expression(name) and name not in (ALL, MASTER)]


def list_dependencies(plan: Plan) -> Sequence[PlacedDependency]:
    """The dependencies of the tasks of a plan where all have all roles. Raises InputError PLAN-030 or PLAN-031 for a pattern."""
    roles = tuple(list_roles(plan)) or _NODES
    nodes = [PlanNode(name, roles, is_master=True) for name in _NODES]
    return find_dependencies(plan, place_tasks(plan, nodes, []), [])
