"""What modules say of themselves, and whether they have what they need."""

import json

import pytest

from precast.lang.module_metadata import Dependency, read_metadata, unmet

WHOLE = {
    "name": "site-thing", "version": "1.2.3", "author": "site", "license": "none", "summary": "A thing",
    "source": "https://git.example", "dependencies": [],
}  # fmt: skip


def read(**changes: object) -> "tuple[str, ...]":
    return read_metadata("thing", json.dumps({**WHOLE, **changes}).encode()).problems


def test_whole_metadata_has_no_problems() -> None:
    found = read_metadata("thing", json.dumps(WHOLE).encode())
    assert (found.full_name, found.version, found.problems) == ("site-thing", "1.2.3", ())


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (None, "no metadata.json"),
        (b"{", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"[]", "no object"),
        (b"\xff", "no JSON"),
        (b"{}", "lacks name, version"),
    ],
)
def test_broken_file_is_a_problem_and_no_more(data: bytes | None, word: str) -> None:
    assert word in read_metadata("thing", data).problems[0]


def test_each_wrong_value_is_named() -> None:
    assert read(name="other-thing2") == ("it is called thing2 in metadata.json, but its directory thing",)
    assert read(name="thing") == ("'thing' is no AUTHOR-NAME",)
    assert read(version="1") == ("'1' is no version",)
    assert read(dependencies={}) == ("dependencies is no list",)
    assert read(dependencies=[{"name": "x"}, 3])[1].startswith("a dependency without")
    assert read(dependencies=[{"name": "a/b", "version_requirement": "x >"}]) == (
        "'x >' for b is no range of versions",
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
    assert unmet(modules) == {
        "thing": ["needs first >= 1.0.0 < 2.0.0, but 2.0.0 is there", "needs third, which is missing"]
    }
