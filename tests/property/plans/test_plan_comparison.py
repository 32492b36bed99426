"""The comparison of the order of two random plans agrees with walking from instance to instance."""

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from precast.base.errors import PrecastError
from precast.plans.comparison import compare_plans
from precast.plans.expansion import expand
from precast.plans.model import CrossDependency, Expansion, Plan, PlanNode, PlanTask, Position

NODES = [PlanNode("n1", ("x",)), PlanNode("n2", ("x", "y")), PlanNode("n3", ("y",))]
NAMES = "abcdef"
Key = tuple[str, str]


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    tasks = []
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=2)):
        others = st.lists(st.sampled_from(NAMES), max_size=2, unique=True)
        role = st.sampled_from([("self",), ("x",), ("y",), ("*",)])
        crosses = draw(
            st.lists(
                st.builds(CrossDependency, st.sampled_from(NAMES), role, st.sampled_from(["all", "any"])), max_size=2
            )
        )
        tasks.append(
            PlanTask(
                name,
                draw(st.sampled_from(["shell", "shell", "stage"])),
                Position("p.yaml", 1, 1),
                selectors=draw(st.sampled_from([("x",), ("y",), ("*",)])),
                requires=tuple(draw(others)),
                cross_depends=tuple(crosses),
                has_canary=draw(st.booleans()),
            )
        )
    return Plan("p", tuple(tasks))


def walk(expansion: Expansion) -> dict[Key, set[Key]]:
    """By instance, those that it waits for, directly or through others."""
    keys = [(expansion.plan.tasks[instance.key.task - 1].id, instance.key.node) for instance in expansion.instances]
    found: dict[Key, set[Key]] = {}
    for index, instance in enumerate(expansion.instances):
        direct = {*instance.needs, *(member for joint in instance.joins for member in expansion.joints[joint])}
        direct |= {member for members in instance.needs_any for member in members}
        canary = expansion.canaries.get(instance.key.task)
        if canary not in (None, instance.key.node):
            direct.add(keys.index((keys[index][0], canary or "")))
        found[keys[index]] = {keys[number] for number in direct}.union(*(found[keys[number]] for number in direct))
    return found


def pairs(waits: dict[Key, set[Key]], tasks: set[str]) -> set[tuple[str, str]]:
    return {
        (first, second)
        for (second, _), others in waits.items()
        for first, _ in others
        if first != second and {first, second} <= tasks
    }


def common_waits(waits: dict[Key, set[Key]], common: set[Key]) -> Iterator[tuple[Key, set[Key]]]:
    yield from ((key, waits[key] & common) for key in common)


@settings(max_examples=300, deadline=None)
@given(plans(), plans())
def test_order_changes_are_those_of_the_instances(old: Plan, new: Plan) -> None:
    try:
        was, will = walk(expand(old, NODES)), walk(expand(new, NODES))
    except PrecastError:  # a cycle
        return
    comparison = compare_plans(old, new, NODES)
    tasks = {task.id for task in old.tasks} & {task.id for task in new.tasks}
    before, after = pairs(was, tasks), pairs(will, tasks)
    common = was.keys() & will.keys()
    old_waits, new_waits = dict(common_waits(was, common)), dict(common_waits(will, common))
    moved = {
        (first, key[0])
        for key in common
        for first, _ in old_waits[key] ^ new_waits[key]
        if first != key[0] and {(first, key[0])} <= before & after
    }
    turned = {(first, second) for first, second in after - before if (second, first) in before - after}
    expected = {
        "ordered": after - before - turned,
        "unordered": {pair for pair in before - after if pair[::-1] not in turned},
        "reversed": turned,
        "elsewhere": moved,
    }
    for change in comparison.order.changes:
        assert (change.first, change.second) in expected[change.change]
    total = sum(map(len, expected.values()))
    assert len(comparison.order.changes) + comparison.order.followers == total
    assert bool(comparison.order.changes) == bool(total)
    reordered = {(task, node.node) for node in comparison.nodes for task in node.reordered}
    assert reordered == {key for key in common if key[1] and old_waits[key] != new_waits[key]}
