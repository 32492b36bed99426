"""The order of two versions of a plan: which tasks run before which others, and where that differs.

A task is before another if, on some node, the other waits for it on some node, directly or through others. That is computed from the
instances, so it is exact for the nodes. Sets of tasks and of instances are bits of whole numbers: a union of thousands costs a microsecond.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from precast.plans.model import Expansion, InstanceKey

# The instances whose successors are found in one pass: it takes this many bits for each instance.
PASS_BITS = 4_096

NamedKey = tuple[str, str]  # the id of a task, and a node


def list_bits(bits: int) -> Iterator[int]:
    """The numbers of the bits that are set, from the lowest."""
    text = bin(bits)[:1:-1]
    at = text.find("1")
    while at >= 0:
        yield at
        at = text.find("1", at + 1)


def find_order(expansion: Expansion, numbers: Mapping[str, int]) -> list[int]:
    """By the number of a task, the tasks before it, as bits; tasks without a number are left out."""
    tasks = [1 << numbers[task.id] if task.id in numbers else 0 for task in expansion.plan.tasks]
    reached = _reach(expansion, [tasks[instance.key.task - 1] for instance in expansion.instances])
    before = [0] * len(numbers)
    for instance, bits in zip(expansion.instances, reached, strict=True):
        number = numbers.get(expansion.plan.tasks[instance.key.task - 1].id)
        if number is not None:
            before[number] |= bits
    return [bits & ~(1 << number) for number, bits in enumerate(before)]


class InstanceDifferences(NamedTuple):
    """The instances that wait for others than before; and by task, the tasks of those others, as bits."""

    keys: set[NamedKey]
    tasks: list[int]


def compare_instances(old: Expansion, new: Expansion, numbers: Mapping[str, int]) -> InstanceDifferences:
    """How the instances that both have differ in what they wait for, directly or through others, among those that both have."""
    of_old, of_new = _name_instances(old), _name_instances(new)
    common = [key for key in of_new if key in of_old]
    found = InstanceDifferences(set(), [0] * len(numbers))
    for start in range(0, len(common), PASS_BITS):
        part = common[start : start + PASS_BITS]
        before, after = _reach_part(old, of_old, part), _reach_part(new, of_new, part)
        differences = {key: before[of_old[key]] ^ after[of_new[key]] for key in common}
        found.keys.update(key for key, bits in differences.items() if bits)
        _add_tasks(found.tasks, differences, part, numbers)
    return found


def _add_tasks(
    tasks: list[int], differences: Mapping[NamedKey, int], part: Sequence[NamedKey], numbers: Mapping[str, int]
) -> None:
    """Translate bits of instances of this part into bits of tasks."""
    by_task: dict[str, int] = defaultdict(int)
    for (task, _), bits in differences.items():
        by_task[task] |= bits
    for task, bits in by_task.items():
        for bit in list_bits(bits):
            tasks[numbers[task]] |= 1 << numbers[part[bit][0]]


def _name_instances(expansion: Expansion) -> dict[NamedKey, int]:
    ids = [task.id for task in expansion.plan.tasks]
    return {
        (ids[instance.key.task - 1], instance.key.node): index for index, instance in enumerate(expansion.instances)
    }


def _reach_part(expansion: Expansion, indexes: Mapping[NamedKey, int], part: Sequence[NamedKey]) -> list[int]:
    own = [0] * len(expansion.instances)
    for bit, key in enumerate(part):
        own[indexes[key]] = 1 << bit
    return _reach(expansion, own)


def _reach(expansion: Expansion, own: Sequence[int]) -> list[int]:
    """By instance, the bits of all instances that it waits for, directly or through others. `own` has the bit of each."""
    behind = [0] * len(own)  # with the own bit
    reached = [0] * len(own)
    joined: dict[int, int] = {}
    sets: dict[int, int] = {}
    canaries = {InstanceKey(task, node): task for task, node in expansion.canaries.items()}
    passed: dict[int, int] = {}
    for index, (key, needs, needs_any, joins) in enumerate(expansion.instances):
        bits = passed.get(key.task, 0)
        for needed in needs:
            bits |= behind[needed]
        for joint in joins:
            if joint not in joined:
                joined[joint] = _unite(behind, expansion.joints[joint])
            bits |= joined[joint]
        for members in needs_any:
            if id(members) not in sets:  # shared by the instances that wait for one of the same set
                sets[id(members)] = _unite(behind, members)
            bits |= sets[id(members)]
        reached[index], behind[index] = bits, bits | own[index]
        if key in canaries:
            passed[key.task] = behind[index]
    return reached


def _unite(behind: Sequence[int], members: Sequence[int]) -> int:
    bits = 0
    for member in members:
        bits |= behind[member]
    return bits
