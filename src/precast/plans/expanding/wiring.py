"""What each instance waits for, before the instances are in order: they are numbered by task, and by node within a task.

A dependency on many instances as a whole becomes a *set*, which is stored once however many instances wait for it: 500 nodes that wait
for a task on 500 nodes cost a thousand entries and not a quarter of a million.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from precast.plans.expanding.placement import Placement
from precast.plans.model import InstanceKey, PlacedDependency


class Wiring(NamedTuple):
    """By the number of an instance: the instances that it waits for, and the sets of which it waits for all members, or for one."""

    keys: Sequence[InstanceKey]
    needs: Sequence[list[int]]
    joins: Sequence[list[int]]
    one_of: Sequence[list[int]]
    sets: Sequence[list[int]]


def connect_instances(placement: Placement, dependencies: Iterable[PlacedDependency]) -> Wiring:
    """Everything that the instances of a plan wait for."""
    keys: list[InstanceKey] = []
    first: list[int] = []
    offsets: dict[frozenset[str], dict[str, int]] = {}
    for number, nodes in enumerate(placement.task_nodes, 1):
        first.append(len(keys))
        if nodes not in offsets:
            offsets[nodes] = {node: offset for offset, node in enumerate(sorted(nodes))}
        keys += [InstanceKey(number, node) for node in offsets[nodes]]

    def locate(task: int, nodes: Iterable[str]) -> list[int]:
        """The instances of a task on some of its nodes."""
        start, of_node = first[task - 1], offsets[placement.nodes_of(task)]
        return [start + of_node[node] for node in nodes]

    return _connect(keys, dependencies, locate)


def _connect(
    keys: Sequence[InstanceKey],
    dependencies: Iterable[PlacedDependency],
    locate: Callable[[int, Iterable[str]], list[int]],
) -> Wiring:
    needs: list[list[int]] = [[] for _ in keys]
    joins: list[list[int]] = [[] for _ in keys]
    one_of: list[list[int]] = [[] for _ in keys]
    sets: list[list[int]] = []
    known: dict[tuple[int, frozenset[str]], int] = {}
    for dependency in dependencies:
        users = locate(dependency.task, dependency.nodes)
        needed = locate(dependency.needed, dependency.needed_on)
        if dependency.is_local:
            for user, own in zip(users, needed, strict=True):
                needs[user].append(own)
        elif len(needed) == 1:
            for user in users:
                needs[user].append(needed[0])
        else:
            number = known.setdefault((dependency.needed, dependency.needed_on), len(sets))
            if number == len(sets):
                sets.append(sorted(needed))
            for user in users:
                (one_of if dependency.is_any else joins)[user].append(number)
    return Wiring(keys, needs, joins, one_of, sets)
