"""Paths into facts, also through names that contain dots."""

from typing import Any

import pytest

from precast.agent.facts import fact_paths
from precast.agent.facts.volatile import is_volatile

FACTS = {
    "os": {"name": "Debian", "release": {"major": "12"}},
    "networking": {"interfaces": {"eth0": {"mtu": 1500}, "eth0.100": {"mtu": 1400}}},
    "processors": {"models": ["a", "b"], "flags": []},
    "a.b": {"c": 1},
    "bindings": [{"ip": "::1"}],
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("os.release.major", "12"),
        ("os.release", {"major": "12"}),
        ("networking.interfaces.eth0.mtu", 1500),
        ("networking.interfaces.eth0.100.mtu", 1400),
        ("processors.models.1", "b"),
        ("a.b.c", 1),
        ("bindings.0.ip", "::1"),
    ],
)
def test_existing_path_gives_its_value(path: str, value: Any) -> None:
    assert fact_paths.find(FACTS, path) == value


@pytest.mark.parametrize(
    "path",
    ["", ".", "os.", "os..name", "os.name.x", "processors.models.2", "processors.models.-1", "processors.models.x"],
)
def test_missing_path_is_a_lookup_error(path: str) -> None:
    with pytest.raises(LookupError):
        fact_paths.find(FACTS, path)


def test_flatten_gives_every_leaf_and_each_path_leads_back() -> None:
    flat = dict(fact_paths.flatten(FACTS))
    assert flat["processors.models"] == ["a", "b"]
    assert flat["bindings.0.ip"] == "::1"
    assert flat["processors.flags"] == []
    assert all(fact_paths.find(FACTS, path) == value for path, value in flat.items())


def test_unknown_path_guesses_the_nearest() -> None:
    assert "did you mean os.release.major?" in str(fact_paths.unknown_path_error(FACTS, "os.relese.major"))
    assert "did you mean" not in str(fact_paths.unknown_path_error(FACTS, "qqqqqqqq"))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("system_uptime", "seconds"), True),
        (("memory", "system", "available_bytes"), True),
        (("memory", "system", "total_bytes"), False),
        (("mountpoints", "/", "used"), True),
        (("os", "name"), False),
        ((), False),
    ],
)
def test_volatile_paths_are_those_that_change_by_themselves(path: tuple[str, ...], expected: bool) -> None:
    assert is_volatile(path) is expected
