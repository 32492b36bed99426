"""How much of a plan is before a task and behind it: everything that it waits for, and everything that waits for it."""

from collections.abc import Iterator

import msgspec

from precast.plans.model import SYNC_NODE, Expansion
from precast.plans.plan_net import find_canaries


class Reach(msgspec.Struct, frozen=True):
    """Tasks, with stages, and tasks on nodes, that are joined to a task directly or through others."""

    tasks: int
    instances: int


def count_before(expansion: Expansion, number: int) -> Reach:
    """Everything that a task waits for."""
    marks, joined = _mark_own(expansion, number), bytearray(len(expansion.joints))
    canaries = find_canaries(expansion)
    for index in range(len(marks) - 1, -1, -1):
        for needed in _list_direct(expansion, index, canaries) if marks[index] else ():
            marks[needed] = 1
        for joint in expansion.instances[index].joins if marks[index] else ():
            if not joined[joint]:
                joined[joint] = 1
                for member in expansion.joints[joint]:
                    marks[member] = 1
    return _count(expansion, marks, number)


def count_after(expansion: Expansion, number: int) -> Reach:
    """Everything that waits for a task."""
    marks = _mark_own(expansion, number)
    canaries = find_canaries(expansion)
    joints: dict[int, bool] = {}
    for index, instance in enumerate(expansion.instances):
        for joint in instance.joins:
            if joint not in joints:  # all its members are before the first instance that waits for it
                joints[joint] = any(marks[member] for member in expansion.joints[joint])
            marks[index] |= joints[joint]
        marks[index] |= any(marks[needed] for needed in _list_direct(expansion, index, canaries))
    return _count(expansion, marks, number)


def _mark_own(expansion: Expansion, number: int) -> bytearray:
    return bytearray(instance.key.task == number for instance in expansion.instances)


def _list_direct(expansion: Expansion, index: int, canaries: dict[int, int]) -> Iterator[int]:
    """The instances that an instance waits for, but those of joints."""
    instance = expansion.instances[index]
    yield from instance.needs
    for members in instance.needs_any:
        yield from members
    if instance.key.task in canaries and canaries[instance.key.task] != index:
        yield canaries[instance.key.task]


def _count(expansion: Expansion, marks: bytearray, number: int) -> Reach:
    keys = [instance.key for instance, mark in zip(expansion.instances, marks, strict=True) if mark]
    others = [key for key in keys if key.task != number]
    return Reach(len({key.task for key in others}), sum(key.node != SYNC_NODE for key in others))
