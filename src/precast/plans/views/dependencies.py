"""A plan as it is written, before there are nodes: made-up nodes to expand it over, and its dependencies whatever the nodes."""

from collections.abc import Sequence

import msgspec

from precast.plans.expanding.dependencies import find_dependencies
from precast.plans.expanding.placement import place_tasks
from precast.plans.model import PlacedDependency, Plan, PlanNode
from precast.plans.names import is_expression
from precast.plans.roles import ALL, MASTER

ALL_ROLES = "all-roles"


def list_roles(plan: Plan) -> list[str]:
    """The roles and tags that the tasks and groups of a plan name, without patterns and words for all nodes and the master."""
    return [
        name for name in dict.fromkeys(_list_selectors(plan)) if not is_expression(name) and name not in (ALL, MASTER)
    ]


def make_up_nodes(plan: Plan) -> list[PlanNode]:
    """A node for each role that the plan names; a master if it names that; and at least one node."""
    masters = [PlanNode(MASTER, (), is_master=True)] if MASTER in _list_selectors(plan) else []
    others = [PlanNode(role, (role,)) for role in list_roles(plan)]
    return [*masters, *others] if others else [*masters, PlanNode("node", ("node",))]


def _list_selectors(plan: Plan) -> list[str]:
    named = [name for task in plan.tasks for name in task.selectors]
    return named + [name for group in plan.groups for name in (group.selectors or (group.id,))]


def make_up_whole_node(plan: Plan) -> PlanNode:
    """A node with all roles of a plan."""
    return PlanNode(ALL_ROLES, (*list_roles(plan), ALL_ROLES), is_master=True)


def list_dependencies(plan: Plan) -> Sequence[PlacedDependency]:
    """The dependencies between tasks if all were on the same nodes. Raises InputError PLAN-030 or PLAN-031 for a pattern.

    There are two such nodes, because a task that waits for one of several waits for each if there is only one.
    """
    whole = make_up_whole_node(plan)
    nodes = [whole, msgspec.structs.replace(whole, name=f"other {ALL_ROLES}")]
    return find_dependencies(plan, place_tasks(plan, nodes, []), [])
