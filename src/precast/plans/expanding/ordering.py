"""Puts instances in an order in which they can run, or finds a cycle.

Of the instances all of whose needs come before, the one with the lowest number is next: that of the first task in the plan, on the first
node by name. An instance that waits for one of a set is put behind all of the set. That is stricter than a run, but a run in which all of
the set but one member fail could otherwise wait for an instance that waits for it.
"""

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush

from precast.net.analysis.cycles import cyclic_components, shortest_cycles
from precast.plans.expanding.wiring import Wiring


def order_instances(wiring: Wiring) -> list[int]:
    """The numbers of the instances in order; those in a cycle, and those that wait for one, are left out."""
    users: list[list[int]] = [[] for _ in wiring.keys]
    waits = [0] * len(wiring.keys)
    set_users: list[list[int]] = [[] for _ in wiring.sets]
    missing = [len(members) for members in wiring.sets]
    for number, (needs, joins, one_of) in enumerate(zip(wiring.needs, wiring.joins, wiring.one_of, strict=True)):
        waits[number] = len(needs) + len(joins) + len(one_of)
        for needed in needs:
            users[needed].append(number)
        for of in (joins, one_of):
            for set_number in of:
                set_users[set_number].append(number)
    sets_of: list[list[int]] = [[] for _ in wiring.keys]
    for set_number, members in enumerate(wiring.sets):
        for member in members:
            sets_of[member].append(set_number)
    return list(_walk(waits, users, sets_of, set_users, missing))


def _walk(
    waits: list[int],
    users: Sequence[list[int]],
    sets_of: Sequence[list[int]],
    set_users: Sequence[list[int]],
    missing: list[int],
) -> Iterator[int]:
    ready = [number for number, count in enumerate(waits) if not count]
    heapify(ready)
    while ready:
        number = heappop(ready)
        yield number
        freed = users[number]
        for set_number in sets_of[number]:
            missing[set_number] -= 1
            if not missing[set_number]:
                freed = freed + set_users[set_number]
        for user in freed:
            waits[user] -= 1
            if not waits[user]:
                heappush(ready, user)


def find_cycle(wiring: Wiring, ordered: Sequence[int]) -> list[int]:
    """A short cycle among the instances that could not be put in order: each waits for the next, and the last for the first."""
    rest = set(range(len(wiring.keys))).difference(ordered)
    first_set = len(wiring.keys)
    graph: dict[int, list[int]] = {}
    for number in sorted(rest):
        sets = [first_set + set_number for of in (wiring.joins, wiring.one_of) for set_number in of[number]]
        graph[number] = [*wiring.needs[number], *sets]
        for of in sets:
            graph.setdefault(of, wiring.sets[of - first_set])
    component = min(cyclic_components(graph), key=len)
    (cycle,) = shortest_cycles({number: graph[number] for number in component})
    return [number for number in cycle if number < first_set]
