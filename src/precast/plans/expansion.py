"""Expands a plan over nodes: every instance, what it waits for, and an order in which all of them can run.

The expansion depends on the plan, the names of the nodes, their roles and tags, on dependencies that were computed from the nodes' data,
and on nothing else. Its size grows with the number of instances and of dependencies between tasks, never with the square of the number of
nodes.
"""

from collections.abc import Iterable, Sequence

from precast.net.model.compiler import collector_paused
from precast.plans import issues
from precast.plans.expanding.dependencies import find_dependencies
from precast.plans.expanding.limits import choose_canaries, find_limits, warn_of_limits
from precast.plans.expanding.ordering import find_cycle, order_instances
from precast.plans.expanding.placement import place_tasks
from precast.plans.expanding.problems import place_of
from precast.plans.expanding.tolerances import list_tolerances
from precast.plans.expanding.wiring import Wiring, connect_instances
from precast.plans.model import (
    SYNC_NODE,
    ComputedResult,
    Expansion,
    Instance,
    InstanceKey,
    PlacedDependency,
    Plan,
    PlanNode,
    PlanProblem,
)
from precast.wire.jobs.order_ids import MAX_TASK

# An instance takes about 2.5 KB in the memory of a server that runs the plan.
MAX_INSTANCES = 250_000
# The most dependencies of a cycle that its error lists.
MAX_LISTED = 8


def expand(plan: Plan, nodes: Sequence[PlanNode], computed: Iterable[ComputedResult] = ()) -> Expansion:
    """The plan over these nodes, with warnings. `computed` has the dependencies that expressions of the plan give on the nodes.

    Raises InputError PLAN-030 or PLAN-031 for a pattern, PLAN-032 for a tolerance, PLAN-033 for a cycle; LimitedError PLAN-034.
    """
    _require_limit(len(plan.tasks), MAX_TASK, "tasks")
    nodes = sorted(nodes, key=lambda node: node.name)
    warnings: list[PlanProblem] = []
    placement = place_tasks(plan, nodes, warnings)
    _require_limit(sum(map(len, placement.task_nodes)), MAX_INSTANCES, "tasks on nodes")
    groups = list_tolerances(plan, placement)
    dependencies = find_dependencies(plan, placement, warnings, computed)
    warnings += warn_of_limits(plan, placement)
    with collector_paused():
        wiring = connect_instances(placement, dependencies)
        order = order_instances(wiring)
        if len(order) < len(wiring.keys):
            raise issues.CYCLE.error(cycle=_describe_cycle(plan, wiring, find_cycle(wiring, order), dependencies))
        instances, joints = _number_in_order(wiring, order)
    canaries = choose_canaries(plan, (instance.key for instance in instances))
    limits = find_limits(plan, placement)
    return Expansion(plan, nodes, instances, groups, limits, canaries, joints, warnings, dependencies)


def _require_limit(count: int, limit: int, what: str) -> None:
    if count > limit:
        raise issues.TOO_MANY_INSTANCES.error(count=count, what=what, limit=limit)


def _number_in_order(wiring: Wiring, order: Sequence[int]) -> tuple[list[Instance], list[tuple[int, ...]]]:
    """The instances and joints, numbered in this order."""
    position = [0] * len(order)
    for index, number in enumerate(order):
        position[number] = index
    sets = [tuple(sorted([position[member] for member in members])) for members in wiring.sets]
    joint_sets = sorted({number for joins in wiring.joins for number in joins})
    joint_of = {number: joint for joint, number in enumerate(joint_sets)}
    shared: dict[tuple[int, ...], tuple[int, ...]] = {}
    instances = []
    for number in order:
        needs = tuple(sorted({position[needed] for needed in wiring.needs[number]}))
        one_of = tuple([sets[of] for of in wiring.one_of[number]])
        joins = tuple(sorted([joint_of[of] for of in wiring.joins[number]]))
        instances.append(Instance(wiring.keys[number], needs, one_of, shared.setdefault(joins, joins)))
    return instances, [sets[number] for number in joint_sets]


def _describe_cycle(plan: Plan, wiring: Wiring, cycle: Sequence[int], dependencies: Sequence[PlacedDependency]) -> str:
    """Each dependency of a cycle with the field that says so."""
    keys = [wiring.keys[number] for number in cycle]
    pairs = list(zip(keys, [*keys[1:], keys[0]], strict=True))
    texts = [_describe_wait(plan, waiting, needed, dependencies) for waiting, needed in pairs[:MAX_LISTED]]
    more = [f"and {len(pairs) - MAX_LISTED} more"] if len(pairs) > MAX_LISTED else []
    return "; ".join([*texts, *more])


def _describe_wait(
    plan: Plan, waiting: InstanceKey, needed: InstanceKey, dependencies: Sequence[PlacedDependency]
) -> str:
    reason = next(
        dependency
        for dependency in dependencies
        if (dependency.task, dependency.needed) == (waiting.task, needed.task)
        and waiting.node in dependency.nodes
        and needed.node in dependency.needed_on
        and (waiting.node == needed.node or not dependency.is_local)
    )
    declared_by = plan.tasks[reason.declared_by - 1]
    by = "" if reason.declared_by == waiting.task else f" of {declared_by.id}"
    names = f"{_name_instance(plan, waiting)} waits for {_name_instance(plan, needed)}"
    return f"{names} because of {reason.field}{by} in {place_of(declared_by.at)}"


def _name_instance(plan: Plan, key: InstanceKey) -> str:
    task = plan.tasks[key.task - 1].id
    return f"stage {task}" if key.node == SYNC_NODE else f"{task} on {key.node}"
