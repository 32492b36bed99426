"""How the order of tasks differs between two versions of a plan, in as few pairs as say all of it.

Where a task is put between others, all tasks before it are ordered against all behind it. Only the pairs from which the others follow are
listed; the others are counted.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Literal

import msgspec

from precast.plans.model import Expansion
from precast.plans.views.graph import order_vertices
from precast.plans.views.order import NamedKey, compare_instances, find_order, list_bits


class OrderChange(msgspec.Struct, frozen=True):
    """Two tasks that both versions have: `first` is before `second` in the new version, or was in the old one if `unordered`.

    ordered: there was no order before. unordered: there is none any more. reversed: it was the other way round. elsewhere: the order is the
    same, but between other nodes.
    """

    first: str
    second: str
    change: Literal["ordered", "unordered", "reversed", "elsewhere"]


class OrderComparison(msgspec.Struct, frozen=True):
    """The changes, and the number of further pairs whose change follows from them."""

    changes: list[OrderChange]
    followers: int


def compare_orders(
    old: Expansion, new: Expansion, removed: Collection[str] = ()
) -> tuple[OrderComparison, set[NamedKey]]:
    """The differences, and the instances that wait for others than before; without tasks that are `removed`."""
    if _has_same_order(old, new):
        return OrderComparison([], 0), set()
    known = {task.id for task in old.plan.tasks if task.id not in removed}
    names = [task.id for task in new.plan.tasks if task.id in known]
    numbers = {name: number for number, name in enumerate(names)}
    differing = compare_instances(old, new, numbers)
    before, after = find_order(old, numbers), find_order(new, numbers)
    gained = [is_now & ~was for was, is_now in zip(before, after, strict=True)]
    lost = [was & ~is_now for was, is_now in zip(before, after, strict=True)]
    elsewhere = [other & was & is_now for other, was, is_now in zip(differing.tasks, before, after, strict=True)]
    turned = {
        (first, second)
        for second, tasks in enumerate(gained)
        for first in list_bits(tasks)
        if lost[first] >> second & 1
    }
    changes = [
        OrderChange(names[first], names[second], "reversed" if (first, second) in turned else "ordered")
        for first, second in _list_essential(gained, after, new)
    ]
    changes += [
        OrderChange(names[first], names[second], "unordered")
        for first, second in _list_essential(lost, before, old)
        if (second, first) not in turned
    ]
    changes += [
        OrderChange(names[first], names[second], "elsewhere")
        for first, second in _list_essential(elsewhere, after, new)
    ]
    pairs = sum(tasks.bit_count() for differences in (gained, lost, elsewhere) for tasks in differences) - len(turned)
    return OrderComparison(changes, pairs - len(changes)), differing.keys


def _has_same_order(old: Expansion, new: Expansion) -> bool:
    """Whether every instance waits for the same ones: most changes are of what tasks do, and searching a large plan takes seconds."""
    return (
        [task.id for task in old.plan.tasks] == [task.id for task in new.plan.tasks]
        and old.instances == new.instances
        and old.joints == new.joints
        and old.canaries == new.canaries
    )


def _list_essential(differing: Sequence[int], before: Sequence[int], expansion: Expansion) -> Iterator[tuple[int, int]]:
    """The differing pairs but those that follow from others, as first and second.

    A pair follows if a task is between the two, and one of its two pairs differs too. That pair spans less of the order, so in the end
    every pair follows from one that is listed. Where dependencies form a cycle of tasks, over different nodes, nothing is left out.
    """
    is_sorted = order_vertices(len(expansion.plan.tasks), _list_pairs(expansion)) is not None
    for second, tasks in enumerate(differing):
        implied = 0
        for between in list_bits(before[second]) if tasks and is_sorted else ():
            implied |= before[between] if tasks >> between & 1 else differing[between]
        yield from ((first, second) for first in list_bits(tasks & ~implied))


def _list_pairs(expansion: Expansion) -> list[tuple[int, int]]:
    """The pairs of different tasks of which the second waits for the first, as numbers from 0."""
    return [
        (dependency.needed - 1, dependency.task - 1)
        for dependency in expansion.dependencies
        if dependency.needed != dependency.task
    ]
