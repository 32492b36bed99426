"""The comparison of the order of two random plans agrees with walking from instance to instance."""

from collections.abc import Iterator

from hypothesis import given, settings

from precast.base.errors import PrecastError
from precast.plans.comparison import compare_plans
from precast.plans.expansion import expand
from precast.plans.model import Plan
from tests.property.plans.random_plans import NODES, Key, plans, walk


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
