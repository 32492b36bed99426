"""Graphs of tasks as pairs of numbers: an order of the vertices, and the edges that follow from others."""

from collections.abc import Sequence

Edge = tuple[int, int]


def order_vertices(count: int, edges: Sequence[Edge]) -> list[int] | None:
    """The vertices 0 to `count` - 1 in an order in which every edge points forward; None if there is a cycle."""
    following = _list_following(count, edges)
    waits = [0] * count
    for _, target in edges:
        waits[target] += 1
    order = [vertex for vertex in range(count) if not waits[vertex]]
    for vertex in order:  # the list grows while it is read
        for target in following[vertex]:
            waits[target] -= 1
            if not waits[target]:
                order.append(target)
    return order if len(order) == count else None


def find_implied(count: int, edges: Sequence[Edge]) -> set[int]:
    """The numbers of the edges whose target is also reached by a longer way; none if the graph has a cycle."""
    order, following = order_vertices(count, edges), _list_following(count, edges)
    reached, beyond = (
        [0] * count,
        [0] * count,
    )  # bits of the vertices behind each one: all of them; those not only directly
    for vertex in reversed(order or ()):
        for target in following[vertex]:
            beyond[vertex] |= reached[target]
        reached[vertex] = beyond[vertex]
        for target in following[vertex]:
            reached[vertex] |= 1 << target
    return {number for number, (source, target) in enumerate(edges) if beyond[source] >> target & 1}


def _list_following(count: int, edges: Sequence[Edge]) -> list[list[int]]:
    following: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        following[source].append(target)
    return following
