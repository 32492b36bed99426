"""Merging: the cases of cloud-init's own tests, and Debian's cloud-init as oracle where it is installed."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from precast.base.errors import InputError
from precast.base.spans import Source
from precast.boot.userdata import merge, yaml_text
from precast.boot.userdata.reader import ReaderContext, read
from tests.unit.boot.userdata.corpus import cloud_init


def nothing(url: str) -> bytes:
    raise OSError(f"{url} is not to be fetched")


@pytest.mark.parametrize("number", range(1, 13))
def test_case_of_cloud_init_gives_what_it_expects(number: int) -> None:
    place = cloud_init("tests-data") / "data/merge_sources"
    archive = [
        {"content": path.read_text(), "type": "text/cloud-config"}
        for path in sorted(place.glob(f"source{number}-*.yaml"))
    ]
    text = "#cloud-config-archive\n" + json.dumps(archive)
    user_data = read(text.encode(), ReaderContext(nothing))
    expected = yaml_text.load(Source("expected", (place / f"expected{number}.yaml").read_text())).value
    assert user_data.config == expected
    assert [each for each in user_data.findings if "line" in each.text] == []


@pytest.mark.parametrize(
    "how",
    [
        "list(append)+dict(recurse_list)+str()",
        " LIST( append ) + dict(recurse-list) + str()",
        [
            {"name": "list", "settings": ["append"]},
            {"name": "dict", "settings": ["recurse_list"]},
            {"name": "str", "settings": []},
        ],
        [["list", "append"], ["dict", "recurse_list"], ["str"]],
    ],
)
def test_every_form_says_the_same(how: Any) -> None:
    parsed = merge.parse_rules(how)
    assert parsed is not None
    assert merge.merge({"a": [1], "b": "x"}, {"a": [2], "b": "y"}, parsed) == {"a": [1, 2], "b": "x"}


@pytest.mark.parametrize("how", ["list", "set(x)", [5], {"name": "list"}, [{"settings": []}], [["list"], [3]], 7])
def test_what_says_nothing_of_merging_is_refused(how: Any) -> None:
    with pytest.raises(InputError) as caught:
        merge.parse_rules(how)
    assert caught.value.code == "BOOT-303"


def test_nothing_given_is_changed() -> None:
    old, new = {"a": {"b": [1]}}, {"a": {"b": [2], "c": {}}}
    how = merge.parse_rules("list(append)+dict(recurse_list)")
    assert how is not None
    merged = merge.merge(old, new, how)
    assert (old, new) == ({"a": {"b": [1]}}, {"a": {"b": [2], "c": {}}})
    assert merged == {"a": {"b": [1, 2], "c": {}}}


values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=8,
)
configs = st.dictionaries(st.sampled_from("xyz"), values, max_size=3)
settings_of = {
    "dict": ["replace", "no_replace", "recurse_str", "recurse_list", "recurse_array", "allow_delete"],
    "list": ["append", "prepend", "replace", "no_replace", "recurse_str", "recurse_list", "recurse_dict"],
    "str": ["append"],
}


def _word(name: str) -> Callable[[list[str]], str]:
    return lambda found: f"{name}({','.join(found)})"


words = st.tuples(
    *(st.lists(st.sampled_from(each), unique=True, max_size=3).map(_word(name))
      for name, each in settings_of.items())
).map("+".join)  # fmt: skip

_ORACLE = """
import importlib.util, json, sys
from cloudinit import mergers
for line in sys.stdin:
    old, new, how = json.loads(line)
    merger = mergers.construct(mergers.string_extract_mergers(how))
    try:
        print(json.dumps(merger.merge(old, new)))
    except (TypeError, AttributeError, KeyError, IndexError):
        print("null")
"""


def has_oracle() -> bool:
    return (
        subprocess.run(
            ["/usr/bin/python3", "-c", "import importlib.util, cloudinit.mergers"], capture_output=True
        ).returncode
        == 0
    )


def test_merging_agrees_with_debians_cloud_init(tmp_path: Path) -> None:
    if not has_oracle():
        pytest.skip("Debian's cloud-init is not installed")
    cases: list[tuple[Any, Any, str]] = []

    @settings(max_examples=400, deadline=None, derandomize=True, database=None)
    @given(configs, configs, words)
    def collect(old: Any, new: Any, how: str) -> None:
        cases.append((old, new, how))

    collect()
    lines = "\n".join(json.dumps(case) for case in cases)
    done = subprocess.run(["/usr/bin/python3", "-c", _ORACLE], input=lines, capture_output=True, text=True, check=True)
    wrong = []
    for case, line in zip(cases, done.stdout.splitlines(), strict=True):
        expected = json.loads(line)
        how = merge.parse_rules(case[2])
        assert how is not None
        if expected is not None and merge.merge(case[0], case[1], how) != expected:
            wrong.append((case, expected, merge.merge(case[0], case[1], how)))
    assert wrong == [], "\n".join(map(repr, wrong))
    assert len(cases) > 300


@given(configs, configs)
def test_user_wins_over_vendor_and_nothing_of_either_is_lost(user: Any, vendor: Any) -> None:
    merged = merge.fill(user, vendor)
    assert set(merged) == {*user, *vendor}
    assert all(merged[key] == value for key, value in user.items() if not isinstance(value, dict | list))
