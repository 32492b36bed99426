"""Random small plans over random nodes, with everything that decides what waits for what."""

from random import Random

from hypothesis import strategies as st

from precast.base.errors import InputError
from precast.plans import issues
from precast.plans.expansion import expand
from precast.plans.model import (
    CrossDependency,
    Expansion,
    InstanceKey,
    Plan,
    PlanGroup,
    PlanNode,
    PlanTask,
    Position,
    TaskInput,
)

AT = Position("random.yaml", 1, 1)
ROLES = ("x", "y")
NAMES = "abcdefgh"


def random_plan(seed: int, most: int = 7) -> tuple[Plan, list[PlanNode]]:
    """A plan and nodes. About one plan in ten has a cycle."""
    random = Random(seed)
    nodes = [PlanNode(f"n{number}", _some(random, ROLES)) for number in range(random.randint(1, 4))]
    if random.random() < 0.3:
        nodes.append(PlanNode("boss", is_master=True))
    names = [name + random.choice(("", "1")) for name in NAMES[: random.randint(1, most)]]
    tasks = [_task(random, names, number) for number in range(len(names))]
    random.shuffle(tasks)
    groups = tuple(
        PlanGroup(role, AT, (role,), _some(random, names), random.choice((None, "0", "1", "50%", "-1")))
        for role in _some(random, (*ROLES, "master"))
    )
    return Plan("random", tuple(tasks), groups), nodes


def _task(random: Random, names: list[str], number: int) -> PlanTask:
    """Mostly a task waits for earlier ones, so that cycles are rare."""
    earlier, later = names[:number], names[number + 1 :]
    if random.random() < 0.05:
        earlier = later = names
    crosses = [_cross(random, earlier) for _ in range(random.choice((0, 0, 1, 2)))] if earlier else []
    inputs = {}
    if earlier and random.random() < 0.15:
        inputs = {"i": TaskInput(random.choice(earlier), role=random.choice((("self",), ("x",), ("*",))))}
    return PlanTask(
        names[number],
        random.choice(("shell", "shell", "shell", "shell", "stage", "skipped")),
        AT,
        selectors=_some(random, (*ROLES, "*", "master")) or ("x",),
        requires=_some(random, [*earlier, "/.1/", "nothing"], 0.25) if earlier else (),
        required_for=_some(random, later, 0.15),
        cross_depends=tuple(crosses),
        cross_depended_by=(_cross(random, later),) if later and random.random() < 0.2 else (),
        inputs=inputs,
        at_once=random.choice((None, None, None, 1, 2)),
        at_once_percent=random.choice((None, None, None, 50)),
        has_canary=random.random() < 0.15,
        approval="may it?" if random.random() < 0.1 else "",
        is_always=random.random() < 0.15,
    )


def _cross(random: Random, names: list[str]) -> CrossDependency:
    role = random.choice((("*",), ("x",), ("y",), ("x", "master"), ("self",), None, ("/[xy]/",)))
    return CrossDependency(random.choice(names), role, random.choice(("all", "all", "any")))


def _some(random: Random, items: "list[str] | tuple[str, ...]", share: float = 0.5) -> tuple[str, ...]:
    return tuple(item for item in items if random.random() < share)


def expand_or_none(plan: Plan, nodes: list[PlanNode]) -> Expansion | None:
    """The expansion; None if the plan has a cycle."""
    try:
        return expand(plan, nodes)
    except InputError as error:
        if not issues.CYCLE.matches(error):
            raise
        return None


def choose_skipped(expansion: Expansion, random: Random) -> set[InstanceKey]:
    """Some instances that a condition or a choice leaves out, in half of all runs."""
    share = random.choice((0.0, 0.0, 0.2, 0.6))
    return {instance.key for instance in expansion.instances if instance.key.node and random.random() < share}


seeds = st.integers(0, 2**48)
