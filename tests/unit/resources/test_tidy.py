"""tidy: which files go; each becomes a file resource that is absent."""

import os
from pathlib import Path
from typing import Any

import pytest

from precast.agent.applying.machine import Machine
from precast.base.clock import ManualClock
from precast.base.errors import InputError
from precast.resources.contract import DesiredResource
from tests.unit.resources.applied_resource import handler

DAY_S = 86400


@pytest.fixture
def node(tmp_path: Path) -> Machine:
    node = Machine(str(tmp_path), str(tmp_path / "state"), ManualClock())
    now_s = node.clock.now().timestamp()
    for name, size, age_days in (("a.log", 10, 1), ("b.log", 5000, 10), ("d/c.log", 1, 10), ("d/.e.tmp", 1, 3)):
        place = tmp_path / "t" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(b"x" * size)
        os.utime(place, (now_s - age_days * DAY_S,) * 2)
    os.utime(tmp_path / "t/d", (now_s - 20 * DAY_S,) * 2)
    os.utime(tmp_path / "t", (now_s,) * 2)
    return node


@pytest.mark.parametrize(
    ("given", "gone"),
    [
        ({"recurse": True}, ["d/c.log", "d/.e.tmp", "b.log", "a.log"]),
        ({"recurse": 1}, ["b.log", "a.log"]),
        ({}, []),
        ({"recurse": True, "age": "1w"}, ["d/c.log", "b.log"]),
        ({"recurse": True, "age": 3}, ["d/c.log", "d/.e.tmp", "b.log"]),
        ({"recurse": True, "age": "25hours"}, ["d/c.log", "d/.e.tmp", "b.log"]),
        ({"recurse": True, "size": "4"}, ["b.log"]),
        ({"recurse": True, "size": "10b"}, ["b.log", "a.log"]),
        ({"recurse": True, "size": "4k", "age": "3d"}, ["d/c.log", "d/.e.tmp", "b.log"]),
        ({"recurse": "inf", "matches": ["*.tmp", "[^b].log"]}, ["d/c.log", "d/.e.tmp", "a.log"]),
        ({"recurse": True, "rmdirs": True, "age": "5d", "type": "mtime"}, ["d/c.log", "d", "b.log"]),
    ],
)
def test_files_are_chosen(node: Machine, given: dict[str, Any], gone: list[str]) -> None:
    made = handler(node, "tidy", "/t", **given)
    assert made.compare(made.read()) == ()
    assert [child.resource.title.removeprefix("/t/") for child in made.expand({})] == gone
    assert bool(made.take_logs()) == bool(gone)


def test_file_that_the_catalog_manages_stays(node: Machine) -> None:
    node.declare([DesiredResource("file", "/t/b.log", {})], {})
    made = handler(node, "tidy", "/t", recurse=1)
    assert [child.resource.title for child in made.expand({})] == ["/t/a.log"]


def test_generated_file_removes_it(node: Machine, tmp_path: Path) -> None:
    (child,) = handler(node, "tidy", "/t/a.log").expand({})
    (change,) = child.compare(child.read())
    child.apply(change)
    assert not (tmp_path / "t/a.log").exists()
    assert handler(node, "tidy", "/t/a.log").expand({}) == []


def test_too_many_files_fail(node: Machine) -> None:
    with pytest.raises(InputError, match="5"):
        handler(node, "tidy", "/t", recurse=True, max_files=5).expand({})


@pytest.mark.parametrize(
    "given",
    [
        {"matches": "*"},
        {"age": "5x"},
        {"size": "big"},
        {"recurse": "deep"},
        {"type": "btime"},
        {"recurse": 0, "matches": "a"},
    ],
)
def test_invalid_parameters_fail_when_it_is_made(node: Machine, given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        handler(node, "tidy", "/t", **given)
