"""Finds cycles in a directed graph, one short cycle in each strongly connected component.

Only nodes of one strongly connected component can be in a cycle (Tarjan's algorithm, without recursion). In each component a breadth-first
search from its nodes finds a shortest cycle. In a component of more than a thousand nodes only the first of them are tried as a start, so
that the work stays bounded; the cycle is then short, but not surely the shortest.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

# How many nodes all searches in one component may visit together, if each start visits every node.
WORK = 1_000_000

Graph = Mapping[int, Sequence[int]]


def shortest_cycles(graph: Graph) -> list[list[int]]:
    """One shortest cycle from each component, each beginning with its smallest node. Successors outside the graph are ignored."""
    return [_shortest_cycle(graph, component) for component in cyclic_components(graph)]


def cyclic_components(graph: Graph) -> list[list[int]]:
    """The components in which every node reaches itself, by their smallest node, nodes in order."""
    cyclic = [sorted(part) for part in _components(graph) if len(part) > 1 or part[0] in graph[part[0]]]
    return sorted(cyclic)


def _components(graph: Graph) -> Iterable[list[int]]:
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    waiting: list[int] = []
    is_waiting: set[int] = set()
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(graph[root]))]
        index[root] = low[root] = len(index)
        waiting.append(root)
        is_waiting.add(root)
        while work:
            node, successors = work[-1]
            for following in successors:
                if following not in graph:
                    continue
                if following not in index:
                    index[following] = low[following] = len(index)
                    waiting.append(following)
                    is_waiting.add(following)
                    work.append((following, iter(graph[following])))
                    break
                if following in is_waiting:
                    low[node] = min(low[node], index[following])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    yield _cut(waiting, is_waiting, node)


def _cut(waiting: list[int], is_waiting: set[int], node: int) -> list[int]:
    at = len(waiting) - 1
    while waiting[at] != node:
        at -= 1
    part = waiting[at:]
    del waiting[at:]
    is_waiting.difference_update(part)
    return part


def _shortest_cycle(graph: Graph, component: list[int]) -> list[int]:
    inside = set(component)
    best: list[int] = []
    for start in component[: max(1, WORK // len(component))]:
        cycle = _cycle_through(graph, inside, start, len(best))
        if cycle and (not best or len(cycle) < len(best)):
            best = cycle
            if len(best) == 1:
                break
    smallest = best.index(min(best))
    return best[smallest:] + best[:smallest]


def _cycle_through(graph: Graph, inside: set[int], start: int, longest: int) -> list[int]:
    """A shortest cycle through `start`, or nothing if it is not shorter than `longest` (0: any length)."""
    came_from = {start: start}
    depth = {start: 1}
    frontier = deque([start])
    while frontier:
        node = frontier.popleft()
        if longest and depth[node] >= longest:
            break
        for following in graph[node]:
            if following == start:
                path = [node]
                while path[-1] != start:
                    path.append(came_from[path[-1]])
                return path[::-1]
            if following in inside and following not in came_from:
                came_from[following] = node
                depth[following] = depth[node] + 1
                frontier.append(following)
    return []
