"""YAML of strangers: one clear error with its place, never an exception, and no work without bound."""

import pytest

from precast.plans.loading.documents import MAX_CHARACTERS, MAX_DEPTH
from tests.unit.plans.loading.plan_texts import SHELL, find_errors, find_warnings, lines, load, load_task


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("- id: web\n\ttype: shell", "2:1 PLAN-001 this is not valid YAML: while scanning a plain scalar, found a tab character"),
        ("a: b: c", "1:5 PLAN-001 this is not valid YAML: mapping values are not allowed in this context"),
        ("- [a, b\n", "2:1 PLAN-001 this is not valid YAML: while parsing a flow sequence, did not find expected ',' or ']'"),
        ("- 'a\n", "2:1 PLAN-001 this is not valid YAML: while scanning a quoted scalar, found unexpected end of stream"),
        ("- &a [*a]", "1:7 PLAN-001 this is not valid YAML: there is no anchor &a above, or it contains this alias"),
        ("- *nothing", "1:3 PLAN-001 this is not valid YAML: there is no anchor &nothing above, or it contains this alias"),
        ("- id: é\0", "1:8 PLAN-002 the character U+0000 is not allowed in YAML"),
        ("- id: '\ud800'", "1:8 PLAN-002 the character U+D800 is not allowed in YAML"),
        ("- !!python/object/apply:os.system [x]", "1:3 PLAN-004 the tag !!python/object/apply:os.system is not allowed here"),
        ("- {id: !!binary aGk=}", "1:8 PLAN-004 the tag !!binary is not allowed here"),
        ("- !ours {id: a}", "1:3 PLAN-004 the tag !ours is not allowed here"),
        ("- a\n--- \n- b", "2:1 PLAN-008 a second document begins here"),
        ("- {<<: [5], id: a, type: stage}", "1:9 PLAN-009 the value of << must be a mapping, not 5"),
        pytest.param(
            "[" * 100_000, f"1:{MAX_DEPTH + 1} PLAN-003 the nesting here has more than 60 levels", id="deep lists"
        ),
        pytest.param(
            "{a: " * 1_000, f"1:{MAX_DEPTH * 4 + 1} PLAN-003 the nesting here has more than 60 levels", id="deep mappings"
        ),
        pytest.param(
            "#" * (MAX_CHARACTERS + 1), "1:1 PLAN-003 the file has more than 1048576 characters", id="a large file"
        ),
    ],
)  # fmt: skip
def test_document_that_cannot_be_read_is_one_error_with_its_place(text: str, error: str) -> None:
    errors = lines(load(text).errors)
    assert len(errors) == 1
    assert errors[0].startswith(error)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("- id: web\n\ttype: shell", "YAML allows no tabs for indentation; write blanks"),
        ("a: b: c", "put a text that contains a colon and a blank in quotes; check the indentation"),
        ("- a: b\n  - c", "check the indentation of this line and of those above it"),
        ("- [a", "close the bracket, and put commas between the items"),
    ],
)
def test_invalid_yaml_has_a_hint_for_its_cause(text: str, hint: str) -> None:
    assert [error.hint for error in load(text).errors] == [hint]


def test_aliases_that_multiply_are_refused_before_they_are_expanded() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    errors = lines(load(bomb).errors)
    assert errors == ["5:4 PLAN-003 the plan with what its aliases stand for has more than 200000 values"]


def test_nesting_through_aliases_is_bounded_like_any_other() -> None:
    text = "- &a0 [x]\n" + "".join(f"- &a{number} [*a{number - 1}]\n" for number in range(1, 80))
    assert [error.code for error in load(text).errors] == ["PLAN-003"]


def test_values_of_all_files_count_together() -> None:
    many = f"on_stop: [{','.join(['x'] * 190_000)}]"
    assert lines(load(many, many).errors) == [
        "b.yaml:1:20003 PLAN-003 the plan with what its aliases stand for has more than 200000 values"
    ]


def test_problems_of_a_file_of_nonsense_are_bounded() -> None:
    loaded = load("\n".join("- {x: 1}" for _ in range(5_000)))
    assert (len(loaded.errors), len(loaded.warnings)) == (1_000, 1_000)


def test_anchors_and_merged_mappings_are_read_as_yaml_means_them() -> None:
    task = load_task(
        head="""
- &base
  id: base
  type: shell
  roles: [web]
  parameters: &parameters {cmd: a, cwd: /srv}
- <<: *base
  id: other
  parameters: {<<: *parameters, cmd: b}
"""
    )
    assert task.parameters == {"cmd": "a", "cwd": "/srv"}
    loaded = load("- &b {id: b, type: stage}\n- {<<: [{id: c}, *b], requires: [b]}")
    assert loaded.plan is not None
    assert [(task.id, task.type, task.requires) for task in loaded.plan.tasks] == [
        ("b", "stage", ()),
        ("c", "stage", ("b",)),
    ]


def test_key_that_is_no_text_is_an_error() -> None:
    assert find_errors("", "- {1: a, true: b, ~: c, [x]: d, id: a, type: stage}") == [
        "1:4 PLAN-005 1 is a key, but not a text",
        "1:10 PLAN-005 true is a key, but not a text",
        "1:19 PLAN-005 nothing is a key, but not a text",
        "1:25 PLAN-005 a list is a key, but not a text",
    ]


def test_key_given_twice_counts_as_it_is_last_with_a_warning() -> None:
    loaded = load(f"{SHELL}  requires: [a]\n  requires: [b]\n")
    assert lines(loaded.warnings) == ["6:3 PLAN-025 requires is given twice; this counts, not that in line 5"]
    assert loaded.plan is not None
    assert loaded.plan.tasks[0].requires == ("b",)


def test_scalars_are_read_as_text_where_a_text_is_meant() -> None:
    task = load_task("", "- {id: 0640, type: shell, roles: [yes, 007, 1.50], parameters: {cmd: true}}")
    assert (task.id, task.selectors, task.parameters) == ("0640", ("yes", "007", "1.50"), {"cmd": "true"})


def test_data_keeps_plain_values_and_what_json_lacks_stays_text() -> None:
    given = "{a: 1, b: 2.5, c: no, d: 2026-01-01, e: .nan, f: .inf, g: 99999999999999999999, h: ~, i: '5', j: !!str 6, k: !!int x}"
    task = load_task(head=f"- {{id: u, type: upload_file, roles: a, parameters: {{path: /x, data: {given}}}}}")
    assert task.parameters["data"] == {
        "a": 1, "b": 2.5, "c": False, "d": "2026-01-01", "e": ".nan", "f": ".inf", "g": "99999999999999999999",
        "h": None, "i": "5", "j": "6", "k": "x",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "~", "--- # x\n...\n"])
def test_empty_file_is_a_warning(text: str) -> None:
    loaded = load(text)
    assert (lines(loaded.errors), lines(loaded.warnings)) == ([], ["1:1 PLAN-029 this file has no tasks"])
    assert loaded.plan is not None
    assert loaded.plan.tasks == ()


def test_file_with_a_byte_order_mark_and_carriage_returns_is_read() -> None:
    text = "\ufeff" + SHELL.replace("\n", "\r\n") + "  required_form: [a]\r\n"
    assert find_warnings("", text) == [
        "5:3 PLAN-020 required_form of task web is not known, and has no effect; did you mean required_for?"
    ]
