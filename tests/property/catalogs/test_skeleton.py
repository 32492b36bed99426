"""Filling a skeleton gives the same bytes as filling its data, whatever the texts are."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from precast.base import canonical
from precast.catalog import unknown
from precast.catalog.skeleton import Skeleton, find_hole_values

TEXTS = st.lists(st.sampled_from([*'atv"\\\n|;0é\u2028', "precast-hole"]), max_size=6).map("".join)
HOLES = st.sampled_from([["facts", "a"], ["facts", "b", 0], ["trusted", "certname"]])
hole = HOLES.map(lambda path: {"__ptype": unknown.HOLE, "__pvalue": path})
future = st.just({"__ptype": "Precast::Future", "__pvalue": ["k"]})
text = st.lists(TEXTS | hole | future, min_size=1, max_size=5).map(
    # As the compiler makes them: adjacent texts are joined, and a text without a hole is a string.
    lambda parts: unknown.join_text({"__ptype": unknown.TEXT, "__pvalue": parts})
)
value = st.recursive(
    TEXTS | hole | text | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS.map(lambda t: f"k{t}"), inner, max_size=3),
    max_leaves=12,
)
NODE_VALUES = TEXTS | TEXTS | TEXTS | st.integers() | st.none() | st.lists(TEXTS, max_size=2)


@given(data=st.dictionaries(TEXTS, value, max_size=4), a=NODE_VALUES, b=NODE_VALUES, name=TEXTS)
def test_filled_skeleton_has_the_bytes_of_filled_data(data: dict[str, Any], a: Any, b: Any, name: str) -> None:
    facts = {("a",): a, ("b", 0): b, ("certname",): name}

    def find(root: str, path: tuple[str | int, ...]) -> Any:
        return facts[path]

    encoded = canonical.encode(data)
    skeleton = Skeleton(encoded)
    expected = canonical.encode(unknown.fill(msgspec.json.decode(encoded), find))
    assert skeleton.fill(find_hole_values(skeleton.holes, find)) == expected
