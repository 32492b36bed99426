"""Cycles among attempts that wait for each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precast.services.jobs.waits import find_cycles


@pytest.mark.parametrize(
    ("waits", "cycles"),
    [
        ({}, []),
        ({"a": ["b"]}, []),
        ({"a": ["b"], "b": ["a"]}, [{"a", "b"}]),
        ({"a": ["a"]}, [{"a"}]),
        ({"a": ["b", "c"], "b": [], "c": ["d"], "d": ["a"]}, [{"a", "c", "d"}]),
        ({"a": ["b"], "b": ["a"], "c": ["d"], "d": ["c"], "e": ["a"]}, [{"a", "b"}, {"c", "d"}]),
    ],
)
def test_cycles_are_found(waits: dict[str, list[str]], cycles: list[set[str]]) -> None:
    assert sorted(map(sorted, find_cycles(waits))) == sorted(map(sorted, cycles))


@given(st.dictionaries(st.integers(0, 7), st.lists(st.integers(0, 7), max_size=3)))
def test_graph_without_one_member_of_each_cycle_has_fewer_and_a_found_cycle_is_one(waits: dict[int, list[int]]) -> None:
    cycles = find_cycles(waits)
    for cycle in cycles:
        for member, following in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
            assert following in waits[member]
    assert bool(cycles) == any(_reaches(waits, member, member) for member in waits)
    # Failing one member of each cycle again and again leaves a graph without cycles.
    left = dict(waits)
    for _ in range(len(waits) + 1):
        for cycle in find_cycles(left):
            left.pop(cycle[0])
    assert find_cycles(left) == []


def _reaches(waits: dict[int, list[int]], start: int, goal: int) -> bool:
    seen: set[int] = set()
    waiting = list(waits.get(start, ()))
    while waiting:
        member = waiting.pop()
        if member == goal:
            return True
        if member not in seen:
            seen.add(member)
            waiting += waits.get(member, ())
    return False
