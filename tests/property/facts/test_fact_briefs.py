"""A brief that answers for a path answers as the whole does, whatever the facts are."""

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from precast.agent.facts import paths
from precast.base import canonical
from precast.services.facts.briefs import KeptBrief, make_brief

NAMES = st.sampled_from(["a", "b", "a.b", "b.a", "0", "long"])
LEAVES = st.one_of(st.integers(0, 3), st.just("x" * 150), st.just("y" * 900), st.booleans(), st.none())
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=5)),
    max_leaves=20,
)


def find(facts: dict[str, Any], path: str) -> object:
    try:
        return paths.find(facts, path)
    except LookupError:
        return "absent"


@given(st.dictionaries(NAMES, VALUES, max_size=5), st.lists(NAMES, min_size=1, max_size=4).map(".".join))
@settings(max_examples=400, deadline=None)
def test_brief_that_answers_says_what_the_whole_says(facts: dict[str, Any], path: str) -> None:
    whole = canonical.encode(facts)
    kept = msgspec.json.decode(msgspec.json.encode(make_brief(whole)), type=KeptBrief)
    if kept.answers([path]):
        assert find(msgspec.json.decode(kept.facts), path) == find(msgspec.json.decode(whole), path)
    # What is small is never left out.
    assert all(len(canonical.encode(find(facts, left))) > 200 for left in kept.left if "." not in left)
