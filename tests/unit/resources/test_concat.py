"""concat_file and its fragments, with the results of real Puppet with concat 7.3."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from precast.base.errors import ConflictError, InputError
from precast.resources.concat_fragment import ConcatFragment
from precast.resources.contract import DesiredResource
from tests.unit.resources.files.applied_file import apply_resource, node


def fragment(name: str, target: Path | str, content: str | None = None, **more: Any) -> DesiredResource:
    tag = more.pop("tag", None)
    given = {} if content is None else {"content": content}
    return DesiredResource(
        "concat_fragment", name, {"target": str(target), **given, **more}, metaparameters={"tag": tag} if tag else {}
    )


def concat(path: Path, tag: str | None = None, **parameters: Any) -> DesiredResource:
    return DesiredResource("concat_file", str(path), parameters, metaparameters={"tag": tag} if tag else {})


def content(path: Path, *fragments: DesiredResource, **parameters: Any) -> str:
    apply_resource(node(path.parent, *fragments), concat(path, **parameters))
    return path.read_text()


def test_fragments_are_ordered_by_number_then_by_name(tmp_path: Path) -> None:
    path = tmp_path / "c"
    fragments = [
        fragment("none", path, "none,"),
        fragment("two", path, "2,", order="2"),
        fragment("ten a", path, "10a,", order="10a"),
        fragment("word", path, "word,", order="word"),
        fragment("b", path, "b,", order="1"),
        fragment("a", path, "a,", order="01"),
        fragment("elsewhere", "/other", "never"),
    ]
    assert content(path, *fragments) == "a,b,2,none,10a,word,"


def test_alphabetical_order_is_that_of_text(tmp_path: Path) -> None:
    path = tmp_path / "c"
    fragments = [fragment(name, path, f"{name},", order=name) for name in ("9", "100", "10", "0")]
    assert content(path, *fragments, order="alpha") == "0,10,100,9,"


def test_lines_are_ended_where_asked(tmp_path: Path) -> None:
    path = tmp_path / "c"
    fragments = [fragment("1", path, ""), fragment("2", path, "x"), fragment("3", path, "y\n")]
    assert content(path, *fragments, ensure_newline=True) == "\nx\ny\n"


def test_fragments_belong_by_title_path_or_tag(tmp_path: Path) -> None:
    path = tmp_path / "c"
    fragments = [fragment("1", "title", "a"), fragment("2", path, "b"), fragment("3", "nowhere", "c", tag="t")]
    machine = node(tmp_path, *fragments)
    apply_resource(machine, DesiredResource("concat_file", "title", {"path": str(path)}, metaparameters={"tag": "t"}))
    assert path.read_text() == "abc"


def test_fragment_from_a_source(tmp_path: Path) -> None:
    (tmp_path / "from").write_text("source\n")
    path = tmp_path / "c"
    assert content(path, fragment("1", path, source=[f"{tmp_path}/nope", f"{tmp_path}/from"])) == "source\n"


DATA: list[tuple[str, list[str], str]] = [
    (
        "yaml",
        ["a: 1\nb: [1,2]\nh: {x: 1, t: true}\n", "b: [3]\nh: {y: 2}\nz: 'str: x'\n"],
        "---\na: 1\nb:\n- 1\n- 2\n- 3\nh:\n  x: 1\n  t: true\n  \"y\": 2\nz: 'str: x'\n",
    ),
    ("yaml", ["- 1\n- a\n", "- b: 1\n"], "---\n- 1\n- a\n- b: 1\n"),
    (
        "json",
        ['{"a": 1, "l": [1], "h": {"x": 1.5}}', '{"b": null, "l": [2], "h": {"y": "é"}}'],
        '{"a":1,"l":[1,2],"h":{"x":1.5,"y":"é"},"b":null}',
    ),
    (
        "json-pretty",
        ['{"a": 1, "e": {}, "el": []}', '{"l": [2, {"q": 1}]}'],
        '{\n  "a": 1,\n  "e": {\n  },\n  "el": [\n\n  ],\n  "l": [\n    2,\n    {\n      "q": 1\n    }\n  ]\n}',
    ),
    ("json-array", ['{"a": 1}', '{"b": 1}'], '[{"a":1},{"b":1}]'),
    ("json-array-pretty", ['{"a": 1}', '{"b": 1}'], '[\n  {\n    "a": 1\n  },\n  {\n    "b": 1\n  }\n]'),
]


@pytest.mark.parametrize(("form", "texts", "whole"), DATA)
def test_data_is_merged_and_written_as_ruby_does(tmp_path: Path, form: str, texts: list[str], whole: str) -> None:
    path = tmp_path / "c"
    assert content(path, *(fragment(str(i), path, text) for i, text in enumerate(texts)), format=form) == whole


def test_two_values_for_a_key_are_an_error_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "c"
    fragments = [fragment("1", path, '{"a": 1, "k": 5}'), fragment("2", path, '{"a": 2}')]
    with pytest.raises(ConflictError, match="disagree about a"):
        content(path, *fragments, format="json")
    assert not path.exists()
    assert content(path, *fragments, format="json", force=True) == '{"a":1,"k":5}'


@pytest.mark.parametrize(("form", "text"), [("json", '{"a": 1, k": 5}'), ("yaml", "a: {b: c")])
def test_fragment_that_is_no_data_is_named(tmp_path: Path, form: str, text: str) -> None:
    path = tmp_path / "c"
    with pytest.raises(InputError, match=f"the fragment part of .* is not {form.upper()}"):
        content(path, fragment("part", path, text), format=form)
    assert not path.exists()


def test_absent_concat_removes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "c"
    path.write_text("old")
    assert apply_resource(node(tmp_path), concat(path, ensure="absent")) == ["ensure: removed"]


def test_file_has_what_the_concat_says_of_it(tmp_path: Path) -> None:
    path = tmp_path / "c"
    messages = apply_resource(node(tmp_path, fragment("1", path, "x")), concat(path, mode="0600"))
    assert messages == [f"ensure: defined content as '{{sha256}}{hashlib.sha256(b'x').hexdigest()}'"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_secret_fragment_makes_the_whole_content_secret(tmp_path: Path) -> None:
    path = tmp_path / "c"
    secret = fragment("1", path, "hunter2")._replace(secrets=frozenset(["content"]))
    assert apply_resource(node(tmp_path, secret), concat(path)) == ["ensure: changed [redacted] to [redacted]"]


def test_fragment_of_nothing_is_worth_a_warning(tmp_path: Path) -> None:
    handler = ConcatFragment(fragment("1", "/nowhere", "x"), node(tmp_path))
    assert [level for level, _ in handler.take_logs()] == ["warning"]


@pytest.mark.parametrize("parameters", [{}, {"content": "x", "source": "/y"}, {"source": "relative"}])
def test_wrong_fragment_fails_when_it_is_made(tmp_path: Path, parameters: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        ConcatFragment(DesiredResource("concat_fragment", "1", {"target": "/x", **parameters}), node(tmp_path))
