"""A brief that has a path gives the same value as all facts, whatever the facts are."""

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from precast.agent.facts import fact_paths
from precast.base import canonical
from precast.services.facts.briefs import StoredBrief, make_brief

NAMES = st.sampled_from(["a", "b", "a.b", "b.a", "0", "long"])
LEAVES = st.one_of(st.integers(0, 3), st.just("x" * 150), st.just("y" * 900), st.booleans(), st.none())
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=5)),
    max_leaves=20,
)


def find(facts: dict[str, Any], path: str) -> object:
    try:
        return fact_paths.find(facts, path)
    except LookupError:
        return "absent"


@given(st.dictionaries(NAMES, VALUES, max_size=5), st.lists(NAMES, min_size=1, max_size=4).map(".".join))
@settings(max_examples=400, deadline=None)
def test_brief_that_has_a_path_gives_the_same_value_as_all_facts(facts: dict[str, Any], path: str) -> None:
    whole = canonical.encode(facts)
    brief = msgspec.json.decode(msgspec.json.encode(make_brief(whole)), type=StoredBrief)
    if brief.has_all([path]):
        assert find(msgspec.json.decode(brief.facts), path) == find(msgspec.json.decode(whole), path)
    # Small facts are never left out.
    assert all(len(canonical.encode(find(facts, left))) > 200 for left in brief.left if "." not in left)
