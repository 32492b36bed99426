"""Earlier facts of a node, found by reverting its history."""

import itertools
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from precast.base import canonical
from precast.services.facts.changes import compare
from precast.services.facts.differences import revert_step

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.sampled_from(["a", "~/", "é"])
    | st.lists(st.integers(0, 3), max_size=2)
)
FACTS = st.dictionaries(
    st.sampled_from(["a", "b", "c/d", "~", "~1"]),
    st.recursive(
        LEAVES, lambda inner: st.dictionaries(st.sampled_from(["x", "y", "/"]), inner, max_size=3), max_leaves=8
    ),
    max_size=4,
)


@given(st.lists(FACTS, min_size=1, max_size=6), st.data())
def test_reverting_steps_gives_the_facts_of_any_earlier_time(sets: list[dict[str, Any]], data: st.DataObject) -> None:
    encoded = [canonical.encode(facts) for facts in sets]
    steps = [compare(before, after) for before, after in itertools.pairwise(encoded)]
    moment = data.draw(st.integers(0, len(sets) - 1))
    facts = msgspec.json.decode(encoded[-1])
    for step in reversed(steps[moment:]):
        revert_step(facts, step)
    assert canonical.encode(facts) == encoded[moment]


def test_path_that_is_no_longer_stable_is_skipped() -> None:
    facts: dict[str, Any] = {"a": 1}
    revert_step(facts, compare(b'{"gone":{"x":1,"y":0}}', b'{"gone":{"x":2,"y":0}}'))
    assert facts == {"a": 1}
