"""The comparison of the order of two random plans agrees with walking from instance to instance."""

from collections.abc import Iterator

from hypothesis import assume, given, settings

from precast.plans.comparison import compare_plans
from tests.property.plans.instance_waits import Key, walk
from tests.property.plans.run_plans import expand_or_none, random_plan, seeds


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
@given(seeds, seeds)
def test_order_changes_are_those_of_the_instances(one: int, other: int) -> None:
    (old, nodes), (new, _) = random_plan(one), random_plan(other)
    old_expansion, new_expansion = expand_or_none(old, nodes), expand_or_none(new, nodes)
    assume(old_expansion is not None and new_expansion is not None)
    assert old_expansion is not None
    assert new_expansion is not None
    was, will = walk(old_expansion), walk(new_expansion)
    comparison = compare_plans(old, new, nodes)
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
