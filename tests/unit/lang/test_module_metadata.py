"""Modules' metadata, and whether the modules satisfy each other's dependencies."""

import json

import pytest

from precast.lang.module_metadata import Dependency, read_metadata, unmet_dependencies

WHOLE = {
    "name": "site-thing", "version": "1.2.3", "author": "site", "license": "none", "summary": "A thing",
    "source": "https://git.example", "dependencies": [],
}  # fmt: skip


def read(**changes: object) -> "tuple[str, ...]":
    return read_metadata("thing", json.dumps({**WHOLE, **changes}).encode()).problems


def test_whole_metadata_has_no_problems() -> None:
    metadata = read_metadata("thing", json.dumps(WHOLE).encode())
    assert (metadata.full_name, metadata.version, metadata.problems) == ("site-thing", "1.2.3", ())


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (None, "no metadata.json"),
        (b"{", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"[]", "does not contain an object"),
        (b"\xff", "not valid JSON"),
        (b"{}", "lacks name, version"),
    ],
)
def test_broken_file_is_reported_as_a_problem(data: bytes | None, word: str) -> None:
    assert word in read_metadata("thing", data).problems[0]


def test_each_wrong_value_is_named() -> None:
    assert read(name="other-thing2") == ("metadata.json names the module thing2, but its directory is thing",)
    assert read(name="thing") == ("'thing' is not of the form AUTHOR-NAME",)
    assert read(version="1") == ("'1' is not a valid version",)
    assert read(dependencies={}) == ("dependencies is not a list",)
    assert read(dependencies=[{"name": "x"}, 3])[1].startswith("a dependency does not name a module")
    assert read(dependencies=[{"name": "a/b", "version_requirement": "x >"}]) == (
        "'x >' for b is not a valid version range",
    )


def test_missing_and_mismatching_dependencies_are_named() -> None:
    needs = [
        {"name": "a/first", "version_requirement": ">= 1.0.0 < 2.0.0"},
        {"name": "a-second", "version_requirement": "3.x"},
        {"name": "a/third"},
    ]
    modules = {
        "thing": read_metadata("thing", json.dumps({**WHOLE, "dependencies": needs}).encode()),
        "first": read_metadata("first", json.dumps({**WHOLE, "name": "a-first", "version": "2.0.0"}).encode()),
        "second": read_metadata("second", json.dumps({**WHOLE, "name": "a-second", "version": "3.4.5"}).encode()),
    }
    assert modules["thing"].dependencies[2] == Dependency("third", "")
    assert unmet_dependencies(modules) == {
        "thing": ["needs first >= 1.0.0 < 2.0.0, but 2.0.0 is installed", "needs third, which is missing"]
    }
