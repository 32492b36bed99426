"""Who waits for whom among attempts, and the cycles in it.

An attempt waits for the attempt that holds its node's lock, or, while it runs, for another step whose value it needs. A cycle never ends by
itself: one of its attempts has to fail.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

T = TypeVar("T")


def find_cycles(waits: Mapping[T, Iterable[T]]) -> list[list[T]]:
    """Find cycles in a graph of waits: each is the members in the order in which they wait for each other. No two share a member."""
    finished: set[T] = set()
    cycles: list[list[T]] = []
    for start in waits:
        if start in finished:
            continue
        # Each entry of the path has the members that it waits for and that were not visited from it yet.
        path: dict[T, list[T]] = {start: list(waits[start])}
        while path:
            member, left = next(reversed(path.items()))
            if not left:
                finished.add(member)
                path.popitem()
                continue
            following = left.pop()
            if following in path:
                members = list(path)
                cycle = members[members.index(following) :]
                if not any(known in finished for known in cycle):
                    cycles.append(cycle)
                    finished.update(cycle)
            elif following not in finished and following in waits:
                path[following] = list(waits[following])
    return cycles
