"""Data files: limits, and the positions of errors."""

import pytest

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.hiera.data import documents
from precast.lang.hiera.data.documents import read_json, read_yaml
from precast.lang.values.base import Hash


def problem(text: str, reader: object = read_yaml) -> str:
    try:
        reader(Source("data/x.yaml", text))  # type: ignore[operator]
    except PrecastError as error:
        return error.render()
    raise AssertionError(f"read: {text[:80]}")


def test_error_shows_line_caret_and_hint() -> None:
    report = problem("a: 1\nb: [1, 2\nc: 3\n")
    assert report.startswith("data/x.yaml:3:2: error: invalid YAML: while parsing a flow sequence")
    assert "    3 | c: 3\n      |  ^" in report
    assert "hint:" in report


def test_date_is_refused_with_its_position() -> None:
    assert problem("a:\n  b: 2020-01-01\n").startswith(
        "data/x.yaml:2:6: error: data must not contain a date (2020-01-01) [HIERA-002]"
    )


def test_aliases_that_expand_beyond_the_limit_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "HIERA-003" in problem("\n".join(lines))


@pytest.mark.parametrize("text", ["[" * 5000, "{a: " * 3000, "- " * 3000, "a: " + "[" * 500 + "]" * 500])
def test_deep_nesting_is_refused(text: str) -> None:
    assert "HIERA-00" in problem(text)


def test_deep_json_is_refused() -> None:
    assert "HIERA-003" in problem("[" * 100_000, read_json)
    assert "HIERA-003" in problem('{"a": ' * 150 + "1" + "}" * 150, read_json)


@pytest.mark.parametrize("text", ["", "{", '{"a": NaN}', '{"a": 1,}', "'a'", '{"a": "\n"}', "1" * 5000])
def test_bad_json_is_refused(text: str) -> None:
    assert "HIERA-00" in problem(text, read_json)


def test_large_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_BYTES", 100)
    assert "HIERA-003" in problem("a: " + "x" * 100)


def test_only_the_first_document_counts() -> None:
    assert read_yaml(Source("x", "a: 1\n---\nb: [")) == Hash.of([("a", 1)])


def test_long_numbers_are_refused() -> None:
    assert "HIERA-002" in problem("a: " + "1" * 2000)


@pytest.mark.parametrize("text", ["l\n  n: 1\n", "yes:- \n&::\n", "a\nb: 1\n"])
def test_text_after_a_scalar_is_an_error(text: str) -> None:
    assert "HIERA-001" in problem(text)


def test_binary_data_is_text_or_refused() -> None:
    assert read_yaml(Source("x", "!!binary aGk=")) == "hi"
    assert read_yaml(Source("x", "!!binary 'a é Gk'")) == "hi"
    assert "HIERA-002" in problem("!!binary 007")
