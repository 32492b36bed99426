"""An invalid value affects only its own key: it is cleaned and reported, and no module crashes."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from precast.boot.modules import registry
from precast.boot.modules.schema import Either, Fields, Items, Table, Text, ValueSchema
from precast.boot.userdata.documents import Script
from precast.boot.validation import validate
from tests.unit.boot.modules import scratch

WORDS = [
    "a",
    "",
    "yes",
    "off",
    "0644",
    "-1",
    "1:2",
    "/etc/x",
    "../x",
    "a b",
    "root",
    "x" * 50,
    "\n",
    "$HOME",
    "%s",
    "ä",
    "R",
    "all",
]
scalars = (
    st.none() | st.booleans() | st.integers(-5, 1000) | st.floats(allow_nan=False, width=16) | st.sampled_from(WORDS)
)
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "path", *WORDS[:6]]), inner, max_size=3)
    ),
    max_leaves=6,
)


Draw = Callable[[st.SearchStrategy[Any]], Any]


def near(draw: Draw, shape: ValueSchema, depth: int = 0) -> Any:
    """A value that mostly fits a schema, with an occasional deviation."""
    if depth > 5 or draw(st.integers(0, 5)) == 0:
        return draw(anything)
    if isinstance(shape, Either):
        return near(draw, draw(st.sampled_from(shape.schemas)), depth + 1)
    if isinstance(shape, Items):
        return [near(draw, shape.of, depth + 1) for _ in range(draw(st.integers(0, 3)))]
    if isinstance(shape, Table):
        return {name: near(draw, shape.of, depth + 1) for name in draw(st.sets(st.sampled_from(WORDS), max_size=2))}
    if isinstance(shape, Fields):
        names = {*shape.required, *draw(st.sets(st.sampled_from(sorted(shape.fields)), max_size=4))}
        return {name: near(draw, shape.fields[name], depth + 1) for name in sorted(names)}
    if isinstance(shape, Text) and shape.choices:
        return draw(st.sampled_from(shape.choices))
    return draw(scalars)


@st.composite
def configs(draw: Draw) -> dict[str, Any]:
    known = registry.list_schemas()
    return {key: near(draw, known[key]) for key in sorted(draw(st.sets(st.sampled_from(sorted(known)), max_size=8)))}


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(configs())
def test_any_configuration_is_run_dry_without_a_crash(config: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as place:
        root = scratch.make_root(Path(place))
        for name in ("apt", "ssh", "default", "yum.repos.d", "zypp"):
            (root / "etc" / name).mkdir()
        before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
        only = tuple(module.name for module in registry.list_modules() if module.name != "network")
        ran = scratch.run(config, root, only=only, is_dry_run=True, scripts=(Script("x", b"#!/bin/sh\n"),))
        assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
        for error in ran.errors.values():
            assert error.hint


@settings(deadline=None)
@given(anything)
def test_cleaning_is_done_once(value: Any) -> None:
    """Cleaning is idempotent: a second pass changes nothing and has no new findings."""
    for key in ("users", "write_files", "runcmd", "packages", "chpasswd", "apt", "ssh_keys", "power_state", "groups"):
        cleaned, _ = registry.clean({key: value})
        again, findings = registry.clean(cleaned)
        assert again == cleaned
        assert findings == []


@settings(deadline=None)
@given(st.text(max_size=80) | st.sampled_from(["#cloud-config\n", "version: 2\n", "network:\n"]).flatmap(
    lambda start: st.text(alphabet="abc:-[]{}#&*\n '\"0", max_size=60).map(lambda rest: start + rest)))  # fmt: skip
def test_any_text_is_looked_through_without_a_crash(text: str) -> None:
    for problem in validate("test", text.encode()):
        assert problem.error.message
