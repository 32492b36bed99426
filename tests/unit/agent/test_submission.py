"""Stable facts and volatile ones, apart and together again."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from precast.agent.submission import split
from precast.wire.facts import merge

names = st.sampled_from(
    ["memory", "system", "available", "total", "system_uptime", "uptime", "os", "load_averages", "1m"]
)
values = st.recursive(
    st.integers() | st.lists(st.integers()), lambda inner: st.dictionaries(names, inner), max_leaves=12
)


def test_split_takes_out_what_changes_by_nature() -> None:
    stable, volatile = split(
        {
            "memory": {"system": {"total": "1 GiB", "available": "1 MiB"}},
            "system_uptime": {"seconds": 5},
            "os": {"name": "Debian"},
        }
    )
    assert stable == {"memory": {"system": {"total": "1 GiB"}}, "os": {"name": "Debian"}}
    assert volatile == {"memory": {"system": {"available": "1 MiB"}}, "system_uptime": {"seconds": 5}}


@settings(deadline=None)  # a busy machine is not a failure
@given(st.dictionaries(names, values))
def test_split_parts_merged_are_the_whole(facts: dict[str, Any]) -> None:
    stable, volatile = split(facts)
    assert merge(stable, volatile) == facts
