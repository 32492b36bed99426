"""Untrusted YAML: plain values, positions, limits."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.boot.userdata import yaml_text


def load(text: str) -> yaml_text.YamlDocument:
    return yaml_text.load(Source("test", text))


def test_values_are_those_of_yaml_1_1_with_dates_as_text() -> None:
    text = "a: yes\nb: 0644\nc: 2030-01-02\nd: !!binary aGk=\ne: [1, 2.5, ~, 'x']\nf:\n  g: |\n    h\n12: n\n"
    assert load(text).value == {
        "a": True, "b": 420, "c": "2030-01-02", "d": b"hi", "e": [1, 2.5, None, "x"], "f": {"g": "h\n"}, 12: "n",
    }  # fmt: skip


def test_places_of_keys_and_elements_are_known() -> None:
    source = Source("test", "users:\n  - name: a\n  - name: b\n    sudo: x\n")
    loaded = yaml_text.load(source)
    assert source.position(loaded.offsets["users", 1, "sudo"]) == (4, 5)
    assert source.position(loaded.offsets["users", 1]) == (3, 5)


def test_key_given_twice_is_found_and_the_last_counts() -> None:
    loaded = load("a: 1\nb: 2\na: 3\n")
    assert loaded.value == {"a": 3, "b": 2}
    assert [(finding.location, finding.is_warning) for finding in loaded.findings] == [("a", True)]


def test_aliases_and_merge_keys_share_values() -> None:
    text = "base: &b {x: 1, y: 2}\none: {<<: *b, y: 3}\ntwo: {<<: [*b, {z: 4}]}\n"
    assert load(text).value == {
        "base": {"x": 1, "y": 2}, "one": {"x": 1, "y": 3}, "two": {"x": 1, "y": 2, "z": 4},
    }  # fmt: skip


def _laughs() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    return "\n".join(lines)


def _chain() -> str:
    return "\n".join(["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 500))])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (_laughs(), "BOOT-301"),
        (_chain(), "BOOT-301"),
        ("[" * 100_000, "BOOT-301"),
        ("a: " * 5000, "BOOT-300"),
        ("x" * (yaml_text.MAX_CHARACTERS + 1), "BOOT-301"),
        ("a: *b", "BOOT-300"),
        ("a: &a [*a]", "BOOT-300"),
        ("a: [1", "BOOT-300"),
        ("\x00", "BOOT-300"),
        ("a: !!python/name:os.system x", "BOOT-300"),
    ],
)
def test_what_is_wrong_or_endless_is_refused(text: str, code: str) -> None:
    with pytest.raises(PrecastError) as caught:
        load(text)
    assert caught.value.code == code
    assert caught.value.source is not None


def test_tags_that_would_run_code_give_plain_values() -> None:
    assert load("a: !!python/object/apply:os.system ['true']").value == {"a": ["true"]}


@given(st.text(max_size=60))
def test_any_text_gives_plain_values_or_one_clear_error(text: str) -> None:
    try:
        value = load(text).value
    except PrecastError as error:
        assert error.code in ("BOOT-300", "BOOT-301")  # noqa: PT017 - most texts are fine
    else:
        assert _is_plain(value)


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_plain(key) and _is_plain(each) for key, each in value.items())
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, str | int | float | bytes)
